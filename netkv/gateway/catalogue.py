"""COMMAND: the list of commands, as Redis sends it to client libraries and to redis-cli."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from netkv.gateway.client import Client
from netkv.gateway.command import Command, Request
from netkv.gateway.replies import Reply, Words

Table = Mapping[str, Command]

_CATEGORIES = {"string": "@string", "generic": "@keyspace", "connection": "@connection"}


class Catalogue:
    """The replies to COMMAND and its subcommands, for a table of commands."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def all_commands(self, client: Client, request: Request) -> Reply:  # noqa: ARG002
        """COMMAND."""
        return [_entry(command) for command in self._table.values()]

    def count(self, client: Client, request: Request) -> Reply:  # noqa: ARG002
        """COMMAND COUNT."""
        return len(self._table)

    def names(self, client: Client, request: Request) -> Reply:  # noqa: ARG002
        """COMMAND LIST."""
        return list(self._table)

    def info(self, client: Client, request: Request) -> Reply:
        """COMMAND INFO [name …]: null for an unknown name."""
        if len(request) == 2:
            return self.all_commands(client, request)
        found = (self._named(word) for word in request[2:])
        return [None if command is None else _entry(command) for command in found]

    def docs(self, client: Client, request: Request) -> Reply:  # noqa: ARG002
        """COMMAND DOCS [name …]: unknown names are left out."""
        return {command.name: _docs(command) for command in self._chosen(request[2:])}

    def _chosen(self, words: Request) -> Iterator[Command]:
        if not words:
            yield from self._table.values()
        for word in words:
            command = self._named(word)
            if command is not None:
                yield command

    def _named(self, word: bytes) -> Command | None:
        first, _, second = word.decode(errors="replace").lower().partition("|")
        command = self._table.get(first)
        return command.subcommands.get(second) if command and second else command


def _entry(command: Command) -> Reply:
    keys = (1, command.keys_to, command.key_step) if command.keys_to else (0, 0, 0)
    return [
        command.name,
        command.arity,
        Words(command.flags),
        *keys,
        Words(tuple(_categories(command))),
        [],  # tips
        [],  # key specifications: `keys` is sufficient
        [_entry(subcommand) for subcommand in command.subcommands.values()],
    ]


def _categories(command: Command) -> Iterator[str]:
    """ACL categories of Redis. Some clients use them to choose the commands for replicas."""
    if "readonly" in command.flags:
        yield "@read"
    if command.writes:
        yield "@write"
    if command.group in _CATEGORIES:
        yield _CATEGORIES[command.group]
    yield "@fast" if "fast" in command.flags else "@slow"


def _docs(command: Command) -> Reply:
    docs: dict[str, Reply] = {
        "summary": command.summary,
        "since": command.since,
        "group": command.group,
    }
    if command.subcommands:
        docs["subcommands"] = {each.name: _docs(each) for each in command.subcommands.values()}
    return docs
