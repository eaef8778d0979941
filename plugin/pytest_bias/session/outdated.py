"""Age of what a plan finds recorded: reasons for which it represents its model no longer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from ..cassettes.staleness import dated
from ..errors import BiasError
from ..experiments.records import Origin

if TYPE_CHECKING:
    from ..cassettes.store import Cassette
    from ..contrasts.cases import Case
    from .run import Run


def why_outdated(run: Run, case: Case) -> tuple[str, ...]:
    """Return why recordings represent the model no longer; of a part only their age is known."""
    try:
        recording = run.analysis(case)[0].recording
    except Exception:  # noqa: BLE001  (missing, damaged, or the author's code: told elsewhere)
        try:
            recording = dated(run.recording(case), _replies(run.cassette(case)))
        except (BiasError, OSError):
            return ()
    found = run.stale(case, recording)
    return () if found is None else found.reasons


def _replies(cassette: Cassette) -> Iterator[Origin]:
    """Yield when the replies of a cassette were recorded, whoever gave them."""
    for interaction in cassette.interactions():
        yield Origin("subject", "", interaction.completion.recorded_at)
    for trial in cassette.measured_trials():
        for call in trial.calls:
            yield Origin("subject", "", cast("str | None", call["recorded_at"]))
