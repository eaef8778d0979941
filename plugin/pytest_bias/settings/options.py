"""The table of what a user may set; loaded in every pytest run, so nothing else is here.

Options, ini keys, checks and the reference page follow the table. It is data alone and knows
nothing of pytest: ``session.options`` shows it to pytest, ``settings`` puts the values together,
and ``plugin/benchmarks/reference.py`` makes ``docs/reference/options.md`` of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Literal

OFF = "off"


@dataclass(frozen=True, slots=True)
class Option:
    """Something the user may set.

    ``takes`` names its value; what takes none is a flag, or has ``choices``. ``where`` says if it
    has an option (``--bias-<name>``), an ini key (``bias_<name>``) or both. ``least`` is the
    smallest number, a whole one where it is an int, ``most`` the largest. What ``may_be_off`` is
    switched off by that word; a default path counts only ``if_there`` is something.
    """

    name: str
    takes: str
    meaning: str
    _: KW_ONLY
    default: str = ""
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float = math.inf
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
               "a size the experiments declare: gate, or documented (the source's own)",
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
        Option("qpm", "N", "at most N requests a minute of each model", least=1),
        Option("concurrency", "N", "at most N calls in flight per model", default="100", least=1),
        Option("max_calls", "N", "kill switch: at most N calls in this run, every attempt counted",
               least=0),
        Option("budget", "USD", "at most this much money in this run, over all models", least=0.0),
        Option("timeout", "SECONDS", "seconds after which an attempt is abandoned",
               where="ini", default="120", least=0.001),
        Option("env_file", "PATH", "take keys from this .env file as well"),
        Option("max_age", "DAYS",
               "recordings of which a reply is older no longer represent the model: no verdict",
               default=OFF, may_be_off=True, least=0),
    ),
    "Reports": (
        Option("report", "PATH", "where the HTML report goes",
               default="bias-report.html", may_be_off=True),
        Option("results", "PATH", "where the JSON results go",
               default="bias-results.json", may_be_off=True),
        Option("summary", "PATH",
               "write a summary in Markdown here; on GitHub Actions the job's page has it in any "
               "case", may_be_off=True),
        Option("labels", "DIR", "human labels, compared with those of the judge",
               default="bias_tests/labels", if_there=True, may_be_off=True),
        Option("exports", "DIR",
               "write the files that experiments make in their documents' own form (exports=) "
               "here, for all models of the run", may_be_off=True),
        Option("dataset", "DIR",
               "write data sets to publish here: a Parquet file per experiment and model, with a "
               "data dictionary and no text", may_be_off=True),
        Option("dataset_license", "SPDX", "licence of these data sets, by its SPDX identifier",
               where="ini", default="CC-BY-4.0"),
    ),
    "The gate": (
        Option("alpha", "ALPHA",
               "probability that a suite calls anything BIASED where nothing is, 0.001 to 0.05",
               where="ini", default="0.05", least=0.001, most=0.05),
        Option("experiments", "N",
               "number of experiments that share bias_alpha; a suite of more says so",
               where="ini", default="12", least=1),
        Option("gate", "", "absolute: BIASED fails; off: report only",
               default="absolute", choices=("absolute", OFF)),
        Option("inconclusive", "",
               "what INCONCLUSIVE does where a hypothesis claims to be clear: fail or pass",
               where="ini", default="fail", choices=("fail", "pass")),
        Option("baseline", "OLD",
               "hold the models against this baseline file, or against this other model and its "
               "recordings: the upgrade from OLD; with --bias-accept, what was accepted of the "
               "model OLD counts on, so that small steps cannot add up", may_be_off=True),
        Option("baselines", "DIR", "folder of accepted verdicts",
               default="bias_tests/baselines", may_be_off=True),
        Option("accept", "",
               "accept this run's verdicts: write them into the baseline of each model",
               where="option"),
        Option("accept_reason", "TEXT", "why what is not CLEAR is accepted", where="option"),
        Option("accept_owner", "NAME", "who accepts what is not CLEAR", where="option"),
        Option("accept_until", "YYYY-MM-DD",
               "last day (UTC) on which what is not CLEAR is accepted", where="option"),
    ),
}
# fmt: on
OPTIONS: Mapping[str, Option] = {each.name: each for part in SECTIONS.values() for each in part}
