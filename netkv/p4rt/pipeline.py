"""The forwarding pipeline config: verify, save, commit, get (sections 7 and 14 of P4Runtime 1.5).

Every new program is first loaded into an idle switch of its own. Between VERIFY_AND_SAVE and
COMMIT, reads and writes go to that switch, while the old program processes packets. A commit
exchanges the two: the old program processes a packet, or the new one with all its writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from finsy.proto import p4i, p4r

from netkv import _engine
from netkv.p4rt import p4info
from netkv.p4rt.device_config import device_data, source_text
from netkv.p4rt.errors import Code, RpcError, invalid, not_found
from netkv.p4rt.indirect import IndirectEntries
from netkv.p4rt.program_form import ProgramForm
from netkv.p4rt.schema import Named, Objects, Schema

SetAction = p4r.SetForwardingPipelineConfigRequest
GetType = p4r.GetForwardingPipelineConfigRequest


@dataclass(eq=False)
class Pipeline:
    """A program with the state that belongs to it."""

    switch: _engine.Switch
    schema: Schema
    """The objects in the form of the program."""
    form: ProgramForm
    bundle: bytes
    config: p4r.ForwardingPipelineConfig
    """The config of the controller, with P4Info added if it is missing."""
    # As written: the engine keeps only what it needs.
    multicast_groups: dict[int, p4r.MulticastGroupEntry] = field(default_factory=dict)
    clone_sessions: dict[int, p4r.CloneSessionEntry] = field(default_factory=dict)
    groups: dict[tuple[int, int], p4r.ActionProfileGroup] = field(default_factory=dict)
    """By profile and group."""
    indirect: IndirectEntries = field(default_factory=IndirectEntries)
    digest_configs: dict[int, p4r.DigestEntry.Config] = field(default_factory=dict)
    default_metadata: dict[int, tuple[bytes, int]] = field(default_factory=dict)
    """Metadata and controller metadata of the default entries that were written, by table."""


class Pipelines:
    """The committed pipeline of a switch and the one saved for it."""

    def __init__(
        self,
        switch: _engine.Switch,
        preserve: Callable[[Pipeline, Pipeline], None],
        include_dirs: Sequence[str] = (),
    ) -> None:
        """`preserve` copies the state of one pipeline to another, or raises `RpcError`;
        `include_dirs` are searched when the config is P4 source."""
        self._switch = switch
        self._preserve = preserve
        self._include_dirs = include_dirs
        self._saved: Pipeline | None = None
        self.committed: Pipeline | None = None

    def adopt(self, bundle: bytes) -> None:
        """Registers the program that the switch runs already as committed."""
        config = p4r.ForwardingPipelineConfig(p4_device_config=bundle)
        self.committed = self._pipeline(self._switch, bundle, config)

    @property
    def current(self) -> Pipeline:
        """The pipeline that reads and writes access: the saved one, else the committed one."""
        return self._saved or self.require_committed()

    def require_committed(self) -> Pipeline:
        """The pipeline that processes packets; FAILED_PRECONDITION if there is none."""
        if self.committed is None:
            raise RpcError(
                Code.FAILED_PRECONDITION,
                "there is no forwarding pipeline config yet; set one with "
                "SetForwardingPipelineConfig",
            )
        return self.committed

    async def set(self, request: SetAction) -> bool:
        """Carry the request out; returns whether another program is committed now."""
        match request.action:
            case SetAction.VERIFY:
                await self._verify(request)
                return False
            case SetAction.VERIFY_AND_SAVE:
                self._saved = await self._verify(request)
                return False
            case SetAction.VERIFY_AND_COMMIT:
                self._commit(await self._verify(request))
                return True
            case SetAction.COMMIT:
                self._commit(self._take_saved(request))
                return True
            case SetAction.RECONCILE_AND_COMMIT:
                return await self._reconcile(request)
        raise invalid(
            "the action of a SetForwardingPipelineConfig must be VERIFY, VERIFY_AND_SAVE, "
            "VERIFY_AND_COMMIT, COMMIT or RECONCILE_AND_COMMIT"
        )

    def get(self, kind: GetType.ResponseType.ValueType) -> p4r.ForwardingPipelineConfig | None:
        """The current config, with the parts that `kind` requests; None if there is none yet."""
        pipeline = self._saved or self.committed
        if pipeline is None:
            return None
        config = pipeline.config
        answer = p4r.ForwardingPipelineConfig()
        if config.HasField("cookie"):
            answer.cookie.CopyFrom(config.cookie)
        if kind in (GetType.ALL, GetType.P4INFO_AND_COOKIE):
            answer.p4info.CopyFrom(config.p4info)
        if kind in (GetType.ALL, GetType.DEVICE_CONFIG_AND_COOKIE):
            answer.p4_device_config = config.p4_device_config
        return answer

    async def _verify(self, request: SetAction) -> Pipeline:
        """Loads the requested program into an idle switch, which proves that it can run."""
        if not request.HasField("config"):
            raise invalid("the request has no config")
        config = request.config
        bundle = await self._bundle(config.p4_device_config)
        p4info.read_bundle(bundle)
        try:
            switch = self._switch.sibling(bundle)
        except ValueError as error:
            raise invalid(str(error)) from None
        return self._pipeline(switch, bundle, config)

    async def _bundle(self, device_config: bytes) -> bytes:
        """The bundle: as it is, or compiled from P4 source."""
        device_config = device_data(device_config)
        if p4info.is_bundle(device_config):
            return device_config
        source = source_text(device_config)
        try:
            # In a thread, so that packets are not delayed; the compiler releases the GIL.
            return await asyncio.to_thread(
                _engine.compile_source, "p4_device_config", source, self._include_dirs
            )
        except _engine.CompileError as error:
            raise invalid(f"p4_device_config does not compile:\n{error}") from None

    @staticmethod
    def _pipeline(
        switch: _engine.Switch, bundle: bytes, config: p4r.ForwardingPipelineConfig
    ) -> Pipeline:
        ours, interface = p4info.from_bundle(bundle), p4info.interface(bundle)
        kept = p4r.ForwardingPipelineConfig()
        kept.CopyFrom(config)
        if config.HasField("p4info") and config.p4info != p4i.P4Info():
            given = Schema(config.p4info)
            wrong = difference(Schema(interface), given)
            # p4c leaves `@hidden` objects out.
            if wrong and difference(Schema(p4info.as_p4c(bundle)), given):
                raise invalid(f"the P4Info does not belong to the program: {wrong}")
        else:
            kept.p4info.CopyFrom(interface)
        return Pipeline(switch, Schema(ours), ProgramForm(interface, ours), bundle, kept)

    def _commit(self, pipeline: Pipeline) -> None:
        self._switch.exchange(pipeline.switch)
        self._saved = None
        self.committed = replace(pipeline, switch=self._switch)

    def _take_saved(self, request: SetAction) -> Pipeline:
        if request.HasField("config"):
            raise invalid("COMMIT takes no config: it commits the one saved by VERIFY_AND_SAVE")
        if self._saved is None:
            raise not_found(
                "there is no saved forwarding pipeline config; VERIFY_AND_SAVE comes before COMMIT"
            )
        return self._saved

    async def _reconcile(self, request: SetAction) -> bool:
        """Keep the state; raises `RpcError` if it does not fit into another program."""
        pipeline = await self._verify(request)
        running = self.committed
        if running is None:
            self._commit(pipeline)
            return True
        if p4info.read_bundle(running.bundle) == p4info.read_bundle(pipeline.bundle):
            running.config = pipeline.config
            self._saved = None
            return False
        self._preserve(running, pipeline)
        self._commit(pipeline)
        return True


def difference(ours: Schema, theirs: Schema) -> str | None:
    """The first difference of a P4Info from ours, as a sentence; None if they agree.

    Aliases, annotations and documentation do not count: compilers differ in them.
    """
    for kind in ("tables", "actions", "profiles", "counters", "meters", "registers", "digests"):
        wrong = _difference(getattr(ours, kind), getattr(theirs, kind))
        if wrong:
            return wrong
    for name in ("packet_in", "packet_out"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        if (mine and mine.fields) != (other and other.fields):
            return f"the fields of controller header {name} differ"
    return None


def _difference(ours: Objects[Named], theirs: Objects[Named]) -> str | None:
    for mine in ours:
        if mine.id not in theirs:
            return f"it lacks {mine.name} ({mine.id})"
        other = theirs.get(mine.id)
        if _essence(mine) != _essence(other):
            return f"{mine.name} ({mine.id}) differs"
    for other in theirs:
        if other.id not in ours:
            return f"the program has no {other.name} ({other.id})"
    return None


def _essence(thing: Named) -> dict[str, object]:
    return {name: value for name, value in vars(thing).items() if name != "alias"}
