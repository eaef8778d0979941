"""The command line of ``pytest-bias`` as data: every command, what it takes and who does it.

Nothing heavy is imported here, so that help costs no more than argparse does: ``main`` loads the
module that does a command when the command is given.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import textwrap
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..errors import BiasError
from ..report.escapes import terminal_text
from ..settings.options import OPTIONS
from ..workbench import SUITE

_Group = argparse._SubParsersAction  # noqa: SLF001  (argparse has no public name for it)
LIMITS = ("qpm", "concurrency", "max_calls", "budget")


class _Command:
    """A command: ``work`` is the module and function that do it, ``about`` its description."""

    def __init__(
        self, group: _Group[Any], name: str, work: str, short: str, about: str, example: str
    ) -> None:
        self.parser: argparse.ArgumentParser = group.add_parser(
            name,
            help=short,
            description=textwrap.fill(about, 79),
            epilog=f"Example:\n  {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.parser.set_defaults(run=work)
        self.takes = self.parser.add_argument

    def file(self, option: str, metavar: str, meaning: str, **more: Any) -> None:
        """Take a path."""
        self.takes(option, type=Path, metavar=metavar, help=meaning, **more)

    def flag(self, option: str, meaning: str) -> None:
        """Take a flag."""
        self.takes(option, action="store_true", help=meaning)

    def json(self, meaning: str = "print JSON in place of the table") -> None:
        """Take ``--json``."""
        self.flag("--json", meaning)

    def suite(self) -> None:
        """Take the package of experiments."""
        about = f"package of experiments ({SUITE})"
        self.takes("--suite", default=SUITE, metavar="PACKAGE", help=about)

    def experiments(self, nargs: str | int, meaning: str = "") -> None:
        """Take experiments, and their suite."""
        every = "; by default all" * (nargs == "*")
        meaning = meaning or f"its id, or its folder{every}"
        self.takes("experiments", nargs=nargs, metavar="EXPERIMENT", help=meaning)
        self.suite()

    def option(self, *names: str) -> None:
        """Take options that pytest has with ``--bias-`` before them, in its words."""
        for name in names:
            typed, of = f"--{name.replace('_', '-')}", OPTIONS[name]
            action = "append" if of.several else "store" if of.takes else "store_true"
            more: dict[str, Any] = {"metavar": of.takes} if of.takes else {}
            self.takes(typed, action=action, default=None, help=of.help.replace("%", "%%"), **more)

    def study(self, nargs: str | int, *, records: tuple[str, ...] = ()) -> None:
        """Take experiments with models, and how they are recorded where they are."""
        self.experiments(nargs)
        self.option("model", "design", "judge", "cassettes", "env_file")
        self.takes(
            "--runs", "--replicates", dest="replicates", metavar="N", help="replicates of each"
        )
        if records:
            self.takes("--record", choices=records, default=records[0], help="what is called")
            self.option("record_in_ci", *LIMITS)


def command_line() -> argparse.ArgumentParser:
    """Return the parser of all commands; ``run`` of what it parses names who does it."""
    parser = argparse.ArgumentParser(
        prog="pytest-bias",
        description="Commands next to the pytest plugin. Tests are run with pytest itself.",
        epilog="Each command says with --help what it takes, and shows an example.",
    )
    parser.add_argument("--version", action="version", version=version("pytest-bias"))
    group = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _of_projects(group)
    _of_studies(group)
    _of_results(group)
    _of_recordings(group)
    return parser


def commands_of(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the commands below a parser that do something themselves, in their order."""
    groups = [each for each in parser._actions if isinstance(each, _Group)]  # noqa: SLF001
    for below in (each for group in groups for each in group.choices.values()):
        yield from commands_of(below)
    if not groups:
        yield parser


