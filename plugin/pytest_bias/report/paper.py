"""A paper about one analysis: what a model is given to write it, and what becomes of its text."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from ..errors import BiasError, PaperNotWritten
from ..experiments.canonical import plain
from ..experiments.design import Design
from ..experiments.experiment import Experiment, plan
from ..experiments.messages import Message, Parameters, Request
from ..experiments.replay import SUBJECT, Walk, newly_told, simulated_reply
from ..providers.base import is_simulated
from ..recording.collector import Terms
from ..recording.question import answer_of
from ..verdicts.analysis import Analysis
from ..verdicts.verdict import number_words
from .jinja import rendered
from .numbers import writable
from .paper_marks import Known, PaperMark, marks_of
from .stated import facts_of

_MOST_CONDITIONS, _MOST_ANSWERS = 32, 10
"""Beyond these, conditions are not told one by one, and answers of a question not counted out."""
_LEFT_OUT = frozenset(
    ("values", "by_unit", "factor", "licenses", "unit_name", "model", "citation")
)
"""What no writer needs of the parts of an analysis, or is told elsewhere."""

_LEAST_TOKENS = 4096
_CHECKED = "> Checked by pytest-bias"
_MARK = re.compile(r" \*\*⟦[^⟧]*⟧\*\*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """All that a writer is given, and what of it a paper is checked against."""

    subject: str
    prompt: str
    known: Known


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper with its marks in it.

    Lines of ``marks`` count from below the ``head`` lines that say what was checked; ``before`` is
    the number of such lines that the text had already.
    """

    text: str
    marks: tuple[PaperMark, ...]
    head: int
    before: int


def brief_of(analysis: Analysis, experiment: Experiment, version: str) -> Brief:
    """Return what a writer is given of an analysis; ``version`` is that of pytest-bias."""
    people = [v.finding.human for v in analysis.verdicts if v.finding and v.finding.human]
    recording, published = analysis.recording, analysis.recording.published
    about = {"id": analysis.experiment, "name": analysis.name, "source": analysis.source}
    asked = {
        "model": analysis.model,
        "simulated": analysis.simulated,
        "design": analysis.design,
        "replicates": analysis.replicates,
        "trials": analysis.trials,
        "valid": sum(count.ok for count in analysis.counts),
        "conditions": len(analysis.counts),
        "hypotheses": len(analysis.verdicts),
        "alpha of the suite": analysis.allocation.alarms,
        "alpha of this experiment": analysis.allocation.alpha,
        "config": recording.config,
        "judge": recording.judge,
        "served": recording.served,
        "replies from": recording.oldest,
        "replies to": recording.newest,
        "published": published and {"source": published.source, "note": published.note},
        "pytest-bias": version,
    }
    found = {name: getattr(analysis, name) for name in ("controls", "verdicts", "agreements")}
    if len(analysis.counts) <= _MOST_CONDITIONS:
        few = [each for each in analysis.categories if len(each.counts) <= _MOST_ANSWERS]
        found |= {"counts": analysis.counts, "numbers": analysis.numbers, "categories": few}
    parts = {
        "metadata": _shortened(plain(about | {**analysis.metadata}), frozenset()),
        "vignette": _vignette(experiment),
        "configuration": _shortened(plain(asked), frozenset()),
        "analysis": _shortened(plain(found), _LEFT_OUT),
    }
    texts = {
        name: part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)
        for name, part in parts.items()
    }
    sources = tuple(dict.fromkeys(filter(None, [analysis.source, *(p.citation for p in people)])))
    known = Known(
        facts=facts_of([*parts.values(), sources]),
        text="\n".join([*texts.values(), *sources]),
        sources=sources,
        people=tuple(each.difference for each in people),
        relations=frozenset(word for each in people for word in (each.primary, each.published)),
        statuses=frozenset(verdict.status for verdict in analysis.verdicts),
        simulated=analysis.simulated,
    )
    prompt = rendered("paper.md.j2", parts=texts, known=known)
    return Brief(subject=f"{analysis.experiment} × {analysis.model}", prompt=prompt, known=known)


