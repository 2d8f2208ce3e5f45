"""A design as a card of a rack: the configuration for the engine (`CardConfig` in engine/rack)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from netkv.fpga import build
from netkv.model import manifest
from netkv.model.manifest import Manifest


def find(design: str | Manifest, changes: Iterable[str]) -> Manifest:
    """The manifest of a design with changed parameters; raises `UsageError`."""
    found = design if isinstance(design, Manifest) else manifest.find(design)
    return manifest.override(found, changes)


def must_be_built(design: Manifest) -> str | None:
    """What to tell users while the design is built; None if it was built."""
    if build.is_built(design):
        return None
    return f"The design '{design.name}' is being translated; that takes a minute or two."


def configuration(
    design: Manifest,
    settings: Mapping[str, int],
    *,
    seed: int,
    preload: Iterable[tuple[str, bytes]] = (),
    progress: build.Progress | None = None,
) -> dict[str, Any]:
    """The configuration of a card; builds the design if it was not built.

    `settings`: values of registers, by name. `preload`: frames that the design receives before
    time 0, each with the name of a port. Raises `UsageError` for a register that does not exist,
    and `NetkvError` if the design cannot be built.
    """
    library = build.build(design, progress=progress)
    ready, idle = design.ready, design.idle
    report = None
    if idle.time_register is not None:
        report = {
            "register": design.register(idle.time_register)[1],
            "value": idle.time_command,
            "shift": idle.time_shift,
            "unit_cycles": idle.time_unit_cycles,
        }
    busy = None
    if idle.busy_register is not None:
        busy = [design.register(idle.busy_register)[1], idle.busy_mask]
    return {
        "library": str(library.path),
        "clock_hz": design.clock_mhz * 1e6,
        "seed": seed % (1 << 32),
        "rates": [(port.rate_gbps or 0.0) * 1e9 for port in design.ports],
        "ready": ready and [design.register(ready.status)[1], 1 << ready.bit],
        "settings": [[design.register(name)[1], value] for name, value in settings.items()],
        "preload": [[design.port(port), list(frame)] for port, frame in preload],
        "counters": [list(each) for register in design.counted for each in register.addresses()],
        "idle": {"cycles": idle.cycles, "busy": busy, "report": report},
    }
