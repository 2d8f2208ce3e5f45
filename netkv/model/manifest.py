"""Manifests of designs, `fpga/designs/NAME.toml`: what a bitstream is to a board.

A manifest names the top-level module and its parameters, clock, ports, memory models, registers and
the resources that synthesis should find. The module has the parameters NETWORK_PORTS and BYTES,
which follow from the ports and `word_bytes`, and FUNCTIONS if it has virtio functions.
"""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from netkv import kinds, rtl_sources
from netkv.errors import FieldError, UsageError, suggest
from netkv.options import Spec, Unit

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Parameter = int | str
REGISTER_BYTES = 4
MAX_FUNCTIONS = 8


class Port(Spec):
    """A port of a design: those of the network, then the host port or the virtio functions."""

    name: Name
    """Name of the port in commands."""
    kind: Literal["network", "host", "virtio"]
    """What is at its other end: the network, the host that the board is in, or the driver of a
    virtio function."""
    rate_gbps: Annotated[float, Field(gt=0, le=1000), Unit("Gbit/s")] | None = None
    """Line rate. Without it frames take no time on the line."""


class Bus(Spec):
    """Times of the bus between virtio functions and the memory of the host."""

    read_ns: Annotated[float, Field(ge=0), Unit("ns")] = 0
    """From a read request to its first word."""
    write_ns: Annotated[float, Field(ge=0), Unit("ns")] = 0
    """Until a written word is in memory."""
    register_ns: Annotated[float, Field(ge=0), Unit("ns")] = 0
    """Until a notification of the driver reaches the function."""


class Memory(Spec):
    """A memory outside of the FPGA."""

    name: Name
    """Name in documents, such as dram."""
    model: Identifier
    """Module of `fpga/models` that stands for it in simulations."""
    description: str = ""
    """Size, latency, and what the design keeps in it."""


class Register(Spec):
    """A register, or several of the same kind."""

    name: Name
    """Name of the register in commands."""
    address: Annotated[int, Field(ge=0, lt=1 << 16, multiple_of=REGISTER_BYTES)]
    """Address of the (first) register, in bytes."""
    count: Annotated[int, Field(ge=1, le=1 << 14)] = 1
    """Number of registers. If there are several, they have an index, as in `frames.2`."""
    stride: Annotated[int, Field(ge=REGISTER_BYTES, multiple_of=REGISTER_BYTES)] = REGISTER_BYTES
    """Bytes between two of them."""
    access: Literal["ro", "rw", "wo"]
    """Read, read and written, or written only."""
    kind: Literal["counter", "setting", "status", "command"]
    """A counter counts up and wraps; a setting keeps what was written; a status may change at any
    time; a command acts when it is written."""
    values: dict[Name, Annotated[int, Field(ge=0, lt=1 << 32)]] = Field(default_factory=dict)
    """Names of values."""
    description: str
    """What it counts or sets, with the unit."""

    def addresses(self) -> Iterator[tuple[str, int]]:
        """Name and address of each of them."""
        if self.count == 1:
            yield self.name, self.address
            return
        for index in range(self.count):
            yield f"{self.name}.{index}", self.address + index * self.stride

    @model_validator(mode="after")
    def _fits(self) -> Register:
        if self.address + (self.count - 1) * self.stride >= 1 << 16:
            raise FieldError("the last register has an address above 0xffff", "count")
        return self


class Ready(Spec):
    """The bit of a register that is set when the design takes frames after reset."""

    status: Name
    """Name of the register."""
    bit: Annotated[int, Field(ge=0, lt=32)] = 0
    """Number of the bit."""


