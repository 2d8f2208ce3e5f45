"""Keys of users on the wire: different keys stay different, and invalid ones are refused."""

from __future__ import annotations

import pytest

from netkv.client import Rejected
from netkv.client.keys import FixedKeys, NamedKeys

FIXED = FixedKeys()


def test_keys_that_differ_differ_on_the_wire() -> None:
    users = [bytes([65]) * length for length in range(1, 256)]
    users += [b"a", b"a\0", b"\0", b"\0\0", b"x" * 15 + b"\xf0", b"x" * 15 + b"\xff", b"x" * 15]
    users += [b"netkv:", b"netkv:a", b"netkv:0123456789", b"netkv:of somebody else"]
    wire = [FIXED.name(user).wire for user in users]
    assert {len(key) for key in wire} == {16}
    assert len(set(wire)) == len(set(users)) == len(users)
    assert not any(key.startswith(b"netkv:") for key in wire)


def test_text_is_utf_8_and_16_byte_keys_are_unchanged() -> None:
    assert FIXED.name("é").wire == FIXED.name(b"\xc3\xa9").wire
    key = bytes(range(16))
    assert FIXED.name(key).wire == key
    assert FIXED.name(key).prefix == b""


@pytest.mark.parametrize("key", [b"short", b"k" * 16, b"k" * 17, b"k" * 255, b"netkv:mine"])
@pytest.mark.parametrize("value", [b"", b"\0", b"v" * 700])
def test_value_is_unpacked_for_every_kind_of_key(key: bytes, value: bytes) -> None:
    name = FIXED.name(key)
    assert name.unpack(name.pack(value)) == value


def test_record_of_another_key_with_equal_digest_is_an_error() -> None:
    one, other = FIXED.name("o" * 40), FIXED.name("p" * 40)
    with pytest.raises(Rejected, match="another key with the same digest"):
        one.unpack(other.pack(b"not mine"))


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (b"", "A key has 1 to 255 bytes, not 0."),
        ("", "A key has 1 to 255 bytes, not 0."),
        (b"k" * 256, "A key has 1 to 255 bytes, not 256."),
        (7, "A key is bytes or str, not int."),
    ],
)
def test_invalid_key_is_refused_with_a_reason(key: bytes | str, message: str) -> None:
    with pytest.raises(Rejected) as refused:
        FIXED.name(key)
    assert str(refused.value) == message


def test_error_about_a_long_value_states_the_limit() -> None:
    FIXED.name("k").pack(b"v" * 1024)
    with pytest.raises(Rejected, match=r"up to 1,024 bytes; that of 'k' has 1,025"):
        FIXED.name("k").pack(b"v" * 1025)
    FIXED.name("k" * 40).pack(b"v" * 983)
    with pytest.raises(Rejected, match="of a key of 40 bytes has up to 983 bytes"):
        FIXED.name("k" * 40).pack(b"v" * 984)
    with pytest.raises(Rejected, match="A value is bytes or str, not NoneType"):
        FIXED.name("k").pack(None)  # type: ignore[arg-type]


def test_keys_of_4_to_64_bytes_are_sent_unchanged() -> None:
    named = NamedKeys()
    assert named.name("user:1").wire == b"user:1"
    for length in (3, 65):
        with pytest.raises(Rejected, match=f"4 to 64 bytes, not {length}"):
            named.name("k" * length)