# Tables: a command, who does it, what it is for, an example, and what it takes.
# fmt: off
def _of_projects(group: _Group[Any]) -> None:
    init = _Command(group, "init", "project._init", "put the shipped experiments into a project",
        "Copy experiments, roster and recordings of a simulated subject into a project: pytest "
        "then runs them offline. Files that exist are kept.",
        "pytest-bias init anchoring cv-screening --into my-project")
    init.takes("experiments", nargs="*", metavar="EXPERIMENT",
        help="packages or ids of experiments; by default all")
    init.takes("--recordings", action=argparse.BooleanOptionalAction, default=True,
        help="copy the recordings of simulated/even, a program that stands in for a model")
    init.file("--into", "FOLDER", "the project (this folder)", default=Path())
    new = _Command(group, "new", "project._new", "write an experiment that runs, as a start",
        f"Write an experiment into {SUITE}: design, protocol, simulated subject, positive "
        "control, hypothesis, tests and pre-registration. It passes offline after the recording "
        "command that is printed; then put in your own question.",
        "pytest-bias new politeness")
    new.takes("name", metavar="NAME", help="its package: lower-case words joined by _")
    list_ = _Command(group, "list", "catalogue._list", "list experiments, or describe one",
        "List experiments with their trials, calls and hypotheses in the gate design. Of one that "
        "is named, print its design, the prompts of one trial, measures, positive controls, and "
        "hypotheses with their margins and reasons.",
        "pytest-bias list anchoring-prosecutor-sentencing --trial high")
    list_.experiments("*")
    list_.takes("--trial", default="", metavar="TEXT",
        help="print the prompts of the first trial with this in its id (the first)")
    list_.json("print the list as JSON")


def _of_studies(group: _Group[Any]) -> None:
    plan = _Command(group, "plan", "study._plan", "print what recording would take",
        "Print what recording would take, as --bias-plan does; nothing is called.",
        "pytest-bias plan cv-screening --model openai/gpt-5.1-2025-11-13")
    plan.study("*")
    plan.option(*LIMITS)
    plan.json()
    run = _Command(group, "run", "study._run", "record what is missing, and analyse it",
        "Call the model for what is not recorded, then analyse. Trials go to --out or standard "
        "output as JSON Lines, each when it is recorded. Then the model, or --writer, writes a "
        "paper to --report or standard output, with one more call; a simulated subject writes "
        "none unless it is named. The exit status is 1 where the gate would fail or the paper has "
        "a problem (docs/paper.md), 2 where something is missing or was not written.",
        "pytest-bias run anchoring-prosecutor-sentencing --model openai/gpt-5.1-2025-11-13 "
        "--runs 30 --out results.jsonl --analysis a.json --report report.md")
    run.file("--out", "FILE", "trials, as JSON Lines")
    run.file("--analysis", "FILE", "the analysis, as JSON")
    report = run.parser.add_mutually_exclusive_group()
    report.add_argument("--report", type=Path, metavar="FILE", help="the paper, in Markdown")
    report.add_argument("--no-report", action="store_true", help="have no paper written")
    run.takes("--writer", metavar="PROVIDER/MODEL", help="who writes the paper (the model)")
    run.study(1, records=("missing", "all", "none"))
    analyze = _Command(group, "analyze", "study._analyze", "analyse recorded or tabled replies",
        "Analyse replies; nothing is called. Report, results and the experiment's own files and "
        "figures go to a folder. The exit status is 1 where the gate would fail.",
        "pytest-bias analyze cv-screening --model simulated/even --output my_figures")
    analyze.study(1)
    analyze.takes("--table", metavar="TABLE",
        help="a table of replies: its path, or NAME of the roster's [table.NAME]")
    analyze.file("--output", "DIR",
        "write report and files here (figures; with --no-plots or --json nowhere)")
    analyze.flag("--no-plots", "draw no figure and no page")
    analyze.flag("--methodology", "print how each hypothesis was tested")
    analyze.json("print the results as JSON")
    accept = _Command(group, "accept", "study._accept", "write verdicts into the baselines",
        "Analyse recordings and write the verdicts into the baseline of each model, as "
        "--bias-accept does, but without running tests. Nothing is written where one verdict may "
        "not be accepted. What is not CLEAR needs a reason, an owner and an end. The exit status "
        "is 2 where nothing was accepted.",
        'pytest-bias accept cv-screening --model openai/gpt-5.1-2025-11-13 --reason "names" '
        "--owner ethics --until 2027-06-30")
    accept.parser.set_defaults(accept=True)
    accept.study("*")
    accept.option("baseline", "baselines")
    for name in ("accept_reason", "accept_owner", "accept_until"):
        of = OPTIONS[name]
        typed = f"--{name.removeprefix('accept_')}"
        accept.takes(typed, dest=name, metavar=of.takes, help=of.meaning)
    import_ = _Command(group, "import", "importing._import", "declare another tool's results",
        "Recognise results of promptfoo, Inspect, lm-eval, deepeval or a batch API by their keys, "
        "and propose their table for the roster. It is written after a yes at a terminal; "
        "elsewhere it is printed, and the exit status is 2. pytest judges it.",
        "pytest-bias import promptfoo.json --experiment "
        "anchoring-prosecutor-sentencing-all-in-one")
    import_.file("file", "FILE", "the results: .json, .jsonl, .csv or .eval")
    import_.takes("--experiment", metavar="ID", required=True, help="its id, or its folder")
    import_.suite()


