from __future__ import annotations

import html
import platform
import re
import sys
from base64 import b64encode
from dataclasses import replace
from functools import cache
from hashlib import sha256
from itertools import pairwise
from typing import Any

import pytest

from benchmarks import page_script
from pytest_bias.contrasts.estimate import PublishedColumn
from pytest_bias.report.page import asset, report_html, tone_of
from pytest_bias.report.terminal import section_lines
from pytest_bias.report.view import AcceptedVerdict, RunView, Scope, simulated_words
from pytest_bias.stats.results import Interval
from pytest_bias.verdicts.verdict import Verdict

from . import factory
from .reading import Reader, rows


def read(view: RunView) -> Reader:
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
        ("FAIL", "biased"),
        ("NO VERDICT", "none"),
        ("FAIL, the rest NO VERDICT", "biased"),
    ],
)
def test_what_was_only_let_through_is_not_green(standing: str, tone: str) -> None:
    assert tone_of(standing) == tone


@pytest.mark.parametrize(("seen", "standing"), [(True, "PASS"), (False, "INCONCLUSIVE")])
def test_an_old_model_whose_control_was_not_seen_is_no_pass(*, seen: bool, standing: str) -> None:
    clear = factory.verdict(factory.finding(), status="CLEAR", words="CLEAR within ±0.6")
    run = factory.view(factory.analysis(), problems=("of the new model",))
    old = factory.analysis(clear, model="shipped/old", controls=(factory.control(seen=seen),))
    (card,) = re.findall(
        r'<h2>shipped/old</h2><p class="standing">([A-Z ]+)<', report_html(run, old=[old])
    )
    assert card == standing


def test_the_same_run_gives_the_same_bytes() -> None:
    assert report_html(factory.usual()) == report_html(factory.usual())


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
    assert len(script.encode()) <= 40_000
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(", script
    )
    assert not re.search(
        r"\bfetch\(|XMLHttpRequest|WebSocket|import\(|https?:(?!//www\.w3\.org)", script
    )


def test_links_are_ids_and_never_places() -> None:
    page = usual()
    assert len(page.ids) == len(set(page.ids))
    known = {"#main", "#/", "#/hypotheses", "#/replies"}
    links = {link for link in page.links if link not in known}
    assert links == {
        "#/h/anchoring/simulated%2Fbiased/sentence_months-high-low",
        "#/e/anchoring/simulated%2Fbiased",
        "#/e/anchoring/simulated%2Feven",
    }


def test_headings_go_down_one_step_at_a_time() -> None:
    headings = usual().headings
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(headings))


def test_tables_have_captions_and_scopes() -> None:
    tags = [tag for tag, _ in usual().tags]
    assert tags.count("table") == tags.count("caption") == 2
    assert all("scope" in found for tag, found in usual().tags if tag == "th")


@pytest.mark.parametrize(
    ("found", "suite", "sentence"),
    [
        (factory.verdict(factory.finding()), "FAIL", "1 BIASED stops it."),
        (
            factory.verdict(factory.finding(), status="CLEAR", words="CLEAR within ±0.6"),
            "PASS",
            "No hypothesis is BIASED, and every claim to be clear is CLEAR.",
        ),
        (
            factory.undecided(factory.finding(p_alarm=0.4), "the data neither clear it"),
            "INCONCLUSIVE",
            "No hypothesis is BIASED, but not every claim to be clear is CLEAR.",
        ),
    ],
)
def test_the_suite_verdict_comes_in_words(found: Any, suite: str, sentence: str) -> None:
    text = one(found)
    assert f"{suite} {sentence}" in text
    assert "1 hypothesis, 1 " in text
    assert "2 cases: 1 failed, 1 passed" in text


def test_a_run_without_analyses_has_a_page() -> None:
    text = read(factory.view(cases=())).text
    words = "NOT JUDGED Nothing went wrong, and nothing was judged. no hypothesis was selected"
    assert words in text
    assert "Nothing was analysed." in text


def test_simulated_subjects_are_named_first() -> None:
    text = usual().text
    before, _, _ = text.partition("Which of 2 models")
    assert simulated_words(["simulated/biased", "simulated/even"]) in before
    assert "stand in for models" not in one(factory.verdict(factory.finding()), simulated=False)


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
    before, _, after = text.partition(
        "Is simulated/biased free of the biases that were asked for?"
    )
    for words in (
        "two workers disagree",
        "2 selected cases gave no verdict",
        "no report: test_b[high]",
        "passed: test_a[high]",
        "Partial run: it does not cover the whole suite -k 3 cases deselected",
    ):
        assert words in before
    assert after.strip().startswith("NO VERDICT")


