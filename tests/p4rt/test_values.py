"""Binary strings of P4Runtime: decoding, and the canonical form."""

import pytest

from netkv.p4rt import values
from netkv.p4rt.errors import Code, RpcError


@pytest.mark.parametrize("data", [b"\x05", b"\0\x05", b"\0" * 40 + b"\x05"])
def test_leading_zeros_do_not_change_a_value(data: bytes) -> None:
    assert values.decode(data, 9, "port") == 5
    assert values.canonical(data) == b"\x05"


def test_zero_is_encoded_as_one_byte() -> None:
    assert values.canonical(b"\0\0") == b"\0"
    assert values.encode(0) == b"\0"
    with pytest.raises(RpcError, match="port has no value") as caught:
        values.decode(b"", 9, "port")
    assert caught.value.code is Code.OUT_OF_RANGE


def test_error_of_a_too_large_value_has_its_name_and_width() -> None:
    assert values.decode(b"\x01\xff", 9, "port") == 511
    with pytest.raises(RpcError, match=r"port is 9 bits wide, and 0x200 does not fit") as caught:
        values.decode(b"\x02\x00", 9, "port")
    assert caught.value.code is Code.OUT_OF_RANGE


def test_values_wider_than_a_machine_word_are_exact() -> None:
    number = (1 << 1023) + 3
    assert values.decode(values.encode(number), 1024, "value") == number
