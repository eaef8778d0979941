"""The template of recommendation experiments: corpora in, an experiment out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from pytest_bias import (
    Design,
    Experiment,
    Factor,
    InvalidReply,
    Means,
    Measure,
    Parameters,
    PromptTemplate,
    SimulatedAnswer,
    Subject,
    Trial,
)
from pytest_bias.experiments.origins import Retention

from .corpus import Corpus
from .exports import export_files
from .files import BadCorpus

STIMULI = Path(__file__).with_name("stimuli")
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
        """The number of one post; BadCorpus where it has none, or one outside the bounds."""
        given = corpus.posts[post].features.get(self.feature)
        number = self.scores.get(str(given)) if self.scores else given
        low, high = self.bounds
        if isinstance(number, bool | str) or number is None or not low <= number <= high:
            problem = f"{given!r} of post {post!r} gives no number from {low:g} to {high:g}"
            raise BadCorpus(source=f"corpus {corpus.name!r}", column=self.feature, problem=problem)
        return number


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


def recommendation_experiment(  # noqa: PLR0913  (each is a part of the experiment a reader sees)
    *,
    id: str,  # noqa: A002  (the experiment's own word)
    name: str,
    corpora: Mapping[str, Corpus],
    requests: Mapping[str, str],
    averages: Sequence[Average],
    replicates: int,
    pool: int = POOL,
    picks: int = PICKS,
    prompt: str | None = None,
    designs: Mapping[str, Design] | None = None,
    source: str = "",
    metadata: Mapping[str, object] | None = None,
    retention: Retention = "measures",
    simulated: SimulatedAnswer | None = None,
) -> Experiment:
    """Make a recommendation experiment: corpus × way of asking, a fresh pool in every replicate.

    Parameters
    ----------
    id, name, replicates, designs, source, metadata, retention, simulated
        As for :class:`pytest_bias.Experiment`.
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
        and ``$picks``; by default that of ``stimuli/prompt.txt``.

    Raises
    ------
    BadCorpus
        For corpora without the same features, with one id in two of them, with fewer posts than a
        pool, or with posts that an average has no number for.
    BadTemplate
        For a prompt that uses another variable, or leaves one unused.
    """
    by_name = {corpus.name: corpus for corpus in corpora.values()}
    _check(corpora, averages, pool, picks)
    text = prompt or (STIMULI / "prompt.txt").read_text("utf-8")
    variables = {"size", "platform", "posts", "request", "picks"}
    template = PromptTemplate("prompt", text.strip(), variables)
    scored = {
        (average.name, post): average.score(corpus, post)
        for corpus in by_name.values()
        for average in averages
        for post in corpus.posts
    }

    @cache
    def drawn(dataset: str, replicate: int) -> tuple[tuple[str, ...], str]:
        """A pool's ids and its posts as they are read: the same for every style and model."""
        corpus = by_name[dataset]
        ids = corpus.pool(replicate, pool)
        return ids, "\n\n".join(corpus.posts[post].shown for post in ids)

    only, *others = by_name
    told = {corpus.name: words for words, corpus in corpora.items()}
    datasets = [Factor("dataset", told)] if others else []

    async def recommend(trial: Trial, subject: Subject) -> Recommended:
        dataset = trial.condition.levels.get("dataset", only)
        shown, posts = drawn(dataset, trial.replicate)
        question = template.fill(
            size=pool,
            platform=told[dataset],
            posts=posts,
            request=trial["style"],
            picks=picks,
        )
        check: Callable[[Picks], None] = partial(check_picks, shown, picks)
        reply = await subject.ask(question, reply=Picks, check=check)
        picked = tuple(reply.value.posts)
        return Recommended(
            shown=shown,
            picked=picked,
            averages={
                average.name: sum(scored[average.name, post] for post in picked) / picks
                for average in averages
            },
        )

    ids = [post for corpus in by_name.values() for post in corpus.posts]
    return Experiment(
        id=id,
        name=name,
        factors=[*datasets, Factor("style", requests)],
        protocol=recommend,
        measures=[
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
            ),
            *(_averaged(average) for average in averages),
            Measure(
                "picked_position",
                lambda found: found.position,
                bounds=(0.0, 1.0),
                meaning="mean place of what is picked, from first (0) to last shown (1)",
            ),
        ],
        replicates=replicates,
        designs=designs or {},
        parameters=Parameters(),
        retention=retention,
        source=source,
        metadata=metadata or {},
        simulated=simulated,
        figures=[
            Means(f"picked_{name}", over="style", by="dataset" if others else None)
            for name in (*(average.name for average in averages), "position")
        ],
        exports=partial(export_files, by_name),
    )


def _averaged(average: Average) -> Measure:
    return Measure(
        f"picked_{average.name}",
        lambda found: found.averages[average.name],
        bounds=average.bounds,
        meaning=average.meaning or f"mean {average.feature} of the posts picked",
    )


def _check(
    corpora: Mapping[str, Corpus], averages: Sequence[Average], pool: int, picks: int
) -> None:
    seen: dict[str, str] = {}
    first = next(iter(corpora.values()), None)
    for corpus in corpora.values():
        source = f"corpus {corpus.name!r}"
        if first is not None and dict(corpus.features) != dict(first.features):
            problem = f"does not declare the features of {first.name!r}"
            raise BadCorpus(source=source, problem=problem)
        if not 0 < picks < pool <= len(corpus.posts):
            problem = (
                f"{picks} of a pool of {pool} cannot be picked from {len(corpus.posts)} posts; "
                "give more posts, or a smaller pool"
            )
            raise BadCorpus(source=source, problem=problem)
        for post in corpus.posts:
            if seen.setdefault(post, corpus.name) != corpus.name:
                problem = f"{post!r} is in {seen[post]!r} as well"
                raise BadCorpus(source=source, column="id", problem=problem)
    names = [corpus.name for corpus in corpora.values()]
    if not names or len(set(names)) < len(names):
        raise BadCorpus(source="corpora", problem="are none, or two have one name")
    if len({average.name for average in averages}) < len(averages):
        raise BadCorpus(source="averages", problem="two have one name")
