"""A paper about one analysis: what a model is given to write it, and what its text lacks."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from ..errors import BiasError, NotWritten
from ..experiments.canonical import plain
from ..experiments.design import Design
from ..experiments.experiment import Experiment, plan
from ..experiments.messages import Message, Parameters, Request
from ..experiments.replay import SUBJECT, Walk, new_prompt_texts, simulated_reply
from ..experiments.replies import spoken
from ..recording.caller import Terms
from ..recording.collector import answer_of
from ..verdicts.analysis import Analysis
from ..verdicts.wording import number_text
from .escapes import rendered, writable

_MOST_CONDITIONS, _MOST_ANSWERS = 32, 10
"""Beyond these, conditions are not told one by one, and answers of a question not counted out."""
_LEFT_OUT = {"values", "by_unit", "factor", "licenses", "citation", "cassette", "checksum"}
"""What no writer needs of an analysis."""
_LEAST_TOKENS = 4096

SECTIONS = (
    *("Title", "Abstract", "Methods", "Results"),
    *("Discussion", "Limitations", "Conclusion", "References"),
)
_CHECKED = "> Checked by pytest-bias"
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_IN_FORM = re.compile(
    r"^[ \t]{0,9}(?:#{1,6} )?(?:\*\*)?\d{1,2}[.)](?=\s)|\b(?:Table|Figure) \d{1,2}\b"
)
"""Numbers of headings, items of lists, tables and figures."""
_NUMBER = re.compile(
    r"(?:(?<![\w)\]%.])(?P<sign>[-+]))?(?<![^\W_])(?<!\.)(?<![A-Za-z]-)"
    r"(?P<digits>\d+(?:\.\d+)?|\.\d+)(?:(?:e|\s?[×x]\s?10\^?\{?)(?P<power>[-+]?\d{1,3}))?"
    r"(?P<percent>\s?%)?(?![^\W_])"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """All that a writer is given: of which ``subject``, and which ``relations`` to people hold."""

    subject: str
    prompt: str
    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper that begins with what was found, and the same as ``problems``."""

    text: str
    problems: tuple[str, ...]


def brief_of(analysis: Analysis, experiment: Experiment, version: str) -> Brief:
    """Return what a writer is given of an analysis; ``version`` is that of pytest-bias."""
    people = [v.finding.human for v in analysis.verdicts if v.finding and v.finding.human]
    relations = {word for each in people for word in (each.primary, each.published)}
    about = {"id": analysis.experiment, "name": analysis.name, "source": analysis.source}
    names = ("model", "simulated", "design", "replicates", "trials", "recording")
    configuration = {name: getattr(analysis, name) for name in names} | {
        "valid": sum(count.ok for count in analysis.counts),
        "conditions": len(analysis.counts),
        "hypotheses": len(analysis.verdicts),
        "alpha of this experiment": analysis.allocation.alpha,
        "pytest-bias": version,
    }
    found = {name: getattr(analysis, name) for name in ("controls", "verdicts", "agreements")}
    if len(analysis.counts) <= _MOST_CONDITIONS:
        few = [each for each in analysis.categories if len(each.counts) <= _MOST_ANSWERS]
        found |= {"counts": analysis.counts, "numbers": analysis.numbers, "categories": few}
    prompt = rendered(
        "paper.md.j2",
        metadata=_json(about | {**analysis.metadata}),
        vignette=_vignette(experiment),
        configuration=_json(configuration),
        analysis=_json(found),
        people=[each.difference for each in people],
        relations=sorted(relations),
        sources=dict.fromkeys(filter(None, [analysis.source, *(p.citation for p in people)])),
        simulated=analysis.simulated,
    )
    subject = f"{analysis.experiment} × {analysis.model}"
    return Brief(subject=subject, prompt=prompt, relations=tuple(sorted(relations)))


def _json(value: object) -> str:
    """JSON text without what is empty or needed by no writer; numbers to six digits."""
    return json.dumps(_shortened(plain(value)), ensure_ascii=False)


