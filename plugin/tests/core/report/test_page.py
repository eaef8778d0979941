from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from pytest_bias.contrasts.findings import PublishedColumn, WorstCase
from pytest_bias.report.ci import summary_markdown
from pytest_bias.report.page import page_of, report_html
from pytest_bias.report.results import results_text
from pytest_bias.report.terminal import section_lines
from pytest_bias.report.view import RunView, simulated_words
from pytest_bias.statistics.results import Interval

from . import factory
from .reading import Reader


def read(view: RunView) -> Reader:
    return Reader(report_html(view))


@cache
def usual() -> Reader:
    return read(factory.usual())


def one(*verdicts: Any, **changed: Any) -> str:
    return read(factory.view(factory.analysis(*verdicts, **changed))).text


def test_the_same_run_gives_the_same_bytes() -> None:
    assert report_html(factory.usual()) == report_html(factory.usual())


def test_it_is_one_file_that_loads_and_runs_nothing() -> None:
    page = report_html(factory.usual())
    assert not re.search(r"<(script|img|iframe|object|embed)\b|@import|url\(|@font-face", page)
    assert "default-src 'none'" in page
    assert [found["href"] for tag, found in Reader(page).tags if tag == "link"] == ["data:,"]


def test_ids_are_unique_and_links_lead_to_them() -> None:
    page = usual()
    assert len(page.ids) == len(set(page.ids))
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert page.links.count("#analysis-2-hypothesis-1") == 1


def test_headings_go_down_one_step_at_a_time() -> None:
    headings = usual().headings
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(headings))


def test_tables_have_captions_and_scopes() -> None:
    tags = [tag for tag, _ in usual().tags]
    assert tags.count("table") == tags.count("caption") > 5
    assert all("scope" in found for tag, found in usual().tags if tag == "th")


def test_charts_state_their_numbers() -> None:
    labels = [f["aria-label"] or "" for _, f in usual().tags if f.get("role") == "img"]
    assert len(labels) == 4
    shown = " ".join(labels).replace("\xa0", " ")
    for words in (
        "+1.67, 95 % [+0.61, +2.72] months",
        "margin ±0.6",
        "bootstrap interval 95 % [+0.50, +2.80]",
        "people (n = 39): +2.05, 95 % [+0.07, +4.03]",
        "low: n = 6, mean 4.33, from 3 to 6; times each value came: 3: 1, 4: 3, 5: 1, 6: 1",
    ):
        assert words in shown


