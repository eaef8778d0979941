"""What the controller writes of the data sets that cases left it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_bias.errors import BadSetting
from pytest_bias.errors.said import Said
from pytest_bias.report.dataset_files import parquet_bytes
from pytest_bias.session.exports import contents_of, written_from

from .report.test_dataset import made
from .test_settings import HERE, ROOT, settings


def publish(
    tmp_path: Path,
    *kept: Mapping[str, object],
    partial: tuple[str, ...] = (),
    incomplete: bool = False,
) -> Said:
    return written_from(
        kept, tmp_path / "data", partial, incomplete=incomplete, shown=lambda path: path.name
    )


ONE, TWO = (
    {"files": contents_of({f"tiny/a--{name}.parquet": parquet_bytes(made(model=f"a/{name}"))})}
    for name in ("one", "two")
)


def test_a_file_per_model_and_one_readme(tmp_path: Path) -> None:
    done = publish(tmp_path, TWO, ONE)
    assert [path.name for path in done.written] == [
        "a--one.parquet",
        "a--two.parquet",
        "README.md",
    ]
    assert (done.problems, done.notes) == ((), ())
    assert done.written[0].read_bytes() == parquet_bytes(made(model="a/one"))
    assert {path.parent for path in done.written} == {tmp_path / "data" / "tiny"}


def test_what_is_left_out_is_said_with_its_reason(tmp_path: Path) -> None:
    (note,) = publish(tmp_path, ONE, partial=("--lf",)).notes
    assert note.startswith("data sets: only of the experiments and models whose cases ran (--lf)")
    none = "data sets: none of what is not recorded in full"
    done = publish(tmp_path, {"incomplete": "tiny × a/b"}, partial=("--lf",))
    assert done == Said(notes=(f"{none} (tiny × a/b)",))
    # Cases that left nothing, because of a recording.
    assert publish(tmp_path, incomplete=True) == Said(notes=(none,))
    done = publish(tmp_path, {"problem": "no data set of x"}, ONE)
    assert done.problems == ("no data set of x",)
    assert len(done.written) == 2


def test_a_place_that_cannot_be_written_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "tiny").write_text("in the way", encoding="ascii")
    done = publish(tmp_path, ONE)
    (problem,) = done.problems
    assert problem.startswith("a--one.parquet was not written: ")
    assert done.written == ()


def test_files_of_others_are_left_alone_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "tiny"
    folder.mkdir(parents=True)
    (folder / "other.parquet").write_bytes(b"somebody's")
    (folder / "a--two.parquet").write_bytes(parquet_bytes(made(model="a/two")))
    done = publish(tmp_path, ONE)
    assert done.notes == ("other.parquet is no data set of ours; README.md omits it",)
    assert (folder / "other.parquet").read_bytes() == b"somebody's"
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert "| `a--one.parquet` |" in page
    assert "| `a--two.parquet` |" in page
    assert "other.parquet" not in page
    (folder / "README.md").write_text(f"{page}Thanks to Ada.\n", encoding="utf-8")
    (folder / "a--two.parquet").unlink()
    publish(tmp_path, ONE)
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert page.endswith("and keeps what is below. -->\nThanks to Ada.\n")
    assert "a--two.parquet" not in page
    old = page.partition("\n<!-- pytest-bias writes")[0]
    for unmarked in ("My own.\n", f"{old}Thanks to Ada.\n"):
        (folder / "README.md").write_text(unmarked, encoding="utf-8")
        done = publish(tmp_path, ONE)
        assert done.notes[-1] == (
            "README.md has no mark of ours and stays, and may describe older files; "
            "without it one is written"
        )
        assert [path.name for path in done.written] == ["a--one.parquet"]
        assert (folder / "README.md").read_text(encoding="utf-8") == unmarked
    (folder / "README.md").write_text(old.replace("a--one", "a--old"), encoding="utf-8")
    assert "README.md" in [path.name for path in publish(tmp_path, ONE).written]
    assert (folder / "README.md").read_text(encoding="utf-8") == page.removesuffix(
        "Thanks to Ada.\n"
    )


@pytest.mark.requirement("AUDIT-31")
def test_settings() -> None:
    assert settings().dataset is None
    assert settings().dataset_license == "CC-BY-4.0"
    assert settings({"dataset": "d"}, dataset="e").dataset == HERE / "d"
    assert settings(dataset="e", dataset_license="MPL-2.0").dataset == ROOT / "e"
    assert settings(dataset_license="MPL-2.0").dataset_license == "MPL-2.0"
    assert settings({"dataset": "off"}, dataset="e").dataset is None


@pytest.mark.parametrize("value", ["free for all", "a\nb", "-x", "[x](y)"])
def test_a_licence_is_named_by_its_identifier(value: str) -> None:
    with pytest.raises(BadSetting, match="must be an SPDX identifier"):
        settings(dataset_license=value)
