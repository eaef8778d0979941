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
)
from .designs import (
    BadStatisticInput as BadStatisticInput,
)
from .designs import (
    BadStimuli as BadStimuli,
)
from .designs import (
    BadTable as BadTable,
)
from .designs import (
    BadTemplate as BadTemplate,
)
from .designs import (
    IncompleteDesign as IncompleteDesign,
)
from .designs import (
    NoControl as NoControl,
)
from .designs import (
    NoFinding as NoFinding,
)
from .designs import (
    NoVariance as NoVariance,
)
from .designs import (
    TooFewUnits as TooFewUnits,
)
from .designs import (
    UnknownFactor as UnknownFactor,
)
from .designs import (
    Unserialisable as Unserialisable,
)
from .runs import (
    BiasFound as BiasFound,
)
from .runs import (
    CassetteBusy as CassetteBusy,
)
from .runs import (
    ControlNotSeen as ControlNotSeen,
)
from .runs import (
    DamagedCassette as DamagedCassette,
)
from .runs import (
    DamagedReport as DamagedReport,
)
from .runs import (
    DamagedResults as DamagedResults,
)
from .runs import (
    Inconclusive as Inconclusive,
)
from .runs import (
    KeepsText as KeepsText,
)
from .runs import (
    LinkedFile as LinkedFile,
)
from .runs import (
    NoCassette as NoCassette,
)
from .runs import (
    NotExported as NotExported,
)
from .runs import (
    NotJudged as NotJudged,
)
from .runs import (
    NotKept as NotKept,
)
from .runs import (
    NotMerged as NotMerged,
)
from .runs import (
    NotReadable as NotReadable,
)
from .runs import (
    NotRecorded as NotRecorded,
)
from .runs import (
    NotRepacked as NotRepacked,
)
from .runs import (
    NoWorkspace as NoWorkspace,
)
from .runs import (
    OtherModel as OtherModel,
)
from .runs import (
    ReportNotWritten as ReportNotWritten,
)
from .runs import (
    StaleRecordings as StaleRecordings,
)
from .runs import (
    TooLargeToPack as TooLargeToPack,
)
from .runs import (
    TwoCassettes as TwoCassettes,
)
from .settings import (
    BadSetting as BadSetting,
)
from .settings import (
    CallFailed as CallFailed,
)
from .settings import (
    FailureKind as FailureKind,
)
from .settings import (
    MissingKey as MissingKey,
)
from .settings import (
    MissingPackage as MissingPackage,
)
from .settings import (
    NoJudge as NoJudge,
)
from .settings import (
    RecordingRefused as RecordingRefused,
)
from .settings import (
    Unfinished as Unfinished,
)
from .settings import (
    UnknownName as UnknownName,
)
from .trials import (
    BadLabels as BadLabels,
)
from .trials import (
    ForeignAwait as ForeignAwait,
)
from .trials import (
    InvalidReply as InvalidReply,
)
from .trials import (
    JudgeNotBlind as JudgeNotBlind,
)
from .trials import (
    LabelShown as LabelShown,
)
from .trials import (
    NotManipulated as NotManipulated,
)
from .trials import (
    ReplayDiffers as ReplayDiffers,
)
from .trials import (
    SamePrompt as SamePrompt,
)