def _shortened(value: object, without: frozenset[str]) -> object:
    """JSON data without what is empty, and ``without`` some keys; numbers to six digits."""
    if isinstance(value, dict):
        kept = {k: _shortened(inner, without) for k, inner in value.items() if k not in without}
        return {key: inner for key, inner in kept.items() if inner not in (None, "", [], {})}
    if isinstance(value, list):
        return [_shortened(inner, without) for inner in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _vignette(experiment: Experiment) -> str:
    """Return what the subject is told in the first trial, and what is varied.

    Nothing where the experiment keeps no text: then its prompts do not belong in a paper either.
    """
    if experiment.retention != "raw":
        return f"Not given: the experiment keeps no text (retention={experiment.retention!r})."
    trial = plan(experiment, Design(1))[0]
    walk = Walk(
        experiment, f"simulated/{SUBJECT}", trial, lambda each: simulated_reply(experiment, each)
    )
    told = [text for each in walk.asked for text in newly_told(each.request, walk.players)]
    varied = [
        f"{factor.name}: {level} = {value}"
        for factor in experiment.factors
        for level, value in factor.levels.items()
    ]
    return "\n\n".join([f"In condition {trial.condition.id}:", *told, "Varied:", *varied])


def write_paper(brief: Brief, model: str, terms: Terms) -> Paper:
    """Have ``model`` (``provider/model``) write the paper, and check it.

    It costs one call, and nothing that was collected or analysed is touched.

    Raises PaperNotWritten when no text comes back, whatever the reason.
    """
    entry = terms.roster.entry(model)
    most = max(_LEAST_TOKENS, entry.max_output_tokens or 0)
    parameters = Parameters(max_output_tokens=most).filled(entry.defaults)
    system = [Message("system", entry.system)] if entry.system else []
    try:
        request = Request((*system, Message("user", brief.prompt)), parameters)
        reply = answer_of(model, request, terms)
    except BiasError as error:
        raise PaperNotWritten(model=model, problem=str(error)) from error
    if not reply.text.strip():
        problem = f"its reply is empty (it ended with {reply.finish!r})"
        raise PaperNotWritten(model=model, problem=problem)
    text = writable(reply.text.strip()).replace("⟦", "[").replace("⟧", "]")
    return checked_paper(text, brief, by=model, whole=reply.finish != "length")


def checked_paper(text: str, brief: Brief, *, by: str = "", whole: bool = True) -> Paper:
    """Return a paper with a mark behind everything in it that the analysis does not hold.

    ``text`` may have been checked before: its old marks are taken out. ``by`` is the model that
    wrote it; it is not ``whole`` where a limit ended it.
    """
    lines = _MARK.sub("", text).split("\n")
    before = 0
    if lines[0].startswith(_CHECKED):
        before = next(
            (at for at, line in enumerate(lines) if not line.startswith(">")), len(lines)
        )
        del lines[:before]
    if lines[:1] and lines[0].startswith("```") and lines[-1].rstrip() == "```":
        lines[0] = lines[-1] = ""  # all of it in a fence
    found = marks_of("\n".join(lines), brief.known)
    if not whole:
        found.insert(0, PaperMark(0, 0, "cut off", "the limit of tokens ended the reply"))
    for each in reversed([mark for mark in found if mark.line]):
        line = lines[each.line - 1]
        mark = f" **⟦{each.kind}: {each.words}⟧**"
        lines[each.line - 1] = line[: each.column] + mark + line[each.column :]
    said = f"{number_words(len(found), 'mark')} in ⟦ ⟧" if found else "nothing is marked"
    program = " (a program that stands in for a model)" * is_simulated(by)
    written = f"; written by {by}{program}" if by else ""
    head = [f"{_CHECKED} against the analysis of {brief.subject}{written}: {said}."]
    head += [f"> - ⟦{each.kind}: {each.words}⟧" for each in found if not each.line]
    head += [""] * (not before)
    return Paper("\n".join([*head, *lines]).rstrip() + "\n", tuple(found), len(head), before)
