"""The switch that executes a live lab's P4 program: netkv's engine, bmv2, or one elsewhere.

A target determines the kind and configuration of the switch's node process, the program that the
controller loads into the switch, and the address of its P4Runtime server. Nothing else of a rack
depends on it. `of` returns the target of a lab.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from netkv.errors import NetkvError, UsageError
from netkv.model.hardware import BMV2_ELSEWHERE, ELSEWHERE, STREAM, GenericLab, SwitchSpec
from netkv.model.topology import CPU_PORT

if TYPE_CHECKING:
    from finsy.proto import p4i

    from netkv.live.cable import SwitchCabling
    from netkv.live.process import Kind
    from netkv.model.network import Tier
    from netkv.schemes import Scheme
    from netkv.schemes.spec import LabSpec


Bundles: TypeAlias = "Callable[[Tier], Path]"

BMV2_PORT = 9559
"""P4Runtime port of a bmv2 elsewhere, if its target names none: the one that IANA has assigned."""


@dataclass(frozen=True)
class Program:
    """The files that a controller loads into a switch."""

    config: Path
    """The device configuration: a bundle, bmv2's JSON, or the format of another switch."""
    p4info: Path | None = None
    """P4Info, a serialized message; None for a bundle, which contains it."""

    def read(self) -> tuple[bytes, p4i.P4Info | None]:
        """Configuration and P4Info; raises OSError, and ValueError for an invalid P4Info."""
        from finsy.proto import p4i
        from google.protobuf.message import DecodeError

        config = self.config.read_bytes()
        if self.p4info is None:
            return config, None
        try:
            return config, p4i.P4Info.FromString(self.p4info.read_bytes())
        except DecodeError as error:
            raise ValueError(
                f"{self.p4info} is no P4Info as a serialized message ('p4c --p4runtime-files "
                f"NAME.bin' writes one): {error}"
            ) from error


class Target(ABC):
    """The switch that executes the P4 program of a lab."""

    kind: Kind
    """Kind of the node process."""
    keeps_replication = True
    """Whether multicast groups and clone sessions outlive the program, so that the controller has
    to delete them before it loads another."""
    device_id = 1
    """Of every switch that netkv starts."""
    offered_batches = False
    """Whether its server is asked for batches of packets (`netkv.p4rt.batches`)."""
    keys_in_flight: int | None = None
    """How many keys of a cache may be in flight (`base.LimitsInFlight`); None for the scheme's own
    limit."""

    def __init__(self, bundle: Bundles) -> None:
        """`bundle` returns the file of the program of the switches of a tier, as netkv's own front
        end has compiled it."""
        self._bundle = bundle

    @abstractmethod
    async def prepare(
        self, scheme: Scheme, lab: LabSpec, source_hash: str, note: Callable[[str], None]
    ) -> None:
        """Compiles the scheme's program for the target; `note` is called with warnings.

        Raises `NetkvError`.
        """

    @abstractmethod
    def program(self, tier: Tier) -> Program:
        """The program that the controller loads into a switch; call `prepare` before."""

    @abstractmethod
    def switch_config(
        self, switch: SwitchCabling, seed: int, links: list[dict[str, Any]]
    ) -> dict[str, Any]:
        """Configuration of the node process of a switch, whose `links` are impaired
        (`LiveLink.impaired`)."""


class EngineTarget(Target):
    """netkv's own engine."""

    kind = "switch"
    keeps_replication = False
    offered_batches = True
    # A message of the stream takes some 0.1 ms at either end, however many packets it has. With 256
    # keys, a recovery takes a third of the messages that it takes with 64.
    keys_in_flight = 256

    def __init__(self, bundle: Bundles, lab: GenericLab) -> None:
        super().__init__(bundle)
        self._lab = lab

    async def prepare(
        self, scheme: Scheme, lab: LabSpec, source_hash: str, note: Callable[[str], None]
    ) -> None:
        pass

    def program(self, tier: Tier) -> Program:
        return Program(self._bundle(tier))

    def switch_config(
        self, switch: SwitchCabling, seed: int, links: list[dict[str, Any]]
    ) -> dict[str, Any]:
        return {
            "bundle": self._bundle(switch.tier),
            "seed": seed,
            "executor": self._lab.executor,
            "pipelines": self._lab.pipelines,
            "ports": switch.ports,
            "cpu_port": CPU_PORT,
            "links": links,
            "p4runtime": switch.p4runtime_bind,
        }


class _ExternalTarget(Target):
    """A switch that is not netkv's own; it is the only one of its rack."""

    def __init__(self, bundle: Bundles) -> None:
        super().__init__(bundle)
        self._program: Program | None = None

    def program(self, tier: Tier) -> Program:  # noqa: ARG002 (there is one)
        assert self._program is not None, "the target was prepared"
        return self._program

    async def _compile(
        self,
        scheme: Scheme,
        lab: LabSpec,
        source_hash: str,
        note: Callable[[str], None],
    ) -> None:
        from netkv.live.bmv2.compiler import compile_program

        defines = scheme.programs.defines(lab)
        compiled = await asyncio.to_thread(
            compile_program, scheme.program_path, source_hash, defines
        )
        if compiled.warnings:
            note(f"p4c about {scheme.programs.main}:\n{compiled.warnings}")
        self._program = Program(compiled.config, compiled.p4info)

    def _bridge_config(
        self, switch: SwitchCabling, seed: int, links: list[dict[str, Any]]
    ) -> dict[str, Any]:
        return {
            "device_id": self.device_id,
            "seed": seed,
            "ports": switch.ports,
            "links": links,
            "p4runtime": switch.p4runtime,
        }


