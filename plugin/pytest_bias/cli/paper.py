"""The command ``pytest-bias paper``: a paper about a run, written by a model and checked."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BadSetting, UnknownName
from ..experiments.experiment import Experiment
from ..recording.collector import Terms
from ..report.paper import Paper, brief_of, checked_paper, write_paper
from ..report.results import view_of
from ..settings.options import OPTIONS
from ..verdicts.analysis import Analysis
from ..workbench.analyses import Workbench
from ..workbench.configuration import configured
from ..workbench.plans import terms_of
from ..workbench.suite import SUITE, find_experiments
from . import tell, write

if TYPE_CHECKING:
    from . import Commands


def add_paper(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command to ``commands``."""
    command = commands.add_parser(
        "paper",
        help="have a model write a paper about a run, and check it",
        description="Have a model write a paper about one experiment with one model of a run, and "
        "hold its numbers, signs, sections, citations and comparison with people against the "
        "analysis. What that does not hold is marked where it stands, and listed. The exit "
        "status is 0 when nothing is marked, 1 when something is, 2 when there is no paper.",
        epilog="Costs one call of the model. Results and recordings are only read.",
    )
    command.add_argument("results", type=Path, metavar="RESULTS", help="a bias-results.json")
    command.add_argument("--experiment", metavar="ID", help="which of the run's experiments")
    command.add_argument("--of", metavar="MODEL", help="which of the run's models under test")
    how = command.add_mutually_exclusive_group(required=True)
    how.add_argument("--model", metavar="PROVIDER/MODEL", help="who writes it")
    how.add_argument("--check", type=Path, metavar="PAPER", help="check a text that is there")
    how.add_argument("--prompt", action="store_true", help="print the prompt, and call nothing")
    command.add_argument(
        "--out", type=Path, metavar="FILE", help="write it here, and not to standard output"
    )
    command.add_argument("--suite", default=SUITE, help="package of experiments (%(default)s)")
    for name in ("budget", "env_file"):
        option, typed = OPTIONS[name], f"--{name.replace('_', '-')}"
        command.add_argument(typed, metavar=option.takes, help=option.meaning)
    command.set_defaults(run=_paper)


def _paper(given: argparse.Namespace) -> int:
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
        return _told(checked_paper(_read(given.check, "--check"), brief), given)
    return _told(write_paper(brief, given.model, _terms(given, known.values())), given)


def _told(paper: Paper, given: argparse.Namespace) -> int:
    """Write or print the paper, and list its marks by their lines in it."""
    place, head = given.out, paper.head
    if place is not None:
        write(place, paper.text)
        tell(f"written: {place}")
    elif given.check is not None:
        place, head = given.check, paper.before
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
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        problem = "is not UTF-8 text"
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
    raise BadSetting(option=option, value=path, problem=problem)
