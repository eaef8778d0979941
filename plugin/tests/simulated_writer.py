"""Simulated writers: programs that stand in for a model that writes a paper, and say so in it.

They make it of the prompt alone. ``even`` writes what the analysis says. ``biased`` has a number
nobody measured, a sign turned round, another relation to people and a source there is not.
``drifted`` mends these and leaves out Limitations.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_bias.experiments.experiment import SimulatedPrompt

_PART = re.compile(r"<(metadata|configuration|analysis)>\n(.*)\n</\1>")
_OTHER = {"LESS": "GREATER", "GREATER": "LESS", "SIMILAR": "LESS", "not distinguishable": "LESS"}


def simulated_paper(prompt: SimulatedPrompt) -> str | None:
    """Return a paper; None where the prompt asks for none."""
    parts: dict[str, Any] = {
        name: json.loads(text)
        for name, text in _PART.findall(prompt.told[-1] if prompt.told else "")
    }
    if set(parts) != {"metadata", "configuration", "analysis"}:
        return None
    listed = re.search(r"word for word:\n((?:  .*\n)*)", prompt.told[-1])
    sources = listed[1].split("\n")[:-1] if listed else []
    faulty = prompt.subject == "biased"
    sections = dict(_sections(parts, sources, faulty=faulty))
    if prompt.subject == "drifted":
        del sections["Limitations"]
    title = f"# {parts['metadata']['name']}: a paper by a simulated writer\n"
    return "\n".join([title, *(f"## {name}\n\n{text}\n" for name, text in sections.items())])


def _sections(
    parts: Mapping[str, Any], sources: Sequence[str], *, faulty: bool
) -> Iterator[tuple[str, str]]:
    about, asked, analysis = parts["metadata"], parts["configuration"], parts["analysis"]
    verdicts = analysis["verdicts"]
    subject = f"{'the simulated subject ' * asked['simulated']}{asked['model']}"
    people = [(v, v["finding"]["human"]) for v in verdicts if "human" in v.get("finding", {})]
    told = "; ".join(f"{v['id']} is {v['status']}" for v in verdicts)
    yield "Abstract", f"{about['name']}, asked of {subject} in {asked['trials']} trials: {told}."
    conditions = ", ".join(
        f"{c['condition']} (n = {c['planned']})" for c in analysis.get("counts", ())
    )
    yield "Methods", f"Conditions: {conditions}. {asked['valid']} trials were valid."
    lines = [*_described(analysis.get("numbers", ())), *map(_result, verdicts)]
    if faulty:
        lines.append("In a follow-up with 4812 further replies nothing changed.")
    results = "\n".join(f"- {line}" for line in lines)
    yield "Results", results.replace(": +", ": -") if faulty else results
    discussion = [
        f"People's effect is {h['difference']:+.2f} (means {h['low_mean']:.2f} and "
        f"{h['high_mean']:.2f}, n = {h['n']}; {_cited(sources)}). The effect of {v['id']} is "
        f"{_OTHER[h['primary']] if faulty else h['primary']}, {h['estimate']:+.2f} beside theirs."
        for v, h in people
    ]
    yield "Discussion", "\n\n".join(discussion) or f"What was found: {told}."
    yield (
        "Limitations",
        "\n".join(f"- {each}" for each in about.get("limitations", ["One model."])),
    )
    yield "Conclusion", f"Of {asked['hypotheses']} hypotheses: {told}."
    invented = ["Nobody, N. (2019). A study there is not. Journal of Nothing, 1(1), 1–9."] * faulty
    yield "References", "\n\n".join([*map(str.strip, sources), *invented])


def _described(numbers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for each in numbers:
        if d := each.get("description"):
            spread = f", SD = {d['sd']:.2f}" if "sd" in d else ""
            where = f"{each['measure']} in {each['condition']}"
            yield f"{where}: mean = {d['mean']:.2f}{spread}, n = {d['n']}"


def _result(verdict: Mapping[str, Any]) -> str:
    f = verdict.get("finding")
    if f is None:
        return f"{verdict['id']}: {verdict['words']}"
    i = f.get("interval")
    bounds = f", {100 * i['level']:.0f} % CI [{i['low']:+.2f}, {i['high']:+.2f}]" if i else ""
    return (
        f"{verdict['id']}: {f['estimate']:+.2f}{bounds}, p = {f['p_alarm']:.3f}, "
        f"{f['units']} units: {verdict['status']}"
    )


def _cited(sources: Sequence[str]) -> str:
    found = re.search(r"([A-Z][\w-]+).*?\((\d{4})\)", sources[-1] if sources else "")
    return f"{found[1]} et al., {found[2]}" if found else "no source"
