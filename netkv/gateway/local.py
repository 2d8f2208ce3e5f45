"""Commands about the connection and the server, which the gateway executes without the rack."""

from __future__ import annotations

import os
import time
from fnmatch import fnmatchcase

from netkv import __version__
from netkv.gateway.client import Client
from netkv.gateway.command import Request
from netkv.gateway.replies import OK, Failure, Reply, Simple, Verbatim
from netkv.gateway.requests import MAX_WORD

REDIS_VERSION = "7.0.0"
"""Version of Redis that the gateway reports; clients use it to choose commands."""
_CLIENT_INFO = ("lib-name", "lib-ver")
_PROTOCOLS = (b"2", b"3")


def ping(client: Client, request: Request) -> Reply:  # noqa: ARG001
    """PING [message]."""
    return request[1] if len(request) == 2 else Simple("PONG")


def check_ping(request: Request) -> Failure | None:
    """At most one message."""
    if len(request) > 2:
        return Failure("ERR wrong number of arguments for 'ping' command")
    return None


def echo(client: Client, request: Request) -> Reply:  # noqa: ARG001
    """ECHO message."""
    return request[1]


def select(client: Client, request: Request) -> Reply:  # noqa: ARG001
    """SELECT index: there is only 0."""
    try:
        index = int(request[1])
    except ValueError:
        return Failure("ERR value is not an integer or out of range")
    return OK if index == 0 else Failure("ERR DB index is out of range")


def leave(client: Client, request: Request) -> Reply:  # noqa: ARG001
    """QUIT."""
    client.quits = True
    return OK


def reset(client: Client, request: Request) -> Reply:  # noqa: ARG001
    """RESET: the connection returns to its initial state."""
    client.protocol = 2
    client.name = b""
    return Simple("RESET")


def hello(client: Client, request: Request) -> Reply:
    """HELLO [version [AUTH user password] [SETNAME name]]."""
    protocol = client.protocol
    name = None
    if len(request) > 1:
        if not request[1].isdigit():
            return Failure("ERR Protocol version is not an integer or out of range")
        if request[1] not in _PROTOCOLS:
            return Failure("NOPROTO unsupported protocol version")
        protocol = int(request[1])
        options = list(request[2:])
        while options:
            word = options.pop(0)
            option = word.upper()
            if option == b"AUTH" and len(options) >= 2:
                return Failure("ERR the gateway has no users and passwords: leave AUTH out")
            if option != b"SETNAME" or not options:
                shown = word.decode(errors="replace")
                return Failure(f"ERR Syntax error in HELLO option '{shown}'")
            name = options.pop(0)
            if not _printable(name):
                return _BAD_NAME
    client.protocol = protocol
    client.name = client.name if name is None else name
    return {
        "server": "netkv",
        "version": REDIS_VERSION,
        "proto": protocol,
        "id": client.id,
        "mode": "standalone",
        "role": "master",
        "modules": [],
    }


def client_id(client: Client, request: Request) -> Reply:  # noqa: ARG001
    """CLIENT ID."""
    return client.id


def client_getname(client: Client, request: Request) -> Reply:  # noqa: ARG001
    """CLIENT GETNAME."""
    return client.name or None


def client_setname(client: Client, request: Request) -> Reply:
    """CLIENT SETNAME name; an empty name removes it."""
    if not _printable(request[2]):
        return _BAD_NAME
    client.name = request[2]
    return OK


def client_setinfo(client: Client, request: Request) -> Reply:
    """CLIENT SETINFO LIB-NAME | LIB-VER value."""
    attribute = request[2].decode(errors="replace")
    if attribute.lower() not in _CLIENT_INFO:
        return Failure(f"ERR Unrecognized option '{attribute[:128]}'")
    if not _printable(request[3]):
        return Failure(
            f"ERR {attribute.lower()} cannot contain spaces, newlines or special characters."
        )
    client.library[attribute.lower()] = request[3]
    return OK


def config_get(client: Client, request: Request) -> Reply:
    """CONFIG GET pattern …: the settings of Redis that apply to the gateway."""
    settings = {
        "appendonly": "no",
        "databases": "1",
        "maxclients": str(client.gateway.max_clients),
        "port": str(client.gateway.port),
        "proto-max-bulk-len": str(MAX_WORD),
        "save": "",
        "timeout": "0",
    }
    patterns = [word.decode(errors="replace").lower() for word in request[2:]]
    return {
        name: value
        for name, value in settings.items()
        if any(fnmatchcase(name, pattern) for pattern in patterns)
    }


def info(client: Client, request: Request) -> Reply:
    """INFO [section …]."""
    sections = _sections(client)
    wanted = {word.decode(errors="replace").lower() for word in request[1:]}
    if not wanted or wanted & {"all", "default", "everything"}:
        wanted = set(sections)
    texts = [
        "".join(f"{line}\r\n" for line in [f"# {name.capitalize()}", *_lines(fields)])
        for name, fields in sections.items()
        if name in wanted
    ]
    return Verbatim("\r\n".join(texts))


def _sections(client: Client) -> dict[str, dict[str, object]]:
    gateway = client.gateway
    counters = gateway.counters
    uptime = int(time.monotonic() - gateway.started)
    return {
        "server": {
            "redis_version": REDIS_VERSION,
            "redis_mode": "standalone",
            "process_id": os.getpid(),
            "tcp_port": gateway.port,
            "uptime_in_seconds": uptime,
            "uptime_in_days": uptime // 86_400,
        },
        "netkv": {
            "netkv_version": __version__,
            "netkv_lab": gateway.lab,
            "netkv_scheme": gateway.scheme,
        },
        "clients": {"connected_clients": counters.connected, "maxclients": gateway.max_clients},
        "stats": {
            "total_connections_received": counters.connections,
            "rejected_connections": counters.rejected,
            "total_commands_processed": counters.commands,
            "total_error_replies": counters.errors,
            "total_net_input_bytes": counters.bytes_in,
            "total_net_output_bytes": counters.bytes_out,
            "keyspace_hits": counters.hits,
            "keyspace_misses": counters.misses,
        },
    }


def _lines(fields: dict[str, object]) -> list[str]:
    return [f"{name}:{value}" for name, value in fields.items()]


def _printable(word: bytes) -> bool:
    return all(0x21 <= byte <= 0x7E for byte in word)


_BAD_NAME = Failure("ERR Client names cannot contain spaces, newlines or special characters.")