class Band(Spec):
    """What a resource should be, and how far it may be off."""

    expected: Annotated[float, Field(ge=0)]
    """The expected number."""
    tolerance: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of the expected number by which it may be off."""
    paper: Annotated[float, Field(ge=0)] | None = None
    """The number that the paper reports for its board."""

    def holds(self, found: float) -> bool:
        """Whether a number is within the band."""
        return abs(found - self.expected) <= self.expected * self.tolerance


class Resources(Spec):
    """Resources of the FPGA that synthesis should find."""

    lut: Band | None = None
    """Look-up tables."""
    ff: Band | None = None
    """Flip-flops."""
    bram: Band | None = None
    """Block RAMs of 36 kbit; one of 18 kbit counts a half."""


class Idle(Spec):
    """When the clock of a simulated design stands still, and how it gets to know how long."""

    cycles: Annotated[int, Field(ge=1, le=1_000_000)] = 1024
    """Cycles that run after the last frame, in which the design completes its work."""
    busy_register: Name | None = None
    """A register that shows whether the design has a frame. Without it the design must complete its
    work within `cycles`."""
    busy_mask: Annotated[int, Field(ge=0, lt=1 << 32)] = 0
    """Its bits of which one is 1 while the design has a frame."""
    time_register: Name | None = None
    """A register that takes the time for which the clock stood still, for a design that measures
    time: `time_command + (units << time_shift)`."""
    time_command: Annotated[int, Field(ge=0, lt=1 << 32)] = 0
    """Lower bits of what is written there."""
    time_shift: Annotated[int, Field(ge=0, le=31)] = 0
    """Position of the number of units."""
    time_unit_cycles: Annotated[int, Field(ge=1)] = 1
    """Cycles of a unit."""


class Manifest(Spec):
    """A design."""

    name: Name
    """Name of the design, that of its file."""
    title: str
    """One line for lists."""
    description: str = ""
    """What it does, in sentences."""
    top: Identifier
    """Top-level module, with the ports that docs/use/fpga.md lists."""
    rtl: list[Path] = Field(default_factory=list)
    """Folders of RTL, relative to the manifest, that are searched before netkv's own."""
    parameters: dict[Identifier, Parameter] = Field(default_factory=dict)
    """Parameters of the module, without NETWORK_PORTS, BYTES and FUNCTIONS."""
    synthesis_top: Identifier | None = None
    """Module that is synthesised, if it is another one: the top without its memory models."""
    synthesis_parameters: dict[Identifier, Parameter] | None = None
    """All parameters of that module, if they are others."""
    clock_mhz: Annotated[float, Field(gt=0, le=2000), Unit("MHz")]
    """Clock of the design."""
    word_bytes: Annotated[int, Field(ge=8, le=256, multiple_of=8), Unit("bytes")] = 32
    """Bytes that cross a port in a cycle."""
    ports: Annotated[list[Port], Field(min_length=2, max_length=64)]
    """Ports in order: network ports, then one host port or up to 8 virtio functions."""
    bus: Bus = Bus()
    """Times of the bus of the virtio functions."""
    memories: list[Memory] = Field(default_factory=list)
    """Memories outside of the FPGA."""
    registers: list[Register] = Field(default_factory=list)
    """Registers."""
    ready: Ready | None = None
    """How a design that clears memories after reset reports that it takes frames."""
    protocol: Literal["memcached"] | None = None
    """What the design answers: GET and SET of memcached's binary protocol over UDP, without frame
    header. `netkv.fpga.tester` and `netkv bench fpga` need it."""
    idle: Idle = Idle()
    """When its clock stands still."""
    resources: Resources = Resources()
    """Expected resources."""

    @property
    def module_parameters(self) -> dict[str, Parameter]:
        """All parameters of the top-level module."""
        functions = {"FUNCTIONS": self.functions} if self.functions else {}
        return {
            "NETWORK_PORTS": self.network_ports,
            "BYTES": self.word_bytes,
            **functions,
            **self.parameters,
        }

    @property
    def network_ports(self) -> int:
        """Number of ports to the network; they are the first ones."""
        return sum(port.kind == "network" for port in self.ports)

    @property
    def functions(self) -> int:
        """Number of virtio functions."""
        return sum(port.kind == "virtio" for port in self.ports)

    @property
    def client_ports(self) -> range:
        """The ports whose other end sends requests to a server: the network ports of a card before
        the server, and the functions of a card in the client."""
        network = self.network_ports
        return range(network, len(self.ports)) if self.functions else range(network)

    @property
    def server_port(self) -> int:
        """The port towards the server: the host port, or the first one of the network."""
        return 0 if self.functions else self.network_ports

    @property
    def counted(self) -> list[Register]:
        """The registers that samples of a rack contain."""
        return [
            register
            for register in self.registers
            if register.kind in ("counter", "status") and register.access != "wo"
        ]

    @property
    def counters(self) -> list[str]:
        """The names in samples of a rack, those of several registers with and without index."""
        numbered = (name for register in self.counted for name, _ in register.addresses())
        return list(dict.fromkeys([*(register.name for register in self.counted), *numbered]))

    def bus_cycles(self) -> tuple[int, int, int]:
        """Times of the bus in cycles: read, write, register."""
        bus = self.bus
        times = (bus.read_ns, bus.write_ns, bus.register_ns)
        read, write, register = (round(time * self.clock_mhz / 1000) for time in times)
        return read, write, register

    def bits_per_1000_cycles(self, port: Port) -> int:
        """The line rate as the harness takes it; 0 for none."""
        return 0 if port.rate_gbps is None else round(port.rate_gbps * 1e6 / self.clock_mhz)

    def port(self, name: str) -> int:
        """Index of a port given by name or index; raises `UsageError`."""
        names = [port.name for port in self.ports]
        if name in names:
            return names.index(name)
        if name.isascii() and name.isdigit() and int(name) < len(names):
            return int(name)
        raise UsageError(
            f"'{self.name}' has no port '{name}'.\n  {suggest(name, names, label='Ports')}"
        )

    def register(self, name: str) -> tuple[Register, int]:
        """A register and its address, by name or address; raises `UsageError`."""
        every = {
            each: (register, at) for register in self.registers for each, at in register.addresses()
        }
        if name in every:
            return every[name]
        names = [register.name for register in self.registers]
        raise UsageError(
            f"'{self.name}' has no register '{name}'.\n  {suggest(name, names, label='Registers')}"
        )

    @model_validator(mode="after")
    def _host_is_last(self) -> Manifest:
        network = self.network_ports
        hosts = {port.kind for port in self.ports[network:]}
        if not network or len(hosts) != 1 or "network" in hosts:
            raise FieldError(
                "it has network ports, and after them either a host port or virtio functions",
                "ports",
            )
        if "host" in hosts and len(self.ports) > network + 1:
            raise FieldError("it has one host port", "ports", network + 1, "kind")
        if self.functions > MAX_FUNCTIONS:
            raise FieldError(
                f"it has at most {MAX_FUNCTIONS} virtio functions", "ports", network + MAX_FUNCTIONS
            )
        for index, port in enumerate(self.ports):
            if port.kind == "virtio" and port.rate_gbps is not None:
                raise FieldError("a virtio function has no line", "ports", index, "rate_gbps")
            if port.name in [other.name for other in self.ports[:index]]:
                raise FieldError(f"'{port.name}' is there twice", "ports", index, "name")
        return self

    @model_validator(mode="after")
    def _registers_are_apart(self) -> Manifest:
        owners: dict[int, str] = {}
        names: set[str] = set()
        for index, register in enumerate(self.registers):
            if register.name in names:
                raise FieldError(f"'{register.name}' is there twice", "registers", index, "name")
            names.add(register.name)
            for name, address in register.addresses():
                if address in owners:
                    raise FieldError(
                        f"{name} has the address {address:#06x} of {owners[address]}",
                        *("registers", index, "address"),
                    )
                owners[address] = name
        return self

    @model_validator(mode="after")
    def _named_registers_exist(self) -> Manifest:
        names = {name for register in self.registers for name, _ in register.addresses()}
        named = (
            ("ready", "status", self.ready and self.ready.status),
            ("idle", "time_register", self.idle.time_register),
            ("idle", "busy_register", self.idle.busy_register),
        )
        for field, part, name in named:
            if name is not None and name not in names:
                raise FieldError(f"there is no register '{name}'", field, part)
        return self

    @model_validator(mode="after")
    def _own_parameters(self) -> Manifest:
        for name in ("NETWORK_PORTS", "BYTES", "FUNCTIONS"):
            if name in self.parameters:
                raise FieldError("it follows from 'ports' and 'word_bytes'", "parameters", name)
        return self


