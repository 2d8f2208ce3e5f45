"""The time that planned runs wait until the FPGA designs of their cards are built.

A design is built once, by the first run that has it (`netkv.fpga.build`). Runs beside it wait, too;
those that follow find it in the cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netkv import schemes
from netkv.errors import NetkvError

if TYPE_CHECKING:
    from netkv.model.card_design import CardDesign
    from netkv.scenarios.run_plan import PlannedRun

BUILD_S = 100.0
"""Seconds of a build. The designs that ship took 27 to 220 s (mean 93 s) on a machine with two
cores that other processes shared."""
QUICK_BUILD_S = 50.0
"""The same with `NETKV_FPGA_QUICK=1`."""


class DesignBuilds:
    """The builds that runs wait for. The runs are asked about in the order of their execution."""

    def __init__(self) -> None:
        self._begun: set[str] = set()
        self._keys: dict[tuple[str, ...], str | None] = {}
        """What `_key_to_build` returned: points of a sweep and repeats mostly have one design."""

    def seconds(self, item: PlannedRun) -> float:
        """How long the next run waits for its design; 0 without cards, or if the design was built
        before, also by an earlier run."""
        scheme = schemes.get(item.scheme)
        if scheme.card is None:
            return 0.0
        from netkv.fpga import build

        wanted = scheme.card(item.scenario.rack(item.scheme, item.seed).lab)
        simulated = item.scenario.mode == "sim"
        own = wanted.manifest.model_dump_json() if simulated and wanted.manifest else ""
        asked = (own or wanted.design, *wanted.changes)
        if asked not in self._keys:
            self._keys[asked] = _key_to_build(wanted, simulated=simulated)
        key = self._keys[asked]
        if key is None or key in self._begun:
            return 0.0
        self._begun.add(key)
        return QUICK_BUILD_S if build.is_quick() else BUILD_S


def _key_to_build(wanted: CardDesign, *, simulated: bool) -> str | None:
    """The key of a library that is not in the cache; None if it is, or if it cannot be built: the
    run then fails with the reason."""
    from netkv.fpga import build, card

    own = wanted.manifest if simulated else None
    try:
        design = card.find(own or wanted.design, wanted.changes)
        return None if build.is_built(design) else build.key(design, trace=False)
    except NetkvError:
        return None
