"""Result of a session: what was reported, what was let through, and what else is written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import pytest

from ..errors import Diagnostics
from ..report.run import AcceptedVerdict, RunResult, Scope
from ..verdicts.analysis import Analysis
from ..verdicts.wording import number_text
from .outputs import write_all
from .upgrade import not_collected_in_run, upgrade_of_run

if TYPE_CHECKING:
    from .state import ReportedCases, State


def result_of_run(state: State, exitstatus: int) -> RunResult:
    """Write the reports and return the result of the run.

    Its exit status is never 0 where a selected case has no result. Nothing is written after an
    internal error of pytest.
    """
    reported, reports = state.reported, tuple(state.reported.results.values())
    analyses, missing = _analyses(state)
    diagnostics = state.diagnostics + missing + Diagnostics(errors=tuple(_damaged(reported)))
    accepted = tuple(_accepted_verdicts(reported, "accepted", "xfailed"))
    run = RunResult(
        analyses=analyses,
        cases=tuple(sorted(reported.outcomes.items())),
        lost=reported.lost,
        partial=tuple(_partial(state)),
        problems=(),
        broken=reported.broken,
        leniencies=tuple(_short_leniencies(state)),
        judged=tuple(sorted({r.named for r in reports if r.kind == "hypothesis"})),
        accepted=accepted,
        ending=tuple(each for each in accepted if each.ends_soon(state.settings.today)),
        expired=tuple(_accepted_verdicts(reported, "expired", "failed")),
        failing=tuple(sorted(set(_failing(reported)))),
        scope=_scope(state),
        stale=tuple(sorted({state.portable(r.stale) for r in reports if r.stale})),
        failures=tuple(sorted(reported.failures)),
        exit_status=exitstatus,
        version=version("pytest-bias"),
    )
    upgrade, of_old = upgrade_of_run(state, run)
    diagnostics += of_old + not_collected_in_run(state, run)
    run = replace(run, upgrade=upgrade, problems=diagnostics.errors)
    internal_error = exitstatus == pytest.ExitCode.INTERNAL_ERROR
    if not internal_error:
        if state.settings.dataset is not None or state.settings.exports is not None:
            from .exports import write_published  # noqa: PLC0415  (only where requested)

            diagnostics += write_published(state)
        diagnostics += _results_taken(state, replace(run, problems=diagnostics.errors))
    if state.settings.accept is not None:
        diagnostics += _accept(state, run, diagnostics.errors)
    diagnostics = replace(diagnostics, errors=tuple(map(state.portable, diagnostics.errors)))
    run = replace(run, problems=diagnostics.errors)
    if internal_error:
        return run
    if not analyses and run.suite == "NO VERDICT":
        run = replace(run, partial=(*run.partial, "nothing could be analysed"))
    run, diagnostics = write_all(state, run, diagnostics, exitstatus)
    return replace(
        run, notes=(*diagnostics.notes, *_leniencies(state)), written=diagnostics.written
    )


# --- what was reported ------------------------------------------------------------------------


def _scope(state: State) -> Scope:
    settings = state.settings
    return Scope(
        models=tuple(sorted(settings.models)),
        design=settings.design,
        replicates=settings.replicates,
        gate=settings.gate,
        inconclusive=settings.inconclusive,
        varied=tuple(state.suite.varied(settings.models)),
    )


def _partial(state: State) -> Iterator[str]:
    """Reasons why this run is not the whole suite as its ini file configures it."""
    suite, reported = state.suite, state.reported
    yield from suite.narrowed
    yield from (f"only {part} was asked for" for part in suite.parts)
    # The cases of modules that failed are unknown; workers run the others all the same.
    failed = sum(why == "" for why in state.unfinished.values())
    for number, noun, how in (
        (failed, "error", "during collection"),
        (len(reported.unselected), "case", "not selected"),
        (len(reported.lost), "case", "without a verdict"),
    ):
        if number:
            yield f"{number_text(number, noun)} {how}"
    if state.interrupted:
        yield "recording was interrupted"
    yield from suite.varied(state.settings.models)


def _damaged(reported: ReportedCases) -> Iterator[str]:
    """Results that cannot be read, and cases that another plugin's hook let pass."""
    for case, words in sorted(reported.damaged.items()):
        yield f"{case}: {words}"
    for case in reported.overruled:
        yield (
            f"{case} did not pass the gate and was not reported as failed: a hook or plugin "
            "changed it"
        )


def _analyses(state: State) -> tuple[tuple[Analysis, ...], Diagnostics]:
    """The analyses the reported cases rest on, each with the digest that they report, sorted."""
    digests: dict[tuple[str, str], dict[str, str]] = {}
    for case, result in sorted(state.reported.results.items()):
        if result.analysis:
            digests.setdefault((result.experiment, result.model), {})[case] = result.analysis
    found, wrong = [], []
    for key, cases in sorted(digests.items()):
        made = state.workspace.read(*key)
        differ = [case for case, digest in cases.items() if made is None or made.digest != digest]
        wrong += [f"the analysis behind {case} is lost or was changed" for case in differ]
        if made is not None and not differ:
            found.append(made.analysis)
    return tuple(found), Diagnostics(errors=tuple(wrong))


