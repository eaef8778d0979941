"""The record of a run on the page: what ``audit.py`` says of each model, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..verdicts.verdict import number_words, range_words
from .audit import NOTICE, RECORDED, REHEARSED
from .numbers import axes_words, plain_number, ratio_number
from .page_record import capital

AuditRecord = Mapping[str, Any]

_FIRST = 16  # digits of a digest: what is filed has all
_FEW = 4
"""Hypotheses up to which those of a margin are named; of more there is their number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioTable:
    """The impact ratios of one outcome, of every model that was asked.

    ``parts`` are the axes, and their intersection, with a row for each category: each model's row
    as the record has it, in the order of ``models``.
    """

    title: str
    models: Sequence[str]
    parts: Sequence[tuple[str, Sequence[Sequence[Mapping[str, Any]]]]]
    rate: str
    note: str

    @property
    def lowest(self) -> Iterator[str]:
        """The category with the lowest ratio, of all axes together, of each model."""
        _, rows = self.parts[-1]
        for of_model in zip(*rows, strict=True):
            known = [row for row in of_model if row["ratio"] is not None]
            worst = min(known, key=lambda row: row["ratio"], default=None)
            yield "–" if worst is None else f"{', '.join(worst['category'])}: {ratio_words(worst)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaidDown:
    """An experiment as it was laid down beforehand, and the models it was laid down alike for."""

    of: Mapping[str, Any]
    models: tuple[str, ...]

    @property
    def margins(self) -> Iterator[tuple[str, str]]:
        """Each margin with why it is that, and what it is for."""
        found: dict[tuple[str, str], list[str]] = {}
        for each in self.of["hypotheses"]:
            if (finding := each["finding"]) is not None and finding["margin"] is not None:
                words = f"{range_words(finding['margin'], finding['scale'])} {finding['unit']}"
                found.setdefault((words.strip(), each["why"]), []).append(each["id"])
        for (words, why), ids in found.items():
            of = (
                ", ".join(ids)
                if len(ids) <= _FEW
                else number_words(len(ids), "hypothesis", "hypotheses")
            )
            yield words, f"{why or 'no reason is given'} ({of})"

    @property
    def design(self) -> str:
        """Its factors, and how often they were asked."""
        of = self.of["design"]
        factors = " × ".join(f"{name} ({len(at)})" for name, at in of.get("factors", {}).items())
        items = [number_words(len(of["items"]), "item")] if of.get("items") else []
        said = [of["name"], *([factors] if factors else []), *items]
        said += [number_words(of["replicates"], "replicate"), number_words(of["trials"], "trial")]
        return ", ".join(said)

    @property
    def digests(self) -> str:
        """Digests of the design, of what was written beforehand, and of the hypotheses."""
        laid_down = self.of["preregistration"]
        if laid_down is None:
            return ""
        sums = {"design": self.of["design"]["sha256"], **laid_down["documents"]}
        sums["hypotheses"] = laid_down["hypotheses_sha256"]
        return ", ".join(f"{name} {value[:_FIRST]}" for name, value in sums.items())

    @property
    def budget(self) -> str:
        """The alarms it may raise falsely, and the families that divide them."""
        of = self.of["error_budget"]
        families = "; ".join(
            f"{name}: {number_words(len(ids), 'hypothesis', 'hypotheses')}"
            for name, ids in of["families"].items()
        )
        words = f"false alarms at most {of['alarms'] * of['share']:.2g}"
        return f"{words}; families: {families}" if families else words


def audit_title(records: Sequence[AuditRecord]) -> str:
    """The heading of the record; of programs alone it is called none."""
    programs = [record["simulated"] for record in records]
    if programs and all(programs):
        return "Rehearsal: simulated subjects"
    return "Record of bias tests" + (", and a rehearsal beside it" if any(programs) else "")


def audit_notice(records: Sequence[AuditRecord]) -> str:
    """The record in a sentence, with all that it is not."""
    programs = [record["model"] for record in records if record["simulated"]]
    return f"{REHEARSED if records and len(programs) == len(records) else RECORDED} {NOTICE}"


