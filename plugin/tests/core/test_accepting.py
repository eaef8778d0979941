"""Accepting: a run's verdicts are written beside those of others, and nothing is lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from filelock import FileLock

from pytest_bias.baselines import accept as accepting
from pytest_bias.baselines.accept import accept
from pytest_bias.baselines.accepted import baseline_path, read_baseline
from pytest_bias.baselines.entries import Baseline, baseline_text
from pytest_bias.contrasts.declared import Claim
from pytest_bias.errors import Diagnostics
from pytest_bias.settings.settings import Settings
from pytest_bias.verdicts.verdict import Verdict

from ..helpers import there
from .report.factory import analysis, finding, verdict
from .test_settings import settings as settings_of

MODEL = "simulated/biased"
WORDS = {"accept": True, "accept_reason": "known", "accept_until": "2999-12-31"}


def settings(folder: Path, owner: str = "ann", **options: object) -> Settings:
    asked = {**WORDS, "accept_owner": owner, "baselines": str(folder), **options}
    return settings_of(asked)


def biased(name: str, claim: Claim = "clear", **found: Any) -> Verdict:
    return verdict(finding(**found), id=name, claim=claim)


def accept_now(
    chosen: Settings, *names: str, partial: bool = True, claim: Claim = "clear", **found: Any
) -> Diagnostics:
    """Accept the verdicts ``names``, in a run of a part of the suite or of all of it."""
    verdicts = [biased(name, claim, **found) for name in names]
    fingerprints = {one.named: {"hypothesis": {"id": one.id}} for one in verdicts}
    return accept(chosen, [analysis(*verdicts)], fingerprints, partial=partial)


def owners(folder: Path) -> dict[str, str]:
    """Hypothesis → who accepted it."""
    found = there(read_baseline(folder, MODEL))
    return {
        name: entry.accepted.owner
        for entries in found.verdicts.values()
        for name, entry in entries.items()
        if entry.accepted is not None
    }


def test_what_is_accepted_is_written_and_nothing_else_is_left(tmp_path: Path) -> None:
    found = accept_now(settings(tmp_path / "kept"), "one", "two")
    assert found.errors == ()
    by_ann = "accepted by ann until 2999-12-31: known"
    shown = f"BIASED (beyond the margin) for this vignette; {by_ann} (new)"
    assert found.notes == (
        f"accepted: 2 verdicts of {MODEL}",
        f"  anchoring one: {shown}",
        f"  anchoring two: {shown}",
    )
    assert found.written == (baseline_path(tmp_path / "kept", MODEL),)
    assert list((tmp_path / "kept").iterdir()) == list(found.written)
    assert owners(tmp_path / "kept") == {"one": "ann", "two": "ann"}


def test_runs_that_accept_at_the_same_moment_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[Thread] = []

    def reading(folder: Path, model: str) -> Baseline | None:
        found = read_baseline(folder, model)
        if not others:
            # Another run begins now that this one has read the file, and has yet to write it.
            others.append(Thread(target=accept_now, args=(settings(tmp_path, "bob"), "two")))
            others[0].start()
            others[0].join(0.2)  # it would be done, if it did not wait
        return found

    monkeypatch.setattr(accepting, "read_baseline", reading)
    accept_now(settings(tmp_path), "one")
    others[0].join()
    assert owners(tmp_path) == {"one": "ann", "two": "bob"}


def test_what_was_accepted_of_the_version_before_counts_on(tmp_path: Path) -> None:
    # Versions have names of their own: without it each would start anew, ten small steps pass.
    assert accept_now(settings(tmp_path), "one", "two").errors == ()
    path = baseline_path(tmp_path, MODEL)
    before = there(read_baseline(tmp_path, MODEL))
    ((experiment, entries),) = before.verdicts.items()
    effect = there(entries["one"].effect)
    small = replace(effect, estimate=effect.estimate / 4, cassette="small")
    changed = {
        "one": replace(entries["one"], effect=small),
        "two": replace(entries["two"], effect=small, fingerprint={"margin": 9}),
    }
    old = replace(before, model="simulated/old", verdicts={experiment: changed})
    text = baseline_text(old)
    path.unlink()
    baseline_path(tmp_path, "simulated/old").write_text(text, encoding="utf-8")

    chosen = settings(tmp_path, baseline="simulated/old")
    for partial in (True, False):  # what is there already follows, too
        found = accept_now(chosen, "one", "two", partial=partial)
        assert found.errors == ()
        now = there(read_baseline(tmp_path, MODEL))
        assert now.verdicts[experiment]["one"].versions == (small, effect)
        assert now.verdicts[experiment]["two"].versions == (effect,)  # of another design


def test_there_must_be_something_to_follow(tmp_path: Path) -> None:
    chosen = settings(tmp_path, baseline="simulated/old")
    (problem,) = accept_now(chosen, "one").errors
    assert problem.startswith("nothing was accepted: --bias-baseline=simulated/old: there is")
    baseline_path(tmp_path, "simulated/old").parent.mkdir(exist_ok=True)
    baseline_path(tmp_path, "simulated/old").write_text("{}", encoding="utf-8")
    (problem,) = accept_now(chosen, "one").errors
    assert "simulated--old.json" in problem
    assert not baseline_path(tmp_path, MODEL).exists()


def test_a_run_that_goes_on_accepting_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accepting, "_WAIT", 0)
    with FileLock(tmp_path / ".accepting.lock"):
        (problem,) = accept_now(settings(tmp_path), "one").errors
    assert problem.startswith("nothing was accepted: another run has been accepting into")
    assert not baseline_path(tmp_path, MODEL).exists()


def test_nothing_is_accepted_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (problem,) = accept_now(settings(tmp_path / "file" / "below"), "one").errors
    assert problem.startswith("nothing was accepted: ")
    assert "cannot be written to" in problem
