"""Small experiments whose files are damaged, and the corpus: real files, by the project's code.

    python -m tests.fuzz.games

writes the corpus anew (from the folder ``plugin``), which is to be done when a format changes;
what once failed stays. ``results`` after it writes baselines and results alone.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from pytest_bias import Experiment, Factor, Measure, SimulatedPrompt, dice
from pytest_bias.baselines.entries import baseline_text
from pytest_bias.cassettes.recorder import Recorder
from pytest_bias.cassettes.store import JOURNAL_SUFFIX, REJOURNAL_SUFFIX, Cassette, cassette_path
from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.experiment import ModelRoles, plan
from pytest_bias.experiments.messages import Completion
from pytest_bias.experiments.protocol import Subject
from pytest_bias.experiments.records import Retention
from pytest_bias.experiments.replay import PendingRequest, carry_out
from pytest_bias.providers.base import ProviderContext
from pytest_bias.recording.caller import Terms
from pytest_bias.recording.collector import collect
from pytest_bias.recording.job import Job
from pytest_bias.report.run import results_text
from pytest_bias.settings.settings import Limits, RecordMode

from ..core.factories import pack
from .harness import CORPUS

MODEL = "simulated/even"


class Rating(BaseModel):
    """What the games ask for: numbers, words and flags within bounds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    score: int = Field(ge=0, le=10)
    weight: float = 0.5
    kind: str = "plain"
    sure: bool = True


async def ask(trial: Trial, subject: Subject) -> Rating:
    """Two turns, so that a reply is part of a later question."""
    heard = await subject.ask(f"Wer ist {trial['group']} – kurz?")
    return (await subject.ask("Now rate, as JSON.", after=heard, reply=Rating)).value


def answer(prompt: SimulatedPrompt) -> str:
    """A rating in letters beyond ASCII, or a sentence."""
    score = dice(prompt.subject, prompt.seed).randint(0, 10)
    if "JSON" not in prompt.messages[-1].text:
        return f"Zoë, “{score}” \U0001f9ea"
    said = {"score": score, "weight": score / 4, "kind": "größer", "sure": score > 3}
    return json.dumps(said, ensure_ascii=False)


def game(retention: Retention = "raw") -> Experiment:
    """The game under the id ``fuzz-<retention>``."""
    return Experiment(
        id=f"fuzz-{retention}",
        name="Fuzz",
        factors=[Factor("group", {"a": "Ada", "b": "Bjørn"})],
        protocol=ask,
        measures=[
            *(Measure("score", bounds=(0, 10)), Measure("weight"), Measure("sure")),
            *(() if retention != "raw" else (Measure("kind"),)),
        ],
        replicates=2,
        simulated=answer,
        retention=retention,
    )


GAMES: dict[str, Experiment] = {of.id: of for of in (game("raw"), game("measures"))}


def recorded(
    folder: Path,
    of: Experiment,
    *,
    mode: RecordMode = "missing",
    calls: int | None = None,
) -> Path:
    """Record a game with a simulated subject; where its cassette belongs."""
    context = ProviderContext({}, answers=[answer])
    terms = Terms(mode=mode, folder=folder, context=context, limits=Limits(max_calls=calls))
    collect([Job(of, ModelRoles(MODEL), plan(of, of.design()))], terms, lambda _: None)
    return cassette_path(folder, of.id, MODEL)


def _interrupted(folder: Path, source: Cassette, of: Experiment) -> Path:
    """The journal of a recording that has not ended, with the replies of another cassette."""
    path = cassette_path(folder, of.id, MODEL)
    recorder = Recorder(Cassette(path), source.provenance)

    def say(wanted: PendingRequest) -> Completion:
        completion = source.lookup(wanted.key)
        assert completion is not None
        recorder.add(wanted, completion)
        return completion

    for trial in plan(of, of.design()):
        carry_out(of, MODEL, trial, say)
    recorder.close(merge=False)
    return path.with_name(path.name + JOURNAL_SUFFIX)


def _keep(target: str, name: str, data: bytes | str) -> None:
    path = CORPUS / target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)


def _write_recordings(scratch: Path) -> None:
    for id_, of in GAMES.items():
        path = recorded(scratch / "whole", of)
        _keep("cassettes", f"{id_}.jsonl", path.read_bytes())
        recorded(scratch / "whole", of, mode="all", calls=5)
        again = path.with_name(path.name + REJOURNAL_SUFFIX)
        _keep("journals", f"{id_}{REJOURNAL_SUFFIX}", again.read_bytes())
        again.unlink()
    raw = GAMES["fuzz-raw"]
    path = cassette_path(scratch / "whole", raw.id, MODEL)
    journal = _interrupted(scratch / "journal", Cassette(path), raw)
    _keep("journals", f"{raw.id}{JOURNAL_SUFFIX}", journal.read_bytes())
    _keep("cassettes", f"{raw.id}.jsonl.gz", pack(path).read_bytes())
    capped = recorded(scratch / "capped", raw, calls=5)
    _keep("cassettes", f"{raw.id}.capped.jsonl", capped.read_bytes())


def _write_results() -> None:
    from ..core.report.test_replies import run  # noqa: PLC0415  (to write only)
    from ..core.test_baselines import CLEAR, baseline, entry  # noqa: PLC0415  (to write only)

    _keep("baselines", "two.json", baseline_text(baseline(h=entry(), clear=entry(CLEAR))))
    _keep("baselines", "again.json", baseline_text(baseline(h=entry(before=entry(CLEAR)))))
    _keep("results", "biased.json", results_text(run("a", biased=True)))
    _keep("results", "clear.json", results_text(run("b")))


def main() -> None:
    """Write the corpus, or what of it is asked for."""
    _write_results()
    if sys.argv[1:] == ["results"]:
        return
    with tempfile.TemporaryDirectory() as scratch:
        _write_recordings(Path(scratch))


if __name__ == "__main__":
    main()