class Bmv2Target(_ExternalTarget):
    """A simple_switch_grpc on PATH, with programs compiled by the p4c on PATH."""

    kind = "bmv2"

    async def prepare(
        self, scheme: Scheme, lab: LabSpec, source_hash: str, note: Callable[[str], None]
    ) -> None:
        from netkv.live.bmv2 import toolchain

        self._switch = await asyncio.to_thread(toolchain.switch)
        await self._compile(scheme, lab, source_hash, note)

    def switch_config(
        self, switch: SwitchCabling, seed: int, links: list[dict[str, Any]]
    ) -> dict[str, Any]:
        return {
            **self._bridge_config(switch, seed, links),
            "program": self._switch.path,
            "thrift": self._switch.thrift,
            "cpu_port": CPU_PORT,
        }


class ElsewhereTarget(_ExternalTarget):
    """A switch that runs already, at an address."""

    kind = "external-switch"

    def __init__(self, bundle: Bundles, switch: SwitchSpec) -> None:
        super().__init__(bundle)
        self._switch = switch
        self.device_id = switch.device_id

    async def prepare(
        self, scheme: Scheme, lab: LabSpec, source_hash: str, note: Callable[[str], None]
    ) -> None:
        if self._switch.config == "bundle":
            self._program = Program(self._bundle("servers"))
        elif self._switch.config == "bmv2":
            await self._compile(scheme, lab, source_hash, note)
        else:
            self._program = self._given()

    def _given(self) -> Program:
        assert self._switch.p4info is not None, "checked by the specification"
        program = Program(Path(self._switch.config), Path(self._switch.p4info))
        try:
            program.read()
        except (OSError, ValueError) as error:
            raise NetkvError(f"The program of 'lab.switch' cannot be read: {error}") from error
        return program

    def switch_config(
        self, switch: SwitchCabling, seed: int, links: list[dict[str, Any]]
    ) -> dict[str, Any]:
        bridged = {number for number, _, _ in switch.ports}
        via = [[it.number, it.via] for it in self._switch.ports if it.number in bridged]
        return {**self._bridge_config(switch, seed, links), "via": via, "thrift": None}


class Bmv2ElsewhereTarget(_ExternalTarget):
    """A bmv2 that runs already: three ports in a row of one host, for P4Runtime, frames, Thrift."""

    kind = "external-switch"

    def __init__(self, bundle: Bundles, lab: GenericLab) -> None:
        super().__init__(bundle)
        self._host, self._port = _bmv2_elsewhere(lab)
        self.device_id = lab.switch.device_id

    async def prepare(
        self, scheme: Scheme, lab: LabSpec, source_hash: str, note: Callable[[str], None]
    ) -> None:
        await self._compile(scheme, lab, source_hash, note)

    def switch_config(
        self, switch: SwitchCabling, seed: int, links: list[dict[str, Any]]
    ) -> dict[str, Any]:
        frames = f"{STREAM}{self._host}:{self._port + 1}"
        return {
            **self._bridge_config(switch, seed, links),
            "via": [[number, frames] for number, _, _ in switch.ports],
            "thrift": [self._host, self._port + 2],
        }


def of(lab: GenericLab, bundle: Bundles) -> Target:
    """The target of a lab; `bundle` as for `Target`."""
    if lab.target == "engine":
        return EngineTarget(bundle, lab)
    if lab.target == "bmv2":
        return Bmv2Target(bundle)
    if lab.target.startswith(BMV2_ELSEWHERE):
        return Bmv2ElsewhereTarget(bundle, lab)
    return ElsewhereTarget(bundle, lab.switch)


def elsewhere(lab: GenericLab) -> str | None:
    """host:port of the P4Runtime server of a switch that runs elsewhere; None for other targets."""
    if lab.target.startswith(BMV2_ELSEWHERE):
        host, port = _bmv2_elsewhere(lab)
        return f"{host}:{port}"
    return lab.target.removeprefix(ELSEWHERE) if lab.target.startswith(ELSEWHERE) else None


def _bmv2_elsewhere(lab: GenericLab) -> tuple[str, int]:
    """Host and first port of the target `bmv2://HOST[:PORT]`."""
    host, _, port = lab.target.removeprefix(BMV2_ELSEWHERE).partition(":")
    return host, int(port or BMV2_PORT)


def interface(lab: GenericLab, node: str) -> str | None:
    """The interface that is cabled to the port of a switch elsewhere for a node; None for other
    targets."""
    if not lab.target.startswith(ELSEWHERE):
        return None
    return next(port.via for port in lab.switch.ports if port.node == node)


def port_numbers(lab: GenericLab, nodes: Mapping[str, int]) -> dict[str, int]:
    """The switch port of each node: as given, or from 'lab.switch.ports' for another switch.

    Raises `UsageError` for a node without one.
    """
    if not lab.target.startswith(ELSEWHERE):
        return dict(nodes)
    named = {port.node: port.number for port in lab.switch.ports}
    for node in nodes:
        if node not in named:
            raise UsageError(
                f"The lab needs a port of the switch at {elsewhere(lab)} for the node '{node}': "
                f"one of 'lab.switch.ports' with 'node: {node}'.\n"
                f"  Nodes of this lab: {', '.join(nodes)}."
            )
    return {node: named[node] for node in nodes}
