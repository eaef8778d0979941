"""Damages the files of a corpus many times, and holds what comes of each against an oracle."""

from __future__ import annotations

import hashlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random
from typing import ClassVar, Generic, Literal, TypeVar

from pytest_bias.errors import BiasError

from .mutations import mutate

CORPUS = Path(__file__).with_name("corpus")
"""One folder per target; below it, in ``once_wrong``, inputs that once failed."""
ONCE_WRONG = "once_wrong"
BETWEEN = "~"
"""In the name of such an input, between the file it was made of and what tells it from others."""

Found = TypeVar("Found")
Came = Literal["same", "refused"]


class Wrong(Exception):
    """Something came of damage that must not come of it."""


class Target(ABC, Generic[Found]):
    """What is read, and what may come of it when it is damaged; its docstring is the oracle.

    ``scratch`` is a folder of its own.
    """

    name: ClassVar[str]
    in_gate: ClassVar[int] = 1_000
    """Mutations in every run of the tests."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch

    @cached_property
    def corpus(self) -> Mapping[str, bytes]:
        """The files it begins with, by name."""
        folder = CORPUS / self.name
        files = sorted(path for path in folder.iterdir() if path.is_file())
        return {path.name: path.read_bytes() for path in files}

    @property
    def once_wrong(self) -> Mapping[str, bytes]:
        """Inputs that once failed, by name."""
        files = sorted((CORPUS / self.name / ONCE_WRONG).glob("*"))
        return {path.name: path.read_bytes() for path in files}

    def rewritten(self, data: bytes, rng: Random) -> bytes:  # noqa: ARG002  (not all have checksums)
        """Damaged ``data``, now and then with a checksum that is right again."""
        return data

    @abstractmethod
    def read(self, origin: str, data: bytes) -> Found:
        """What is read of ``data``, which was made of the file ``origin`` of the corpus."""

    @abstractmethod
    def why_wrong(self, origin: str, data: bytes, found: Found) -> str:
        """Why ``found`` must not come of ``data``; empty where it may."""

    def blames(self, origin: str, error: BiasError) -> bool:
        """Whether an error says where the damage is."""
        return str(self.scratch) in str(error) and bool(origin)


@dataclass(slots=True)
class CallCounts:
    """What came of so many mutations; ``wrong`` are inputs with what came of them.

    ``slowest`` is the longest that one of them took, in seconds of the processor.
    """

    mutations: int = 0
    same: int = 0
    refused: int = 0
    wrong: list[tuple[str, bytes, str]] = field(default_factory=list)
    slowest: float = 0.0


def judged(target: Target[Found], origin: str, data: bytes) -> Came:
    """What came of ``data``.

    Raises
    ------
    Wrong
        When it is not what the target's oracle allows.
    """
    try:
        found = target.read(origin, data)
    except BiasError as error:
        if not target.blames(origin, error):
            why = f"does not say where: {type(error).__name__}: {error}"
            raise Wrong(why) from error
        return "refused"
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise Wrong(why) from error
    if why := target.why_wrong(origin, data, found):
        raise Wrong(why)
    return "same"


def fuzzed(
    target: Target[Found],
    *,
    seed: int,
    mutations: int,
    progress: Callable[[CallCounts], None] = lambda _: None,
) -> CallCounts:
    """Damage the target's corpus so many times."""
    rng = Random(f"{target.name} {seed}")  # noqa: S311  (no secret)
    names = sorted(target.corpus)
    tally = CallCounts()
    for _ in range(mutations):
        origin = rng.choice(names)
        data = mutate(target.corpus[origin], target.corpus[rng.choice(names)], rng)
        data = target.rewritten(data, rng)
        began = time.process_time()
        try:
            if judged(target, origin, data) == "same":
                tally.same += 1
            else:
                tally.refused += 1
        except Wrong as wrong:
            tally.wrong.append((origin, data, str(wrong)))
        tally.slowest = max(tally.slowest, time.process_time() - began)
        tally.mutations += 1
        progress(tally)
    return tally


def name_of(origin: str, data: bytes) -> str:
    """The name under which an input is kept that was made of ``origin``."""
    return f"{origin}{BETWEEN}{hashlib.sha256(data).hexdigest()[:12]}"


def origin_of(name: str) -> str:
    """The file of the corpus that an input of that name was made of."""
    return name.rpartition(BETWEEN)[0]
