"""The options with which a lab is brought up, of `netkv up` and of the API, and their rack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netkv import schemes
from netkv.scenarios import loader
from netkv.scenarios.model import Scenario
from netkv.schemes.spec import RackSpec


@dataclass(frozen=True)
class LabOptions:
    """The options; None: as in the scenario, or the default."""

    scheme: str | None = None
    scenario: str | None = None
    """Lab and workload are taken from this scenario."""
    changes: Sequence[str] = ()
    """Values of options, each `path=value`."""
    seed: int | None = None
    target: str | None = None
    executor: str | None = None
    fabric: str | None = None
    topology: str | None = None

    def rack(self) -> RackSpec:
        """The specification of the rack; raises `UsageError`."""
        if self.scenario is not None:
            also = [self.scheme] if self.scheme else ()
            base = loader.load(loader.find(self.scenario), self._all_changes(), also=also)
            # The last scheme of a comparison is the one that is compared with the baselines.
            chosen = self.scheme or base.schemes[-1]
        else:
            chosen = self.scheme or schemes.default().name
            empty = Scenario(name="lab", schemes=[schemes.get(chosen).name])
            base = loader.override(empty, self._all_changes())
        seed = base.seed if self.seed is None else self.seed
        return base.rack(schemes.get(chosen).name, seed)

    def _all_changes(self) -> list[str]:
        return [
            *self.changes,
            *(f"{path}={value}" for path, value in self.named_changes().values()),
        ]

    def named_changes(self) -> dict[str, tuple[str, str]]:
        """Path and value of each option of a rack that has a name of its own here."""
        named = {
            "executor": ("lab.executor", self.executor),
            "target": ("lab.target", self.target),
            "fabric": ("lab.fabric", self.fabric),
            "topology": ("lab.topology.kind", self.topology),
        }
        return {name: (path, value) for name, (path, value) in named.items() if value is not None}
