"""No text anywhere: what is asked and replied leaves no trace on disk, in reports or in print."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
import signal
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ..helpers import Asked, answering, saying
from .suites import INI, Suite
from .suites import TESTS as OF_COIN

KEY = "a2V5LWEta2V5LWEta2V5LWEta2V5LWEta2V5LWEta2U="
ASKED = 'zebra7ask\u00e9 "quoted"'
REPLIED = 'zebra7said\u00e9 "quoted"'
MARKS = ("zebra7ask", "zebra7said", "zebra7level")
"""What every planted text holds; the endings differ in print, in JSON and in HTML."""

STIMULI = "stimuli.txt"

_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{16,}={0,2}")

EXPERIMENT = '''\
"""A cue that must not move a number, asked and answered in marked words."""

import json
import pathlib

from pydantic import BaseModel, ConfigDict

from pytest_bias import Experiment, Factor, InvalidReply, Measure, dice

QUESTION, LEVEL, ANSWER = (
    pathlib.Path(__file__).with_name("stimuli.txt").read_text(encoding="utf-8").splitlines()
)


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    number: int
    why: str
    cue: str


async def guess(trial, subject):
    heard = await subject.ask(f"{QUESTION} The cue is {trial['cue']}.", system=QUESTION)
    #AFTER
    reply = await subject.ask(f"So? {QUESTION}", after=heard, reply=Answer)
    return reply.value


def simulated(prompt):
    told = prompt.messages[1].text if len(prompt.messages) > 1 else ""
    if not told.startswith(QUESTION):
        return None
    #CALLED
    if len(prompt.messages) == 2:
        return f"I heard: {ANSWER}"
    draw = dice(prompt.subject, prompt.seed)
    if draw.random() < 0.1:
        return f"I cannot: {ANSWER}"
    cue = "high" if "is high" in told else "low"
    effect = {"even": 0, "biased": 6, "drifted": 8}[prompt.subject] * (cue == "high")
    return json.dumps({"number": 10 + effect + round(draw.gauss(0, 1)), "why": ANSWER, "cue": cue})


GAME = Experiment(
    id="game-planted",
    name="Game",
    factors=[Factor("cue", {"low": "low", "high": "high"})],
    protocol=guess,
    measures=[
        Measure("number", bounds=(2, 22)),
        Measure("noticed", lambda a: a.cue == "high", kind="flag"),
    ],
    replicates=30,
    retention="RETENTION",
    simulated=simulated,
)
'''

TOLD = '    assert all(condition["cue"] in outcome.prompts[0] for outcome in recorded)\n'
TESTS = OF_COIN.replace(TOLD, "    #BODY\n    assert recorded\n").replace("n=2.0", "n=4.0")

LOUD = ("-vv", "-l", "--tb=long", "-rA", "--junitxml=junit.xml", "--html=page.html")
PLUGINS = ("-p", "pytest_metadata.plugin", "-p", "pytest_html.plugin")
RECORD = ("--bias-record=missing",)


def temporary_inside(suite: Suite) -> Suite:
    """Write a page as well, and have the temporary folder in the suite's own."""
    suite.file("pytest.ini", INI.replace("bias_report = off\n", ""))
    (suite.path / "tmp").mkdir()
    suite.monkeypatch.setenv("TMPDIR", str(suite.path / "tmp"))
    return suite


@pytest.fixture
def planted(empty: Suite) -> Suite:
    """A suite that keeps measures only."""
    source = EXPERIMENT.replace("RETENTION", "measures")
    empty.package("coin", experiment=source, test_coin=TESTS)
    empty.file(f"bias_tests/coin/{STIMULI}", f"{ASKED}\nzebra7level\n{REPLIED}\n")
    return temporary_inside(empty)


def change(suite: Suite, old: str, new: str) -> None:
    """Put code into a place of the suite that is marked for it."""
    file = "test_coin.py" if old == "#BODY" else "experiment.py"
    suite.change(f"bias_tests/coin/{file}", old, new)


def run(suite: Suite, *arguments: str, workers: int | None = None) -> pytest.RunResult:
    """Run with all that may print or write, and look for planted words in what came of it."""
    result = suite.run(*PLUGINS, *LOUD, *arguments, workers=workers)
    said = f"{result.stdout.str()}\n{result.stderr.str()}"
    assert traces(suite, said) == []
    return result


def traces(suite: Suite, *said: str) -> list[str]:
    """Where planted words are found: in what was printed, and in every file but the stimuli."""
    found = [f"printed: {line}" for text in said for line in text.splitlines() if marked(line)]
    for path in suite.path.rglob("*"):
        inside = path.relative_to(suite.path)
        if marked(str(inside)):
            found.append(f"{path}: its name")
        is_stimulus = any(part.startswith("stimuli") for part in inside.parts)
        if path.is_file() and not is_stimulus and marked(path.read_bytes()):
            found.append(str(path))
    return found


def marked(data: bytes | str) -> bool:
    """Return whether a mark stands in ``data``, in whatever form."""
    parts = forms(data.encode() if isinstance(data, str) else data)
    return any(mark.encode() in part for part in parts for mark in MARKS)


