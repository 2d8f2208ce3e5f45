"""Requests that a cache before memcached cannot read, and what memcached does with them.

Each is a UDP payload with memcached's frame header, of a request that concerns the key `KEY`.
`IGNORED` change nothing at a server. `CHANGING` change the item of the key.
"""

from __future__ import annotations

import struct

from tests.fpga.packets import Operation, get, memcached, store

KEY = b"key1"
_SET = store(KEY, b"new").encode()
_TEXT = b"set %s 0 0 3\r\nnew\r\n" % KEY


def _header(*, part: int = 0, parts: int = 1) -> bytes:
    return struct.pack("!HHHH", 7, part, parts, 0)


def _operation(opcode: int, *, key: int = 0, extras: int = 0, body: int = 0, rest: bytes) -> bytes:
    """An operation whose lengths need not fit."""
    return struct.pack("!BBHBBHIIQ", 0x80, opcode, key, extras, 0, 0, body, 7, 0) + rest


IGNORED: dict[str, bytes] = {
    "only-a-frame-header": _header(),
    "part-of-a-frame-header": _header()[:5],
    "part-of-several": _header(parts=2) + _SET,
    "no-part": _header(parts=0) + _SET,
    "second-part": _header(part=1, parts=2) + _SET,
    "text-without-an-end": _header() + b"set %s 0 0 3" % KEY,
    "text-that-reads": _header() + b"get %s\r\n" % KEY,
    "text-that-reads-twice": _header() + b"gets a b\r\nversion\r\nstats\r\n",
    "no-command": _header() + b"hello\r\n",
    "capitals": _header() + b"SET %s 0 0 3\r\nnew\r\n" % KEY,
    "carriage-return": _header() + b"set %s 0 0 3\rnew\r" % KEY,
    "tab": _header() + b"\t" + _TEXT,
    "zero-byte": _header() + b"\0" + _TEXT,
    "random-bytes": _header() + bytes(range(1, 10)) + bytes(range(128, 200)),
    "bytes-before-a-request": _header() + b"\1\2\3" + _SET,
    "magic-of-a-reply": _header() + b"\x81" + _SET[1:],
    "part-of-an-operation": _header() + _SET[:20],
    "text-behind-an-operation": _header() + get(b"x").encode() + _TEXT,
    "magic-of-a-reply-behind-an-operation": _header() + get(b"x").encode() + b"\x81" + _SET[1:],
    "key-longer-than-the-body": _header()
    + _operation(memcached.SET, key=10, extras=8, body=5, rest=b"12345" + _SET),
    "get-with-extras": _header()
    + _operation(memcached.GET, key=4, extras=4, body=8, rest=bytes(4) + KEY + _SET),
    "get-without-a-key": _header() + _operation(memcached.GET, rest=_SET),
    "get-with-a-value": _header()
    + _operation(memcached.GET, key=4, body=6, rest=KEY + b"xx" + _SET),
    "set-without-a-key": _header()
    + _operation(memcached.SET, extras=8, body=9, rest=bytes(8) + b"v" + _SET),
    "delete-without-a-key": _header() + _operation(memcached.DELETE, rest=_SET),
    "key-that-is-too-long": _header()
    + _operation(memcached.DELETE, key=251, body=251, rest=bytes(251) + _SET),
    "flush-with-a-key": _header() + _operation(memcached.FLUSH, key=4, body=4, rest=KEY + _SET),
    "flush-with-half-a-delay": _header()
    + _operation(memcached.FLUSH, extras=2, body=2, rest=bytes(2) + _SET),
}

CHANGING: dict[str, bytes] = {
    "text": _header() + _TEXT,
    "line-feeds": _header() + _TEXT.replace(b"\r", b"", 1),
    "blanks-before-text": _header() + b"   " + _TEXT,
    "text-in-the-second-line": _header() + b"\1\2\3\n" + _TEXT,
    "text-behind-a-read": _header() + b"get a\r\n" + _TEXT,
    "text-far-behind": _header() + b"get %s\r\n" % (b"a" * 200) + _TEXT,
    "text-in-what-looks-like-a-reply": _header()
    + Operation(memcached.NOOP, value=b"\r\n" + _TEXT, magic=0x81).encode(),
    "text-add": _header() + b"delete %s\r\nadd %s 0 0 3\r\nnew\r\n" % (KEY, KEY),
    "text-replace": _header() + b"replace %s 0 0 3\r\nnew\r\n" % KEY,
    "text-append": _header() + b"append %s 0 0 3\r\nnew\r\n" % KEY,
    "text-prepend": _header() + b"prepend %s 0 0 3\r\nnew\r\n" % KEY,
    "text-delete": _header() + b"delete %s\r\n" % KEY,
    "text-increment": _header() + b"incr %s 1\r\n" % KEY,
    "text-decrement": _header() + b"decr %s 1\r\n" % KEY,
    "text-flush": _header() + b"flush_all\r\n",
    "text-expiry": _header() + b"touch %s -1\r\n" % KEY,
    "text-get-and-expiry": _header() + b"gat -1 %s\r\n" % KEY,
    "meta-set": _header() + b"ms %s 3\r\nnew\r\n" % KEY,
    "meta-delete": _header() + b"md %s\r\n" % KEY,
    "meta-arithmetic": _header() + b"ma %s\r\n" % KEY,
    "meta-get-with-expiry": _header() + b"mg %s T-1\r\n" % KEY,
    "sequence-number": _header(part=3) + _SET,
}