def test_what_was_accepted_stands_with_its_reason_and_end() -> None:
    past = AcceptedVerdict(
        experiment="a",
        model="openai/m",
        id="h",
        status="BIASED",
        reason="known <names>",
        owner="ethics",
        until="2027-01-01",
    )
    page = read(factory.view(factory.analysis(), expired=(past,))).told
    assert "a × openai/m, h, ethics until 2027-01-01 (expired): known <names>" in page


def test_the_published_analysis_stands_beside_the_primary_and_never_gates() -> None:
    found = hypothesis(factory.verdict(factory.finding()))
    analyses = {name: (primary, published) for name, primary, published in found["analyses"]}
    assert analyses["Role"] == ("gives the verdict", "stands beside it; it never gates")
    primary, published = analyses["Against no effect"]
    assert primary == "p < 0.0001; after Holm p < 0.0001"
    assert published == "t = 2.90, df = 9.3, p < 0.0001"
    primary, published = analyses["Effect size"]
    assert (primary, published) == ("g = +1.11, d = +1.20, 95 % [+0.10, +2.30]", "d = +1.20")
    people = analyses["Beside people"]
    assert people == ("not distinguishable from people", "LESS than in people")


def test_statistics_of_any_published_method_are_shown() -> None:
    published = PublishedColumn(method="their own", statistics={"U": 12.0, "note": "exact"})
    text = one(factory.verdict(factory.finding(published=published)))
    assert "U = 12.0" in text
    assert "note not part of it exact" in text


def test_p_is_never_printed_as_0() -> None:
    page = usual().text
    assert not re.search(r"\bp\s*[=<]?\s*0(\.0+)?(?![.\d])", page)


def test_too_few_units_for_an_estimate() -> None:
    page = read(factory.view(factory.analysis(
        factory.undecided(None, "demand=low: too few valid replies, 1, and at least 2 are needed"),
        counts=(
            factory.cell("low", 0, planned=6, missing={"refused": 6}),
            factory.cell("high", 1),
        ),
        controls=(factory.control(seen=False, found=False),),
    )))  # fmt: skip
    (found,) = page.hypotheses
    assert (found["label"], found["estimate"], found["shown"]) == ("INCONCLUSIVE", None, [])
    assert found["why"] == "Demand=low: too few valid replies, 1, and at least 2 are needed."
    assert found["settle"] == ""
    (analysis,) = page.data["d-run"]["analyses"]
    low, high = rows(analysis["counts"])
    assert (low["planned"], low["ok"], low["missing"]) == (6, 0, {"refused": 6})
    assert (high["planned"], high["ok"]) == (1, 1)
    (control,) = analysis["controls"]
    assert control["badge"] == "not seen"
    said = "It reads no demand, so that its sentences are alike says nothing."
    assert control["said"] == said


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


def test_what_would_settle_an_open_question() -> None:
    shown = hypothesis(factory.undecided(factory.finding(p_alarm=0.4), "because"))
    assert (shown["label"], shown["words"]) == ("INCONCLUSIVE", "for this vignette: because")
    assert (shown["why"], shown["settle"]) == (
        "Because. Alarm p = 0.4000 (after Holm), clearing p = 0.9700.",
        "",
    )
    more = factory.undecided(factory.finding(p_alarm=0.4), next_step="about 90: pytest --bias-x")
    assert hypothesis(more)["settle"] == "About 90: pytest --bias-x"


def test_what_is_open_says_why_with_its_p_values_and_none_is_0() -> None:
    found = factory.finding(p_alarm=1e-9, p_clear=0.97)
    assert hypothesis(factory.undecided(found, "the replies are copies"))["why"] == (
        "The replies are copies. Alarm p < 0.0001 (after Holm), clearing p = 0.9700."
    )
    endless = replace(found, margin=None, p_clear=None)
    assert hypothesis(factory.undecided(endless, "the replies are copies"))["why"] == (
        "The replies are copies."
    )


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
                name=HOSTILE,
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