def forms(data: bytes) -> Iterator[bytes]:
    """What is in ``data``, as it is and in the forms that hide it from a search."""
    yield data.replace(b"\0", b"")  # UTF-16 of a Latin text
    yield from inflated(data)
    for match in _BASE64.finditer(data):
        found = match.group().rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
        for start in range(4):  # a sign before it may be taken for a part of it
            whole = base64.b64decode(found[start : start + (len(found) - start) // 4 * 4])
            yield whole
            yield from inflated(whole)


def inflated(data: bytes) -> Iterator[bytes]:
    """What is compressed in ``data``, by zlib or gzip."""
    if data.startswith((b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")):
        with suppress(zlib.error):  # bytes that only begin like compressed ones
            yield zlib.decompressobj(wbits=47).decompress(data)


def cassette(suite: Suite) -> Path:
    return suite.cassettes / "game-planted" / "simulated--even.jsonl"


def test_the_search_finds_what_it_looks_for(planted: Suite) -> None:
    text = f"before {ASKED} {REPLIED}"
    data = text.encode()
    for hidden in (text, json.dumps(text), text.encode("utf-16"), gzip.compress(data)):
        assert marked(hidden)
    for start in range(3):
        assert marked(b"data," + base64.b64encode(data[start:]))
    assert marked(base64.urlsafe_b64encode(zlib.compress(data)))
    assert traces(planted) == []
    (planted.path / "tmp" / "left.bin").write_bytes(b"\0" + text.encode("utf-16-le") + data)
    assert len(traces(planted, "so", text)) == 2


def test_of_a_recording_and_a_replay(planted: Suite) -> None:
    models = ("--bias-model=simulated/even", "--bias-model=simulated/biased")
    found = []
    for record in (RECORD, ()):
        result = run(planted, *models, *record, workers=1)
        result.assert_outcomes(passed=7, failed=1)
        found.append(planted.results()["analyses"])
    assert found[0] == found[1]
    assert {each["recording"]["retention"] for each in found[0]} == {"measures"}
    assert any(count["invalid"] for each in found[0] for count in each["counts"])
    for option in ("--setup-show", "--setup-plan", "--co", "--durations=0", "--bias-plan"):
        assert run(planted, option).ret == 0


def test_of_bodies_that_fail(planted: Suite) -> None:
    levels = """{"low": "low", "high": "high"}"""
    change(planted, levels, """{"low": f"low {LEVEL}", "high": f"high {LEVEL}"}""")
    bodies = [
        "assert recorded == ()",
        "assert recorded[0].result == 5",
        "assert recorded[0].prompts[0] == ''",
        "assert [o.values for o in recorded] == []",
        "assert condition == recorded[0].trial",
        "raise ValueError(recorded, condition)",
        "game = GAME; assert game.id == ''",
        "trial = recorded[0].trial; assert trial is None",
    ]
    whole = TESTS[TESTS.index("@conditions") : TESTS.index("@positive_control")]
    cases = [
        whole.replace("#BODY", body).replace("test_asked", f"test_asked_{number}")
        for number, body in enumerate(bodies)
    ]
    planted.tests(whole, "".join(cases))
    for arguments in (RECORD, ()):
        run(planted, *arguments).assert_outcomes(passed=2, failed=2 * len(bodies))


def test_of_protocols_that_quote_a_reply_in_their_errors(planted: Suite) -> None:
    codes = [
        "raise ValueError(heard.text)",
        "assert heard.text == QUESTION",
        "raise InvalidReply(heard.text, heard.text)",
        "raise InvalidReply('odd', heard.text)",
        "raise ExceptionGroup(heard.text, [ValueError(heard.text)])",
        "import warnings; warnings.warn(heard.text)",
        "await subject.ask(heard.text, attempts=0)",
        "import asyncio; await asyncio.sleep(0, heard.text)",
        "trial.condition.values['cue' if heard is None else heard.text]",
    ]
    whole = planted.path / "bias_tests" / "coin"
    source = (whole / "experiment.py").read_text(encoding="utf-8")
    for number, code in enumerate(codes):
        package = whole.with_name(f"coin{number}")
        shutil.copytree(whole, package)
        changed = source.replace("#AFTER", code).replace("game-planted", f"game-planted{number}")
        (package / "experiment.py").write_text(changed, encoding="utf-8")
    shutil.rmtree(whole)
    for arguments in (RECORD, ()):
        # A wrong count of attempts is seen before anything is asked.
        result = run(planted, *arguments, "--continue-on-collection-errors")
        assert result.ret == 1
        ends = [
            line.split("/") for line in result.outlines if line.startswith(("FAILED ", "ERROR "))
        ]
        assert {end[1] for end in ends if len(end) > 1} == {f"coin{n}" for n in range(len(codes))}
        if arguments:
            named = [line for line in result.outlines if line.startswith("problem: recording")]
            for number in {*range(len(codes))} - {2, 3, 6}:  # an invalid reply is a missing trial
                assert any(f"game-planted{number} with" in line for line in named)


def test_of_a_server_that_quotes_the_prompt(planted: Suite) -> None:
    def quote(call: Asked) -> None:
        sent = call.body.decode()
        assert marked(sent)
        body = json.dumps({"error": {"message": f"cannot read {sent}", "type": sent}})
        saying(400, {"Content-Type": "application/json"}, body.encode())(call)

    with answering(quote) as (url, asked):
        roster = f'[endpoints.mine]\nwire = "openai-chat"\nbase_url = "{url}/v1"\n'
        planted.file("bias_models.toml", roster)
        result = run(planted, "--bias-model=mine/any", *RECORD)
    assert asked
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*a call failed (fatal); this experiment keeps no text*"])


HOLD = """\
global CALLS
    CALLS = globals().get("CALLS", 0) + 1
    if CALLS == 9:
        import sys, threading
        print("held back", flush=True, file=sys.__stdout__)
        threading.Event().wait(2)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_of_a_recording_that_is_ended_by_force(planted: Suite, number: signal.Signals) -> None:
    change(planted, "#CALLED", HOLD)
    loud = (*PLUGINS, *LOUD, *RECORD, "--bias-concurrency=4", "--full-trace")
    with planted.held(*loud) as (process, said):
        process.send_signal(number)
        if number == signal.SIGINT:
            process.send_signal(signal.SIGTERM)  # two of one kind may arrive as one
    assert process.returncode in {-signal.SIGKILL, pytest.ExitCode.INTERRUPTED}
    assert traces(planted, *said) == []
    change(planted, HOLD, "#CALLED")
    run(planted, *RECORD).assert_outcomes(passed=4)


def test_of_text_that_stood_there_before(planted: Suite) -> None:
    change(planted, '"measures"', '"raw"')
    planted.run(*RECORD).assert_outcomes(passed=4)
    page = planted.path / "bias-report.html"
    assert {*traces(planted)} == {str(cassette(planted)), str(page)}
    page.unlink()
    change(planted, '"raw"', '"measures"')
    raw = cassette(planted).read_bytes()
    for arguments in (RECORD, ()):
        result = planted.run(*LOUD[:4], *arguments)
        assert result.ret == 1
        result.stdout.fnmatch_lines(["*holds requests and replies as text, and its experiment*"])
        assert traces(planted, result.stdout.str()) == [str(cassette(planted))]
    assert cassette(planted).read_bytes() == raw
    shutil.rmtree(planted.cassettes)
    run(planted, *RECORD).assert_outcomes(passed=4)


# --- the linguistic audit, recorded whole and with failures --------------------------------------

CASES = "bias_tests/linguistic_audit"
AUDIT = Path(__file__).parents[3] / CASES
MODEL = "--bias-model=simulated/biased"
WHOLE = ("--bias-design=controlled", "--bias-qpm=60000", "--bias-max-calls=600")
LOGGED = ("--log-level=DEBUG", "--log-file=log.txt", "--log-file-level=DEBUG")


@pytest.fixture
def audit(empty: Suite) -> Suite:
    """A copy of the audit with a mark in every prompt and every sentence of a reply.

    It has no recordings. HOME (by pytester) and TMPDIR lie inside it.
    """
    package = empty.path / CASES
    shutil.copytree(AUDIT, package, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    (package.parent / "__init__.py").touch()
    shutil.copy(AUDIT.with_name("charts.py"), package.parent)
    for seed in package.glob("stimuli/*/*.txt"):
        seed.write_text(f"{seed.read_text('utf-8').rstrip()} So says {MARKS[0]}.\n", "utf-8")
    script = package / "stimuli" / "simulated_replies.json"
    banks = json.loads(script.read_text("utf-8"))
    marked = {
        name: [f"{each} {MARKS[1]}" for each in bank] if isinstance(bank, list) else bank
        for name, bank in banks.items()
    }
    script.write_text(json.dumps(marked), "utf-8")
    return temporary_inside(empty)


@pytest.mark.requirement("AUDIT-15")
def test_of_the_audit_with_failures(audit: Suite) -> None:
    body = "assert outcome.values == recorded[0].values, (outcome, recorded, condition)"
    old = "        assert outcome.result is None\n"
    audit.change(f"{CASES}/test_linguistic_audit.py", old, f"{old}        {body}\n")
    for arguments, workers in ((RECORD, None), ((), 2)):
        outcomes = run(audit, *LOGGED, *WHOLE, MODEL, *arguments, workers=workers).parseoutcomes()
        assert outcomes["failed"] >= 8 + 2  # the conditions, and what is planted
        assert outcomes["passed"] >= 10
        counts = [c for each in audit.results(partial=True)["analyses"] for c in each["counts"]]
        assert {c["planned"] for c in counts} == {c["ok"] for c in counts} == {58}
        for written in ("junit.xml", "page.html", "bias-report.partial.html", "log.txt"):
            assert (audit.path / written).stat().st_size
