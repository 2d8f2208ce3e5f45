"""Inline commands: a line of words, as typed into telnet. Words may be quoted."""

from __future__ import annotations

import re

_WORD = re.compile(
    rb"""[ \t\v\f\r\n\0]*
    (?P<word> (?: "(?: \\. | [^"\\] )*" (?= [ \t\v\f\r\n] | \Z )
               |  '(?: \\' | \\(?!') | [^'\\] )*' (?= [ \t\v\f\r\n] | \Z )
               |  [^ \t\r\n\0"']
              )+ )""",
    re.VERBOSE | re.DOTALL,
)
_BLANKS = b" \t\v\f\r\n\0"
_QUOTED = re.compile(
    rb""" "(?P<double> (?: \\. | [^"\\] )*)" | '(?P<single> (?: \\' | \\(?!') | [^'\\] )*)' """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_CONTROL = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"a": b"\a"}


def words_of(line: bytes) -> list[bytes] | None:
    """The words of a line without quotes and escapes; None if quotes are unbalanced."""
    words = []
    rest = line.rstrip(_BLANKS)
    at = 0
    while at < len(rest):
        found = _WORD.match(rest, at)
        if found is None:
            return None
        words.append(_QUOTED.sub(_unquoted, found["word"]))
        at = found.end()
    return words


def _unquoted(quoted: re.Match[bytes]) -> bytes:
    single: bytes | None = quoted["single"]
    if single is not None:
        return single.replace(b"\\'", b"'")
    return _ESCAPE.sub(_character, quoted["double"])


def _character(escape: re.Match[bytes]) -> bytes:
    if escape[1] is not None:
        return bytes((int(escape[1], 16),))
    return _CONTROL.get(escape[2], escape[2])
