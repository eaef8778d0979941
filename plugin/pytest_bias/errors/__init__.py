"""Exceptions of pytest-bias: each takes fields and words itself.

``BiasError`` is the base of everything raised for a user to read. The three gate outcomes
(``BiasFound``, ``Inconclusive``, ``ControlNotSeen``) are also ``AssertionError``: a verdict that
does not pass is a failed expectation, so pytest reports it as a failure and an ``xfail`` with
``raises=AssertionError`` matches it and nothing else.
"""

from __future__ import annotations

from .base import BiasError
from .designs import BadDesign, BadStimuli, BadTemplate, NoControl, UnknownFactor, Unserialisable
from .gate import (
    BiasFound,
    ControlNotSeen,
    DamagedReport,
    DamagedResults,
    Inconclusive,
    NotExported,
    NotJudged,
    NotMerged,
    ReportNotWritten,
)
from .judges import BadLabels, JudgeNotBlind
from .manipulation import LabelShown, NotManipulated, SamePrompt
from .recordings import (
    CassetteBusy,
    DamagedCassette,
    KeepsText,
    LinkedFile,
    NoCassette,
    NotKept,
    NotReadable,
    NotRecorded,
    NotRepacked,
    NoWorkspace,
    OtherModel,
    StaleRecordings,
    TooLargeToPack,
    TwoCassettes,
)
from .settings import (
    BadSetting,
    CallFailed,
    FailureKind,
    MissingKey,
    MissingPackage,
    NoJudge,
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
    "BadLabels",
    "BadSetting",
    "BadStatisticInput",
    "BadStimuli",
    "BadTable",
    "BadTemplate",
    "BiasError",
    "BiasFound",
    "CallFailed",
    "CassetteBusy",
    "ControlNotSeen",
    "DamagedCassette",
    "DamagedReport",
    "DamagedResults",
    "FailureKind",
    "ForeignAwait",
    "IncompleteDesign",
    "Inconclusive",
    "InvalidReply",
    "JudgeNotBlind",
    "KeepsText",
    "LabelShown",
    "LinkedFile",
    "MissingKey",
    "MissingPackage",
    "NoCassette",
    "NoControl",
    "NoFinding",
    "NoJudge",
    "NoVariance",
    "NoWorkspace",
    "NotExported",
    "NotJudged",
    "NotKept",
    "NotManipulated",
    "NotMerged",
    "NotReadable",
    "NotRecorded",
    "NotRepacked",
    "OtherModel",
    "RecordingRefused",
    "ReplayDiffers",
    "ReportNotWritten",
    "SamePrompt",
    "StaleRecordings",
    "TooFewUnits",
    "TooLargeToPack",
    "TwoCassettes",
    "Unfinished",
    "UnknownFactor",
    "UnknownName",
    "Unserialisable",
]
