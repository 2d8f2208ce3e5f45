"""The load of a rack, and a rack with its load, without options of schemes."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from netkv.errors import FieldError
from netkv.model.hardware import GenericLab
from netkv.options import BYTES, RATE, SECONDS, Spec

MAX_STORED_KEYS = 100_000_000
"""Limit of the keys of a store that must be loaded."""

MAX_KEYS_IN_MULTIGET = 128
DEFAULT_KEY_SIZE = 16
"""Bytes of a key: the only size that schemes for single keys have."""

Mix = Literal["ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-f", "insert"]


class ClosedLoop(Spec):
    """Keep a fixed number of requests outstanding."""

    outstanding: Annotated[int, Field(ge=1, le=65536)]
    """Requests under way at any time, of all clients together; after each reply the next one is
    sent."""


class Throttled(Spec):
    """A closed loop with a rate, as YCSB's target throughput.

    A thread has one request under way, and sends the next one at its answer or its own tick,
    whichever is later.
    """

    threads: Annotated[int, Field(ge=1, le=65536)]
    """Requests under way at any time, at most, of all clients together. A thread whose answers are
    late makes up for the ticks that it has missed."""
    rate: Annotated[float, Field(gt=0), RATE]
    """Operations of all threads together, at most."""


class Poisson(Spec):
    """Open loop: exponential gaps between intended send times."""

    rate: Annotated[float, Field(gt=0), RATE]
    """Offered operations of all clients together, whether or not replies arrive."""


class Saturate(Spec):
    """Open loop whose rate is adapted to the loss, to find the capacity of the rack.

    Jin et al., SOSP 2017, section 6.1, measure in this way. The share of lost operations is kept
    between half of `loss` and `loss`. An operation is lost at its deadline; if `retry` is as long
    as the deadline, every dropped frame counts.
    """

    loss: Annotated[float, Field(gt=0, le=0.5)]
    """Largest share of operations that may be lost; the rate is changed so that the share stays
    between half of this and this."""
    rate: Annotated[float, Field(gt=0), RATE]
    """Rate to begin with, over all clients together."""
    every: Annotated[float, Field(gt=0), SECONDS]
    """Time between two adaptations of the rate; longer than `deadline`."""


class UniformSize(Spec):
    """Value sizes drawn uniformly, both ends included."""

    min: Annotated[int, Field(ge=16, le=1024), BYTES]
    """The smallest value."""
    max: Annotated[int, Field(ge=16, le=1024), BYTES]
    """The largest value; at least `min`."""

    @model_validator(mode="after")
    def _ordered(self) -> UniformSize:
        if self.min > self.max:
            raise FieldError(f"min ({self.min}) is larger than max ({self.max})", "min")
        return self


class HeavyTail(Spec):
    """Sizes of multigets: most are small, a few are large (a power law, cut at 128 keys)."""

    mean: Annotated[float, Field(ge=1, le=64)]
    """Keys in a read on average; 8.6 in production (Rein, EuroSys 2017)."""


class MultigetSize(Spec):
    """Sizes of multigets drawn uniformly, both ends included."""

    min: Annotated[int, Field(ge=1, le=MAX_KEYS_IN_MULTIGET)]
    """Fewest keys in a read."""
    max: Annotated[int, Field(ge=1, le=MAX_KEYS_IN_MULTIGET)]
    """Most keys in a read; at least `min`."""

    @model_validator(mode="after")
    def _ordered(self) -> MultigetSize:
        if self.min > self.max:
            raise FieldError(f"min ({self.min}) is larger than max ({self.max})", "min")
        return self


class Shift(Spec):
    """A popularity shift, repeated every `every` seconds."""

    kind: Literal["hot-in", "hot-out", "random"]
    """`hot-in`: the coldest keys become the hottest; `hot-out`: the hottest become the coldest;
    `random`: some of the hottest change places with others."""
    keys: Annotated[int, Field(ge=1)] = 200
    """How many keys change rank at once."""
    top: Annotated[int, Field(ge=1)] = 10_000
    """With `random`: the replaced keys are drawn from this many of the most popular keys. With
    `admit: new`: the keys that come among this many are reported."""
    every: Annotated[float, Field(gt=0), SECONDS] = 10.0
    """Time from one shift to the next in the measured part."""
    admit: Literal["new", "hottest"] | None = None
    """Whether an oracle reports keys to the controllers as hot at each shift, in place of their
    detection; in the simulator only. `new`: the keys that the shift brings among the `top` most
    popular ones. `hottest`: the `keys` most popular ones, as in a published artefact. Left out:
    keys must be detected."""

    @model_validator(mode="before")
    @classmethod
    def _as_many_as_move(cls, data: Any) -> Any:
        """With kinds that do not use `top`, its default does not limit `keys`."""
        if not isinstance(data, dict) or "top" in data or data.get("kind") == "random":
            return data
        keys = data.get("keys")
        usual = cls.model_fields["top"].default
        return {**data, "top": keys} if isinstance(keys, int) and keys > usual else data

    @model_validator(mode="after")
    def _no_more_than_there_are(self) -> Shift:
        if self.keys > self.top:
            raise FieldError(
                f"a shift cannot move {self.keys:,} keys ('keys') of the {self.top:,} most popular "
                f"ones ('top'); 'keys' is at most 'top'",
                "keys" if "keys" in self.model_fields_set else "top",
            )
        return self


def check_shift(shift: Shift, workload: WorkloadSpec) -> None:
    """Raises `FieldError`, with a path that begins at the shift, if it does not suit the load."""
    if workload.mix == "ycsb-d":
        raise FieldError(
            "popularity cannot shift with 'mix: ycsb-d', where the newest keys are the most popular"
        )
    if shift.kind == "random" and shift.keys > workload.keys - shift.top:
        raise FieldError(
            f"a random shift replaces {shift.keys:,} of the {shift.top:,} most popular keys by "
            f"others, so 'workload.keys' is at least {shift.keys + shift.top:,}, not "
            f"{workload.keys:,}",
            "top",
        )
    if shift.keys > workload.keys:
        text = f"a shift cannot move {shift.keys:,} keys: 'workload.keys' is {workload.keys:,}"
        raise FieldError(text, "keys")


class WorkloadSpec(Spec):
    """The requests of the clients."""

    keys: Annotated[int, Field(ge=1, le=1_000_000_000_000)] = 100_000
    """Keys that exist at the start. A store in memory contains written records only, so their
    number costs nothing there; other back ends are loaded with all keys, up to 100,000,000."""
    zipf: Annotated[float, Field(ge=0, le=1.2)] = 0.99
    """Skew of the keys' popularity, the exponent of Zipf's law; 0 is uniform."""
    placement: Literal["seed", "ycsb"] = "seed"
    """Which keys are popular, and which server owns each. `seed`: random, another for each seed.
    `ycsb`: as in a published artefact, the same for each seed: YCSB's generator draws from 10^10
    ranks, which it hashes onto the keys, and the hash of a key's name gives its server."""
    mix: Mix | None = None
    """A mix of YCSB in place of `writes` and `deletes`. `ycsb-a`: half reads, half writes;
    `ycsb-b`: 5% writes; `ycsb-c`: reads only; `ycsb-d`: 5% inserts, and the newest keys are the
    hottest; `ycsb-f`: half reads, half reads followed by a write of the key; `insert`: inserts
    only."""
    writes: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of operations that write."""
    deletes: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of operations that delete; the rest of `writes` and `deletes` reads."""
    conditional: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of the writes that take effect only if their key has not changed since the clients last
    read it (compare and swap). Inserts and deletes are never conditional, and the writes of a key
    that was not read since its last conditional write neither. Only schemes with memcached's
    protocol take it."""
    value_size: Annotated[int, Field(ge=16, le=1024), BYTES] | UniformSize = 128
    """Bytes of a value: a number, or a range from which each is drawn."""
    multiget: (
        Annotated[int, Field(ge=1, le=MAX_KEYS_IN_MULTIGET)] | HeavyTail | MultigetSize | None
    ) = None
    """Keys of each read: a number, a range, or a mean. Only schemes for multigets take it; left
    out, one key."""
    key_size: Annotated[int, Field(ge=4, le=64), BYTES] = DEFAULT_KEY_SIZE
    """Bytes of a key. Only schemes for multigets take another size than 16."""
    arrivals: ClosedLoop | Throttled | Saturate | Poisson = ClosedLoop(outstanding=64)
    """When requests are sent: with a fixed number outstanding, with a rate and at most a number
    outstanding, at a fixed rate, or at the largest rate that the rack can serve."""
    shift: Shift | None = None
    """A periodic popularity shift; left out: none."""
    rotation: bool = False
    """Whether servers take turns in the measured part, as in evaluations with two server machines:
    the busiest one alone, then with each of the others. Throughput, latency and the load of servers
    are then those of the whole rack, put together from the turns; other figures are those of the
    turns."""

    @model_validator(mode="after")
    def _shares(self) -> WorkloadSpec:
        if self.mix is not None and (self.writes or self.deletes):
            text = "'mix' sets the share of writes; leave out 'writes' and 'deletes'"
            raise FieldError(text, "mix")
        if self.writes + self.deletes > 1:
            raise FieldError("'writes' and 'deletes' together are more than 1", "deletes")
        return self

    @model_validator(mode="after")
    def _can_be_placed(self) -> WorkloadSpec:
        if self.placement == "ycsb":
            if self.zipf >= 1:
                text = f"'placement: ycsb' needs 'zipf' below 1, not {self.zipf:g}"
                raise FieldError(text, "zipf")
            if self.key_size != DEFAULT_KEY_SIZE:
                raise FieldError(
                    f"'placement: ycsb' needs keys of {DEFAULT_KEY_SIZE} bytes, not "
                    f"{self.key_size}",
                    "key_size",
                )
        return self

    @model_validator(mode="after")
    def _can_shift(self) -> WorkloadSpec:
        if self.shift is not None:
            try:
                check_shift(self.shift, self)
            except FieldError as error:
                raise error.below("shift") from None
        return self


def check_rotation(workload: WorkloadSpec, servers: int, duration: float) -> None:
    """Raises `FieldError` if servers cannot take turns in this load and measured part."""
    if not workload.rotation:
        return
    if not isinstance(workload.arrivals, ClosedLoop | Throttled):
        raise FieldError(
            "'rotation' keeps a number of requests outstanding, so it needs "
            "'arrivals: {outstanding: ...}' or 'arrivals: {threads: ..., rate: ...}'",
            *("workload", "arrivals"),
        )
    if workload.shift is not None:
        text = "popularity cannot shift while servers take turns ('rotation')"
        raise FieldError(text, "workload", "shift")
    turns = servers * (2 if isinstance(workload.arrivals, Throttled) else 1)
    if servers < 2 or duration % turns:
        raise FieldError(
            f"with 'workload.rotation' the {servers} servers have {turns} turns of whole seconds: "
            f"'duration' must be a multiple of {turns}, not {duration:g}",
            "duration",
        )


class GenericRack(Spec):
    """The specification of a rack and its load, whatever options its lab has."""

    scheme: str
    lab: GenericLab
    workload: WorkloadSpec = WorkloadSpec()
    seed: int = 1
    deadline: Annotated[float, Field(gt=0, le=300), SECONDS] = 2.0
    """A request that got no reply within this many seconds, retries included, is lost."""
    retry: Annotated[float, Field(gt=0), SECONDS] = 0.05
    """First retry time-out; doubles up to eight times that. It grows to about twice the time that
    answers take."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        check_load(self.lab, self.workload, self.deadline)
        return self


def check_load(lab: GenericLab, workload: WorkloadSpec, deadline: float) -> None:
    """Raises `FieldError` if the lab does not support the load.

    The path of the error begins at the model with `lab` and `workload`. `deadline`: seconds after
    which a request without a reply is lost.
    """
    arrivals = workload.arrivals
    if isinstance(arrivals, Saturate) and arrivals.every <= deadline:
        raise FieldError(
            f"'arrivals.every' is {arrivals.every:g} s; it must be longer than the deadline of "
            f"{deadline:g} s, because a lost request counts only after its deadline",
            *("workload", "arrivals", "every"),
        )
    if lab.backend != "memory" and workload.keys > MAX_STORED_KEYS:
        raise FieldError(
            f"all {workload.keys:,} keys would be loaded into {lab.backend} at the start; its "
            f"limit is {MAX_STORED_KEYS:,}",
            *("workload", "keys"),
        )
