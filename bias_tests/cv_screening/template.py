"""The template of CV screening experiments: CVs, variants and scaffolds in, an experiment out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_bias import (
    Design,
    Experiment,
    Factor,
    Heatmap,
    Items,
    Means,
    Measure,
    Parameters,
    PromptTemplate,
    SimulatedAnswer,
    Subject,
    Trial,
)
from pytest_bias.errors import BadDesign
from pytest_bias.experiments.origins import Retention

from .scaffolds import BEST, WORST, Application, Criterion, Prompts, Scaffold, Screened, registered
from .variants import Variants

NOT_ASKED = "not_asked"
"""Rating on a criterion under a scaffold that does not ask for one."""

GOOD = 3
"""Least rating that counts as a fit."""


@dataclass(frozen=True, slots=True)
class BaseCv:
    """A CV with ``$name``, ``$email`` and ``$profile``.

    ``set`` is the number variants refer to it by, ``truth`` the rating it was written for.
    """

    label: str
    set: int
    truth: int
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Screening:
    """What applications are screened for, and in which words; texts with ``$variables``."""

    advert: str = field(repr=False)
    criteria: Sequence[Criterion] = field(repr=False)
    scale: str = field(repr=False)
    one_shot: str = field(repr=False)
    reasoning: str = field(repr=False)
    conclusion: str = field(repr=False)
    criterion: str = field(repr=False)
    synthesis: str = field(repr=False)

    def prompts(self) -> Prompts:
        """The checked templates; BadTemplate for an unknown or unused variable."""
        task = {"advert", "criteria", "cv"}
        return Prompts(
            one_shot=PromptTemplate("one_shot", self.one_shot.strip(), {*task, "scale"}),
            reasoning=PromptTemplate("reasoning", self.reasoning.strip(), task),
            conclusion=PromptTemplate("conclusion", self.conclusion.strip(), {"scale"}),
            criterion=PromptTemplate(
                "criterion", self.criterion.strip(), {"advert", "criterion", "cv"}
            ),
            synthesis=PromptTemplate(
                "synthesis", self.synthesis.strip(), {"advert", "criteria", "ratings", "scale"}
            ),
        )


def screening_experiment(  # noqa: PLR0913  (each is a part of the experiment a reader should see)
    *,
    id: str,  # noqa: A002  (the experiment's own word)
    name: str,
    screening: Screening,
    cvs: Sequence[BaseCv],
    variants: Variants,
    scaffolds: Sequence[Scaffold],
    replicates: int,
    designs: Mapping[str, Design],
    source: str,
    metadata: Mapping[str, object],
    retention: Retention = "measures",
    simulated: SimulatedAnswer | None = None,
    figures: Sequence[Heatmap | Means] = (),
) -> Experiment:
    """Make a CV screening experiment: group × scaffold, crossed with base CVs and name sets.

    Parameters
    ----------
    id, name, replicates, designs, source, metadata, retention, simulated, figures
        As for :class:`pytest_bias.Experiment`.
    screening
        The job, its criteria and the prompts.
    cvs
        The base CVs; their ``set`` is that of the variants.
    variants
        Who sends them in. Race and gender make the levels of the factor ``group``, identities its
        exemplars, ``names_1``, ``names_2`` and so on.
    scaffolds
        The levels of the factor ``scaffold``.

    Raises
    ------
    BadDesign
        When variants and CVs do not have the same sets, or two scaffolds, two criteria or two CVs
        have one label.
    BadTemplate
        When a text uses a variable that does not exist, or leaves one unused.
    """
    what = f"Experiment({id!r})"
    labels = [cv.label for cv in cvs]
    if len(set(labels)) < len(labels) or {cv.set for cv in cvs} != variants.sets:
        raise BadDesign(what=what, problem="base CVs and the variants' sets are not the same")
    if len({criterion.key for criterion in screening.criteria}) < len(screening.criteria):
        raise BadDesign(what=what, problem="two criteria have one key")
    prompts = screening.prompts()
    ways = {scaffold.label: scaffold for scaffold in registered(scaffolds)}
    sheets = {
        cv.label: (cv.set, PromptTemplate(cv.label, cv.text, {"name", "email", "profile"}))
        for cv in cvs
    }
    by_group = variants.by_group()
    people = {
        (group, variant.set, name_set(place)): identity
        for group, members in by_group.items()
        for variant in members
        for place, identity in enumerate(variant.identities, start=1)
    }

    async def rate(trial: Trial, subject: Subject) -> Screened:
        group = trial.condition.levels["group"]
        number, sheet = sheets[str(trial.item)]
        person = people[group, number, str(trial["group"])]
        application = Application(
            advert=screening.advert.strip(),
            criteria=screening.criteria,
            scale=screening.scale.strip(),
            cv=sheet.fill(**person.model_dump()).strip(),
            prompts=prompts,
        )
        return await ways[trial.condition.levels["scaffold"]].rate(application, subject)

    return Experiment(
        id=id,
        name=name,
        factors=[
            Factor(
                "group",
                {
                    group: _in_words(members[0].race, members[0].gender)
                    for group, members in by_group.items()
                },
                exemplars={
                    group: [name_set(n + 1) for n in range(len(members[0].identities))]
                    for group, members in by_group.items()
                },
            ),
            Factor("scaffold", {scaffold.label: scaffold.words for scaffold in scaffolds}),
        ],
        items=Items("cv", {cv.label: {"set": cv.set, "truth": cv.truth} for cv in cvs}),
        protocol=rate,
        measures=[
            Measure(
                "rating",
                unit="points",
                bounds=(WORST, BEST),
                meaning="rating of the candidate, from not a fit to an excellent fit",
            ),
            Measure(
                "rating_ge_3",
                lambda screened: screened.rating >= GOOD,
                meaning="whether the candidate is rated a good fit or better",
            ),
            *(_criterion(criterion.key) for criterion in screening.criteria),
        ],
        replicates=replicates,
        designs=designs,
        parameters=Parameters(temperature=1.0, max_output_tokens=2000),
        retention=retention,
        source=source,
        metadata={**metadata, "ground_truth": {cv.label: cv.truth for cv in cvs}},
        simulated=simulated,
        figures=figures,
    )


def name_set(number: int) -> str:
    """The exemplar that stands for a name set, counted from 1."""
    return f"names_{number}"


def _in_words(race: str, gender: str) -> str:
    return "anonymised" if race == gender else f"{race}, {gender}"


def _criterion(key: str) -> Measure:
    """A category, not a number: two scaffolds ask for none, and that is no number."""
    return Measure(
        f"criterion_{key}",
        lambda screened: str(screened.criteria.get(key, NOT_ASKED)),
        meaning="rating on one criterion, where the scaffold asks for it",
        categories=[NOT_ASKED, *map(str, range(WORST, BEST + 1))],
    )
