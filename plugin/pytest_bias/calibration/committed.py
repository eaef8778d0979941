"""The summary of a calibration that is kept with a suite, and what it says of a selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import BadSetting, NotAsWritten
from ..experiments.canonical import parsed_as
from ..recording.characteristics import Chance, Characteristics, Derivation, product
from .file import FORMAT, DamagedCalibration
from .grid import BIASED, EVEN
from .summary import PASSES, SUITE, UNCHANGED, Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    format: int
    designs: dict[str, str]
    rates: list[Rate]


@dataclass(frozen=True, slots=True)
class Summary:
    """A calibration: experiment → the digest of its design, and the rates of all draws."""

    designs: Mapping[str, str]
    rates: Sequence[Rate]

    def of(self, wanted: Mapping[str, str]) -> tuple[Characteristics, ...]:
        """The characteristics of experiments, each ``wanted`` with the digest of its design.

        The digest is empty where no simulated subject answers. First, of several, those of all
        together: measured in the same draws where they are all that were drawn together, else
        multiplied.
        """
        each = [
            self._drawn(name, "drawn")
            if self.designs.get(name) == digest
            else Characteristics(experiment=name, made="" if digest else "nobody answers")
            for name, digest in wanted.items()
        ]
        if len(each) < 2:  # noqa: PLR2004
            return tuple(each)
        whole = Characteristics(experiment=None, made="")
        if all(one.passes for one in each):
            whole = self._drawn(None, "drawn together")
            if wanted.keys() != self.designs.keys() or not whole.made:
                whole = Characteristics(
                    experiment=None,
                    made="multiplied",
                    passes=product([one.passes for one in each]),
                    unchanged=product([one.unchanged for one in each]),
                    accepted=product([one.accepted for one in each]),
                )
        return (whole, *each)

    def _drawn(self, experiment: str | None, made: Derivation) -> Characteristics:
        passes = self._chance(experiment, EVEN, PASSES)
        return Characteristics(
            experiment=experiment,
            made=made if passes is not None else "",
            passes=passes,
            unchanged=self._chance(experiment, EVEN, UNCHANGED),
            accepted=self._chance(experiment, BIASED, UNCHANGED),
        )

    def _chance(self, experiment: str | None, subject: str, what: str) -> Chance | None:
        """Of several rates that of most draws; of what is stopped the chance that it is not."""
        found = [
            Chance.of(rate.draws - rate.hits if what == UNCHANGED else rate.hits, rate.draws)
            for rate in self.rates
            if (rate.experiment, rate.subject) == (experiment or SUITE, subject)
            if rate.what == what and not rate.hypothesis
        ]
        return max(found, key=lambda chance: chance.draws, default=None)


def read_summary(path: Path) -> Summary:
    """The summary in a file; where there is none yet, nothing was drawn.

    Raises DamagedCalibration for what is no such file, and BadSetting where it cannot be read.
    """
    try:
        written = parsed_as(_Written, path.read_bytes(), strict=True)
    except FileNotFoundError:
        return Summary({}, ())
    except OSError as error:
        raise BadSetting(option="bias_calibration", value=path, problem=str(error)) from error
    except NotAsWritten as error:
        problem = f"it is no summary of a calibration ({error})"
        raise DamagedCalibration(path=path, line=1, problem=problem) from None
    if written.format != FORMAT:
        raise DamagedCalibration(path=path, line=1, problem=f"its format is not {FORMAT}")
    for each in written.rates:
        if not 0 <= each.hits <= each.draws or not each.draws:
            problem = f"{each.hits} of {each.draws} draws is no rate"
            raise DamagedCalibration(path=path, line=1, problem=problem)
    return Summary(written.designs, written.rates)
