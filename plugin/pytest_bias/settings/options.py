"""The table of what a user may set, and raw values of the command line and ini files, read by it.

Options, ini keys, checks and the reference page follow the table. It is data alone and knows
nothing of pytest: ``session.options`` shows it to pytest, ``settings`` puts the values together,
and ``plugin/benchmarks/reference.py`` makes ``docs/reference/options.md`` of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..errors import BadSetting

OFF = "off"


@dataclass(frozen=True, slots=True)
class Option:
    """Something the user may set.

    ``takes`` names its value; what takes none is a flag, or has ``choices``. ``where`` says if it
    has an option (``--bias-<name>``), an ini key (``bias_<name>``) or both. ``least`` is the
    smallest number, a whole one where it is an int. What ``may_be_off`` is switched off by that
    word; a default path counts only ``if_there`` is something.
    """

    name: str
    takes: str
    meaning: str
    _: KW_ONLY
    default: str = ""
    choices: tuple[str, ...] = ()
    least: float | None = None
    may_be_off: bool = False
    if_there: bool = False
    several: bool = False
    where: Literal["both", "option", "ini"] = "both"

    @property
    def option(self) -> str:
        """The option as it is typed; empty where there is none."""
        return "" if self.where == "ini" else f"--bias-{self.name.replace('_', '-')}"

    @property
    def ini(self) -> str:
        """The ini key; empty where there is none."""
        return "" if self.where == "option" else f"bias_{self.name}{'s' * self.several}"

    @property
    def help(self) -> str:
        """The meaning, what it is where it is not given, and how it is switched off."""
        default = f"default: {self.default}{' where it exists' * self.if_there}"
        off = self.may_be_off and self.default != OFF
        notes = "; ".join([default] * bool(self.default) + [f"{OFF}: none"] * off)
        return f"{self.meaning} ({notes})" if notes else self.meaning


# A table: what an option is and takes, its meaning, then what holds of few.
# fmt: off
SECTIONS: Mapping[str, tuple[Option, ...]] = {
    "Models and designs": (
        Option("model", "PROVIDER/MODEL", "model to test; repeat for several", several=True),
        Option("design", "NAME",
               "a size the experiments declare: gate, documented (the source's own), or screen, "
               "a small one for every commit that finds large effects and clears nothing",
               default="gate"),
        Option("replicates", "N", "replicates of every condition", least=1),
        Option("judge", "PROVIDER/MODEL",
               "model that grades, where an experiment needs one; same: the model under test"),
        Option("roster", "PATH", "file of models, limits, prices and endpoints",
               where="ini", default="bias_models.toml", if_there=True),
    ),
    "Recordings": (
        Option("cassettes", "DIR", "folder of the recordings", default="cassettes"),
        Option("record", "",
               "none: only replay; missing: call the model for what is not recorded; all: call "
               "it for everything", default="none", choices=("none", "missing", "all")),
        Option("shard", "K/N",
               "with --bias-record=missing or --bias-plan: only the K-th of N parts of the "
               "trials, the same whatever is recorded; a part is not judged", where="option"),
        Option("record_in_ci", "", "allow recording where the environment variable CI is set",
               where="option"),
        Option("plan", "",
               "say how often the design passes what it should, what it can clear and find, and "
               "what a recording would do; call and run nothing", where="option"),
        Option("plan_json", "PATH", "write the plan as JSON; call and run nothing",
               where="option"),
        Option("qpm", "N", "at most N requests a minute of each model", least=1),
        Option("concurrency", "N", "at most N calls in flight per model", default="100", least=1),
        Option("max_calls", "N", "kill switch: at most N calls in this run, every attempt counted",
               least=0),
        Option("budget", "USD", "at most this much money in this run, over all models", least=0.0),
        Option("timeout", "SECONDS", "seconds until an attempt is given up",
               where="ini", default="120", least=0.001),
        Option("order_seed", "N", "seed of the order in which trials are recorded",
               default="0", least=0),
        Option("env_file", "PATH", "take keys from this .env file as well"),
        Option("max_age", "DAYS",
               "recordings of which a reply is older no longer represent the model: no verdict",
               default=OFF, may_be_off=True, least=0),
    ),
    "Reports": (
        Option("report", "PATH", "where the HTML report goes",
               default="bias-report.html", may_be_off=True),
        Option("report_replies", "HOW",
               "auto: the report has prompts and replies of experiments that keep them, in files "
               "beside it where it would exceed 6 MB; inline: however large; beside: always in "
               "files; off: it has only what was measured",
               default="auto", choices=("auto", "inline", "beside", OFF)),
        Option("results", "PATH", "where the JSON results go",
               default="bias-results.json", may_be_off=True),
        Option("summary", "PATH",
               "write a summary in Markdown here; on GitHub Actions the job's page has it in any "
               "case", may_be_off=True),
        Option("annotations", "",
               "auto: on GitHub Actions what fails is annotated where it stands; off: nowhere",
               where="ini", default="auto", choices=("auto", OFF)),
        Option("labels", "DIR", "people's labels, to stand beside the judge's",
               default="bias_tests/labels", if_there=True, may_be_off=True),
        Option("exports", "DIR",
               "write the files that experiments make in their documents' own form (exports=) "
               "here, for all models of the run", may_be_off=True),
        Option("dataset", "DIR",
               "write data sets to publish here: a Parquet file per experiment and model, with a "
               "data dictionary and no text", may_be_off=True),
        Option("audit", "DIR",
               "write a record of each model's tests to file here (bias-audit.json, .md), and a "
               "fragment of its model card; of a simulated subject it is a rehearsal",
               may_be_off=True),
        Option("commit", "TEXT", "commit that the record names (default: that of the CI job)"),
        Option("job", "TEXT", "job that the record names (default: that of the CI service)"),
        Option("dataset_license", "SPDX", "licence of these data sets, by its SPDX identifier",
               where="ini", default="CC-BY-4.0"),
    ),
    "The gate": (
        Option("error_budget", "PATH",
               "file that divides the suite's false alarms over its experiments",
               where="ini", default="bias_budget.toml", if_there=True),
        Option("calibration", "PATH",
               "file of what draws of simulated subjects say of the designs (--bias-plan)",
               where="ini", default="bias_tests/calibration.json", may_be_off=True),
        Option("gate", "", "absolute: BIASED fails; off: report only",
               default="absolute", choices=("absolute", OFF)),
        Option("inconclusive", "",
               "what INCONCLUSIVE does where a hypothesis claims to be clear: fail or pass",
               where="ini", default="fail", choices=("fail", "pass")),
        Option("baseline", "OLD",
               "hold the models against this baseline file, or against this other model and its "
               "recordings: the upgrade from OLD"),
        Option("baselines", "DIR", "folder of accepted verdicts",
               default="bias_tests/baselines", may_be_off=True),
        Option("accept", "",
               "accept this run's verdicts: write them into the baseline of each model",
               where="option"),
        Option("accept_reason", "TEXT", "why what is not CLEAR is accepted", where="option"),
        Option("accept_owner", "NAME", "who accepts what is not CLEAR", where="option"),
        Option("accept_until", "YYYY-MM-DD",
               "last day (UTC) on which what is not CLEAR is accepted", where="option"),
        Option("accept_after", "PROVIDER/MODEL",
               "with --bias-accept: the model is the successor of this one, and all that was "
               "accepted of that counts on, so that small steps from version to version cannot "
               "add up", where="option"),
    ),
    "Simulated subjects": (
        Option("simulated_url", "URL", "base URL of a running pytest-bias serve", where="ini"),
        Option("simulated_wire", "WIRE",
               "wire format they are asked in: openai-chat, openai-responses, anthropic or "
               "google", where="ini", default="openai-chat"),
    ),
}
# fmt: on
OPTIONS: Mapping[str, Option] = {each.name: each for part in SECTIONS.values() for each in part}


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Raw values, an option before an ini key.

    ``options`` are those of the command line (None where not given), ``ini`` those of files by
    their key without ``bias_``. Values are read by the name they have in the table; every reader
    raises BadSetting for what is outside its domain.
    """

    options: Mapping[str, object]
    ini: Mapping[str, object]
    environ: Mapping[str, str] = field(repr=False)
    rootdir: Path
    invocation_dir: Path
    today: str = ""

    def is_typed(self, name: str) -> bool:
        """Return true where the option is given, so that no ini key counts."""
        return self.options.get(name) not in (None, "", False)

    def raw(self, name: str) -> object:
        """Return the value as it was given; None where it was not."""
        if self.is_typed(name):
            return self.options[name]
        return self.ini.get(OPTIONS[name].ini.removeprefix("bias_")) or None

    def refusal(self, name: str, problem: str, value: object = None) -> BadSetting:
        """Return an error that names the setting as the user wrote it."""
        option = OPTIONS[name]
        written = option.option if self.is_typed(name) else option.ini or option.option
        shown = self.raw(name) if value is None else value
        return BadSetting(option=written, value=shown, problem=problem)

    def text(self, name: str) -> str:
        """Return the value or its default; '' where there is neither."""
        return str(self.raw(name) or OPTIONS[name].default)

    def choice(self, name: str) -> str:
        """Return one of the table's choices."""
        value, choices = self.text(name), OPTIONS[name].choices
        if value not in choices:
            raise self.refusal(name, f"must be one of {', '.join(choices)}")
        return value

    def number(self, name: str) -> float | None:
        """Return a number within the table's bounds; None where there is none, or it is off."""
        value, least = self.text(name), OPTIONS[name].least
        if not value or (OPTIONS[name].may_be_off and value == OFF):
            return None
        assert least is not None, name  # noqa: S101  (the table's own)
        whole = isinstance(least, int)
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not least <= number < math.inf or (whole and not number.is_integer()):
            kind = "a whole number" if whole else "a number"
            raise self.refusal(name, f"must be {kind} from {least:g} up")
        return number

    def value(self, name: str) -> Any:
        """Return the value as what the table says it is: a flag, choice, number, path or text.

        None for what there is not, or is off.
        """
        option = OPTIONS[name]
        if option.choices:
            return self.choice(name)
        if option.least is not None:
            number = self.number(name)
            return int(number) if number is not None and isinstance(option.least, int) else number
        if option.takes in ("PATH", "DIR"):
            return self.path(name)
        return (self.text(name) or None) if option.takes else self.is_typed(name)

    def path(self, name: str) -> Path | None:
        """Return the path that was named, or else the table's; None for neither, or where off.

        Paths on the command line are relative to where pytest was called, paths in ini and the
        table's to rootdir.
        """
        option, value = OPTIONS[name], self.text(name)
        if not value or (option.may_be_off and value == OFF):
            return None
        path = (self.invocation_dir if self.is_typed(name) else self.rootdir) / value
        return path if self.raw(name) or not option.if_there or path.exists() else None


def read_environment(
    environ: Mapping[str, str], file: Path | None, option: str = "--bias-env-file"
) -> Mapping[str, str]:
    """Return the environment, and what the user's ``.env`` adds to it; nothing is exported.

    Raises BadSetting, which names the file by ``option`` and quotes none of its lines, when it
    cannot be read.
    """
    if file is None:
        return environ
    from dotenv import dotenv_values  # noqa: PLC0415  (where a file is named only)

    try:
        with file.open(encoding="utf-8") as stream:
            values = dotenv_values(stream=stream, interpolate=False)
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "is not UTF-8 text"
        raise BadSetting(option=option, value=file, problem=f"cannot be read: {problem}") from None
    added = {name: value for name, value in values.items() if value is not None}
    # A variable that is set to nothing holds no key.
    held = {name: value for name, value in environ.items() if value or name not in added}
    return {**added, **held}
