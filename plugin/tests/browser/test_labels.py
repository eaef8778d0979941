"""Replies labelled in the report's page, and the labels read back: blind, and of these replies."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, Page

from pytest_bias.experiments.design import Trial
from pytest_bias.experiments.experiment import Experiment, plan
from pytest_bias.experiments.measures import Measure, MeasureValue
from pytest_bias.experiments.messages import Message, Place
from pytest_bias.experiments.records import Exchange, Outcome
from pytest_bias.report.page import report_html
from pytest_bias.report.replies import replies_of
from pytest_bias.workbench.datasets import labels_path, read_labels

from ..core.factories import experiment
from ..core.report import factory
from ..helpers import there


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page()
    yield page
    page.close()


def opened(page: Page, path: Path, route: str) -> Page:
    page.goto(f"{path.as_uri()}{route}")
    page.wait_for_selector("#view h1")
    return page


def label(page: Page, *keys: str) -> None:
    """Answer, and wait for what comes next."""
    before = page.url
    for key in (*keys, "Enter"):
        page.keyboard.press(key)
    page.wait_for_url(lambda url: url != before)
    page.wait_for_selector("#view table, form.labels:not(:has(:checked))")


def saved(page: Page, name: str) -> str:
    """The file of a model, from the list of them."""
    row = page.locator("#view tbody tr", has_text=name)
    with page.expect_download() as download:
        row.get_by_role("button", name="CSV").click()
    assert name.endswith(download.value.suggested_filename)
    return Path(download.value.path()).read_text("utf-8")


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


# --- a page of two experiments and two models, with answers that spreadsheets would run ---------

KINDS = ("=1+1", "@sum", "plain, with a comma, \x1b[2J and a mark\u200e")
MODELS = ("lab/one", "lab/two:x")


def made_up(path: Path) -> Mapping[tuple[str, str], Mapping[str, str]]:
    """Write a page; return the keys of its replies, by experiment and model."""
    blocks, keys, analyses = [], {}, []
    for name in ("tiny", "other"):
        of = labelled(name)
        for model in MODELS:
            outcomes = [outcome(name, trial, model) for trial in plan(of, of.design())]
            blocks.append(replies_of(of, model, outcomes))
            keys[name, model] = {each.trial.id: each.reply_key for each in outcomes}
            analyses.append(factory.analysis(experiment=name, name=name, model=model))
    path.write_text(report_html(factory.view(*analyses), blocks), encoding="utf-8")
    return keys


def labelled(name: str) -> Experiment:
    measures = [Measure("kind"), Measure("sure"), Measure("length", bounds=(-5, 100))]
    return experiment(id=name, measures=measures, retention="raw")


def outcome(name: str, trial: Trial, model: str) -> Outcome:
    said = Exchange(
        to="subject", place=Place((), 1, 1), prompt=(Message("user", "say"),),
        reply=f"{model[-1]} speaks", key=f"{name} {trial.id}",
    )  # fmt: skip
    values: dict[str, MeasureValue] = {
        "kind": KINDS[trial.replicate - 1],
        "sure": True,
        "length": -3.0,
    }
    return Outcome(trial, None, None, (), 1, (), values=values, exchanges=(said,))


def fill(page: Page, answers: Sequence[str]) -> None:
    """Answer all questions and leave a note, with the keyboard alone."""
    kind, sure, length, note = answers
    page.keyboard.press(kind)
    page.keyboard.press(sure)
    page.locator("input[name='length ']").focus()
    page.keyboard.type(length)
    page.keyboard.press("Tab")
    page.keyboard.type(note)
    before = page.url
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: url != before)


def test_files_are_of_one_experiment_and_model_and_run_nothing_where_they_are_opened(
    page: Page, tmp_path: Path
) -> None:
    path = tmp_path / "bias-report.html"
    keys = made_up(path)
    for name in ("tiny", "other"):
        opened(page, path, f"#/label/{name}")
        for number in range(12):  # 6 of each model, in one order
            page.wait_for_selector("form.labels:not(:has(:checked))")
            assert f"Reply {number + 1} of 12" in page.locator("#view").inner_text()
            assert not any(model in page.locator("#view").inner_text() for model in MODELS)
            fill(page, (str(1 + number % 3), "1", "-3", "+note" if number % 2 else ""))
        page.wait_for_selector("#view table")
        for model in MODELS:
            file = labels_path(tmp_path, name, model)
            file.parent.mkdir(exist_ok=True)
            text = saved(page, f"{name}/{file.name}")
            file.write_text(text, encoding="utf-8", newline="")
            of = labelled(name)
            assert len(rows_of(text)) == 6
            cells = [cell for row in rows_of(text) for cell in row.values()]
            assert not [each for each in cells if each[:1] in "=+@" and each]
            found = there(read_labels(tmp_path, of, of.design(), model, keys[name, model]))
            assert found.measures == ("kind", "length", "sure")
            said = {
                each: {c.text for c in found.cells if c.measure == each} for each in found.measures
            }
            assert said["kind"] <= set(KINDS)
            assert (said["length"], said["sure"]) == ({"-3"}, {"yes"})
            opened_again(page, path, model, file, text)


def opened_again(page: Page, path: Path, model: str, file: Path, text: str) -> None:
    """A saved file is gone on with in another copy of the page, and saved as it was."""
    other = there(page.context.browser).new_page()
    opened(other, path, "#/label")
    row = other.locator("#view tbody tr", has_text=f"{file.parent.name}/{file.name}")
    row.locator("input[type=file]").set_input_files(file)
    other.wait_for_selector("#said:has-text('6 labels read')", state="attached")
    assert saved(other, f"{file.parent.name}/{file.name}") == text, model
    other.close()


def test_leaving_with_labels_that_are_not_saved_is_asked_about(page: Page, tmp_path: Path) -> None:
    made_up(tmp_path / "bias-report.html")
    asked: list[str] = []

    def ask(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", ask)
    opened(page, tmp_path / "bias-report.html", "#/label/tiny")
    page.reload()
    page.wait_for_selector("form.labels")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="answer a question first").wait_for()
    page.reload()
    page.wait_for_selector("form.labels")
    assert asked == []
    label(page, "1", "2")
    page.reload()
    page.wait_for_selector("form.labels")
    assert asked == ["beforeunload"]