def _failing(reported: ReportedCases) -> Iterator[tuple[str, str, str]]:
    """Names of the hypotheses that the gate stopped and nothing let through."""
    for case in reported.stopped:
        result, failed = reported.results[case], reported.outcomes.get(case) == "failed"
        if result.kind == "hypothesis" and (failed or result.fails):
            yield result.named


def _accepted_verdicts(
    reported: ReportedCases, how: Literal["accepted", "expired"], outcome: str
) -> Iterator[AcceptedVerdict]:
    """Verdicts that the gate stopped and an acceptance let through, or did before, sorted."""
    found = {  # one hypothesis may have several cases
        result.named: (result, acceptance)
        for case, result in reported.results.items()
        if result.stopped and (acceptance := getattr(result.comparison, how)) is not None
        if reported.outcomes.get(case) == outcome
    }
    for _, (result, acceptance) in sorted(found.items()):
        assert result.status is not None  # noqa: S101  (only hypotheses are accepted)
        yield AcceptedVerdict(
            experiment=result.experiment,
            model=result.model,
            id=result.id,
            status=result.status,
            reason=acceptance.reason,
            owner=acceptance.owner,
            until=acceptance.until,
        )


def _accept(state: State, run: RunResult, problems: tuple[str, ...]) -> Diagnostics:
    """Accept the verdicts of this run; those of a run that was cut short are never accepted."""
    from ..baselines.accept import accept, refused  # noqa: PLC0415  (only where it is asked for)

    whole = pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED
    if state.interrupted or run.exit_status not in whole:
        return refused("the run was cut short")
    if run.lost:
        return refused(f"of {len(run.lost)} selected cases there is no verdict")
    if broken := (*run.broken, *_failed_though_accepted(state)):
        return refused(f"{broken[0]} failed for another reason than a verdict")
    if problems:
        return refused("see the other problems")
    is_part = bool(run.fewer) or not state.suite.is_all
    results = state.reported.results.values()
    judged = {r.named: r.comparison.fingerprint for r in results if r.kind == "hypothesis"}
    return accept(state.settings, run.analyses, judged, partial=is_part)


def _failed_though_accepted(state: State) -> Iterator[str]:
    """Cases that failed although their verdict is accepted: by another error, or in tear-down."""
    reported = state.reported
    if not state.config.option.runxfail:
        for case in reported.stopped:
            accepted = reported.results[case].comparison.accepted
            if accepted is not None and reported.outcomes[case] == "failed":
                yield case


def _leniencies(state: State) -> Iterator[str]:
    """Cases that an xfail let through, and what has improved, so that no green run hides it."""
    for case, outcome in sorted(state.reported.outcomes.items()):
        result = state.reported.results.get(case)
        if outcome == "xfailed" and not (result and (result.known or result.fails)):
            yield f"accepted by xfail: {case}"
        comparison = None if result is None else result.comparison
        if result and comparison and comparison.outcome == "improved" and comparison.old is None:
            where = f"{result.experiment} × {result.model}, {result.id}"
            yield f"{where}: {comparison.words}"  # of an upgrade its table says so


def _short_leniencies(state: State) -> Iterator[str]:
    """The same in a few words, for the closing line of a run that is not PASS."""
    if state.settings.gate == "off":
        yield "not gated"
        return
    reported = state.reported
    known = {case for case, result in reported.results.items() if result.known or result.fails}
    stopped = [case for case in reported.stopped if case not in known]
    accepted = [case for case in stopped if reported.outcomes.get(case) == "xfailed"]
    if accepted:
        yield f"{'' if len(accepted) == len(stopped) else f'{len(accepted)} '}accepted by xfail"
    if state.settings.inconclusive == "pass":
        yield "bias_inconclusive = pass"


# --- other plugins ----------------------------------------------------------------------------


def _results_taken(state: State, run: RunResult) -> Diagnostics:
    """Hand the results to each plugin that takes them; its error is a problem of the run."""
    config, diagnostics = state.config, Diagnostics()
    for plugin in reversed(config.hook.pytest_bias_results.get_hookimpls()):
        so_far = replace(run, problems=run.problems + diagnostics.errors)
        given = {"config": config, "view": so_far}
        try:
            written = plugin.function(*(given[name] for name in plugin.argnames))
            paths = map(_path, cast("Iterable[object]", written or ()))
            diagnostics += Diagnostics(written=tuple(paths))
        except Exception as error:  # noqa: BLE001  (a plugin's code: anything)
            name = plugin.plugin_name.removeprefix(f"{config.rootpath}{os.sep}")
            problem = f"pytest_bias_results of {name} failed with {type(error).__name__}: {error}"
            diagnostics += Diagnostics(errors=(problem,))
    return diagnostics


def _path(written: object) -> Path:
    if not isinstance(written, Path):
        problem = f"it returned a {type(written).__name__} among the files written, not a Path"
        raise TypeError(problem)
    return written
