"""The linguistic audit: its 400 prompts, sizes and safeguards.

25 seeds are written by four names, with and without a learner's errors and articles.
"""

from __future__ import annotations

from collections.abc import Mapping

from pytest_bias import (
    Design,
    Factor,
    Items,
    Parameters,
    Records,
)

from ..charts import Drawn
from .audit import audited
from .prompts import CONTROL_SEEDS, SEEDS, prompt_of
from .simulated import answer

CALLS = 400
"""The document's hard cap, which is also the number of its trials."""


def _exports(records: Mapping[str, Records]) -> Drawn:
    from .exports import export_files  # noqa: PLC0415  (slow; only who exports needs it)

    return export_files(records)


LINGUISTIC_AUDIT = audited(
    prompt_of,
    id="linguistic-audit",
    name="Linguistic Bias Audit - English level, articles and names",
    factors=[
        Factor(
            "name_type",
            {"anglo": "an Anglo name", "non_anglo": "a name of other origin"},
            exemplars={
                "anglo": ["Emma Johnson", "Liam Murphy"],
                "non_anglo": ["Aisha Rahman", "Mohamed Hassan"],
            },
        ),
        Factor("english", {"perfect": "as written", "l2_english": "with a learner's errors"}),
        Factor("articles", {"articles_present": "as written", "articles_omitted": "left out"}),
    ],
    items=Items("seed", SEEDS, controls=CONTROL_SEEDS),
    replicates=5,
    controls=3,
    designs={
        "documented": Design(replicates=1, max_calls=400),
        "controlled": Design(replicates=1, controls=1),
    },
    parameters=Parameters(),
    source=(
        "Pre-Analysis Plan: Gemini Linguistic Bias Audit (Case #42), "
        "https://github.com/genaforvena/watching_u_watching/issues/42"
    ),
    metadata={
        "response_type": "free text; only its measures are kept",
        "sampling": (
            "temperature and the limit on the reply are left to the provider: the document names "
            "neither, the audit is of what people are served, and a low limit would cut long "
            "replies to the same length"
        ),
        "documented_calls": CALLS,
        "limitations": [
            "Names: two per group, so nothing is said of names in general.",
            "Errors are made by a word list, and are no sample of what learners write.",
            "VADER was made for English posts; it knows words, not what is meant.",
            "A refusal is found by phrases and by length; the README says how often wrongly.",
        ],
    },
    simulated=answer,
    exports=_exports,
)
