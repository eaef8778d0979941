"""Wrong declarations: each is refused where it stands, in one short line that mends it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import pytest

from pytest_bias import (
    MISSING,
    Design,
    Experiment,
    Factor,
    GroupContrast,
    Human,
    Interaction,
    Items,
    MeanDifference,
    Measure,
    Parameters,
    RateDifference,
    RateRatio,
    Selection,
    TotalGap,
    WelchTest,
    conditions,
    hypotheses,
    positive_control,
)
from pytest_bias.errors import BadDesign, BiasError
from pytest_bias.experiments.checks.manipulation import faults
from pytest_bias.experiments.fields import author_line

from .factories import Score, ask_once, experiment

E: Callable[..., Experiment] = experiment
F = Factor("group", {"a": "Ada", "b": "Bob"})
NAN = float("nan")
ONE: Any = MeanDifference("score", "group", high="a", low="b", margin=1, claim="clear")


async def judged(_trial: object, _subject: object, _judge: object) -> None:
    """A protocol with a judge."""


def at_once(_trial: object, _subject: object) -> None:
    """A protocol that is no coroutine."""


async def lonely(_trial: object) -> None:
    """A protocol that takes too little."""


def mean(**changes: Any) -> object:
    given: dict[str, Any] = {
        "measure": "score",
        "factor": "group",
        "high": "a",
        "low": "b",
        "margin": 1,
    }
    return asked(MeanDifference(**({"claim": "clear"} | given | changes)))


def asked(*tested: Any) -> object:
    return hypotheses(experiment(), *tested)


COUNTS = Human.counts(high=(2059, 3097), low=(1200, 3174), citation="2014")
MEANS = Human.means(high=(6, 2, 20), low=(4, 2, 20), citation="2006")


def of_kind(kind: Any, *tested: Any) -> object:
    measures = [Measure("it", lambda score: score, kind=kind)]
    return hypotheses(experiment(measures=measures), *tested)


def loose(call: Callable[..., Any], *arguments: Any, **named: Any) -> Callable[[], object]:
    """A call whose arguments no type checker looks at."""
    return lambda: call(*arguments, **named)


REFUSED: list[tuple[Callable[[], object], str]] = [
    # Factors and items
    (loose(Factor, "x", "gain"), "levels must be a mapping, label → value, or a list of labels"),
    (loose(Factor, "x", ["gain", "gain"]), "levels name one twice: ['gain', 'gain']"),
    (loose(Factor, "x", ["gain"]), "needs at least two levels"),
    (loose(Factor, {"a": 1, "b": 2}, "x"), "is not a label"),
    (loose(Factor, "x", {"A": 1, "b": 2}), "'A' is not a label"),
    (loose(Factor, "x", ["a", "b"], exemplars=["Ada", "Bob"]), "exemplars must be a mapping"),
    (loose(Factor, "x", ["a", "b"], exemplars={"a": ["x"], "c": ["y"]}), "every level or none"),
    *[
        (
            loose(Factor, "x", ["a", "b"], exemplars={"a": given, "b": ["y"]}),
            "must be a list of distinct",
        )
        for given in ("x", [], [""], [1], ["x", "x"])
    ],
    (loose(Items, "seed", "one"), "items must be a mapping, label → value, or a list of labels"),
    # Measures, designs, parameters
    (loose(Measure, "score", "score"), "take must be a function; it is 'score'"),
    (loose(Measure, "score", bounds=10), "bounds must be two finite numbers, rising; it is 10"),
    (loose(Measure, "score", version="2"), "version must be a whole number; it is '2'"),
    (loose(Design, "three"), "replicates must be an integer; it is 'three'"),
    (loose(Design, 1, exemplars=0), "exemplars must be at least 1"),
    *[
        (loose(Parameters, each), "temperature must be 0 or above")
        for each in (NAN, math.inf, -0.1)
    ],
    *[(loose(Parameters, None, each), "max_output_tokens must be a whole n") for each in (0, 1.5)],
    (loose(Parameters, seeded="yes"), "seeded must be True or False"),
    # Experiments
    (loose(E, id="x" * 201), "id must have 200 characters at most"),
    (loose(E, id="../tiny"), "lower-case words"),
    (loose(E, factors={"group": {"a": 1}}), "factors must be a list of Factor(name, {label: val"),
    (loose(E, factors=[]), "at least one factor"),
    (loose(E, factors=[F, F]), "factor and item names must differ from each other"),
    (loose(E, measures=[Measure("score")] * 2), "measure names"),
    (loose(E, protocol=at_once), "must be an async function"),
    (loose(E, protocol=lonely), "protocol must take 2 arguments: trial, subject"),
    (loose(E, protocol=judged), "a judge comes with judge=Parameters(…)"),
    (loose(E, designs={"small": 2}), "design 'small' must be Design(replicates); it is 2"),
    (
        loose(E, designs={"documented": Design(2, exemplars=1)}),
        "'documented' limits exemplars, and no factor has any",
    ),
    (loose(E, version=0), "version must be a whole number from 1 up"),
    # Hypotheses
    (
        loose(mean, margin="15%"),
        "finite number above 0 (for rates a share: 0.15 is 15 points); it",
    ),
    (loose(mean, high="los"), "'los' is no level of 'group'; there are: a, b"),
    (
        loose(mean, measure="scores"),
        "unknown measure 'scores'; known: score; did you mean 'score'",
    ),
    (loose(mean, called="a"), "called must be two texts: of the high side and of the low"),
    (loose(mean, human=COUNTS), "human= is of people's rates, and it compares means"),
    (
        loose(RateDifference, MISSING, "group", high="a", low="b", human=MEANS),
        "human= is of people's means, and it compares rates: use Human.counts(…)",
    ),
    (
        lambda: of_kind(
            "flag",
            RateRatio("it", "group", high="a", low="b", margin=2, claim="clear", human=COUNTS),
        ),
        "people are compared by differences: RateDifference(…)",
    ),
    (loose(Human.counts, high=(3, 2), low=(1, 2), citation=""), "(events, people), of two people"),
    (
        loose(Human.means, high=(1, 2), low=(1, 2, 9), citation=""),
        "(mean, SD, people); it is (1, 2)",
    ),
    (loose(mean, published=WelchTest), "published must be a method, such as WelchTest()"),
    (loose(Interaction, "score", {"group": "ab", "x": None}), "must be (high, low) or None"),
    (loose(TotalGap, "score", "group", gaps=[("a", "b")]), "a gap must be (high, low, weight)"),
    # Lists that name nothing, of which a check of each would find nothing wrong
    (loose(mean, at={"letter": []}), "score-a-b: at='letter' names no level"),
    (loose(mean, unit=[], target="population"), "score-a-b: unit= names nothing"),
    (loose(MeanDifference.each, "score", "group", over={}), "each: over= has no entry"),
    (
        lambda: asked(Selection("score", "score", claim="detect", feature={"a": "x"}, group=[])),
        "group= names nothing",
    ),
    (loose(mean, low=0.5), "to compare with a number: Rate(…, equals=0.5), or Mean"),
    # Kinds of measures
    (
        lambda: asked(RateDifference("score", "group", high="a", low="b", claim="detect")),
        "measure 'score' is a number: compare its means (MeanDifference), not its rates",
    ),
    (
        lambda: of_kind("flag", MeanDifference("it", "group", high="a", low="b", claim="detect")),
        "measure 'it' is a flag: compare its rates (RateDifference), not its means",
    ),
    (
        lambda: of_kind("category", GroupContrast("it", "group", group="a", claim="detect")),
        "measure 'it' is a category: compare the rates of a flag made of it",
    ),
    (
        lambda: of_kind(None, MeanDifference("it", "group", high="a", low="b", claim="detect")),
        "measure 'it' does not say what it is: declare Measure(…, kind='number')",
    ),
    (loose(Measure, "it", kind="rate"), "kind must be 'number', 'flag' or 'category'"),
    (loose(Measure, "it", kind="flag", bounds=(0, 1)), "bounds, unit or integer"),
    (loose(Measure, "it", kind="number", categories=["a"]), "categories belong to a category"),
    (lambda: Measure("it", lambda _: 3, kind="flag").of(None), "is a flag and gave a int"),
    # Decorators
    (loose(asked, "score"), "its further arguments must be contrasts, such as MeanDifference(…)"),
    (loose(asked, [ONE]), "of a list, write *list"),
    (loose(asked, MeanDifference), "it is MeanDifference"),
    (
        loose(hypotheses, ONE, experiment()),
        "@hypotheses: its further arguments must be contrasts",
    ),
    (loose(conditions, F), "@conditions: its first argument must be an Experiment"),
    (
        loose(positive_control, experiment(), [ONE]),
        "contrast must be a contrast, such as MeanDiff",
    ),
    (loose(positive_control, "tiny", ONE), "@positive_control: its first argument must be an Exp"),
]


@pytest.mark.parametrize(("declare", "words"), REFUSED, ids=map(str, range(len(REFUSED))))
def test_a_wrong_declaration_is_refused_at_once_in_one_short_line(
    declare: Callable[[], object], words: str
) -> None:
    with pytest.raises(BiasError) as caught:
        declare()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


def test_a_list_of_labels_is_levels_whose_values_are_their_names() -> None:
    assert Factor("x", ["gain", "loss"]) == Factor("x", {"gain": "gain", "loss": "loss"})
    assert Items("seed", ("one", "two")) == Items("seed", {"one": "one", "two": "two"})
    assert experiment(factors=[Factor("group", ["a", "b"])]).conditions[1]["group"] == "b"


async def of_a_literal(_trial: Any, subject: Any) -> object:
    return (await subject.ask("Which?", reply=Literal["a", "b"])).value


async def of_a_number(_trial: Any, subject: Any) -> object:
    return (await subject.ask(3)).value


async def after_a_text(_trial: Any, subject: Any) -> object:
    return (await subject.ask("Go on.", after="before")).value


async def checked_by_a_word(_trial: Any, subject: Any) -> object:
    return (await subject.ask("Rate.", reply=Score, check="positive")).value


async def never(_trial: Any, subject: Any) -> object:
    return (await subject.ask("Rate.", attempts=0)).value


async def returned(trial: Any, subject: Any) -> object:
    return subject.ask(f"Rate {trial['group']}.", reply=Score)


async def used(trial: Any, subject: Any) -> object:
    return subject.ask(f"Rate {trial['group']}.", reply=Score).value


async def dropped(trial: Any, subject: Any) -> None:
    subject.ask(f"Rate {trial['group']}.", reply=Score)


async def misspelt(trial: Any, subject: Any) -> object:
    return (await subject.ask(f"Rate {trial['grup']}.", reply=Score)).value


async def unmeasured(trial: Any, subject: Any) -> object:
    return await subject.ask(f"Rate {trial['group']}.", reply=Score)


PROTOCOLS = {
    of_a_literal: "ask(): reply must be a pydantic model (for one of several words: a field of",
    of_a_number: "ask(): prompt must be text; it is 3",
    after_a_text: "ask(): after must be a reply (await subject.ask(…)); it is 'before'",
    checked_by_a_word: "ask(): check must be a function; it is 'positive'",
    never: "ask(): attempts must be a whole number, at least 1; it is 0",
    returned: "Subject.ask() is returned and was never awaited: write await before it",
    used: "Subject.ask() is asked for its .value and was never awaited: write await before it",
    dropped: "coroutine 'Subject.ask' was never awaited: write await before it",
    misspelt: "unknown factor 'grup'; known: group; did you mean 'group'?",
    unmeasured: "Measure('score'): the protocol's result, a Reply, has no attribute of this name",
}


@pytest.mark.parametrize(
    ("protocol", "words"), PROTOCOLS.items(), ids=[each.__name__ for each in PROTOCOLS]
)
def test_a_wrong_protocol_is_found_before_anything_is_asked(protocol: Any, words: str) -> None:
    (fault,) = faults(experiment(protocol, simulated=lambda _: '{"score": 5}'))
    assert words in str(fault)
    assert "\n" not in str(fault)
    if protocol is not unmeasured:  # whose place is the experiment's
        assert str(fault).startswith(f"{__file__}:")


@pytest.mark.parametrize("said", [{"score": 5}, b"{}", 5])
def test_a_simulated_reply_that_is_no_text_is_found_before_anything_is_asked(said: Any) -> None:
    def answer(_prompt: object) -> Any:
        return said

    (fault,) = faults(experiment(simulated=answer))
    words = "simulated=answer: gave a TYPE; text (json.dumps(…)) or None is needed"
    assert str(fault).endswith(words.replace("TYPE", type(said).__name__))


def test_a_measure_that_fails_of_what_is_replied_is_found_before_anything_is_asked() -> None:
    measures = [Measure("score", lambda score: score.points)]
    (fault,) = faults(experiment(measures=measures, simulated=lambda _: '{"score": 5}'))
    assert "Measure('score'): take= fails of a valid reply, with AttributeError" in str(fault)


def test_text_that_may_not_be_kept_is_found_before_anything_is_asked() -> None:
    measures = [Measure("score", lambda reply: f"secret {reply.score}")]
    of = experiment(measures=measures, simulated=lambda _: '{"score": 5}', retention="measures")
    (fault,) = faults(of)
    assert str(fault) == str(measures[0].undeclared)
    assert "secret" not in str(fault)
    assert faults(experiment(measures=measures, simulated=lambda _: '{"score": 5}')) == ()


def test_the_line_of_an_error_is_the_authors() -> None:
    with pytest.raises(BadDesign) as caught:
        experiment(ask_once, replicates=0)
    assert author_line(caught.value).rpartition(":")[0].endswith("factories.py")
    assert author_line(ValueError()) == ""
