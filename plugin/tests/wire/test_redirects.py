"""No prompt follows a redirect, whatever the wire."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

import pytest

from pytest_bias.errors import CallFailed
from pytest_bias.providers.base import WIRES, Endpoint, open_wire

from ..helpers import answering, saying
from . import mocker
from .mocker import SECRET


def failed(wire: str, url: str) -> CallFailed:
    """The failure of one call at an endpoint of the user's own."""
    return mocker.failed(partial(open_wire, wire, Endpoint("mine", SECRET, url)))


@pytest.mark.parametrize(("wire", "status"), [*zip(WIRES, (307, 302, 303, 308), strict=True)])
def test_no_prompt_follows_a_redirect_to_another_host(wire: str, status: int) -> None:
    with ExitStack() as stack:
        elsewhere, seen = stack.enter_context(answering(saying(200, {}, b"{}")))
        signed = elsewhere.replace("//", "//joe:pass-of-joe@")
        location = {"Location": f"{signed}/v1?key={SECRET}"}
        url, asked = stack.enter_context(answering(saying(status, location)))
        failure = failed(wire, url)
    assert (len(asked), seen) == (1, [])
    assert failure.kind == "fatal"
    said = str(failure)
    assert (
        f"HTTP {status}: the endpoint redirects its callers to {elsewhere}/v1, where nothing"
        in said
    )
    assert "name it in [endpoints.mine] base_url (at " in said
    assert "joe" not in said
    assert "?" not in said
