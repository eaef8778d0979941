"""Exceptions of pytest-bias: each takes fields and words itself.

``BiasError`` is the base of everything raised for a user to read. The three gate outcomes
(``BiasFound``, ``Inconclusive``, ``ControlNotSeen``) are also ``AssertionError``: a verdict that
does not pass is a failed expectation, so pytest reports it as a failure and an ``xfail`` with
``raises=AssertionError`` matches it and nothing else.
"""

from __future__ import annotations

from .base import BiasError
from .designs import BadDesign, BadTemplate, UnknownFactor, Unserialisable
from .gate import BiasFound, ControlNotSeen, Inconclusive, NotJudged, ReportNotWritten
from .manipulation import LabelShown, NotManipulated, SamePrompt
from .recordings import CassetteBusy, DamagedCassette, KeepsText, NotKept, NotRecorded
from .settings import (
    BadSetting,
    CallFailed,
    FailureKind,
    MissingKey,
    MissingPackage,
    RecordingRefused,
    Unfinished,
    UnknownName,
)
from .statistics import (
    BadStatisticInput,
    BadTable,
    IncompleteDesign,
    NoFinding,
    NoVariance,
    TooFewUnits,
)
from .trials import ForeignAwait, InvalidReply, ReplayDiffers

__all__ = [
    "BadDesign",
    "BadSetting",
    "BadStatisticInput",
    "BadTable",
    "BadTemplate",
    "BiasError",
    "BiasFound",
    "CallFailed",
    "CassetteBusy",
    "ControlNotSeen",
    "DamagedCassette",
    "FailureKind",
    "ForeignAwait",
    "IncompleteDesign",
    "Inconclusive",
    "InvalidReply",
    "KeepsText",
    "LabelShown",
    "MissingKey",
    "MissingPackage",
    "NoFinding",
    "NoVariance",
    "NotJudged",
    "NotKept",
    "NotManipulated",
    "NotRecorded",
    "RecordingRefused",
    "ReplayDiffers",
    "ReportNotWritten",
    "SamePrompt",
    "TooFewUnits",
    "Unfinished",
    "UnknownFactor",
    "UnknownName",
    "Unserialisable",
]
