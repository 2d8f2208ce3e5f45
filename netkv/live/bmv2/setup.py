"""The state of a packet test (STF) as requests of P4Runtime.

P4Runtime reaches no registers of bmv2, so `register_write` is refused.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from finsy.proto import p4r

from netkv.errors import UsageError
from netkv.p4rt.entities import (
    Call,
    Lpm,
    MatchValue,
    Names,
    Range,
    Ternary,
    clone_session,
    insert,
    modify,
    multicast_group,
)
from netkv.p4rt.errors import RpcError

_CALL = re.compile(r"(?P<head>.*?)\s*(?P<action>[\w.]+)\s*\((?P<arguments>[^()]*)\)$")


def updates(names: Names, text: str, name: str) -> list[p4r.Update]:
    """The updates for the commands of a file, in order; groups come last.

    `names` are those of the program, `name` is the file's. Raises `UsageError` with the line for a
    command that P4Runtime does not support on bmv2.
    """
    made: list[p4r.Update] = []
    groups: dict[int, list[tuple[int, int]]] = {}
    nodes: list[list[tuple[int, int]]] = []
    sessions: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for number, line in _lines(text):
        word, _, rest = line.partition(" ")
        try:
            match word, rest.split():
                case "add", _:
                    made.append(insert(_entry(names, rest)))
                case "setdefault", _:
                    table, action = _call(rest)
                    made.append(modify(names.default_entry(table, action)))
                case "mirroring_add", [session, port]:
                    sessions[int(session, 0)].append((int(port, 0), 0))
                case "mc_mgrp_create", [group]:
                    groups[int(group, 0)] = []
                case "mc_node_create", [instance, *ports]:
                    nodes.append([(int(port, 0), int(instance, 0)) for port in ports])
                case "mc_node_associate", [group, handle]:
                    groups[int(group, 0)] += nodes[int(handle, 0)]
                case (("packet" | "expect" | "wait" | "no_packet"), _):
                    continue
                case _:
                    raise ValueError("P4Runtime has no such command for bmv2")
        except (ValueError, LookupError, RpcError) as error:
            reason = str(error).rstrip(".")
            raise UsageError(f"{name}:{number}: '{line[:60]}': {reason}.") from error
    made += [insert(multicast_group(group, copies)) for group, copies in groups.items()]
    made += [insert(clone_session(session, copies)) for session, copies in sessions.items()]
    return made


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if command := line.partition("#")[0].strip():
            yield number, command


def _call(text: str) -> tuple[str, Call]:
    """The text before an action, and the action."""
    found = _CALL.match(text)
    if found is None:
        raise ValueError("there is no ACTION(PARAM:VALUE, ...)")
    pairs = (each.split(":") for each in found["arguments"].split(",") if each.strip())
    return found["head"], Call(
        found["action"], {key.strip(): int(value, 0) for key, value in pairs}
    )


def _entry(names: Names, text: str) -> p4r.Entity:
    head, action = _call(text)
    table, *words = head.split()
    priority = int(words.pop(0), 0) if words and ":" not in words[0] else 0
    return names.table_entry(table, _matches(names, table, words), action, priority=priority)


def _matches(names: Names, table: str, words: Sequence[str]) -> dict[str, MatchValue]:
    keys = names.schema.tables.named(table)
    matches: dict[str, MatchValue] = {}
    for word in words:
        key, _, value = word.partition(":")
        low, between, high = value.partition("->")
        number, slash, behind = value.partition("/")
        kind = keys.key(key).kind
        if between:
            matches[key] = Range(int(low, 0), int(high, 0))
        elif kind == "lpm":
            width = keys.key(key).width
            matches[key] = Lpm(int(number, 0), int(behind, 0) if slash else width)
        elif kind == "ternary":
            ones = (1 << keys.key(key).width) - 1
            matches[key] = Ternary(int(number, 0), int(behind, 0) if slash else ones)
        else:
            matches[key] = int(value, 0)
    return matches
