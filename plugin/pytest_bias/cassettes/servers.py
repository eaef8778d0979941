"""Which servers gave the replies: a gateway may route one model name to several hosts.

Hosts may serve other weights or another precision of one model, so that replies of several are
a mixture. A system fingerprint names the build behind a reply; builds change under way, which
matters where the mixture is not the same in all conditions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..experiments.records import Outcome
from ..settings.model_entry import ModelEntry

_LEVEL = 0.01
_PERMUTATIONS = 4_999
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers of a recording, counted for reports, and why they are a ``mixture``, or ''."""

    counts: tuple[str, ...] = ()
    mixture: str = ""


def servers_of(outcomes: Iterable[Outcome], model: str, entry: ModelEntry) -> Servers:
    """Hosts and system fingerprints of the subject's replies, counted by condition.

    ``entry`` is the roster's of ``model``; its ``hosts`` may answer side by side.
    """
    hosts: dict[str, Counter[str]] = defaultdict(Counter)
    builds: dict[str, Counter[str]] = defaultdict(Counter)
    of_trials: list[tuple[Mapping[str, str], str]] = []
    for outcome in outcomes:
        said = [each for each in outcome.exchanges if each.to == "subject"]
        condition = outcome.trial.condition
        hosts[condition.id].update(each.host for each in said if each.host)
        # Of a conversation its turns are no further evidence.
        if build := "+".join(sorted({each.build for each in said if each.build})):
            builds[condition.id][build] += 1
            of_trials.append((condition.levels, build))
    named = sorted(set().union(*hosts.values()))
    lines = [*_counted("host", hosts)] if named else []
    built = sorted(set().union(*builds.values()))
    lines += _counted("build", builds) if len(built) > 1 else []
    mixture = mixed_hosts(named, model, entry)
    if not mixture and _differs(of_trials):
        mixture = (
            f"{len(built)} builds of the model (system_fingerprint) answered, and not in the same "
            "shares at all levels of a factor (p < .01): record again with --bias-record=all, "
            "while no build is replaced"
        )
    return Servers(tuple(lines), mixture)


def mixed_hosts(hosts: Sequence[str], model: str, entry: ModelEntry) -> str:
    """Why replies of these hosts are a mixture, and what to do; '' where they are none."""
    if len(hosts) < 2 or entry.hosts.issuperset(hosts):  # noqa: PLR2004  (a mixture of two)
        return ""
    listed = ", ".join(f'"{host}"' for host in hosts)
    return (
        f"{len(hosts)} hosts answered as {model}: {', '.join(hosts)}. They may serve it in other "
        f'precision. Under [models."{model}"] in the roster pin one (OpenRouter: request = '
        f'{{ provider = {{ only = ["{hosts[0]}"] }} }}; LiteLLM: request a name with one model '
        "behind it), or allow the mixture with "
        f"hosts = [{listed}]"
    )


def _counted(what: str, by_condition: Mapping[str, Counter[str]]) -> Iterable[str]:
    for condition, counts in sorted(by_condition.items()):
        numbers = ", ".join(f"{name} {n}" for name, n in sorted(counts.items()))
        yield f"{what}, {condition}: {numbers or 'not named'}"


def _differs(of_trials: Sequence[tuple[Mapping[str, str], str]]) -> bool:
    """True if the shares of builds differ between the levels of a factor.

    By permutations of the builds over all trials, which hold for any counts; the level is divided
    by the number of factors.
    """
    builds = [build for _, build in of_trials]
    if len({*builds}) < 2:  # noqa: PLR2004  (nothing to compare)
        return False
    import numpy as np  # noqa: PLC0415  (only where builds vary)

    factors = list(of_trials[0][0])
    _, drawn = np.unique(builds, return_inverse=True)
    for factor in factors:
        _, levels = np.unique([of[factor] for of, _ in of_trials], return_inverse=True)
        cells = levels * (drawn.max() + 1)
        sizes = np.bincount(levels)[:, None] * np.bincount(drawn)[None, :]

        def distance(order: np.ndarray, cells: np.ndarray = cells, sizes: Any = sizes) -> float:
            counts = np.bincount(cells + order, minlength=sizes.size).reshape(sizes.shape)
            return float((counts**2 / sizes).sum())

        rng, observed = np.random.default_rng(0), distance(drawn)
        beyond = sum(
            distance(rng.permutation(drawn)) >= observed - _ROUNDING for _ in range(_PERMUTATIONS)
        )
        if (beyond + 1) / (_PERMUTATIONS + 1) < _LEVEL / len(factors):
            return True
    return False
