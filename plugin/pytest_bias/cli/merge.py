"""``pytest-bias merge``: the results of jobs that each ran a part of the suite, as one run."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from ..baselines.accepted import ends_soon
from ..baselines.table import (
    Upgrade,
    to_ask,
    unasked_of_models,
    unasked_words,
    uncompared_words,
    worst_first,
)
from ..cli import check_apart, tell, write
from ..errors import BadSetting, DamagedResults, NotMerged
from ..experiments.canonical import digest, dumps
from ..report.brief import brief_lines
from ..report.ci import summary_markdown
from ..report.escapes import plain_markdown
from ..report.results import results_text, view_of
from ..report.terminal import closing_lines
from ..report.view import AcceptedVerdict, RunView, Scope, is_below
from ..session.outputs import add_to_job_summary
from ..verdicts.analysis import Analysis
from ..workbench.clock import today

_T = TypeVar("_T")
_SHOWN = 5
_SAME = ("design", "replicates", "gate", "inconclusive")
"""Settings that are the same in all parts of a run."""


def _merge(given: argparse.Namespace) -> int:
    if given.shards is not None and given.shards < 1:
        raise BadSetting(option="--shards", value=given.shards, problem="must be from 1 up")
    check_apart((given.results, given.report, given.summary), given.files)
    try:
        parts = [_part(path) for path in sorted(given.files)]
        view = merged(parts, version=version("pytest-bias"), expected=given.shards, day=today())
    except (DamagedResults, NotMerged) as error:
        _summarise(given, f"## Bias: NO VERDICT\n\n{plain_markdown(str(error))}\n")
        # Nothing of an earlier merge stays, to be taken for this one's.
        for path in (given.results, given.report):
            if path is not None and path.is_file() and not path.is_symlink():
                with suppress(OSError):
                    path.unlink()
        raise
    written = _write_reports(given, view)
    written += _summarise(given, summary_markdown(view, written))
    _print(parts, view, written)
    return view.exit_status


def _summarise(given: argparse.Namespace, text: str) -> list[str]:
    """Write the summary where it was asked for, and where the job shows it; says where."""
    written: list[str] = []
    job = Path(named) if (named := os.environ.get("GITHUB_STEP_SUMMARY")) else None
    if given.summary is not None and (job is None or given.summary.resolve() != job.resolve()):
        write(given.summary, text)
        written.append(str(given.summary))
    if job is not None:
        for why in add_to_job_summary(job, text):
            tell(why, wrong=True)
    return written


def _part(path: Path) -> PartialRun:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        problem = f"it cannot be read ({error.strerror or error})"
        raise DamagedResults(path=path, problem=problem) from error
    except UnicodeDecodeError as error:
        raise DamagedResults(path=path, problem="it is no UTF-8 text") from error
    return PartialRun(name=path.as_posix(), digest=digest(text), view=view_of(text, str(path)))


def _write_reports(given: argparse.Namespace, view: RunView) -> list[str]:
    """Write what was asked for; says where."""
    written: list[str] = []
    if given.results is not None:
        write(given.results, results_text(view))
        written.append(str(given.results))
    if given.report is not None:
        from ..report.page import report_html  # noqa: PLC0415  (charts: only to write a page)

        write(given.report, report_html(view))
        written.append(str(given.report))
    return written


def _print(parts: Sequence[PartialRun], view: RunView, written: Sequence[str]) -> None:
    lines = [f"merged: {', '.join(part.name for part in parts)}", *brief_lines(view), ""]
    lines += [*closing_lines(view), *(f"written: {place}" for place in written)]
    tell("\n".join(lines))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialRun:
    """Results of one job: what they are called in messages, their text's digest, and the run."""

    name: str
    digest: str
    view: RunView

    @property
    def scope(self) -> Scope:
        """Return the part of the suite that these results cover.

        Raises NotMerged when nobody told.
        """
        if self.view.scope is None:
            raise NotMerged(parts=[self.name], problem="they do not say what they cover")
        return self.view.scope


