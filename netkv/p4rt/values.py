"""Values on the wire: the canonical binary strings of P4Runtime (section 8.3).

A value of width `w` is a big-endian string. Received values may have any number of leading zeros;
sent values have none, and at least one byte.
"""

from __future__ import annotations

from netkv.p4rt.errors import Code, RpcError


def decode(data: bytes, width: int, what: str) -> int:
    """The number in `data`, which must fit into `width` bits.

    `what` names the field in the error. Raises OUT_OF_RANGE for an empty string and for a value
    that is too large.
    """
    if not data:
        raise RpcError(
            Code.OUT_OF_RANGE, f"{what} has no value; expected 1 to {(width + 7) // 8} bytes"
        )
    number = int.from_bytes(data, "big")
    if number >> width:
        raise RpcError(
            Code.OUT_OF_RANGE,
            f"{what} is {width} bits wide, and {number:#x} does not fit; "
            f"the largest value is {(1 << width) - 1:#x}",
        )
    return number


def encode(number: int) -> bytes:
    """The canonical string of a number: no leading zero bytes, at least one byte."""
    return number.to_bytes(max(1, (number.bit_length() + 7) // 8), "big")


def canonical(data: bytes) -> bytes:
    """The same value without leading zero bytes."""
    return data.lstrip(b"\0") or b"\0"


def mask_of_prefix(width: int, prefix: int) -> int:
    """The mask that has the `prefix` highest of `width` bits set."""
    return ((1 << prefix) - 1) << (width - prefix)
