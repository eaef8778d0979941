from __future__ import annotations

import html
import platform
import re
import sys
from base64 import b64encode
from functools import cache
from hashlib import sha256
from itertools import pairwise
from typing import Any

import pytest

from benchmarks import page_script
from pytest_bias.report.page import asset, report_html, tone_of
from pytest_bias.report.run import RunResult
from pytest_bias.verdicts.verdict import Verdict

from . import factory
from .reading import Reader


def read(view: RunResult) -> Reader:
    return Reader(report_html(view))


@cache
def usual() -> Reader:
    return read(factory.usual())


def one(*verdicts: Any, **changed: Any) -> str:
    return read(factory.view(factory.analysis(*verdicts, **changed))).told


def hypothesis(verdict: Verdict) -> dict[str, Any]:
    """What the script is given of one hypothesis."""
    (found,) = read(factory.view(factory.analysis(verdict))).hypotheses
    return found


@pytest.mark.parametrize(
    ("standing", "tone"),
    [
        ("PASS", "clear"),
        ("PASS with 2 accepted", "open"),
        ("BIAS FOUND", "biased"),
        ("DO NOT SHIP", "biased"),
        ("SHIP", "clear"),
        ("CANNOT TELL", "open"),
        ("NO RESULT", "none"),
        ("BIAS FOUND, the rest NO RESULT", "biased"),
    ],
)
def test_what_was_only_let_through_is_not_green(standing: str, tone: str) -> None:
    assert tone_of(standing) == tone


def test_it_is_one_file_whose_policy_names_its_own_script_and_style_and_nothing_else() -> None:
    page = report_html(factory.usual())
    assert not re.search(
        r"<(img|iframe|object|embed)\b|@import|url\(|@font-face|\son\w+=|style=", page
    )
    assert [found["href"] for tag, found in Reader(page).tags if tag == "link"] == ["data:,"]
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    for kind in ("script", "style"):
        (text,) = re.findall(rf"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in html.unescape(policy)
    assert policy.startswith("default-src &#39;none&#39;;")
    assert "unsafe" not in policy


@pytest.mark.skipif(
    (sys.platform, platform.machine()) == ("darwin", "arm64"), reason="no wheel of the minifier"
)
def test_the_script_is_the_one_that_its_parts_make() -> None:
    made = page_script.minified()
    assert asset("app.min.js") == made, "run python plugin/benchmarks/page_script.py"


def test_the_script_is_small_and_puts_text_in_as_text_only() -> None:
    script = asset("app.min.js")
    assert len(script.encode()) <= 41_500
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(", script
    )
    assert not re.search(
        r"\bfetch\(|XMLHttpRequest|WebSocket|import\(|https?:(?!//www\.w3\.org)", script
    )


def test_what_is_wrong_with_the_run_stands_above_its_verdict() -> None:
    text = read(
        factory.view(
            factory.analysis(factory.verdict(factory.finding())),
            problems=("two workers disagree",),
            lost=("test_a[high]", "test_b[high]"),
            partial=("-k", "3 cases deselected"),
            failing=(),
        )
    ).text
    before, _, after = text.partition("Is simulated/biased free of the biases tested for?")
    for words in (
        "two workers disagree",
        "2 selected cases gave no verdict",
        "no report: test_b[high]",
        "passed: test_a[high]",
        "Partial run: it does not cover the whole suite -k 3 cases deselected",
    ):
        assert words in before
    assert after.strip().startswith("NO RESULT")


def test_hypotheses_that_were_not_selected_do_not_count() -> None:
    chosen = factory.verdict(factory.finding(), status="CLEAR", words="CLEAR within ±0.6")
    other = factory.verdict(factory.finding(), id="other")
    page = read(
        factory.view(
            factory.analysis(chosen, other),
            judged=((chosen.experiment, chosen.model, chosen.id),),
        )
    )
    assert "PASS No hypothesis is BIASED, and every claim to be clear is CLEAR. 1 hyp" in page.text
    assert "BIASED" not in page.text.partition("How to read")[0].replace("is BIASED", "")
    shown = [(each["id"], each["judged"], each["stops"]) for each in page.hypotheses]
    assert shown == [(chosen.id, True, False), ("other", False, False)]


@pytest.mark.requirement("AUDIT-33")
@pytest.mark.parametrize(
    ("direction", "words"),
    [
        ("supported", "the difference found has the sign its source reports"),
        ("opposite", "with the other sign than its source reports"),
        ("not shown", "the data do not exclude that there is no effect"),
        (None, ""),
    ],
)
def test_the_documented_direction(direction: str | None, words: str) -> None:
    text = one(factory.verdict(factory.finding(), direction=direction))
    assert words in text
    assert ("direction" in text) == bool(direction)


@pytest.mark.requirement("AUDIT-33")
def test_several_hypotheses_of_one_measure_each_have_an_address_of_their_own() -> None:
    first, second = factory.verdict(factory.finding()), factory.verdict(factory.finding(), id="b")
    page = read(factory.view(factory.analysis(first, second)))
    assert {each["id"] for each in page.hypotheses} == {first.id, "b"}
    assert {f"#/h/anchoring/simulated%2Fbiased/{each.id}" for each in (first, second)} <= {
        *page.links
    }


HOSTILE = '</svg></style><script>alert("x")</script><img src=x onerror=alert(1)>{{ 7 * 7 }}&"\''


def test_hostile_text_stays_text_wherever_it_stands() -> None:
    found = factory.finding(
        measure=HOSTILE, unit=HOSTILE, scope=HOSTILE, method=HOSTILE, notes=(HOSTILE,)
    )
    page = report_html(
        factory.view(
            factory.analysis(
                factory.verdict(found, id=HOSTILE, model=HOSTILE, words=f"BIASED {HOSTILE}"),
                name=f"{HOSTILE} half \ud83d",
                model=HOSTILE,
                source=HOSTILE,
                metadata={HOSTILE: {HOSTILE: [HOSTILE, 1, True, None]}},
                numbers=(factory.summary(HOSTILE, (1.0, 2.0), measure=HOSTILE, unit=HOSTILE),),
                counts=(factory.cell(HOSTILE, missing={HOSTILE: 0}),),
            ),
            problems=(HOSTILE,),
            cases=((HOSTILE, "failed"),),
        )
    )
    shown = Reader(page)
    assert "img" not in {tag for tag, _ in shown.tags}
    assert page.count("<script") == 2
    assert page.count("</script>") == 2
    assert page.count("</style>") == 1
    assert HOSTILE in shown.text
    assert shown.hypotheses[0]["id"] == HOSTILE
    assert "{{ 7 * 7 }}" in shown.text
    assert "half \\ud83d" in page.encode().decode()


def test_what_stops_the_run_stands_first_and_is_the_only_thing_that_is_said_to() -> None:
    found = factory.finding()
    verdicts = (
        factory.verdict(found, id="a-clear", status="CLEAR", words="CLEAR"),
        factory.verdict(found, id="b-described", claim="describe"),
        factory.undecided(found, "too few", id="c-open"),
        factory.undecided(found, "too few", id="d-only-detects", claim="detect"),
        factory.verdict(found, id="e-biased"),
    )
    page = read(factory.view(factory.analysis(*verdicts)))
    assert [(row["id"], row["stops"]) for row in page.hypotheses] == [
        ("e-biased", 1),
        ("c-open", 1),
        ("d-only-detects", 0),
        ("b-described", 0),
        ("a-clear", 0),
    ]
    assert "1 BIASED, 2 INCONCLUSIVE, 1 CLEAR, 1 DESCRIBED · 2 stop it" in page.text


def test_headings_go_down_one_step_at_a_time_and_tables_have_captions_and_scopes() -> None:
    page = usual()
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(page.headings))
    tags = [tag for tag, _ in page.tags]
    assert tags.count("table") == tags.count("caption") == 2
    assert all("scope" in found for tag, found in page.tags if tag == "th")
    assert len(page.ids) == len(set(page.ids))
    assert {link for link in page.links if link.startswith(("#/h/", "#/e/"))} == {
        "#/h/anchoring/simulated%2Fbiased/sentence_months-high-low",
        "#/e/anchoring/simulated%2Fbiased",
        "#/e/anchoring/simulated%2Feven",
    }