def merged(
    parts: Sequence[PartialRun], *, version: str, expected: int | None = None, day: str = ""
) -> RunView:
    """The run of which these are the parts.

    What no part covers, a case that ended in two ways, and fewer or more parts than ``expected``
    (None where nobody counts) are problems of the run: it then gives no verdict. The parts, at
    least one, must be of this package's ``version``. ``day`` is today as YYYY-MM-DD: some
    acceptances end soon.

    Raises NotMerged when they are no parts of one run: one is there twice, they were made by
    different versions or with different designs or settings, or analyses differ.
    """
    _check_one_run(parts, version)
    cases, ended = _cases(parts)
    analyses = _analyses(parts)
    problems = [f"{part.name}: {problem}" for part in parts for problem in part.view.problems]
    problems += ended
    problems += _missing(parts, dict(cases))
    if expected is not None and len(parts) != expected:
        problems.append(f"{len(parts)} of {expected} parts are there")
    upgrade = _upgrade(parts)
    tested = {analysis.experiment for analysis in analyses}
    elsewhere = all(part.scope.elsewhere for part in parts)
    judged = _union(part.view.judged or () for part in parts)
    claimed = _union(part.view.unasked for part in parts)
    unasked = tuple(named for named in claimed if named not in judged)
    lost = _union(part.view.lost for part in parts)
    broken = _union(part.view.broken for part in parts)
    if not (problems or lost or broken):  # of those nobody knows what they asked
        if upgrade is not None:
            claims = to_ask(upgrade.unasked, tested, elsewhere=elsewhere)
            problems += unasked_words(claims, upgrade.old, "this suite")
            problems += uncompared_words(upgrade)
        problems += unasked_of_models(unasked, tested, elsewhere=elsewhere)
    problems += _unjudged(analyses, judged, cases, problems)
    accepted = _by_name(part.view.accepted for part in parts)
    scope = _scope(parts)
    view = RunView(
        analyses=analyses,
        cases=tuple(sorted(cases.items())),
        lost=lost,
        partial=scope.varied,
        problems=tuple(dict.fromkeys(problems)),
        version=version,
        judged=judged,
        broken=broken,
        leniencies=_leniencies(parts),
        accepted=accepted,
        ending=tuple(each for each in accepted if ends_soon(each.until, day)),
        expired=_by_name(part.view.expired for part in parts),
        failing=_union(part.view.failing for part in parts),
        scope=scope,
        upgrade=upgrade,
        stale=_union(part.view.stale for part in parts),
        failures=_union(part.view.failures for part in parts),
        unasked=unasked,
    )
    red = [part for part in parts if part.view.exit_status]
    if red and view.passes and not view.failures:
        words = [f"{p.name}: its run ended with exit status {p.view.exit_status}" for p in red]
        view = replace(view, problems=(*view.problems, *words))
    # What nobody judged is no pass of the whole, though it may be one of a part.
    good = view.passes and view.suite != "NOT JUDGED" and not red
    return replace(view, exit_status=int(not good))


def _check_one_run(parts: Sequence[PartialRun], version: str) -> None:
    by_digest: dict[str, PartialRun] = {}
    for part in parts:
        twin = by_digest.setdefault(part.digest, part)
        if twin is not part:
            raise NotMerged(parts=[twin.name, part.name], problem="they are the same part")
        if part.view.version != version:
            problem = f"it was made by pytest-bias {part.view.version}, this is {version}"
            raise NotMerged(parts=[part.name], problem=problem)
    for before, part in pairwise(parts):
        for name in _SAME:
            one, other = getattr(before.scope, name), getattr(part.scope, name)
            if one != other:
                problem = f"their {name} differs, {one} and {other}"
                raise NotMerged(parts=[before.name, part.name], problem=problem)


def _analyses(parts: Sequence[PartialRun]) -> tuple[Analysis, ...]:
    """Each analysis once; those that several parts made must be equal."""
    found: dict[tuple[str, str], tuple[Analysis, str, PartialRun]] = {}
    for part in parts:
        for analysis in part.view.analyses:
            said = digest(dumps(analysis, "analysis"))
            key = (analysis.experiment, analysis.model)
            first, first_said, beside = found.setdefault(key, (analysis, said, part))
            if said != first_said:
                what = f"{analysis.experiment} × {analysis.model}"
                problem = f"their analyses of {what} differ{_difference(first, analysis)}"
                raise NotMerged(parts=[beside.name, part.name], problem=problem)
    analyses = tuple(found[key][0] for key in sorted(found))
    told: dict[str, tuple[float, PartialRun]] = {}
    for one, _, part in found.values():
        own = f"the share of {one.experiment} is"
        for what, value in (("alarms are", one.allocation.alarms), (own, one.allocation.share)):
            before, beside = told.setdefault(what, (value, part))
            if value != before:
                problem = f"their error budgets differ: {what} {before:.4g} and {value:.4g}"
                raise NotMerged(parts=[beside.name, part.name], problem=problem)
    for model in _union(part.scope.models for part in parts):
        shares = [each.allocation for each in analyses if each.model == model]
        whole = sum(each.share for each in shares)
        # Without a table each experiment has it all. A sum of floats may be a little above 1.
        if any(each.tabled for each in shares) and whole > 1 + 1e-9:
            problem = f"their error budgets differ: with {model} all shares come to {whole:.4g}"
            raise NotMerged(parts=[part.name for part in parts], problem=problem)
    return analyses


def _difference(one: Analysis, other: Analysis) -> str:
    """Name the difference of two analyses, first of all in the replies they rest on."""
    if one.recording.checksum != other.recording.checksum:
        return ": they rest on different recordings"
    names = [f.name for f in fields(Analysis) if getattr(one, f.name) != getattr(other, f.name)]
    return f" in {', '.join(names)}"


