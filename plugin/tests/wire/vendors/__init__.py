"""The four vendors' APIs as tables: what each replies, refuses and is sent."""

from __future__ import annotations

from .anthropic_messages import ANTHROPIC
from .google_contents import GOOGLE
from .openai_chat import CHAT
from .openai_responses import RESPONSES
from .vendor import Vendor

VENDORS: dict[str, Vendor] = {
    vendor.wire: vendor for vendor in (CHAT, RESPONSES, ANTHROPIC, GOOGLE)
}