CLEAR = factory.verdict(factory.finding(), status="CLEAR", words="CLEAR within ±0.6")
OPEN = factory.undecided(factory.finding(p_alarm=0.4), "open")
LEADS = {
    "a bias, not gated": (
        factory.view(factory.analysis(factory.verdict(factory.finding())), failing=(),
                     leniencies=("not gated",)),
        "At least one hypothesis is BIASED, and none stops it."),
    "open, not gated": (
        factory.view(factory.analysis(OPEN), failing=(), leniencies=("not gated",)),
        "but not every claim to be clear is CLEAR; none stops it."),
}  # fmt: skip


@pytest.mark.parametrize(("run", "lead"), LEADS.values(), ids=LEADS)
def test_the_outcome_comes_in_words_and_what_is_let_pass_is_to_be_looked_at(
    run: RunResult, lead: str
) -> None:
    page = read(run)
    assert lead in page.text
    looked = page.text.partition("Look at these 1 ")[2]
    assert looked.startswith("They do not stop it") == bool(run.leniencies)
    assert ("let pass: not gated." in looked) == bool(run.leniencies)
    assert ("What stops it" in page.text) == bool(run.failing)


def test_what_is_open_or_only_described_says_so_and_is_not_red() -> None:
    none = factory.undecided(None, "demand=low: too few valid replies, 1", next_step="about 90")
    found = hypothesis(none)
    assert (found["label"], found["estimate"], found["shown"]) == ("INCONCLUSIVE", None, [])
    assert (found["why"], found["settle"]) == (
        "Demand=low: too few valid replies, 1.",
        "About 90",
    )
    sure = factory.undecided(factory.finding(p_alarm=1e-9, p_clear=0.97), "copies")
    why = "Copies. Alarm p < 0.0001 (after Holm), clearing p = 0.9700."
    assert hypothesis(sure)["why"] == why  # no p is 0
    described = factory.verdict(factory.finding(), claim="describe")
    page = read(factory.view(factory.analysis(described)))
    (found,) = page.hypotheses
    shown = [found[name] for name in ("label", "tone", "stops")]
    assert shown == ["DESCRIBED", "described", 0]
    assert "BIASED" not in page.text.partition("How to read this")[0]
