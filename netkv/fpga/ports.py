"""Ports of a design that runs live, as `--port` describes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from netkv.errors import UsageError
from netkv.model.manifest import Manifest
from netkv.switch import ports as switch_ports
from netkv.switch.ports import Ring

_FORM = (
    "It looks like nf0=veth0, nf0=NAMESPACE/veth0, host=tap:DEVICE, nf0=udp:127.0.0.1:7000, "
    "nf0=udp:127.0.0.1:7000,127.0.0.1:7100 or fn0=vhost:SOCKET."
)


@dataclass(frozen=True)
class Place:
    """Where a port of a design is."""

    number: int
    name: str
    """Name of the port."""
    plug: tuple[str, str]
    """The place as `_engine.FpgaDesign.run_live` takes it."""
    text: str
    """The place as the user wrote it."""


def parse(manifest: Manifest, text: str, ring: Ring) -> Place:
    """A port as the user writes it, `NAME=PLACE`; else `UsageError`."""
    name, equals, place = text.partition("=")
    if not equals or not name or not place:
        raise UsageError(f"'--port {text}' is no port of a design. {_FORM}")
    number = manifest.port(name)
    shown = manifest.ports[number].name
    if place.startswith("tap:"):
        device = place.removeprefix("tap:")
        if not device:
            raise UsageError(f"'--port {text}' names no device. {_FORM}")
        return Place(number, shown, ("tap", device), place)
    if place.startswith("vhost:"):
        if manifest.ports[number].kind != "virtio":
            raise UsageError(f"'--port {text}': '{shown}' is no virtio function. {_FORM}")
        return Place(number, shown, ("vhost", _socket(text, place)), place)
    _, first, second = switch_ports.parse(f"{number}={place}").plug(ring)
    return Place(number, shown, (first, second), place)


def _socket(text: str, place: str) -> str:
    socket = place.removeprefix("vhost:")
    if not socket:
        raise UsageError(f"'--port {text}' names no socket. {_FORM}")
    return str(Path(socket).absolute())


def parse_all(manifest: Manifest, texts: Sequence[str], ring: Ring) -> list[Place]:
    """All ports; raises `UsageError` for none at all, and for a port that is given twice."""
    if not texts:
        raise UsageError(f"A live design needs a port, given as --port. {_FORM}")
    places = [parse(manifest, text, ring) for text in texts]
    for index, place in enumerate(places):
        if any(other.number == place.number for other in places[:index]):
            raise UsageError(f"Port {place.name} is given twice.")
    return places
