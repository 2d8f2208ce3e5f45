"""The address at which the gateway listens."""

from __future__ import annotations

import pytest

from netkv.errors import UsageError
from netkv.gateway.address import resolved


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1"])
def test_non_loopback_address_is_refused(host: str) -> None:
    with pytest.raises(UsageError, match="--allow-remote"):
        resolved(host, 0, allow_remote=False)


def test_addresses_are_resolved() -> None:
    assert str(resolved("localhost", 7, allow_remote=False)) in ("127.0.0.1:7", "[::1]:7")
    assert str(resolved("127.0.0.1", 0, allow_remote=False)) == "127.0.0.1:0"
    assert str(resolved("", 7, allow_remote=True)) == "0.0.0.0:7"
    assert str(resolved("::", 7, allow_remote=True)) == "[::]:7"


def test_name_without_an_address_is_refused() -> None:
    with pytest.raises(UsageError, match=r"'no\.such\.invalid' is not an address"):
        resolved("no.such.invalid", 0, allow_remote=True)
