"""Exceptions of pytest-bias: each takes fields and words itself.

``BiasError`` is the base of everything raised for a user to read. The three gate outcomes
(``BiasFound``, ``Inconclusive``, ``ControlNotSeen``) are also ``AssertionError``: a verdict that
does not pass is a failed expectation, so pytest reports it as a failure and an ``xfail`` with
``raises=AssertionError`` matches it and nothing else.
"""

from __future__ import annotations

from .base import BiasError as BiasError
from .designs import (
    BadDesign as BadDesign,
    BadStatisticInput as BadStatisticInput,
    BadStimuli as BadStimuli,
    BadTable as BadTable,
    BadTemplate as BadTemplate,
    IncompleteDesign as IncompleteDesign,
    NoControl as NoControl,
    NoFinding as NoFinding,
    NotAsWritten as NotAsWritten,
    NoVariance as NoVariance,
    TooFewUnits as TooFewUnits,
    UnknownFactor as UnknownFactor,
    Unserialisable as Unserialisable,
)
from .runs import (
    BiasFound as BiasFound,
    CassetteBusy as CassetteBusy,
    CassettesDiffer as CassettesDiffer,
    ControlNotSeen as ControlNotSeen,
    DamagedCassette as DamagedCassette,
    DamagedReport as DamagedReport,
    DamagedResults as DamagedResults,
    FileProblem as FileProblem,
    Inconclusive as Inconclusive,
    KeepsText as KeepsText,
    LinkedFile as LinkedFile,
    NoCassette as NoCassette,
    NotExported as NotExported,
    NotJudged as NotJudged,
    NotKept as NotKept,
    NotMerged as NotMerged,
    NotReadable as NotReadable,
    NotRecorded as NotRecorded,
    NotRepacked as NotRepacked,
    NotReplaced as NotReplaced,
    NotShipped as NotShipped,
    NoWorkspace as NoWorkspace,
    OtherModel as OtherModel,
    PaperNotWritten as PaperNotWritten,
    ReportNotWritten as ReportNotWritten,
    StaleRecordings as StaleRecordings,
    TwoCassettes as TwoCassettes,
)
from .settings import (
    BadSetting as BadSetting,
    CallFailed as CallFailed,
    FailureKind as FailureKind,
    MissingKey as MissingKey,
    MissingPackage as MissingPackage,
    NoJudge as NoJudge,
    RecordingRefused as RecordingRefused,
    Unfinished as Unfinished,
    UnknownName as UnknownName,
)
from .tables import NotCovered as NotCovered
from .tables import WrongTable as WrongTable
from .trials import (
    BadLabels as BadLabels,
    ForeignAwait as ForeignAwait,
    InvalidReply as InvalidReply,
    JudgeNotBlind as JudgeNotBlind,
    LabelShown as LabelShown,
    ReplayDiffers as ReplayDiffers,
    SamePrompt as SamePrompt,
)
