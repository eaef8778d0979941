"""The commands ``paper``, ``compare`` and ``cassettes``: of results and recordings as files."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator
from os.path import realpath
from pathlib import Path

from ..baselines.accepted import needed_baseline
from ..baselines.entries import is_stopped
from ..baselines.gate import BaselineDiffers, compare
from ..cassettes.files import is_there, unread
from ..cassettes.format import text_digest
from ..cassettes.maintenance import convert, join
from ..cassettes.store import (
    PACKED_SUFFIX,
    SUFFIX,
    Cassette,
    begun_in,
    journals_of,
    packed_path,
    place_of,
)
from ..errors import BadSetting, BiasError, FileProblem, UnknownName
from ..experiments.canonical import plain
from ..report.paper import Paper, brief_of, checked_paper, write_paper
from ..report.run import read_results
from ..report.terminal import printed, upgrade_markdown
from ..report.upgrade_table import Upgrade, UpgradeRow, row_of, worst_first
from ..report.wording import unasked_text, uncompared_text
from ..settings.given import today
from ..settings.model_names import answered_text
from ..settings.settings import names_file
from ..verdicts.analysis import Analysis
from ..workbench.plans import terms_of
from ..workbench.project import Project
from ..workbench.suite import configured, find_experiments
from . import from_here, tell, tell_json, write

FORMAT = 2
"""Format version of the printed JSON."""

_BETWEEN = "--"  # <provider>--<model>
_ENDS = (SUFFIX, SUFFIX + PACKED_SUFFIX)


def _paper(given: argparse.Namespace) -> int:
    view = read_results(_read(given.results, "RESULTS"), str(given.results))
    analysis = _chosen(view.analyses, given.experiment, given.of)
    known = {each.id: each for each in find_experiments(given.suite)}
    if analysis.experiment not in known:
        hint = f"its prompts are not known; --suite names its package ({given.suite})"
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


def tell_paper(paper: Paper, path: Path | None, *, whole: bool = True) -> int:
    """Write or print the paper, if ``whole``, and list its problems; 1 where there are any."""
    if path is not None:
        write(path, paper.text)
        tell(f"written: {path}")
    elif whole:
        tell(f"----- begin paper -----\n{paper.text}----- end paper -----")
    for problem in paper.problems:
        tell(f"{path or 'paper'}: {problem}", wrong=True)
    return int(bool(paper.problems))


def _chosen(analyses: tuple[Analysis, ...], experiment: str | None, model: str | None) -> Analysis:
    """The one analysis of that experiment and model; BadSetting unless there is one."""
    chosen = [a for a in analyses if {experiment, model} <= {None, a.experiment, a.model}]
    if len(chosen) != 1:
        known = ", ".join(f"{each.experiment} × {each.model}" for each in analyses) or "none"
        problem = f"{len(chosen)} analyses of the run are meant, and one is needed; it has {known}"
        raise BadSetting(option="--experiment, --of", value=None, problem=problem)
    return chosen[0]


def _read(path: Path, option: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")  # editors begin a file with a mark
    except (OSError, UnicodeDecodeError) as error:
        problem = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise BadSetting(option=option, value=path, problem=problem) from None


def _compare(given: argparse.Namespace) -> int:
    for option, name in (("OLD", given.old), ("NEW", given.new)):
        if not names_file(Path(name)):
            problem = (
                "is no baseline file (….json). Compare models with a model or a file by "
                "pytest --bias-model=NEW --bias-baseline=OLD (--bias-summary=comment.md writes it)"
            )
            raise BadSetting(option=option, value=name, problem=problem)
    upgrade, problems = upgrade_of_files(Path(given.old), Path(given.new), today=today())
    problems += uncompared_text(upgrade)
    but = "not everything could be judged" if problems else ""
    if given.json:
        made = plain(upgrade, "upgrade")
        tell_json({"format": FORMAT, "problems": list(problems), "upgrade": made})
    else:
        for line in printed(upgrade, but):
            tell(line)
    if given.markdown is not None:
        write(given.markdown, upgrade_markdown(upgrade, but, problems))
    for problem in problems:
        tell(f"pytest-bias: {problem}", wrong=True)
    return 2 if problems else int(bool(upgrade.stopped))


def upgrade_of_files(old: Path, new: Path, *, today: str) -> tuple[Upgrade, tuple[str, ...]]:
    """The upgrade from one baseline file to another, and what could not be compared.

    What the old file accepts holds until its day.
    """
    before, now = needed_baseline(old), needed_baseline(new)
    rows: list[UpgradeRow] = []
    problems: list[str] = []
    for experiment, entries in sorted(now.verdicts.items()):
        known = before.known(experiment)
        for name, entry in sorted(entries.items()):
            named = (experiment, now.model, name)
            was = before.entry(experiment, name)
            try:
                compared = compare(named, entry, was, today=today, known=known)
            except BaselineDiffers as differs:
                problems.append(str(differs))
                continue
            if entry.claim != "describe":
                stops = is_stopped(entry.status, entry.claim)
                rows.append(row_of(named, entry, compared, stops=stops))
    problems += unasked_text(before.unasked(now.claimed), before.model, new.name)
    answered = [(each.model, served) for each in (before, now) for served in each.served]
    upgrade = Upgrade(
        old=before.model,
        new=(now.model,),
        file=True,
        rows=worst_first(rows),
        notes=answered_text(answered),
        simulated=tuple(sorted({each.model for each in (before, now) if each.simulated})),
    )
    return upgrade, tuple(problems)


# --- cassettes -----------------------------------------------------------------------------------


def _join(given: argparse.Namespace) -> int:
    """Join cassettes by their folders into one folder, and print a line of each; exit status 0."""
    cassettes = _all_cassettes(given.paths)
    try:
        joined = join(cassettes, given.into.absolute())
    except OSError as error:
        problem = error.strerror or str(error)
        raise BadSetting(option="--into", value=given.into, problem=problem) from None
    if given.json:
        rows = [
            {"path": from_here(e.path), "parts": e.parts, "lines": e.lines, "added": e.added}
            for e in joined
        ]
        tell_json(rows)
        return 0
    for each in joined:
        tell(
            f"{from_here(each.path)}: {each.lines:,} lines, {each.added:,} of them new, from "
            f"{each.parts} {'cassette' if each.parts == 1 else 'cassettes'}"
        )
    return 0


def _convert(given: argparse.Namespace) -> int:
    for path in _all_cassettes(given.paths):
        tell(f"{from_here(path)}: {convert(path) or 'is in the current format'}")
    return 0


def _verify(given: argparse.Namespace) -> int:
    status = 0
    for path in _all_cassettes(given.paths or [configured().cassettes]):
        try:
            cassette = Cassette(path)
            texts = {text_digest(text) for text in cassette.texts().values()}
            sent = (pair for each in cassette.interactions() for pair in each.messages)
            if lacking := {text for role, text in sent if role != "assistant"} - texts:
                problem = f"the texts of {len(lacking)} messages are missing"
                raise FileProblem(path=cassette.path, problem=problem)
        except BiasError as error:
            tell(f"{from_here(path)}: {error}", wrong=True)
            status = 1
        else:
            lines = f"{len(cassette):,} lines, undamaged" if len(cassette) else "empty"
            tell(f"{from_here(cassette.path)}: {lines}")
    return status


def _all_cassettes(paths: Iterable[Path]) -> list[Path]:
    """The absolute paths of the cassettes in some paths, each once."""
    return [*dict.fromkeys(each.absolute() for path in paths for each in cassettes_of(path))]


def cassettes_of(given: Path) -> Iterator[Path]:
    """Yield the paths of the cassettes in a path, those of which only a journal is there too.

    Raises FileProblem where there is none, and NotReadable for a folder that cannot be read.
    """
    if is_there(given) and given.is_dir():
        found = [
            place
            for folder in _folders(given)
            for place in begun_in(folder)
            if _BETWEEN in place.name
        ]
        if not found:
            raise FileProblem(path=given, problem="is no cassette, and holds none this folder")
        yield from found
        return
    if not (given.name.endswith(_ENDS) and _BETWEEN in given.name):
        problem = f"is no cassette: those are <provider>{_BETWEEN}<model>{SUFFIX} (or …{_ENDS[1]})"
        raise FileProblem(path=given, problem=problem)
    place = place_of(given)
    if not any(map(is_there, (place, packed_path(place), *journals_of(place)))):
        raise FileProblem(path=given, problem="is no cassette: there is no such file")
    yield place


def _folders(path: Path) -> Iterator[Path]:
    """Yield a folder and all below it, through links as well: each once, links last."""

    def refuse(error: OSError) -> None:
        raise unread(Path(error.filename), error) from None

    seen, tops = set[str](), [path]
    for top in tops:
        for name, below, _ in os.walk(top, onerror=refuse):
            if (real := realpath(name)) in seen:
                below.clear()
                continue
            seen.add(real)
            below.sort()
            tops += [link for each in below if (link := Path(name, each)).is_symlink()]
            yield Path(name)
