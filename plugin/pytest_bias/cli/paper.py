"""The command ``pytest-bias paper``: a paper about a run, written by a model and checked."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from ..errors import BadSetting, UnknownName
from ..experiments.experiment import Experiment
from ..recording.collector import Terms
from ..report.paper import Paper, brief_of, checked_paper, write_paper
from ..report.results import view_of
from ..verdicts.analysis import Analysis
from ..workbench.analyses import Workbench
from ..workbench.configuration import configured
from ..workbench.plans import terms_of
from ..workbench.suite import find_experiments
from . import check_apart, tell, write


def _paper(given: argparse.Namespace) -> int:
    check_apart([given.out], [given.results])
    view = view_of(_read(given.results, "RESULTS"), str(given.results))
    analysis = _chosen(view.analyses, given.experiment, given.of)
    known = {each.id: each for each in find_experiments(given.suite)}
    if analysis.experiment not in known:
        mend = f"what its subject was told is not known; --suite names its package ({given.suite})"
        raise UnknownName(kind="experiment", name=analysis.experiment, known=known, mend=mend)
    brief = brief_of(analysis, known[analysis.experiment], view.version)
    if given.prompt:
        tell(brief.prompt)
        return 0
    if given.check is not None:
        paper = checked_paper(_read(given.check, "--check"), brief)
        return tell_paper(paper, given.out, given.check)
    return tell_paper(write_paper(brief, given.model, _terms(given, known.values())), given.out)


def tell_paper(paper: Paper, place: Path | None, checked: Path | None = None) -> int:
    """Write or print the paper, and list its marks by their lines; 1 where there are any.

    One that was only ``checked``, in a file, is not printed.
    """
    head = paper.head
    if place is not None:
        write(place, paper.text)
        tell(f"written: {place}")
    elif checked is not None:
        place, head = checked, paper.before
    else:
        tell(f"----- begin paper -----\n{paper.text}----- end paper -----")
    for mark in paper.marks:
        line = mark.line + head if mark.line else 1
        tell(f"{place or 'paper'}:{line}: {mark.kind}: {mark.words}", wrong=True)
    return int(bool(paper.marks))


def _chosen(analyses: tuple[Analysis, ...], experiment: str | None, model: str | None) -> Analysis:
    """The one analysis that is meant; UnknownName or BadSetting where it is none or several."""
    for option, name, attribute in (
        ("--experiment", experiment, "experiment"),
        ("--of", model, "model"),
    ):
        known = sorted({getattr(each, attribute) for each in analyses})
        if name is None and len(known) > 1:
            problem = f"the run has several; name one of {', '.join(known)}"
            raise BadSetting(option=option, value=None, problem=problem)
        if name is not None and name not in known:
            raise UnknownName(kind=f"{attribute} of this run", name=name, known=known)
        analyses = tuple(each for each in analyses if name in (None, getattr(each, attribute)))
    if not analyses:
        raise BadSetting(option="RESULTS", value=None, problem="the run has no analysis")
    return analyses[0]


def _terms(given: argparse.Namespace, experiments: Iterable[Experiment]) -> Terms:
    """The terms on which the writer is asked: the project's own settings, and what is given."""
    settings = configured(
        model=[given.model], gate="off", budget=given.budget, env_file=given.env_file
    )
    return terms_of(Workbench(settings), experiments, settings.limits)


def _read(path: Path, option: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")  # editors begin a file with a mark
    except UnicodeDecodeError:
        problem = "is not UTF-8 text"
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
    raise BadSetting(option=option, value=path, problem=problem)
