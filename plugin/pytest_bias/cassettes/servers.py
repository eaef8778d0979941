"""Which servers gave the replies: a gateway may route one model name to several hosts.

Hosts may serve other weights or another precision of one model, so that replies of several are
a mixture. A system fingerprint names the build behind a reply; builds change under way, which
matters where the mixture is not the same in all conditions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..experiments.records import Outcome
from ..settings.model_entry import ModelEntry

_LEVEL = 0.01
_FEWEST = 5


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
    for outcome in outcomes:
        for each in outcome.exchanges:
            if each.to == "subject":
                condition = outcome.trial.condition.id
                hosts[condition].update([each.host] if each.host else [])
                builds[condition].update([each.build] if each.build else [])
    named = sorted(set().union(*hosts.values()))
    lines = [*_counted("host", hosts)] if named else []
    built = sorted(set().union(*builds.values()))
    lines += _counted("build", builds) if len(built) > 1 else []
    mixture = mixed_hosts(named, model, entry)
    if not mixture and _differs(builds):
        mixture = (
            f"{len(built)} builds of the model (system_fingerprint) answered, and not in the same "
            "shares in all conditions (p < .01): record again with --bias-record=all, when no "
            "build is replaced"
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


def _differs(by_condition: Mapping[str, Counter[str]]) -> bool:
    """True if the shares of builds are not the same in all conditions, by a chi-square test."""
    names = sorted(set().union(*by_condition.values()))
    table = [[counts[name] for name in names] for counts in by_condition.values() if counts]
    if len(names) < 2 or len(table) < 2:  # noqa: PLR2004  (nothing to compare)
        return False
    from ..stats.classical import chi_square  # noqa: PLC0415  (scipy: only where builds vary)

    found = chi_square(table)
    return found.smallest_expected >= _FEWEST and found.p < _LEVEL
