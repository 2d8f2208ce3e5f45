"""The declaration of a command, and the lookup of the command of a request."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from netkv.gateway.replies import Failure, Reply

if TYPE_CHECKING:
    from netkv.gateway.backend import Rack
    from netkv.gateway.client import Client

Request = Sequence[bytes]
"""Words of a request: the name of the command and its arguments."""
Local = Callable[["Client", Request], Reply]
"""Executes a command without the rack."""
Stored = Callable[["Rack", Request], Coroutine[Any, Any, Reply]]
"""Executes a command on the rack; raises `ClientError`."""
Check = Callable[[Request], Failure | None]

_WORDS_SHOWN = 128


@dataclass(frozen=True)
class Command:
    """One command, or a subcommand of one."""

    name: str
    """`get`; of a subcommand `client|id`."""
    arity: int
    """Number of words including the name; negative: the minimum."""
    summary: str
    since: str
    """The first version of Redis that has it."""
    group: Literal["string", "generic", "connection", "server"]
    local: Local | None = None
    stored: Stored | None = None
    """Either this or `local` is set, unless the command has subcommands only."""
    check: Check | None = None
    """Checks the arguments before execution; returns the error."""
    flags: tuple[str, ...] = ()
    keys_to: int = 0
    """Position of the last key; -1: the last word; 0: no keys. The first key follows the name."""
    key_step: int = 1
    """Distance from one key to the next: 2 if each key is followed by its value."""
    subcommands: Mapping[str, Command] = field(default_factory=dict)

    @property
    def writes(self) -> bool:
        """Whether it changes stored records."""
        return "write" in self.flags

    def keys(self, request: Request) -> Request | None:
        """The keys in a request; None if the command has no keys, so that it concerns all keys."""
        if not self.keys_to:
            return None
        end = None if self.keys_to < 0 else 1 + self.keys_to
        return request[1 : end : self.key_step]

    def takes(self, words: int) -> bool:
        """Whether a request with this number of words is valid."""
        return words == self.arity if self.arity > 0 else words >= -self.arity


def find(table: Mapping[str, Command], request: Request) -> Command | Failure:
    """The command of a request with valid arguments, or the error that Redis sends."""
    name = request[0].decode(errors="replace")
    command = table.get(name.lower())
    if command is None:
        return Failure(
            f"ERR unknown command '{name[:_WORDS_SHOWN]}', with args beginning with: "
            f"{_beginning(request[1:])}"
        )
    if command.subcommands and len(request) > 1:
        word = request[1].decode(errors="replace")
        subcommand = command.subcommands.get(word.lower())
        if subcommand is None:
            return Failure(
                f"ERR unknown subcommand '{word[:_WORDS_SHOWN]}'. Try {command.name.upper()} HELP."
            )
        command = subcommand
    if not command.takes(len(request)):
        return Failure(f"ERR wrong number of arguments for '{command.name}' command")
    return (command.check and command.check(request)) or command


def _beginning(words: Request) -> str:
    shown = ""
    for word in words:
        if len(shown) >= _WORDS_SHOWN:
            break
        text = word[: _WORDS_SHOWN - len(shown)].decode(errors="replace")
        shown += f"'{text}' "
    return shown