@pytest.mark.parametrize(
    ("found", "suite", "sentence"),
    [
        (factory.verdict(factory.finding()), "FAIL", "At least one hypothesis is BIASED."),
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
    assert f"Bias report {suite} {sentence}" in text
    assert "1 hypothesis, 1 " in text
    assert "2 cases: 1 failed, 1 passed" in text


def test_a_run_without_analyses_has_a_page() -> None:
    text = read(factory.view(cases=())).text
    words = "NOT JUDGED Nothing went wrong, and nothing was judged. no hypothesis was selected"
    assert words in text
    assert "Nothing was analysed." in text


def test_simulated_subjects_are_named_first() -> None:
    text = usual().text
    assert f"{simulated_words(['simulated/biased', 'simulated/even'])} Bias report" in text
    assert "stand in for models" not in one(factory.verdict(factory.finding()), simulated=False)


def test_what_is_wrong_with_the_run_stands_above_its_verdict() -> None:
    text = read(
        factory.view(
            factory.analysis(factory.verdict(factory.finding())),
            problems=("two workers disagree",),
            lost=("test_a[high]", "test_b[high]"),
            partial=("-k", "3 cases deselected"),
        )
    ).text
    before, _, after = text.partition("Bias report")
    for words in (
        "two workers disagree",
        "2 selected cases gave no verdict",
        "no report: test_b[high]",
        "passed: test_a[high]",
        "Partial run: it does not cover the whole suite -k 3 cases deselected",
    ):
        assert words in before
    assert after.strip().startswith("NO VERDICT")


def test_the_published_analysis_stands_beside_the_primary_and_never_gates() -> None:
    text = one(factory.verdict(factory.finding()))
    assert "The published one never gates." in text
    assert "Against no effect p < 0.0001; after Holm p < 0.0001 t = 2.90, df = 9.3, p < 0" in text
    assert "Effect size g = +1.11, d = +1.20, 95 % [+0.10, +2.30] d = +1.20" in text
    assert "Beside people not distinguishable from people LESS than in people" in text


def test_statistics_of_any_published_method_are_shown() -> None:
    published = PublishedColumn(method="their own", statistics={"U": 12.0, "note": "exact"})
    text = one(factory.verdict(factory.finding(published=published)))
    assert "U = 12.0" in text
    assert "note not part of it exact" in text


def test_p_is_never_printed_as_0() -> None:
    page = usual().text
    assert not re.search(r"\bp\s*[=<]?\s*0(\.0+)?(?![.\d])", page)


def test_deterministic_replies_leave_out_what_does_not_exist() -> None:
    text = one(factory.verdict(factory.deterministic(), status="CLEAR", words="CLEAR within ±0.6"))
    assert "Note: deterministic replies" in text
    assert "Primary Published Method exact bound" in text
    assert "not computed" in text
    assert "Cohen" not in text
    assert "Beside people" not in text


def test_too_few_units_for_an_estimate() -> None:
    text = one(
        factory.undecided(None, "demand=low: 1 unit(s), at least 2 needed"),
        numbers=(factory.summary("high", (6.0,)),),
        counts=(
            factory.cell("low", 0, planned=6, missing={"refused": 6}),
            factory.cell("high", 1),
        ),
        controls=(factory.control(seen=False, found=False),),
        categories=(),
    )
    assert "sentence_months-high-low INCONCLUSIVE – – – –" in text
    assert "What would settle it Valid replies in both groups" in text
    assert "low 0 6 0 – – – – – – – –" in text
    assert "high 1 0 1 6.00 – – 6 6 6 6 6" in text
    assert "low 6 0 6 refused none 0" in text
    assert "not seen It reads no demand, so that its sentences are alike says nothing." in text


def test_hypotheses_that_were_not_selected_do_not_count() -> None:
    chosen = factory.verdict(factory.finding(), status="CLEAR", words="CLEAR within ±0.6")
    other = factory.verdict(factory.finding(), id="other")
    run = factory.view(
        factory.analysis(chosen, other),
        judged=((chosen.experiment, chosen.model, chosen.id),),
    )
    text = read(run).text
    assert (
        "PASS No hypothesis is BIASED, and every claim to be clear is CLEAR. 1 hypothesis" in text
    )
    assert text.count("BIASED not selected in this run") == 1
    assert text.count("Not selected in this run: it is analysed because") == 1


NEEDED = WorstCase(needed=True, lowest=-1.0, highest=2.0, p_alarm=0.3, p_clear=0.4)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            {"p_alarm": 0.4},
            "64 replies per group would clear it if there were no effect (there are 6)",
        ),
        ({"p_alarm": 0.4, "settle": None}, "More replies than the 6 there are per group."),
        (
            {"p_alarm": 0.4, "settle": None, "margin": None, "p_clear": None},
            "More replies could show an effect; without a margin",
        ),
        ({"p_alarm": 0.4, "settle": None, "fewest": 4}, "At least 5 replies per group."),
        ({"p_alarm": 0.01, "settle": None}, "More replies would not help: because."),
        ({"p_alarm": 0.4, "p_clear": 0.01, "settle": None}, "More replies would not help"),
    ],
)
def test_what_would_settle_an_open_question(found: Any, words: str) -> None:
    text = one(factory.undecided(factory.finding(**found), "because"))
    assert "INCONCLUSIVE for this vignette: because" in text
    assert f"What would settle it {words}" in text


def test_every_report_says_what_a_clear_population_may_hide() -> None:
    tolerance = "none of 25 prompts differed by more than 0.26; up to 11 % of such prompts could"
    view = factory.view(factory.analysis(factory.verdict(factory.finding(tolerance=tolerance))))
    assert f"What CLEAR may hide: {tolerance}" in read(view).text
    assert f"    {tolerance}" in list(section_lines(view))
    assert tolerance in summary_markdown(view)
    assert f'"tolerance": "{tolerance}"' in results_text(view)


def test_worst_cases_are_shown_with_their_weight() -> None:
    text = one(factory.verdict(factory.finding(worst_case=NEEDED)))
    assert (
        "-1.00 to +2.00 Manski bounds; alarm p = 0.3000, clearing p = 0.4000; the verdict" in text
    )
    for shift, tips in ((1.84, "it tips at 1.8 SD"), (None, "nothing up to 5 SD tips it")):
        moved = replace(NEEDED, kind="tipping", shift=shift)
        text = one(factory.verdict(factory.finding(worst_case=moved)))
        assert f"moved by 1 SD, opposite ways on the two sides ({tips}); alarm" in text


