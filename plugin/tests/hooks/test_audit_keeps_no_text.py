"""The linguistic audit, recorded whole and with failures, leaves no sentence of it anywhere."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
import shutil
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

import pytest
from bias_tests.linguistic_audit.experiment import CONTROL_SEEDS, SEEDS, render

from .suites import INI, Suite
from .test_retention import LOUD, PLUGINS, RECORD

AUDIT = Path(__file__).parents[3] / "bias_tests" / "linguistic_audit"
STIMULI = "stimuli"
NAMES = ("Emma Johnson", "Liam Murphy", "Aisha Rahman", "Mohamed Hassan")

MODEL = "--bias-model=simulated/biased"
CONTROLLED = ("--bias-design=controlled", "--bias-qpm=60000", "--bias-max-calls=600")
LOGGED = ("--log-level=DEBUG", "--log-file=log.txt", "--log-file-level=DEBUG")

RUN = 5
"""How many words of a prompt or reply may not follow each other: a part of a sentence is text."""

_WORD = re.compile(r"[^\W_]+")
_BREAKS = re.compile(r"\\+[nrtf]|\\+u001b\[[\d;]*m|#x1B\[[\d;]*m|\x1b\[[\d;]*m")
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{40,}={0,2}")
_INFLATED = (b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")


def runs(text: str) -> Iterator[str]:
    """Every ``RUN`` words that follow each other, in lower case, whatever stands between them."""
    words = _WORD.findall(text.lower())
    return (" ".join(words[i : i + RUN]) for i in range(len(words) - RUN + 1))


@cache
def asked() -> frozenset[str]:
    """Runs of words of all 464 prompts, those of positive controls among them."""
    return frozenset(
        run
        for seed in (*SEEDS, *CONTROL_SEEDS)
        for name in NAMES
        for learner in (False, True)
        for articles in (False, True)
        for run in runs(render(seed, name=name, learner=learner, articles=articles))
    )


@cache
def replied() -> frozenset[str]:
    """Runs of words of every sentence that a simulated reply can be made of."""
    banks = json.loads((AUDIT / STIMULI / "simulated_replies.json").read_text("utf-8"))
    things = [thing for found in banks.pop("things").values() for thing in found]
    del banks["about"]
    return frozenset(
        run
        for sentences in banks.values()
        for sentence in sentences
        for thing in (things if "{thing}" in sentence else [""])
        for run in runs(sentence.format(thing=thing))
    )


def contents(data: bytes) -> Iterator[bytes]:
    """What is in ``data``, as it is and in the forms that hide it from a search."""
    yield data
    if b"\0" in data:
        yield data.replace(b"\0", b"")  # UTF-16 of a Latin text
    if b"%20" in data:
        yield unquote_to_bytes(data)
    if data.startswith(_INFLATED):
        yield zlib.decompressobj(wbits=47).decompress(data)
    for match in _BASE64.finditer(data):
        found = match.group().rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
        for start in range(4):  # a sign before it may be taken for a part of it
            whole = found[start : start + (len(found) - start) // 4 * 4]
            yield from inflated(base64.b64decode(whole))


def inflated(data: bytes) -> Iterator[bytes]:
    """Decoded bytes; decompressed too, where they are compressed."""
    yield data
    if data.startswith(_INFLATED):
        try:
            yield zlib.decompressobj(wbits=47).decompress(data)
        except zlib.error:  # bytes that only begin like compressed ones
            return


def text_of(data: bytes) -> set[str]:
    """The runs of words of prompts and replies that ``data`` holds."""
    found: set[str] = set()
    for part in contents(data):
        text = _BREAKS.sub(" ", html.unescape(part.decode("utf-8", "replace")))
        found |= {run for run in runs(text) if run in asked() or run in replied()}
    return found


def traces(suite: Suite, result: pytest.RunResult) -> dict[str, set[str]]:
    """Where text is found, and which: in what was printed, and on disk outside the stimuli."""
    places = {"printed": f"{result.stdout.str()}\n{result.stderr.str()}".encode()}
    for path in suite.path.rglob("*"):
        inside = path.relative_to(suite.path)
        if STIMULI not in inside.parts:
            name = str(inside).replace("-", " ").encode()
            places[str(inside)] = name + (b"\n" + path.read_bytes() if path.is_file() else b"")
    return {place: found for place, data in places.items() if (found := text_of(data))}


@pytest.fixture
def audit(empty: Suite, monkeypatch: pytest.MonkeyPatch) -> Suite:
    """A copy of the audit without recordings. HOME (by pytester) and TMPDIR lie inside it."""
    package = empty.path / "bias_tests" / "linguistic_audit"
    shutil.copytree(AUDIT, package, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    (package.parent / "__init__.py").touch()
    ini = INI.replace("bias_report = off\n", "")
    (empty.path / "pytest.ini").write_text(ini, encoding="utf-8")
    temporary = empty.path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    return empty


def change(suite: Suite, file: str, old: str, new: str) -> None:
    suite.change(f"bias_tests/linguistic_audit/{file}", old, new)


def record(suite: Suite, *arguments: str, workers: int | None = None) -> pytest.RunResult:
    options = (*PLUGINS, *LOUD, *LOGGED, *CONTROLLED, *arguments)
    return suite.run(*options, workers=workers)


FORMS: dict[str, Callable[[str], bytes]] = {
    "plain": str.encode,
    "json": lambda text: json.dumps(json.dumps(f"\n{text}\n")).encode(),
    "html": lambda text: html.escape(f"<b>'{text}'</b>").encode(),
    "wrapped": lambda text: text.replace(" ", "\n    ").encode(),
    "coloured": lambda text: text.replace(" ", "\x1b[0m \x1b[31m").encode(),
    "utf-16": lambda text: text.encode("utf-16"),
    "quoted": lambda text: quote(text).encode(),
    "base64": lambda text: b"data," + base64.b64encode(text.encode()),
    "base64 of compressed": lambda text: base64.urlsafe_b64encode(zlib.compress(text.encode())),
    "zlib": lambda text: zlib.compress(text.encode()),
    "gzip": lambda text: gzip.compress(text.encode()),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_search_finds_a_sentence_in_any_form(form: str) -> None:
    hidden = FORMS[form]
    prompt = render("s08_retirement_speech", name=NAMES[2], learner=True, articles=False)
    reply = "Look at the dough first and write down what is there before anything is moved."
    for text, known in ((prompt, asked()), (reply, replied())):
        assert text_of(hidden(text)) & known
    assert text_of(hidden("How many words of a text may not follow each other anywhere?")) == set()


def test_the_search_finds_text_where_it_is_kept(audit: Suite) -> None:
    change(audit, "audit.py", 'retention="measures"', 'retention="raw"')
    few = "--deselect=bias_tests/linguistic_audit/test_linguistic_audit.py::test_asked"
    found = traces(audit, record(audit, "-k", "latency", few, *RECORD))
    (kept,) = (place for place in found if place.endswith(".jsonl"))
    assert len(found[kept] & asked()) > 1000
    assert len(found[kept] & replied()) > 1000


def test_of_a_recording_and_a_replay_with_failures(audit: Suite) -> None:
    body = "assert outcome.values == recorded[0].values, (outcome, recorded, condition)"
    old = "        assert outcome.result is None\n"
    change(audit, "test_linguistic_audit.py", old, f"{old}        {body}\n")
    for arguments, workers in ((RECORD, None), ((), 2)):
        result = record(audit, MODEL, *arguments, workers=workers)
        outcomes = result.parseoutcomes()
        assert outcomes["failed"] >= 8 + 2  # the conditions, and what is planted
        assert outcomes["passed"] >= 10
        assert {a["planned"] for a in counted(audit)} == {a["ok"] for a in counted(audit)} == {58}
        for written in ("junit.xml", "page.html", "bias-report.partial.html", "log.txt"):
            assert (audit.path / written).stat().st_size
        assert traces(audit, result) == {}


def counted(suite: Suite) -> list[dict[str, int]]:
    return [
        count
        for analysis in suite.results(partial=True)["analyses"]
        for count in analysis["counts"]
    ]


@pytest.mark.parametrize(
    "code",
    [
        "assert reply.text == prompt_of(trial)",
        "raise ValueError(reply, reply.text, reply.messages)",
    ],
)
def test_of_a_protocol_that_fails_with_text_at_hand(audit: Suite, code: str) -> None:
    old = "        return Answer(reply.text, reply.latency)"
    change(audit, "audit.py", old, f"        {code}\n        reply.text.missing\n{old}")
    result = record(audit, MODEL, *RECORD)
    assert result.ret == 1
    assert traces(audit, result) == {}
