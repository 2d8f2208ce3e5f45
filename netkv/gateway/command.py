"""Commands, and the search for the command of a request."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from netkv.gateway.replies import Failure, Reply

if TYPE_CHECKING:
    from netkv.gateway.backend import Rack
    from netkv.gateway.client import Client

Request = Sequence[bytes]
"""A command's name and arguments."""
Local = Callable[["Client", Request], Reply]
"""Answers a command at once."""
Stored = Callable[["Rack", Request], Coroutine[Any, Any, Reply]]
"""Does a command on the rack; raises `ClientError`."""
Check = Callable[[Request], Failure | None]

_WORDS_SHOWN = 128


@dataclass(frozen=True)
class Command:
    """One command, or a subcommand of one."""

    name: str
    """`get`; of a subcommand `client|id`."""
    arity: int
    """Words with its name; negative: at least so many."""
    summary: str
    since: str
    """The version of Redis that had it first."""
    group: Literal["string", "generic", "connection", "server"]
    local: Local | None = None
    stored: Stored | None = None
    """This or `local`."""
    check: Check | None = None
    """What is wrong with the arguments, before anything is done."""
    flags: tuple[str, ...] = ()
    keys_to: int = 0
    """The last word that is a key, -1: all; the first is the one behind the name. 0: no keys."""
    key_step: int = 1
    """Words from one key to the next: 2 where each key has a value behind it."""
    subcommands: Mapping[str, Command] = field(default_factory=dict)

    @property
    def writes(self) -> bool:
        """Whether it changes what is stored."""
        return "write" in self.flags

    def keys(self, request: Request) -> Request | None:
        """The keys among its words; None if it has none and is about all that there are."""
        if not self.keys_to:
            return None
        end = None if self.keys_to < 0 else 1 + self.keys_to
        return request[1 : end : self.key_step]

    def takes(self, words: int) -> bool:
        """Whether a request may have so many words."""
        return words == self.arity if self.arity > 0 else words >= -self.arity


def find(table: Mapping[str, Command], request: Request) -> Command | Failure:
    """The command of a request with its arguments checked, or the error of Redis."""
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
