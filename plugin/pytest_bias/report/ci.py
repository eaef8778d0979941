"""Summary of a run or an upgrade in Markdown, as CI services show it with a job.

Names, numbers and verdicts only: no prompt and no reply.
"""

from __future__ import annotations

from collections.abc import Sequence

from .escapes import rendered
from .run import RunResult
from .terminal import (
    Row,
    heading,
    run_remarks,
    stopping_rows,
    table,
    upgrade_notes,
    upgrade_rows,
    verdict_rows,
)
from .upgrade_table import Upgrade
from .wording import closing_lines, ended_text, upgrade_closing, upgrade_heading


def summary_markdown(run: RunResult, written: Sequence[str] = ()) -> str:
    """Return the terminal's section, and what passes behind folds.

    ``written`` says where the files are.
    """
    *way, closing = closing_lines(run)
    passing = [
        v
        for v in run.gating
        if v.status != "CLEAR" and v.named not in run.failing and not run.known(v)
    ]
    let = [v for v in passing if v.status == "BIASED" or run.acceptance(v)]
    folded = {"Undecided, and passing": [*verdict_rows(run, (v for v in passing if v not in let))]}
    return rendered(
        "summary.md.j2",
        word=closing.partition(":")[0],
        heading=(heading(run) or ("", ""))[1],
        stopping=stopping_rows(run),
        notes=upgrade_notes(run.upgrade) if run.upgrade is not None else (),
        table=[*table(run)] if run.analyses else [],
        remarks=[*run_remarks(run)],
        way=[*way, *(f"failed by itself: {case}" for case in run.broken)],
        simulated=run.simulated,
        closing=closing,
        ended=f"{len(run.cases)} cases: {ended_text(run)}" if run.cases else "",
        opened={"Let through": [*verdict_rows(run, let)]},
        folded=folded | (_folded(run.upgrade) if run.upgrade is not None else {}),
        judged=run.selected,
        written=written,
    )


def upgrade_markdown(upgrade: Upgrade, but: str = "", reasons: Sequence[str] = ()) -> str:
    """Return an upgrade on its own, in the same form.

    ``but`` and ``reasons`` say what keeps it from passing beside its rows.
    """
    word, words = upgrade_heading(upgrade, but)
    return rendered(
        "summary.md.j2",
        **dict.fromkeys(("table", "remarks", "judged", "written"), ()),
        word=word,
        heading=words,
        stopping=upgrade_rows(upgrade, upgrade.open),
        notes=upgrade_notes(upgrade),
        way=reasons,
        simulated=upgrade.simulated,
        closing=upgrade_closing(upgrade, but),
        ended="",
        opened={},
        folded=_folded(upgrade),
    )


def _folded(upgrade: Upgrade) -> dict[str, list[Row]]:
    """The rows of an upgrade that cannot have got worse."""
    rest = [row for row in upgrade.rows if not row.is_open]
    before = [row for row in rest if row.outcome == "as before"]
    apart = [row for row in rest if row not in before]
    return {
        "Known, improved and not compared": [*upgrade_rows(upgrade, apart)],
        "As before": [*upgrade_rows(upgrade, before)],
    }