def _cases(parts: Sequence[PartialRun]) -> tuple[dict[str, str], list[str]]:
    """Return the end of each case, and the cases of which two parts say different things."""
    ends: dict[str, tuple[str, PartialRun]] = {}
    problems: list[str] = []
    for part in parts:
        for case, outcome in part.view.cases:
            before, beside = ends.setdefault(case, (outcome, part))
            if before != outcome:
                problems.append(f"{case}: {before} in {beside.name}, {outcome} in {part.name}")
                # The worse of the two stays on the books.
                ends[case] = ("failed", part) if "failed" in (before, outcome) else ends[case]
    return {case: outcome for case, (outcome, _) in ends.items()}, problems


def _missing(parts: Sequence[PartialRun], cases: dict[str, str]) -> Iterator[str]:
    """Name the rest of the suite that no part covers, as far as the parts know of it."""
    for part in parts:
        for reason in part.scope.cut:
            yield f"{part.name} is no whole part: {reason}"
    everything = _union(part.scope.files for part in parts)
    for model in _union(part.scope.models for part in parts):
        own = [part.scope for part in parts if model in part.scope.models]
        asked = [scope.asked or scope.files for scope in own]  # all there is, as far as it knows
        lacking = [f for f in everything if not any(is_below(f, p) for a in asked for p in a)]
        if lacking:
            yield f"no part asked for {_some(lacking)} with {model}"
    unselected = _union(part.scope.unselected for part in parts)
    lost = _union(part.view.lost for part in parts)
    lacking = [case for case in unselected if case not in cases and case not in lost]
    if lacking:
        yield f"{len(lacking)} case{'s' * (len(lacking) > 1)} in no part: {_some(lacking)}"


def _unjudged(
    analyses: Iterable[Analysis],
    judged: Sequence[tuple[str, str, str]],
    cases: dict[str, str],
    problems: Sequence[str],
) -> Iterator[str]:
    """Hypotheses that were analysed and judged by nobody, where nothing else said why."""
    if problems or "failed" in cases.values():
        return
    for analysis in analyses:
        for verdict in analysis.verdicts:
            named = (verdict.experiment, verdict.model, verdict.id)
            if named not in judged:
                yield f"no part judged {verdict.id} of {verdict.experiment} × {verdict.model}"


def _leniencies(parts: Sequence[PartialRun]) -> tuple[str, ...]:
    """The parts' own words; where an xfail covers some of what was stopped, that it is some."""
    said = [part.view.leniencies for part in parts]
    words = _union(said, order=False)
    by_mark = [each for each in words if each.endswith("accepted by xfail")]
    if len(by_mark) > 1 or (by_mark and any(part.view.failing for part in parts)):
        return ("some accepted by xfail", *(each for each in words if each not in by_mark))
    return words


def _by_name(groups: Iterable[Iterable[AcceptedVerdict]]) -> tuple[AcceptedVerdict, ...]:
    found = {(each.experiment, each.model, each.id): each for group in groups for each in group}
    return tuple(found[key] for key in sorted(found))


def _upgrade(parts: Sequence[PartialRun]) -> Upgrade | None:
    """The table of the upgrade, where the parts were held against an old model: all of them."""
    found = [(part, part.view.upgrade) for part in parts]
    for (before, one), (part, other) in pairwise(found):
        if _against(one) != _against(other):
            problem = f"they were held against {_against(one)} and {_against(other)}"
            raise NotMerged(parts=[before.name, part.name], problem=problem)
    tables = [table for _, table in found if table is not None]
    if not tables:
        return None
    judged = {(experiment, id_) for p in parts for experiment, _, id_ in p.view.judged or ()}
    judged |= {(analysis.experiment, "") for p in parts for analysis in p.view.analyses}
    rows = {(row.experiment, row.model, row.hypothesis): row for t in tables for row in t.rows}
    return replace(
        tables[0],
        new=_union(table.new for table in tables),
        rows=worst_first(rows.values()),
        notes=_union(table.notes for table in tables),
        simulated=_union(table.simulated for table in tables),
        unasked=tuple(n for n in _union(t.unasked for t in tables) if n not in judged),
    )


def _against(table: Upgrade | None) -> str:
    return "no other model" if table is None else table.held_against


def _scope(parts: Sequence[PartialRun]) -> Scope:
    first = parts[0].scope
    return Scope(
        models=_union(part.scope.models for part in parts),
        design=first.design,
        replicates=first.replicates,
        gate=first.gate,
        inconclusive=first.inconclusive,
        asked=(),
        files=_union(part.scope.files for part in parts),
        unselected=(),
        cut=(),
        # Which models there are is another matter: they may be parts.
        varied=_union(
            [words for words in part.scope.varied if "bias_models" not in words] for part in parts
        ),
    )


def _union(groups: Iterable[Iterable[_T]], *, order: bool = True) -> tuple[_T, ...]:
    """Everything in ``groups`` once, sorted unless its own ``order`` is of no use."""
    found = list(dict.fromkeys(each for group in groups for each in group))
    return tuple(sorted(found, key=repr) if order else found)


def _some(names: Sequence[str]) -> str:
    rest = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + rest
