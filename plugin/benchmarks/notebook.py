"""Runs the notebook of the documentation anew and writes what its cells show into it.

    python plugin/benchmarks/notebook.py

A test holds the committed outputs against those of the cells; of figures, that there is one.
"""

from __future__ import annotations

import ast
import base64
import io
import json
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd  # type: ignore[import-untyped, unused-ignore]  # ships no types
from matplotlib import pyplot as plt

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"
_PNG = "image/png"
_AS_WRITTEN = ("display.max_columns", 20, "display.width", 100)
"""Frames as they are shown whatever the terminal."""


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of its cells, which are run in its folder in their order."""
    names: dict[str, Any] = {}
    cells, count = [], 0
    mpl.use("Agg")
    with chdir(NOTEBOOK.parent), pd.option_context(*_AS_WRITTEN):
        for cell in notebook["cells"]:
            new = dict(cell)
            if cell["cell_type"] == "code":
                count += 1
                outputs = [*_outputs("".join(cell["source"]), names, count), *_figures()]
                new |= {"execution_count": count, "outputs": outputs}
            cells.append(new)
    return {**notebook, "cells": cells}


def _outputs(source: str, names: dict[str, Any], count: int) -> Iterator[dict[str, Any]]:
    """What a cell prints, and the value of its last expression where no semicolon ends it."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) and source[-1] != ";" else None
    value, printed = None, io.StringIO()
    with redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "notebook", "exec"), names)  # noqa: S102  (our own)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "notebook", "eval"), names)  # noqa: S307
    if text := printed.getvalue():
        yield {"name": "stdout", "output_type": "stream", "text": _lines(text)}
    if value is not None:
        page = {"text/html": _lines(value._repr_html_())} if hasattr(value, "_repr_html_") else {}
        data = {**page, "text/plain": _lines(repr(value))}
        result = {"data": data, "metadata": {}, "output_type": "execute_result"}
        yield {**result, "execution_count": count}


def _figures() -> Iterator[dict[str, Any]]:
    for number in plt.get_fignums():
        drawn = io.BytesIO()
        plt.figure(number).savefig(drawn, dpi=80, bbox_inches="tight", metadata={"Software": None})
        data = {_PNG: base64.b64encode(drawn.getvalue()).decode()}
        yield {"data": data, "metadata": {}, "output_type": "display_data"}
    plt.close("all")


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def told(notebook: dict[str, Any]) -> list[str]:
    """The lines of the notebook's file, without the bytes of figures: other fonts draw others."""
    return [
        line.partition(":")[0] if line.lstrip().startswith(f'"{_PNG}"') else line
        for line in text_of(notebook).splitlines()
    ]


def text_of(notebook: dict[str, Any]) -> str:
    """The notebook as the text of its file."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    NOTEBOOK.write_text(text_of(executed(json.loads(NOTEBOOK.read_text("utf-8")))), "utf-8")