def test_half_a_surrogate_pair_can_be_written() -> None:
    page = report_html(factory.view(factory.analysis(name="half \ud83d", source="half \ud83d")))
    assert "half \\ud83d" in page.encode().decode()
    assert "half \\ud83d" in Reader(page).told


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "; that it lies beyond the margin is not shown"),
        ({"margin": None, "p_clear": None, "interval": None}, "is rejected (alarm p < 0.0001, af"),
        ({"null": "margin"}, "An effect within the margin is rejected"),
    ],
)
def test_a_bias_is_worded_by_what_was_tested(changes: dict[str, Any], words: str) -> None:
    found = factory.finding(**({"interval": Interval(low=0.1, high=2, level=0.95)} | changes))
    text = one(factory.verdict(found)).replace("\N{NO-BREAK SPACE}", " ")
    assert words in text
    assert ("; that it lies" in text) == (not changes)


def test_a_direction_is_not_denied_where_only_its_size_was_asked() -> None:
    text = one(factory.verdict(factory.finding(null="margin"), direction="not shown"))
    assert "not shown: the verdict asks for an effect beyond the margin" in text


def test_what_is_only_described_has_a_badge_of_its_own_and_is_not_red() -> None:
    words = "DESCRIBED for this vignette: an effect"
    described = factory.verdict(factory.finding(), claim="describe", words=words)
    view = factory.view(factory.analysis(described))
    page = read(view)
    (found,) = page.hypotheses
    shown = [found[name] for name in ("label", "tone", "words", "stops")]
    assert shown == ["DESCRIBED", "described", "for this vignette: an effect", 0]
    assert "BIASED" not in page.text.partition("How to read this")[0]
    lines = list(section_lines(view))
    (line,) = [line for line in lines if words in line]
    assert line.endswith("(does not gate)")
    assert not any("BIASED" in line for line in lines)


def test_hypotheses_of_the_same_contrast_are_told_apart() -> None:
    found = factory.finding(contrast="any group")
    verdicts = [factory.verdict(found, id=f"months-any-{place}") for place in ("here", "there")]
    alone = factory.verdict(factory.finding(contrast="high − low"), id="alone")
    page = read(factory.view(factory.analysis(*verdicts, alone)))
    assert sorted(f"{row['title']} {row['contrast']}".strip() for row in page.hypotheses) == [
        "sentence_months, any group (months-any-here)",
        "sentence_months, any group (months-any-there)",
        "sentence_months, high − low",
    ]


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


@pytest.mark.parametrize(
    ("found", "lead"),
    [
        (
            factory.verdict(factory.finding()),
            "At least one hypothesis is BIASED, and none stops it.",
        ),
        (
            factory.undecided(factory.finding(p_alarm=0.4), "open"),
            "No hypothesis is BIASED, but not every claim to be clear is CLEAR; none stops it.",
        ),
    ],
)
def test_what_the_gate_did_not_stop_is_to_be_looked_at_and_stops_nothing(
    found: Verdict, lead: str
) -> None:
    run = factory.view(factory.analysis(found), failing=(), leniencies=("not gated",))
    page = read(run)
    assert lead in page.text
    assert "What stops it" not in page.text
    assert " stop it" not in page.text.partition("Look at these")[0].replace("not stop it", "")
    looked = page.text.partition("Look at these 1")[2]
    assert looked.startswith(" They do not stop it")
    assert "let pass: not gated." in looked
    assert [row["stops"] for row in page.hypotheses] == [0]


def test_a_run_that_was_cut_short_says_that_it_fails_where_that_is_known() -> None:
    run = factory.usual()
    page = report_html(replace(run, lost=("test_a[high]",)))
    text = Reader(page).text
    assert "<title>FAIL, the rest NO VERDICT · bias report</title>" in page
    assert '<p class="verdict t-biased">' in page
    assert "FAIL, the rest NO VERDICT The rest cannot be judged. " in text
    assert "simulated/biased FAIL, the rest NO VERDICT" in text
    assert "simulated/even NO VERDICT" in text
    none_fails = read(replace(run, lost=("test_a[high]",), failing=())).text
    assert "NO VERDICT The run cannot be judged. " in none_fails


def test_where_nothing_is_recorded_the_page_names_the_model_and_the_cases_that_failed() -> None:
    broken = tuple(f"test_{number}[local/tiny]" for number in range(5))
    cases = tuple((case, "failed") for case in broken)
    scope = Scope(
        models=("local/tiny",),
        design="gate",
        replicates=None,
        gate="absolute",
        inconclusive="fail",
    )
    text = read(factory.view(cases=cases, broken=broken, scope=scope)).text
    assert "Is local/tiny free of the biases that were asked for?" in text
    before = text.partition("Is local/tiny")[0]
    assert f"5 cases failed for another reason than a verdict {' '.join(broken)}" in before