def registered(records: Sequence[AuditRecord]) -> list[LaidDown]:
    """The experiments of a run, of each design and hypotheses one."""
    found: dict[tuple[str, ...], list[tuple[str, Mapping[str, Any]]]] = {}
    for record in records:
        for each in record["experiments"]:
            laid_down = each["preregistration"] or {}
            sums = each["design"].get("sha256", ""), laid_down.get("hypotheses_sha256", "")
            key = (each["experiment"], *sums, *map(str, laid_down.get("documents", {}).items()))
            found.setdefault(key, []).append((record["model"], each))
    return [LaidDown(of=of[0][1], models=tuple(m for m, _ in of)) for of in found.values()]


def ratio_tables(records: Sequence[AuditRecord]) -> Iterator[RatioTable]:
    """All impact ratios of a run, those of several models in one table."""
    found: dict[tuple[str, int], list[tuple[str, str, Mapping[str, Any]]]] = {}
    for record in records:
        for each in record["experiments"]:
            for place, impact in enumerate(each["impact_ratios"]):
                of = found.setdefault((each["experiment"], place), [])
                of.append((record["model"], each["name"] or each["experiment"], impact))
    for of_models in found.values():
        _, name, first = of_models[0]
        tables = zip(*(impact["tables"] for _, _, impact in of_models), strict=True)
        yield RatioTable(
            title=f"{name}: {first['outcome']}",
            models=[model for model, _, _ in of_models],
            parts=[
                (axes_words(same[0]["axes"]), [*zip(*(of["rows"] for of in same), strict=True)])
                for same in tables
            ],
            rate="Selection rate" if first["median"] is None else "Scoring rate",
            note=" ".join(_notes([(model, impact) for model, _, impact in of_models])),
        )


def _notes(of_models: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
    """The reservations of a table: of whom, above which score, and who is in no category."""
    _, first = of_models[0]
    at = "; ".join(f"{name} {', '.join(levels)}" for name, levels in first["at"].items())
    if at:
        yield f"Confined to {at}."
    alike: dict[str, list[str]] = {}
    for model, impact in of_models:
        alike.setdefault("; ".join(_reservations(impact)), []).append(model)
    for words, models in alike.items():
        if words:
            named = f"{', '.join(models)}: " if len(alike) > 1 else ""
            yield f"{named}{words}." if named else f"{capital(words)}."


def _reservations(impact: Mapping[str, Any]) -> Iterator[str]:
    if impact["median"] is not None:
        yield f"a score above the median of {plain_number(impact['median'])} counts as selected"
    unknown: dict[int, list[str]] = {}
    for table in impact["tables"]:
        if table["unknown"]:
            unknown.setdefault(table["unknown"], []).append(" and ".join(table["axes"]))
    for number, of in unknown.items():
        everywhere = len(of) == len(impact["tables"])
        yield f"{number} in no category" + ("" if everywhere else f" of {', '.join(of)}")
    if impact["missing"]:
        lost = number_words(impact["missing"], "trial")
        yield f"{lost} without a valid reply, counted nowhere"


def ratio_words(row: Mapping[str, Any]) -> str:
    """``0.48 (0.41 to 0.56), all below .80``; why there is none of a category too small."""
    if row["left_out"]:
        return "under 2 %: no ratio"
    if row["ratio"] is None:
        return ""
    interval = row["interval"]
    bounds = (
        f" ({ratio_number(interval['low'])} to {ratio_number(interval['high'])})"
        if interval
        else ""
    )
    said = {"shown": ", all below .80", "estimated": ", below .80"}.get(row["below"], "")
    said += ", its interval not all" * (row["below"] == "estimated" and bool(interval))
    said += f"; no interval: {row['no_interval']}" if row["no_interval"] else ""
    return f"{ratio_number(row['ratio'])}{bounds}{said}"