def _of_results(group: _Group[Any]) -> None:
    paper = _Command(group, "paper", "files._paper", "a model's draft of a paper on a run",
        "Have a model write a paper about one experiment with one model of a run, with one call. "
        "List the sections it lacks and the numbers that the analysis does not have. The exit "
        "status is 1 when anything is listed, 2 when there is no paper.",
        "pytest-bias paper bias-results.json --model openai/gpt-5.1-2025-11-13 --out paper.md")
    paper.file("results", "RESULTS", "a bias-results.json")
    paper.takes("--experiment", metavar="ID", help="which of the run's experiments")
    paper.takes("--of", metavar="MODEL", help="which of the run's models under test")
    how = paper.parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--model", metavar="PROVIDER/MODEL", help="who writes it")
    how.add_argument("--check", type=Path, metavar="PAPER", help="check an existing text")
    how.add_argument("--prompt", action="store_true", help="print the prompt, and call nothing")
    paper.file("--out", "FILE", "write it here, and not to standard output")
    paper.suite()
    paper.option("budget", "env_file")
    compare = _Command(group, "compare", "files._compare", "compare two baseline files",
        "Compare the verdict of each hypothesis in the baseline files OLD and NEW. pytest itself "
        "compares recordings with a model or a file (--bias-baseline). The exit status is 1 when "
        "something is new, worse or expired, 2 when the two cannot be compared.",
        "pytest-bias compare bias_tests/baselines/OLD.json bias_tests/baselines/NEW.json")
    for name in ("OLD", "NEW"):
        compare.takes(name.lower(), metavar=name, help="a baseline file (….json)")
    compare.file("--markdown", "FILE", "write the comparison in Markdown")
    compare.json()


def _of_recordings(group: _Group[Any]) -> None:
    about = "Work on recordings as files. Nothing is called, and no key is needed."
    short = "verify, join and convert recordings"
    cassettes = group.add_parser("cassettes", help=short, description=about).add_subparsers(
        title="commands", required=True, metavar="COMMAND"
    )
    verify = _Command(cassettes, "verify", "files._verify", "check recordings for damage",
        "Check every line of recordings against its checksum. The exit status is 1 when one is "
        "damaged.",
        "pytest-bias cassettes verify cassettes/cv-screening")
    _paths(verify, nargs="*", default="; default: the folder of the settings")
    join = _Command(cassettes, "join", "files._join", "join what several processes recorded",
        "Join cassettes, plain or packed, into those of a folder: one for each experiment and "
        "model. Nothing is written unless all of them fit together; the exit status is then 2, "
        "and both are named.",
        "pytest-bias cassettes join part-1 part-2 --into cassettes")
    _paths(join)
    join.file("--into", "DIR", "folder of the joined recordings", required=True)
    join.json()
    convert = _Command(
        cassettes, "convert", "files._convert", "write older recordings in today's format",
        "Write cassettes of format 1 in the current format. Keys and replies stay byte for byte, "
        "and a recording that is in the current format stays as it is.",
        "pytest-bias cassettes convert cassettes")
    _paths(convert)


def _paths(command: _Command, nargs: str = "+", default: str = "") -> None:
    meaning = f"a cassette, or a folder of which all cassettes are meant, at any depth{default}"
    command.file("paths", "PATH", meaning, nargs=nargs)
# fmt: on


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit status.

    2 is a usage error, 130 an interruption, 141 an output of which not all was read.
    """
    parser = command_line()
    given = parser.parse_args(arguments)
    if sys.stdout is None:  # closed by the shell
        parser.exit(2, "pytest-bias: there is no standard output to write to\n")
    module, name = given.run.split(".")
    try:
        work = getattr(importlib.import_module(f"pytest_bias.cli.{module}"), name)
        status = int(work(given))
    except BiasError as error:
        parser.exit(2, terminal_text(f"pytest-bias: {error}\n"))
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if error.filename is None:  # a stream: nothing more is written to it, on closing neither
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return 141  # not 0: the rest of the output is unknown, and a gate may hang on it
        path = error.filename or "standard output"
        parser.exit(2, terminal_text(f"pytest-bias: {path}: {error.strerror}\n"))
    return status


if __name__ == "__main__":
    sys.exit(main())