def _shortened(value: object) -> object:
    if isinstance(value, dict):
        kept = {k: _shortened(inner) for k, inner in value.items() if k not in _LEFT_OUT}
        return {key: inner for key, inner in kept.items() if inner not in (None, "", [], {})}
    if isinstance(value, list):
        return [_shortened(inner) for inner in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _vignette(experiment: Experiment) -> str:
    """Return what the subject is told in the first trial, and what is varied.

    Nothing where the experiment keeps no text: then its prompts do not belong in a paper either.
    """
    if experiment.retention != "raw":
        return f"Not given: the experiment keeps no text (retention={experiment.retention!r})."
    trial = plan(experiment, Design(1))[0]
    walk = Walk(experiment, f"simulated/{SUBJECT}", trial, partial(simulated_reply, experiment))
    told = [text for each in walk.requests for text in new_prompt_texts(each.request, walk.roles)]
    varied = [f"{factor.name}: {dict(factor.levels)}" for factor in experiment.factors]
    return "\n\n".join([f"In condition {trial.condition.id}:", *told, "Varied:", *varied])


def write_paper(brief: Brief, model: str, terms: Terms) -> Paper:
    """Have ``model`` (``provider/model``) write the paper in one call, and check it.

    Raises NotWritten when no text comes back, whatever the reason.
    """
    entry = terms.roster.entry(model)
    most = max(_LEAST_TOKENS, entry.max_output_tokens or 0)
    parameters = Parameters(max_output_tokens=most).filled(terms.roster.defaults(model))
    try:
        reply = answer_of(model, Request((Message("user", brief.prompt),), parameters), terms)
    except BiasError as error:
        raise _not_written(model, str(error)) from error
    text = spoken(reply.text).strip()
    if not text:
        problem = f"its reply is empty (it ended with {reply.finish!r})"
        raise _not_written(model, problem)
    return checked_paper(writable(text), brief, by=model, cut=reply.finish == "length")


def _not_written(model: str, problem: str) -> NotWritten:
    hint = (
        "Results and recordings are as they were: pytest-bias paper goes on with them, with "
        "another --model, or checks a text written elsewhere (--prompt, then --check PAPER.md)"
    )
    problem = f"{model}: {problem.removeprefix(f'{model}: ')}"
    return NotWritten(path="the paper", problem=problem, hint=hint)


def checked_paper(text: str, brief: Brief, *, by: str = "", cut: bool = False) -> Paper:
    """Return a paper with a head that lists what is wrong with it, in place of an earlier head.

    ``by`` is the model that wrote the text; ``cut`` is whether a limit of tokens ended it.
    """
    lines = text.split("\n")
    if lines[0].startswith(_CHECKED):
        while lines and (lines[0].startswith(">") or not lines[0].strip()):
            del lines[0]
    if lines and lines[0].startswith("```") and lines[-1].strip() == "```":
        lines = lines[1:-1]
    found = ["the limit of tokens ended the reply"] if cut else []
    sections = _sections(lines)
    found += [f"there is no {name}" for name in SECTIONS if not sections[name]]
    if brief.relations and not any(word in sections["Discussion"] for word in brief.relations):
        found.append(f"Discussion does not say {' or '.join(brief.relations)}")
    found += dict.fromkeys(_numbers_not_had(lines, brief.prompt))
    written = f"; written by {by}" if by else ""
    said = number_text(len(found), "problem") if found else "no problem found"
    head = [f"{_CHECKED} against the analysis of {brief.subject}{written}: {said}."]
    head += [f"> - {each}" for each in found]
    return Paper("\n".join([*head, "", *lines]).rstrip() + "\n", tuple(found))


def _sections(lines: list[str]) -> dict[str, str]:
    """Return what stands below the heading of each section; for the title, above them all."""
    found, current = dict.fromkeys(SECTIONS, ""), SECTIONS[0]
    names = {name.casefold().rstrip("s"): name for name in SECTIONS}
    for line in lines:
        words = line.strip("#*: \r").lstrip("0123456789.) ") if line[:1] in ("#", "*") else ""
        if name := names.get(words.casefold().rstrip("s")):
            current = name
        else:
            found[current] += line.strip("#* \r")
    return found


def _numbers_not_had(lines: list[str], prompt: str) -> Iterator[str]:
    """Each number of a text that no number in the prompt rounds to, with the words around it.

    A number without a sign may be of either sign, and one in percent a share.
    """
    known = {value for line in prompt.split("\n") for _, value, _ in _numbers_in(_plain(line))}
    for line in map(_plain, lines):
        for match, value, tolerance in _numbers_in(line):
            had = known | {100 * each for each in known} if match["percent"] else known
            if not any(
                abs(abs(value) - abs(each)) < tolerance + 5e-6 * abs(each)
                and (not match["sign"] or value * each >= 0)
                for each in had
            ):
                around = line[max(0, match.start() - 30) : match.end() + 30].strip()
                yield f"{match[0].strip()} is no number of the analysis: {around!r}"


def _plain(line: str) -> str:
    """Return a line without superscripts, commas in thousands, and numbers of form."""
    line = unicodedata.normalize("NFKC", line).replace("−", "-")
    return _IN_FORM.sub("", _THOUSANDS.sub("", line))


def _numbers_in(line: str) -> Iterator[tuple[re.Match[str], float, float]]:
    """Numbers in a line: each with its value and half a unit of its last digit."""
    for match in _NUMBER.finditer(line):
        power, decimals = int(match["power"] or 0), len(match["digits"].partition(".")[2])
        value = float(f"{match['sign'] or ''}{match['digits']}e{power}")
        yield match, value, float(f"0.5000001e{power - decimals}")
