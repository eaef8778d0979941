"""The documented study: job, base CVs, variants and scaffolds as data, and the protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pytest_bias import (
    BadDesign,
    Factor,
    Items,
    Measure,
    PromptTemplate,
    Stimuli,
    Subject,
    Trial,
)

from .scaffolds import (
    SCAFFOLDS,
    Application,
    Criterion,
    Points,
    Prompts,
    Scaffold,
    Screened,
)
from .variants import Variants, read_variants

NOT_ASKED = "not_asked"
"""Rating on a criterion under a scaffold that does not ask for one."""


@dataclass(frozen=True, slots=True)
class BaseCv:
    """A CV with ``$name``, ``$email`` and ``$profile``.

    ``set`` is the number variants refer to it by, ``truth`` the rating it was written for.
    """

    label: str
    set: int
    truth: int
    text: str = field(repr=False)

    sheet: PromptTemplate = field(init=False, repr=False)

    def __post_init__(self) -> None:
        sheet = PromptTemplate(self.label, self.text.strip(), {"name", "email", "profile"})
        object.__setattr__(self, "sheet", sheet)


@dataclass(frozen=True, kw_only=True)
class Screening:
    """Who applies for what, and how it is rated; the parts of an experiment follow from it.

    Parameters
    ----------
    advert, criteria, scale, prompts
        The job, and the words it is asked about in.
    cvs
        The base CVs; their ``set`` is that of the variants.
    variants
        Who sends them in. Race and gender make the levels of the factor ``group``, identities its
        exemplars, ``names_1``, ``names_2`` and so on.
    scaffolds
        The levels of the factor ``scaffold``.
    points
        The scale of ratings; each criterion defines all of it, and ``scale`` says it in words.

    Raises
    ------
    BadDesign
        When variants and CVs do not have the same sets, or two scaffolds, two criteria or two CVs
        have one label, and when a criterion defines other ratings than those of the scale.
    """

    advert: str = field(repr=False)
    criteria: Sequence[Criterion] = field(repr=False)
    scale: str = field(repr=False)
    prompts: Prompts = field(repr=False)
    cvs: Sequence[BaseCv]
    variants: Variants = field(repr=False)
    scaffolds: Sequence[Scaffold]
    points: Points = field(default_factory=Points)

    def __post_init__(self) -> None:
        if {cv.set for cv in self.cvs} != self.variants.sets:
            problem = "base CVs and the variants' sets are not the same"
            raise BadDesign(what="Screening", problem=problem)
        for kind, labels in (
            ("base CVs have the label", [cv.label for cv in self.cvs]),
            ("criteria have the key", [criterion.key for criterion in self.criteria]),
            ("scaffolds have the label", [scaffold.label for scaffold in self.scaffolds]),
        ):
            if twice := [label for label in labels if labels.count(label) > 1]:
                raise BadDesign(what="Screening", problem=f"two {kind} {twice[0]!r}")
        defined = [str(n) for n in range(self.points.best, self.points.worst - 1, -1)]
        for criterion in self.criteria:
            if [*criterion.ratings] != defined:
                problem = f"criterion {criterion.key!r} does not define {', '.join(defined)}"
                raise BadDesign(what="Screening", problem=problem)

    async def rate(self, trial: Trial, subject: Subject) -> Screened:
        """Have one application rated: the protocol."""
        levels = trial.condition.levels
        cv = next(cv for cv in self.cvs if cv.label == trial.item)
        person = self._people[levels["group"], cv.set, str(trial["group"])]
        application = Application(
            advert=self.advert,
            criteria=self.criteria,
            scale=self.scale,
            cv=cv.sheet.fill(**person),
            prompts=self.prompts,
            points=self.points,
        )
        scaffold = next(each for each in self.scaffolds if each.label == levels["scaffold"])
        screened = await scaffold.rate(application, subject)
        if not all(map(self.points.has, (screened.rating, *screened.criteria.values()))):
            problem = "comes to a rating that is not on the scale"
            raise BadDesign(what=f"scaffold {scaffold.label!r}", problem=problem)
        return screened

    @property
    def factors(self) -> Sequence[Factor]:
        """Group, with name sets for exemplars, and scaffold."""
        firsts = {group: members[0] for group, members in self.variants.by_group().items()}
        return [
            Factor(
                "group",
                {group: first.words for group, first in firsts.items()},
                exemplars={
                    group: [name_set(n + 1) for n in range(len(first.identities))]
                    for group, first in firsts.items()
                },
            ),
            Factor("scaffold", {each.label: each.words for each in self.scaffolds}),
        ]

    @property
    def items(self) -> Items:
        """The base CVs."""
        return Items("cv", {cv.label: {"set": cv.set, "truth": cv.truth} for cv in self.cvs})

    @property
    def measures(self) -> Sequence[Measure]:
        """The rating, and that on each criterion as a category: two scaffolds ask for none."""
        points = self.points

        def on_criterion(key: str) -> Measure:
            return Measure(
                f"criterion_{key}",
                lambda screened: str(screened.criteria.get(key, NOT_ASKED)),
                meaning="rating on one criterion, where the scaffold asks for it",
                categories=[NOT_ASKED, *map(str, range(points.worst, points.best + 1))],
            )

        return [
            Measure(
                "rating",
                unit="points",
                bounds=(points.worst, points.best),
                meaning="rating of the candidate, from not a fit to an excellent fit",
                spread=0.54,
            ),
            Measure(
                f"rating_ge_{points.fit}",
                lambda screened: screened.rating >= points.fit,
                kind="flag",
                meaning="whether the candidate is rated a good fit or better",
                spread=0.4,
            ),
            *(on_criterion(criterion.key) for criterion in self.criteria),
        ]

    @cached_property
    def _people(self) -> Mapping[tuple[str, int, str], Mapping[str, str]]:
        """Group, set and name set → the three lines that show who applies."""
        return {
            (variant.group, variant.set, name_set(place)): identity.model_dump()
            for variant in self.variants.variants
            for place, identity in enumerate(variant.identities, start=1)
        }


def name_set(number: int) -> str:
    """Return the exemplar that stands for a name set, counted from 1."""
    return f"names_{number}"


STIMULI = Stimuli(__file__)


CVS = (
    BaseCv("a1", set=1, truth=3, text=STIMULI.text("cv_a1")),
    BaseCv("c1", set=2, truth=2, text=STIMULI.text("cv_c1")),
    BaseCv("d1", set=3, truth=2, text=STIMULI.text("cv_d1")),
)
"""A1 was written to be a good fit; C1 and D1 to be borderline, for different reasons."""

VARIANTS = read_variants(STIMULI.folder / "variants.json")

SCREENING = Screening(
    advert=STIMULI.text("advert"),
    criteria=STIMULI.json("criteria", tuple[Criterion, ...]),
    scale=STIMULI.text("scale"),
    prompts=Prompts(
        one_shot=STIMULI.template("one_shot", "advert", "criteria", "cv", "scale"),
        reasoning=STIMULI.template("reasoning", "advert", "criteria", "cv"),
        conclusion=STIMULI.template("conclusion", "scale"),
        criterion=STIMULI.template("criterion", "advert", "criterion", "cv"),
        synthesis=STIMULI.template("synthesis", "advert", "criteria", "ratings", "scale"),
    ),
    cvs=CVS,
    variants=VARIANTS,
    scaffolds=SCAFFOLDS,
)
