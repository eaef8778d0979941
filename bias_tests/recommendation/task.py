"""The documented task: fresh pools of posts as data, what is picked of them, and the protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial

from pydantic import BaseModel, ConfigDict

from pytest_bias import (
    BadData,
    Factor,
    InvalidReply,
    Means,
    Measure,
    PromptTemplate,
    Records,
    Stimuli,
    Subject,
    Trial,
)

from ..charts import Drawn
from .corpus import Corpus
from .generate import added

STIMULI = Stimuli(__file__)
PROMPT = STIMULI.text("prompt")

POOL = 100
"""Posts a trial shows."""

PICKS = 10
"""Posts a trial's subject picks."""


class Picks(BaseModel):
    """The reply asked for: the ids picked, and nothing else."""

    model_config = ConfigDict(extra="forbid")

    posts: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Average:
    """A number that is averaged over the posts a trial picks; the measure ``picked_<name>``.

    ``feature`` is a numerical feature, or a categorical one whose categories ``scores`` maps to
    numbers; ``bounds`` are the smallest and the largest number there can be.
    """

    name: str
    feature: str
    bounds: tuple[float, float]
    scores: Mapping[str, float] = field(default_factory=dict)
    meaning: str = ""

    def score(self, corpus: Corpus, post: str) -> float:
        """Return the number of one post; BadData for none, or one outside the bounds."""
        given = corpus.posts[post].features.get(self.feature)
        number = self.scores.get(str(given)) if self.scores else given
        low, high = self.bounds
        if isinstance(number, bool | str) or number is None or not low <= number <= high:
            problem = f"{given!r} of post {post!r} gives no number from {low:g} to {high:g}"
            raise BadData(source=f"corpus {corpus.name!r}", column=self.feature, problem=problem)
        return number

    @property
    def measure(self) -> Measure:
        """The measure of it."""
        return Measure(
            f"picked_{self.name}",
            lambda found: found.averages[self.name],
            bounds=self.bounds,
            meaning=self.meaning or f"mean {self.feature} of the posts picked",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommended:
    """A trial's valid result: ids shown, in their order, and picked, in the reply's order."""

    shown: Sequence[str] = field(repr=False)
    picked: Sequence[str] = field(repr=False)
    averages: Mapping[str, float]

    @property
    def position(self) -> float:
        """Mean place of the picks among the posts shown, from 0 (first) to 1 (last)."""
        places = {post: place for place, post in enumerate(self.shown)}
        last = max(len(self.shown) - 1, 1)
        return sum(places[post] for post in self.picked) / len(self.picked) / last


def check_picks(shown: Sequence[str], wanted: int, reply: Picks) -> None:
    """Refuse what is no choice of ``wanted`` different posts of those shown.

    Raises
    ------
    InvalidReply
        ``wrong_number``, ``unknown_post`` (one that was not shown) or ``repeated_post``.
    """
    if len(reply.posts) != wanted:
        raise InvalidReply("wrong_number")
    if not set(reply.posts) <= set(shown):
        raise InvalidReply("unknown_post")
    if len(set(reply.posts)) < wanted:
        raise InvalidReply("repeated_post")


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a subject is shown and picks from; the parts of an experiment follow from it.

    Parameters
    ----------
    corpora
        What a subject is told of where posts come from ("Twitter") → the posts. Each corpus is a
        level of the factor ``dataset``, called by the corpus' own name; all have the same
        features. A single one makes no factor.
    requests
        The levels of the factor ``style``: label → the sentence that asks for posts.
    averages
        Measures of what is picked, for controls.
    pool, picks
        Posts shown, and posts to be picked of them.
    prompt
        The text around posts and request, with ``$size``, ``$platform``, ``$posts``, ``$request``
        and ``$picks``.

    Raises
    ------
    BadData
        For corpora without the same features, with one id in two of them, with fewer posts than a
        pool, or with posts that an average has no number for; for a prompt that uses another
        variable, or leaves one unused.
    """

    corpora: Mapping[str, Corpus] = field(repr=False)
    requests: Mapping[str, str]
    averages: Sequence[Average]
    pool: int = POOL
    picks: int = PICKS
    prompt: str = field(default=PROMPT, repr=False)
    _template: PromptTemplate = field(init=False, repr=False)
    _scored: Mapping[tuple[str, str], float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check(self.corpora, self.averages, self.pool, self.picks)
        scored = {
            (average.name, post): average.score(corpus, post)
            for corpus in self.corpora.values()
            for average in self.averages
            for post in corpus.posts
        }
        object.__setattr__(self, "_scored", scored)
        variables = {"size", "platform", "posts", "request", "picks"}
        template = PromptTemplate("prompt", self.prompt.strip(), variables)
        object.__setattr__(self, "_template", template)

    async def recommend(self, trial: Trial, subject: Subject) -> Recommended:
        """Show a pool and have some of it picked: the protocol."""
        dataset = trial.condition.levels.get("dataset", next(iter(self._by_name)))
        shown, posts = self._drawn(dataset, trial.replicate)
        question = self._template.fill(
            size=self.pool,
            platform=next(told for told, each in self.corpora.items() if each.name == dataset),
            posts=posts,
            request=trial["style"],
            picks=self.picks,
        )
        check: Callable[[Picks], None] = partial(check_picks, shown, self.picks)
        picked = tuple((await subject.ask(question, reply=Picks, check=check)).value.posts)
        return self.recommended(shown, picked)

    def recommended(self, shown: Sequence[str], picked: Sequence[str]) -> Recommended:
        """Return the result of a trial that shows and picks these posts."""
        averages = {
            average.name: added(self._scored[average.name, post] for post in picked) / len(picked)
            for average in self.averages
        }
        return Recommended(shown=shown, picked=picked, averages=averages)

    @property
    def factors(self) -> Sequence[Factor]:
        """Dataset, where there are several, and style."""
        told = {corpus.name: words for words, corpus in self.corpora.items()}
        datasets = [Factor("dataset", told)] if len(told) > 1 else []
        return [*datasets, Factor("style", self.requests)]

    @property
    def measures(self) -> Sequence[Measure]:
        """Ids shown and picked, the averages, and the mean place."""
        ids = [post for corpus in self._by_name.values() for post in corpus.posts]
        return [
            Measure(
                "shown",
                lambda found: " ".join(found.shown),
                meaning="ids in the order shown",
                categories=ids,
            ),
            Measure(
                "picked",
                lambda found: " ".join(found.picked),
                meaning="ids picked",
                categories=ids,
                spread=0.7,
            ),
            *(average.measure for average in self.averages),
            Measure(
                "picked_position",
                lambda found: found.position,
                bounds=(0.0, 1.0),
                meaning="mean place of what is picked, from first (0) to last shown (1)",
            ),
        ]

    @property
    def figures(self) -> Sequence[Means]:
        """Each average, and the place, by style."""
        by = "dataset" if len(self.corpora) > 1 else None
        names = (*(average.name for average in self.averages), "position")
        return [Means(f"picked_{name}", over="style", by=by) for name in names]

    def exports(self, records: Mapping[str, Records]) -> Drawn:
        """Return the published tables and charts, file name → contents."""
        from .exports import export_files  # noqa: PLC0415  (slow; only who exports needs it)

        return export_files(self._by_name, records)

    @cached_property
    def _by_name(self) -> Mapping[str, Corpus]:
        return {corpus.name: corpus for corpus in self.corpora.values()}

    @cached_property
    def _drawn(self) -> Callable[[str, int], tuple[tuple[str, ...], str]]:
        """From dataset and replicate to ids and posts as read: the same for styles and models."""

        @cache
        def drawn(dataset: str, replicate: int) -> tuple[tuple[str, ...], str]:
            corpus = self._by_name[dataset]
            ids = corpus.pool(replicate, self.pool)
            return ids, "\n\n".join(corpus.posts[post].shown for post in ids)

        return drawn


def _check(
    corpora: Mapping[str, Corpus], averages: Sequence[Average], pool: int, picks: int
) -> None:
    seen: dict[str, str] = {}
    first = next(iter(corpora.values()), None)
    for corpus in corpora.values():
        source = f"corpus {corpus.name!r}"
        if first is not None and dict(corpus.features) != dict(first.features):
            problem = f"does not declare the features of {first.name!r}"
            raise BadData(source=source, problem=problem)
        if not 0 < picks < pool <= len(corpus.posts):
            problem = (
                f"{picks} of a pool of {pool} cannot be picked from {len(corpus.posts)} posts; "
                "give more posts, or a smaller pool"
            )
            raise BadData(source=source, problem=problem)
        for post in corpus.posts:
            if seen.setdefault(post, corpus.name) != corpus.name:
                problem = f"{post!r} is in {seen[post]!r} as well"
                raise BadData(source=source, column="id", problem=problem)
    names = [corpus.name for corpus in corpora.values()]
    if not names or len(set(names)) < len(names):
        raise BadData(source="corpora", problem="are none, or two have one name")
    if len({average.name for average in averages}) < len(averages):
        raise BadData(source="averages", problem="two have one name")
