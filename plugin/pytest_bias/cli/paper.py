"""The command ``pytest-bias paper``: a paper about a run, written by a model and checked."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import BadSetting, UnknownName
from ..report.paper import Paper, brief_of, checked_paper, write_paper
from ..report.results import read_results
from ..verdicts.analysis import Analysis
from ..workbench.configuration import configured
from ..workbench.plans import terms_of
from ..workbench.project import Project
from ..workbench.suite import find_experiments
from . import check_apart, tell, write


def _paper(given: argparse.Namespace) -> int:
    check_apart([given.out], [given.results])
    view = read_results(_read(given.results, "RESULTS"), str(given.results))
    analysis = _chosen(view.analyses, given.experiment, given.of)
    known = {each.id: each for each in find_experiments(given.suite)}
    if analysis.experiment not in known:
        hint = f"what its subject was told is not known; --suite names its package ({given.suite})"
        raise UnknownName(kind="experiment", name=analysis.experiment, known=known, hint=hint)
    brief = brief_of(analysis, known[analysis.experiment], view.version)
    if given.prompt:
        tell(brief.prompt)
        return 0
    if given.check is not None:
        paper = checked_paper(_read(given.check, "--check"), brief)
        return tell_paper(paper, given.out, whole=given.out is not None)
    settings = configured(
        model=[given.model], gate="off", budget=given.budget, env_file=given.env_file
    )
    terms = terms_of(Project(settings), known.values(), settings.limits)
    return tell_paper(write_paper(brief, given.model, terms), given.out)


def tell_paper(paper: Paper, place: Path | None, *, whole: bool = True) -> int:
    """Write or print the paper, if ``whole``, and list its problems; 1 where there are any."""
    if place is not None:
        write(place, paper.text)
        tell(f"written: {place}")
    elif whole:
        tell(f"----- begin paper -----\n{paper.text}----- end paper -----")
    for problem in paper.problems:
        tell(f"{place or 'paper'}: {problem}", wrong=True)
    return int(bool(paper.problems))


def _chosen(analyses: tuple[Analysis, ...], experiment: str | None, model: str | None) -> Analysis:
    """Return the one analysis of that experiment and model; BadSetting unless there is one."""
    found = [a for a in analyses if {experiment, model} <= {None, a.experiment, a.model}]
    if len(found) != 1:
        known = ", ".join(f"{each.experiment} × {each.model}" for each in analyses) or "none"
        problem = f"{len(found)} analyses of the run are meant, and one is needed; it has {known}"
        raise BadSetting(option="--experiment, --of", value=None, problem=problem)
    return found[0]


def _read(path: Path, option: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")  # editors begin a file with a mark
    except (OSError, UnicodeDecodeError) as error:
        problem = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise BadSetting(option=option, value=path, problem=problem) from None