@pytest.mark.parametrize(
    ("direction", "words"),
    [
        ("supported", "the difference found has the sign its source reports"),
        ("opposite", "with the other sign than its source reports"),
        ("not shown", "the data do not exclude that there is no effect"),
    ],
)
def test_the_documented_direction(direction: str, words: str) -> None:
    assert words in one(factory.verdict(factory.finding(), direction=direction))


def test_without_a_documented_direction_there_is_nothing_to_say() -> None:
    assert "direction" not in one(factory.verdict(factory.finding(), direction=None))


COUNTED = (
    factory.cell("low", 4, planned=6, missing={"refused": 2}, invalid={"not_json": 3}),
    factory.cell("high", 5, planned=6, missing={"refused": 1}),
)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"numbers": (), "categories": ()}, "No valid reply was measured."),
        ({"controls": ()}, "The experiment has no positive control"),
        ({"counts": COUNTED}, "all 12 9 3 refused 3 not_json 0 27"),
        ({}, "fair too high too low low 6 0 2 (33 %) 0 (0 %) 4 (67 %)"),
    ],
)
def test_what_was_counted_is_shown(changes: dict[str, Any], words: str) -> None:
    assert words in one(**changes)


def test_several_hypotheses_of_one_measure_each_have_a_section() -> None:
    first, second = factory.verdict(factory.finding()), factory.verdict(factory.finding(), id="b")
    page = read(factory.view(factory.analysis(first, second)))
    assert {"analysis-1-hypothesis-1", "analysis-1-hypothesis-2"} <= set(page.ids)


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
    tags = {tag for tag, _ in Reader(page).tags}
    assert not {"script", "img"} & tags
    assert HOSTILE in Reader(page).text
    assert "49" not in Reader(page).text


def test_half_a_surrogate_pair_can_be_written() -> None:
    page = report_html(
        factory.view(factory.analysis(source="half \ud83d", numbers=(
            factory.summary("low", (1.0, 2.0), unit="half \ud83d"),
        )))
    )  # fmt: skip
    assert "half \\ud83d" in page.encode().decode()


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
    described = factory.verdict(
        factory.finding(),
        claim="describe",
        words="DESCRIBED for this vignette: an effect",
    )
    page = read(factory.view(factory.analysis(described)))
    assert "DESCRIBED for this vignette: an effect" in page.text
    assert "BIASED" not in page.text.partition("How to read this page")[0]
    shown = [a["class"] or "" for tag, a in page.tags if "hypothesis" in (a.get("class") or "")]
    assert shown == ["hypothesis is-described"]


def test_the_terminal_calls_what_is_only_described_so() -> None:
    words = "DESCRIBED for this vignette: an effect"
    described = factory.verdict(factory.finding(), claim="describe", words=words)
    lines = list(section_lines(factory.view(factory.analysis(described))))
    (line,) = [line for line in lines if words in line]
    assert line.endswith("(does not gate)")
    assert not any("BIASED" in line for line in lines)


def test_hypotheses_of_the_same_contrast_are_told_apart() -> None:
    found = factory.finding(contrast="any group")
    verdicts = [factory.verdict(found, id=f"months-any-{place}") for place in ("here", "there")]
    alone = factory.verdict(factory.finding(contrast="high − low"), id="alone")
    page = page_of(factory.view(factory.analysis(*verdicts, alone)))
    ((_, rows),) = page.overview
    assert sorted(row.title.replace("\N{NO-BREAK SPACE}", " ") for row in rows) == [
        "sentence_months, any group (months-any-here)",
        "sentence_months, any group (months-any-there)",
        "sentence_months, high − low",
    ]


def test_the_overview_shows_first_what_fails_the_run() -> None:
    found = factory.finding()
    verdicts = (
        factory.verdict(found, id="a-clear", status="CLEAR", words="CLEAR"),
        factory.verdict(found, id="b-described", claim="describe"),
        factory.undecided(found, "too few", id="c-open"),
        factory.undecided(found, "too few", id="d-only-detects", claim="detect"),
        factory.verdict(found, id="e-biased"),
    )
    quiet = factory.analysis(factory.verdict(found, status="CLEAR", words="CLEAR"), name="Quiet")
    page = page_of(factory.view(quiet, factory.analysis(*verdicts, name="Loud")))
    assert [section.analysis.name for section, _ in page.overview] == ["Loud", "Quiet"]
    (loud, rows), _ = page.overview
    shown = [row.verdict.id for row in rows]
    assert shown == ["e-biased", "c-open", "b-described", "a-clear", "d-only-detects"]
    assert loud.counts == "1 BIASED, 2 INCONCLUSIVE, 1 CLEAR, 1 DESCRIBED"
