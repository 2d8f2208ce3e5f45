"""The tables of commands: without MSET, and with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from netkv.gateway import local, stored
from netkv.gateway.catalogue import Catalogue, Table
from netkv.gateway.client import Client
from netkv.gateway.command import Command, Request
from netkv.gateway.replies import Failure, Reply, Simple

_READS = ("readonly", "fast")
_CONNECTION = ("noscript", "loading", "stale", "fast")
_SERVER = ("loading", "stale")


_NOT_ATOMIC = Failure(
    "ERR MSET is atomic in Redis, but a rack cannot write keys of several servers atomically: send "
    "SETs in a pipeline, or start 'netkv gateway --mset separate', which writes each key of an "
    "MSET separately"
)
_NO_MSETNX = Failure(
    "ERR MSETNX is not supported: a write to a rack cannot depend on the stored value"
)
_NO_TRANSACTIONS = Failure(
    "ERR a rack has no transactions; commands up to EXEC or DISCARD are not executed: send a "
    "pipeline without MULTI (redis-py: pipeline(transaction=False))"
)
_DISCARDED = Failure("EXECABORT Transaction discarded because of previous errors.")


def refused(table: Table, client: Client, request: Request) -> Failure | None:
    """The error for an unsupported command that many clients send, with alternatives; else None.

    Commands between MULTI and EXEC are refused as well: otherwise an atomic transaction would be
    executed in part.
    """
    name = request[0].upper()
    if name == b"MSET" and "mset" not in table:
        return _NOT_ATOMIC
    if name == b"MSETNX":
        return _NO_MSETNX
    if name == b"MULTI":
        client.transaction = True
        return _NO_TRANSACTIONS
    if not client.transaction:
        return None
    if name in (b"EXEC", b"DISCARD", b"RESET", b"QUIT"):
        client.transaction = False
        return _DISCARDED if name in (b"EXEC", b"DISCARD") else None
    return _NO_TRANSACTIONS


def _subcommands(parent: str, commands: Iterable[Command]) -> dict[str, Command]:
    """The table of subcommands, with HELP added."""
    table = {command.name.partition("|")[2]: command for command in commands}

    def help_text(client: Client, request: Request) -> Reply:  # noqa: ARG001
        head = f"{parent.upper()} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
        lines = [head]
        for name, command in table.items():
            lines += [name.upper(), f"    {command.summary}"]
        return [Simple(line) for line in lines]

    table["help"] = Command(
        f"{parent}|help", 2, "List the subcommands.", "5.0.0", "server", help_text, flags=_SERVER
    )
    return table


_DATA = (
    Command(
        "get",
        2,
        "Return the value of a key, or null.",
        "1.0.0",
        "string",
        stored=stored.get,
        flags=_READS,
        keys_to=1,
    ),
    Command(
        "strlen",
        2,
        "Return the length of a value in bytes.",
        "2.2.0",
        "string",
        stored=stored.length,
        flags=_READS,
        keys_to=1,
    ),
    Command(
        "type",
        2,
        "Return the type of a value: string, or none without a value.",
        "1.0.0",
        "generic",
        stored=stored.kind,
        flags=_READS,
        keys_to=1,
    ),
    *(
        Command(
            name,
            2,
            "Return -1 for an existing key, which never expires, else -2.",
            since,
            "generic",
            stored=stored.expiry,
            flags=_READS,
            keys_to=1,
        )
        for name, since in (("ttl", "1.0.0"), ("pttl", "2.6.0"))
    ),
    Command(
        "dbsize",
        1,
        "Return the number of keys that were stored through this gateway.",
        "1.0.0",
        "server",
        stored=stored.count,
        flags=_READS,
    ),
    Command(
        "set",
        -3,
        "Set the value of a key; no options are supported.",
        "1.0.0",
        "string",
        stored=stored.put,
        check=stored.check_set,
        flags=("write",),
        keys_to=1,
    ),
    Command(
        "mget",
        -2,
        "Return the values of several keys, or an error if one read fails.",
        "1.0.0",
        "string",
        stored=stored.multiget,
        check=stored.check_count,
        flags=_READS,
        keys_to=-1,
    ),
    Command(
        "exists",
        -2,
        "Return how many of the keys exist.",
        "1.0.0",
        "generic",
        stored=stored.exists,
        check=stored.check_count,
        flags=_READS,
        keys_to=-1,
    ),
    Command(
        "del",
        -2,
        "Delete keys.",
        "1.0.0",
        "generic",
        stored=stored.delete,
        check=stored.check_count,
        flags=("write",),
        keys_to=-1,
    ),
    Command(
        "unlink",
        -2,
        "Delete keys.",
        "4.0.0",
        "generic",
        stored=stored.delete,
        check=stored.check_count,
        flags=("write", "fast"),
        keys_to=-1,
    ),
)
_CONNECTIONS = (
    Command(
        "ping",
        -1,
        "Return PONG, or the given message.",
        "1.0.0",
        "connection",
        local.ping,
        check=local.check_ping,
        flags=("fast",),
    ),
    Command(
        "echo", 2, "Return the given message.", "1.0.0", "connection", local.echo, flags=("fast",)
    ),
    Command(
        "select",
        2,
        "Select a database; the only one is 0.",
        "1.0.0",
        "connection",
        local.select,
        flags=("loading", "stale", "fast"),
    ),
    Command(
        "quit",
        -1,
        "Close the connection.",
        "1.0.0",
        "connection",
        local.leave,
        flags=_CONNECTION,
    ),
    Command(
        "reset",
        1,
        "Reset the connection to its initial state.",
        "6.2.0",
        "connection",
        local.reset,
        flags=_CONNECTION,
    ),
    Command(
        "hello",
        -1,
        "Select version 2 or 3 of the protocol.",
        "6.0.0",
        "connection",
        local.hello,
        flags=_CONNECTION,
    ),
    Command(
        "info",
        -1,
        "Return information and counters of the gateway.",
        "1.0.0",
        "server",
        local.info,
        flags=_SERVER,
    ),
    Command(
        "client",
        -2,
        "Container of the commands for connections.",
        "2.4.0",
        "connection",
        subcommands=_subcommands(
            "client",
            (
                Command(
                    "client|id",
                    2,
                    "Return the id of the connection.",
                    "5.0.0",
                    "connection",
                    local.client_id,
                    flags=_CONNECTION,
                ),
                Command(
                    "client|getname",
                    2,
                    "Return the name of the connection.",
                    "2.6.9",
                    "connection",
                    local.client_getname,
                    flags=_CONNECTION,
                ),
                Command(
                    "client|setname",
                    3,
                    "Set the name of the connection.",
                    "2.6.9",
                    "connection",
                    local.client_setname,
                    flags=_CONNECTION,
                ),
                Command(
                    "client|setinfo",
                    4,
                    "Set the name or version of the client library.",
                    "7.2.0",
                    "connection",
                    local.client_setinfo,
                    flags=_CONNECTION,
                ),
            ),
        ),
    ),
    Command(
        "config",
        -2,
        "Container of the commands for settings.",
        "2.0.0",
        "server",
        subcommands=_subcommands(
            "config",
            (
                Command(
                    "config|get",
                    -3,
                    "Return the settings whose names match a pattern.",
                    "2.0.0",
                    "server",
                    local.config_get,
                    flags=_SERVER,
                ),
            ),
        ),
    ),
)


def _command(table: Table) -> Command:
    """The command COMMAND, for a table that contains it."""
    catalogue = Catalogue(table)
    return Command(
        "command",
        -1,
        "Return the descriptions of all commands for client libraries.",
        "2.8.13",
        "server",
        catalogue.all_commands,
        flags=_SERVER,
        subcommands=_subcommands(
            "command",
            (
                Command(
                    "command|count",
                    2,
                    "Return the number of commands.",
                    "2.8.13",
                    "server",
                    catalogue.count,
                    flags=_SERVER,
                ),
                Command(
                    "command|docs",
                    -2,
                    "Return the documentation of commands.",
                    "7.0.0",
                    "server",
                    catalogue.docs,
                    flags=_SERVER,
                ),
                Command(
                    "command|info",
                    -2,
                    "Return the descriptions of some commands for client libraries.",
                    "2.8.13",
                    "server",
                    catalogue.info,
                    flags=_SERVER,
                ),
                Command(
                    "command|list",
                    2,
                    "Return the names of the commands.",
                    "7.0.0",
                    "server",
                    catalogue.names,
                    flags=_SERVER,
                ),
            ),
        ),
    )


_MSET = Command(
    "mset",
    -3,
    "Set the values of several keys, each separately: not atomic.",
    "1.0.1",
    "string",
    stored=stored.put_each,
    check=stored.check_mset,
    flags=("write",),
    keys_to=-1,
    key_step=2,
)


def table_of(*, mset: bool) -> Table:
    """The commands of a gateway by name, in lower case; with MSET or without."""
    table: dict[str, Command] = {}
    for command in (*_DATA, *((_MSET,) if mset else ()), *_CONNECTIONS, _command(table)):
        table[command.name] = command
    return table


PLAIN: Final = table_of(mset=False)
WITH_MSET: Final = table_of(mset=True)
"""For `netkv gateway --mset separate`."""
