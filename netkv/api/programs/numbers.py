"""Numbers of P4 programs as text."""

from __future__ import annotations

import ipaddress
import re

from netkv.p4rt.schema import Field

_MAC = re.compile(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}")


def text(value: bytes | int) -> str:
    """`0x…`."""
    number = value if isinstance(value, int) else int.from_bytes(value, "big")
    return f"{number:#x}"


def parse(value: int | str, field: Field) -> bytes:
    """The bytes of a value of a field; raises ValueError with a sentence."""
    number = value if isinstance(value, int) else _number(value.strip())
    if number >> field.width:
        raise ValueError(
            f"'{field.name}' has {field.width} bits, so {value} does not fit: at most "
            f"{text((1 << field.width) - 1)}."
        )
    return number.to_bytes((field.width + 7) // 8, "big")


def whole(value: int | str, what: str) -> int:
    """A number that is no value of a field, as the length of a prefix."""
    try:
        return int(value)
    except ValueError:
        raise ValueError(f"{what} is a whole number, not '{value}'.") from None


def _number(value: str) -> int:
    if _MAC.fullmatch(value):
        return int(value.replace(":", ""), 16)
    try:
        number = int(value, 0)
    except ValueError:
        try:
            return int(ipaddress.ip_address(value))
        except ValueError:
            raise ValueError(
                f"'{value[:60]}' is no number: write 12, 0x0c, 10.0.0.1 or 02:00:0a:00:00:01."
            ) from None
    if number < 0:
        raise ValueError(f"'{value[:60]}' is below 0.")
    return number
