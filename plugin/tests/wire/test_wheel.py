"""What the wheel alone gives a user in an empty environment, by commands as they are printed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

from .. import forked

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)  # noqa: S603  (our own)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of an environment with the wheel, and what it needs from the one of the tests.

    Lines of a .pth file are not searched for further ones: the checkout is not among its packages.
    """
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q"]
    pip += ["--no-deps", "--no-index", "--no-compile", str(wheel)]
    subprocess.run(pip, check=True, capture_output=True)  # noqa: S603  (our own)
    (packages,) = folder.glob("lib/python*/site-packages")
    needed = "\n".join(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    (packages / "needed.pth").write_text(needed, encoding="utf-8")
    script = folder / "bin" / "pytest"
    script.write_text(f"#!{python}\nimport pytest\nraise SystemExit(pytest.console_main())\n")
    script.chmod(0o755)
    return script.parent


def run(command: str, folder: Path, scripts: Path) -> subprocess.CompletedProcess[str]:
    """Run a printed command in a shell, without what this test runs under."""
    own = ("CI", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "PYTHONPATH")
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST") and k not in own}
    return subprocess.run(  # noqa: S602  (what our own page and command print)
        command,
        shell=True,
        cwd=folder,
        env={**kept, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )


def shipped() -> dict[str, bytes]:
    """What of the checkout a project needs: experiments, and recordings of the default subject."""
    found = [path for path in (ROOT / "bias_tests").rglob("*") if path.is_file()]
    found += (ROOT / "cassettes").glob("*/simulated--even.jsonl*")
    named = {path.relative_to(ROOT): path for path in found}
    named[Path("bias_models.toml")] = ROOT / "bias_models.toml"
    return {
        place.as_posix(): path.read_bytes()
        for place, path in named.items()
        if not {"__pycache__", "tests", "baselines", "requirements.toml"} & {*place.parts}
    }


def test_the_wheel_carries_what_a_project_needs_and_nothing_else_of_the_suite(wheel: Path) -> None:
    prefix = "pytest_bias/suite/"
    with ZipFile(wheel) as archive:
        held = {
            name.removeprefix(prefix): archive.read(name)
            for name in archive.namelist()
            if name.startswith(prefix)
        }
    assert held.keys() == shipped().keys()
    assert held == shipped()


def test_a_project_made_from_the_wheel_passes_offline(scripts: Path, tmp_path: Path) -> None:
    where = run("python -c 'import pytest_bias; print(pytest_bias.__file__)'", tmp_path, scripts)
    assert where.stdout.startswith(str(scripts.parent))
    made = run("pytest-bias init", tmp_path, scripts)
    assert (made.returncode, made.stderr) == (0, "")
    files = {
        path.relative_to(tmp_path).as_posix(): path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    written = files.pop("pytest.toml").decode()
    # Byte by byte what the suite's own run is green with.
    assert files == shipped()

    # What all of them show is shown by the suite's own run; here the part that runs fastest.
    shutil.rmtree(tmp_path / "bias_tests")
    shutil.rmtree(tmp_path / "cassettes")
    part = run("pytest-bias init anchoring", tmp_path, scripts)
    assert "kept: pytest.toml" not in part.stdout
    assert (tmp_path / "pytest.toml").read_text("utf-8") == written
    *_, last = part.stdout.splitlines()
    assert last == "next: pytest -n 2"
    done = run(last.removeprefix("next: "), tmp_path, scripts)
    assert done.returncode == 0, done.stdout
    assert "PASS: 4 hypotheses, 4 CLEAR" in done.stdout


def steps() -> list[tuple[str, list[str]]]:
    """The commands of the tutorial, each with the lines that are printed below it."""
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    found = re.findall(r"^```sh\n(.*?)^```\n\n```text\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(found) == page.count("```sh\n") > 5
    return [(command, printed.splitlines()) for command, printed in found]


def test_the_tutorial_runs_as_it_is_printed(
    scripts: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # That its scripts start is shown above; a process that has imported the wheel is forked here.
    forks = forked.scripts(tmp_path_factory.mktemp("forks") / "bin", str(scripts / "python"))
    for command, printed in steps():
        done = run(command, tmp_path, forks)
        failed = any(line.startswith(("BIAS FOUND", "NO RESULT")) for line in printed)
        assert done.returncode == int(failed), f"{command}{done.stdout}{done.stderr}"
        told = iter(done.stdout.splitlines())
        for line in printed:
            shown = re.compile(re.escape(line).replace("…", ".*"))
            assert any(map(shown.fullmatch, told)), f"{command}{line}\n{done.stdout}"