def files() -> dict[str, Path]:
    """The manifests that ship, by name."""
    return {file.stem: file for file in sorted((rtl_sources.folder() / "designs").glob("*.toml"))}


def find(name: str) -> Manifest:
    """The manifest of a design given by name, or by the path of a .toml file.

    Raises `UsageError`: there is none, or it is wrong.
    """
    if name.endswith(".toml"):
        file = Path(name)
        if not file.is_file():
            raise UsageError(f"There is no manifest '{name}'.")
        return load(file)
    known = files()
    if name not in known:
        raise UsageError(
            f"There is no design '{name}'.\n  {suggest(name, known, label='Designs')} "
            f"A path to a .toml file works too."
        )
    return load(known[name])


def load(file: Path) -> Manifest:
    """Reads and checks a manifest; raises `UsageError` with a list of all errors."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read: {error}.") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: is not TOML: {error}.") from error
    manifest = _validated(data, str(file))
    if manifest.name != file.stem:
        raise UsageError(
            f"{file}: 'name' is '{manifest.name}'; it should be '{file.stem}', as the file."
        )
    folders = [file.absolute().parent / each for each in manifest.rtl]
    for index, folder in enumerate(folders):
        if not folder.is_dir():
            raise UsageError(f"{file}: 'rtl.{index}': there is no folder '{folder}'.")
    manifest = manifest.model_copy(update={"rtl": folders})
    for field, module in _modules(manifest):
        try:
            rtl_sources.find(module, manifest.rtl)
        except FileNotFoundError as error:
            raise UsageError(f"{file}: '{field}': there is {error}.") from error
    return manifest


def override(manifest: Manifest, changes: Iterable[str]) -> Manifest:
    """The manifest with `NAME=VALUE` in place of parameters, `clock_mhz` or `word_bytes`.

    `functions=N`: so many virtio functions, `fn0`, …, of a design that has any.

    Raises `UsageError`.
    """
    data = manifest.model_dump(mode="json", exclude_unset=True)
    parameters = data.setdefault("parameters", {})
    # What is synthesised has other values for some parameters, but not for those that are changed.
    synthesised = data.get("synthesis_parameters") or {}
    changed = list(changes)
    for change in changed:
        name, equals, text = change.partition("=")
        if not equals or not name or not text:
            raise UsageError(f"--set {change}: should look like PES=4.")
        try:
            value: int | float | str = int(text, 0)
        except ValueError:
            value = text
        if name in ("clock_mhz", "word_bytes"):
            data[name] = _number(change, text)
        elif name == "functions" and manifest.functions:
            network = data["ports"][: manifest.network_ports]
            count = int(_number(change, text))
            virtio = [{"name": f"fn{number}", "kind": "virtio"} for number in range(count)]
            data["ports"] = [*network, *virtio]
            synthesised |= {"FUNCTIONS": count} if "FUNCTIONS" in synthesised else {}
        elif name in manifest.parameters:
            parameters[name] = value
            synthesised |= {name: value} if name in synthesised else {}
        else:
            functions = ["functions"] if manifest.functions else []
            names = [*manifest.parameters, "clock_mhz", "word_bytes", *functions]
            raise UsageError(
                f"--set {change}: '{manifest.name}' has no parameter '{name}'.\n  "
                f"{suggest(name, names, label='Parameters')}"
            )
        if name != "clock_mhz":
            # The expected resources are those of the design without changes.
            data.pop("resources", None)
    return _validated(data, " ".join(f"--set {change}" for change in changed))


def _number(change: str, text: str) -> float:
    for kind in (lambda: int(text, 0), lambda: float(text)):
        with contextlib.suppress(ValueError):
            return kind()
    raise UsageError(f"--set {change}: '{text}' is not a number.")


def _modules(manifest: Manifest) -> Iterator[tuple[str, str]]:
    yield "top", manifest.top
    if manifest.synthesis_top is not None:
        yield "synthesis_top", manifest.synthesis_top
    for index, memory in enumerate(manifest.memories):
        yield f"memories.{index}.model", memory.model


def _validated(data: Mapping[str, Any], where: str) -> Manifest:
    try:
        return Manifest.model_validate(data)
    except ValidationError as error:
        wrong = [f"{where}: {_sentence(each)}" for each in error.errors(include_url=False)]
        raise UsageError("\n".join(wrong)) from error


def _sentence(item: Mapping[str, Any]) -> str:
    cause = item.get("ctx", {}).get("error")
    path = (*item["loc"], *(cause.path if isinstance(cause, FieldError) else ()))
    name = ".".join(map(str, path))
    text = kinds.described(item)
    match item["type"]:
        case "missing":
            return f"'{name}' is missing."
        case "extra_forbidden":
            return f"'{name}' is not a field. {suggest(str(path[-1]), _siblings(path))}"
        case "value_error":
            return f"'{name}': {text}."
    return f"'{name}' is {kinds.shown(item.get('input'))}; {text}."


def _siblings(path: tuple[str | int, ...]) -> Iterable[str]:
    models: dict[str, type[Spec]] = {
        "ports": Port,
        "bus": Bus,
        "memories": Memory,
        "registers": Register,
        "resources": Resources,
        "ready": Ready,
        "idle": Idle,
    }
    if len(path) == 1:
        return Manifest.model_fields
    if path[0] == "resources" and len(path) == 3:
        return Band.model_fields
    return models.get(str(path[0]), Manifest).model_fields
