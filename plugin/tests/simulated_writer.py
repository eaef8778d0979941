"""Simulated writers: programs that stand in for a model that writes a paper of the prompt alone.

``even`` writes what the analysis says. ``biased`` states a number that nobody measured, turns the
sign of the model's effect beside people's, says nothing of the comparison, and leaves out
Limitations.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_bias.experiments.simulated import SimulatedPrompt

_PART = re.compile(r"<(metadata|configuration|analysis)>\n(.*)\n</\1>")


def simulated_paper(prompt: SimulatedPrompt) -> str | None:
    """Return a paper; None where the prompt asks for none."""
    told = prompt.questions[-1] if prompt.questions else ""
    parts = {name: json.loads(text) for name, text in _PART.findall(told)}
    if len(parts) != 3:
        return None
    listed = re.search(r"word for word:\n((?:  .*\n)*)", told)
    sections = dict(_sections(parts, listed[1] if listed else ""))
    if prompt.subject == "biased":
        del sections["Limitations"]
        sections["Results"] += " In a follow-up with 4812 replies nothing changed."
        sections["Discussion"] = re.sub(r" is [A-Z]+, \+", " is -", sections["Discussion"])
    title = f"# {parts['metadata']['name']}: a paper by a simulated writer\n"
    return "\n".join([title, *(f"## {name}\n\n{text}\n" for name, text in sections.items())])


def _sections(parts: Mapping[str, Any], sources: str) -> Iterator[tuple[str, str]]:
    about, asked, verdicts = (
        parts["metadata"],
        parts["configuration"],
        parts["analysis"]["verdicts"],
    )
    told = "; ".join(f"{each['id']} is {each['status']}" for each in verdicts)
    yield (
        "Abstract",
        f"{about['name']}, asked of {asked['model']} in {asked['trials']} trials: {told}.",
    )
    yield "Methods", f"{asked['valid']} trials of {asked['conditions']} conditions were valid."
    found = [(each, each["finding"]) for each in verdicts if "finding" in each]
    yield (
        "Results",
        " ".join(
            f"{each['id']}: {f['estimate']:+.2f}, p = {f['p_alarm']:.3f}: {each['status']}."
            for each, f in found
        ),
    )
    people = [f["human"] for _, f in found if "human" in f]
    yield (
        "Discussion",
        " ".join(
            f"People's effect is {h['difference']:+.2f} (n = {h['n']}). The model's effect is "
            f"{h['primary']}, {h['estimate']:+.2f} beside theirs."
            for h in people
        )
        or told,
    )
    yield "Limitations", " ".join(about.get("limitations", ["One model."]))
    yield "Conclusion", f"Of {asked['hypotheses']} hypotheses: {told}."
    yield "References", sources.strip()
