"""The forwarding pipeline config: verify, save, commit, get (sections 7 and 16 of P4Runtime 1.5).

Between VERIFY_AND_SAVE and COMMIT, reads and writes mean the saved program. They go to an idle
switch of its own; accepted updates are kept and replayed when the program is committed, while
packets still run through the old one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from finsy.proto import p4i, p4r

from netkv import _engine
from netkv.p4rt import p4info
from netkv.p4rt.errors import Code, RpcError, invalid, unimplemented
from netkv.p4rt.schema import Named, Objects, Schema
from netkv.p4rt.target import SwitchFactory

SetAction = p4r.SetForwardingPipelineConfigRequest
GetType = p4r.GetForwardingPipelineConfigRequest


@dataclass(eq=False)
class Pipeline:
    """A program with the state that belongs to it."""

    switch: _engine.Switch
    schema: Schema
    bundle: bytes
    config: p4r.ForwardingPipelineConfig
    """As the controller gave it, P4Info filled in."""
    multicast_groups: dict[int, p4r.MulticastGroupEntry] = field(default_factory=dict)
    """As written: the engine keeps neither metadata nor the form of the port."""
    clone_sessions: dict[int, p4r.CloneSessionEntry] = field(default_factory=dict)
    digest_configs: dict[int, p4r.DigestEntry.Config] = field(default_factory=dict)


@dataclass(eq=False)
class _Saved:
    pipeline: Pipeline
    updates: list[p4r.Update] = field(default_factory=list)


class Pipelines:
    """The committed pipeline of a switch and the one saved for it."""

    def __init__(
        self,
        switch: _engine.Switch,
        make_switch: SwitchFactory,
        replay: Callable[[Pipeline, p4r.Update], None],
        include_dirs: Sequence[str] = (),
    ) -> None:
        """`replay` applies one update to a pipeline; `include_dirs` serve P4 source as config."""
        self._switch = switch
        self._make_switch = make_switch
        self._replay = replay
        self._include_dirs = include_dirs
        self._saved: _Saved | None = None
        self.committed: Pipeline | None = None

    def adopt(self, bundle: bytes) -> None:
        """The switch runs this program already, as if a controller had committed it."""
        config = p4r.ForwardingPipelineConfig(p4_device_config=bundle)
        self.committed = self._pipeline(self._switch, bundle, config)

    @property
    def current(self) -> Pipeline:
        """The pipeline that reads and writes mean: the saved one, else the committed one."""
        if self._saved is not None:
            return self._saved.pipeline
        return self.require_committed()

    def require_committed(self) -> Pipeline:
        """The pipeline that packets run through; FAILED_PRECONDITION if there is none."""
        if self.committed is None:
            raise RpcError(
                Code.FAILED_PRECONDITION,
                "there is no forwarding pipeline config yet; set one with "
                "SetForwardingPipelineConfig",
            )
        return self.committed

    def note(self, update: p4r.Update) -> None:
        """Remember an update that was done to the saved pipeline, for its COMMIT."""
        if self._saved is not None:
            self._saved.updates.append(update)

    async def set(self, request: SetAction) -> bool:
        """Carry the request out; returns whether another program is committed now."""
        match request.action:
            case SetAction.VERIFY:
                await self._verify(request)
                return False
            case SetAction.VERIFY_AND_SAVE:
                self._saved = _Saved(await self._verify(request))
                return False
            case SetAction.VERIFY_AND_COMMIT:
                pipeline = await self._verify(request)
                self._commit(pipeline, [])
                return True
            case SetAction.COMMIT:
                return self._commit_saved(request)
            case SetAction.RECONCILE_AND_COMMIT:
                return await self._reconcile(request)
        raise invalid(
            "the action of a SetForwardingPipelineConfig must be VERIFY, VERIFY_AND_SAVE, "
            "VERIFY_AND_COMMIT, COMMIT or RECONCILE_AND_COMMIT"
        )

    def get(self, kind: GetType.ResponseType.ValueType) -> p4r.ForwardingPipelineConfig:
        """The current config, as much of it as `kind` asks for."""
        config = self.current.config
        answer = p4r.ForwardingPipelineConfig()
        if config.HasField("cookie"):
            answer.cookie.CopyFrom(config.cookie)
        if kind in (GetType.ALL, GetType.P4INFO_AND_COOKIE):
            answer.p4info.CopyFrom(config.p4info)
        if kind in (GetType.ALL, GetType.DEVICE_CONFIG_AND_COOKIE):
            answer.p4_device_config = config.p4_device_config
        return answer

    async def _verify(self, request: SetAction) -> Pipeline:
        """The requested program on an idle switch, which proves that it can be realized."""
        if not request.HasField("config"):
            raise invalid("the request has no config")
        config = request.config
        bundle = await self._bundle(config.p4_device_config)
        p4info.read_bundle(bundle)
        try:
            switch = self._make_switch(bundle)
        except ValueError as error:
            raise invalid(str(error)) from None
        return self._pipeline(switch, bundle, config)

    async def _bundle(self, device_config: bytes) -> bytes:
        """A bundle as it is, P4 source compiled."""
        if not device_config:
            raise invalid(
                "p4_device_config is empty; expected P4 source or a bundle of `netkv p4 check`"
            )
        if p4info.is_bundle(device_config):
            return device_config
        try:
            source = device_config.decode()
        except UnicodeDecodeError:
            raise invalid(
                "p4_device_config is neither P4 source in UTF-8 nor a bundle (which begins with "
                "'netkv-bundle 1'); a bmv2 JSON or a Tofino binary cannot run here"
            ) from None
        try:
            # Long enough to keep packets waiting; the compiler does not hold the GIL.
            return await asyncio.to_thread(
                _engine.compile_source, "p4_device_config", source, self._include_dirs
            )
        except _engine.CompileError as error:
            raise invalid(f"p4_device_config does not compile:\n{error}") from None

    @staticmethod
    def _pipeline(
        switch: _engine.Switch, bundle: bytes, config: p4r.ForwardingPipelineConfig
    ) -> Pipeline:
        ours = p4info.from_bundle(bundle)
        kept = p4r.ForwardingPipelineConfig()
        kept.CopyFrom(config)
        schema = Schema(ours)
        if config.HasField("p4info") and config.p4info != p4i.P4Info():
            wrong = difference(schema, Schema(config.p4info))
            if wrong:
                raise invalid(f"the P4Info does not belong to the program: {wrong}")
        else:
            kept.p4info.CopyFrom(ours)
        return Pipeline(switch, schema, bundle, kept)

    def _commit(self, pipeline: Pipeline, updates: Sequence[p4r.Update]) -> None:
        self._switch.load(pipeline.bundle)
        self._saved = None
        self.committed = Pipeline(self._switch, pipeline.schema, pipeline.bundle, pipeline.config)
        for update in updates:
            self._replay(self.committed, update)

    def _commit_saved(self, request: SetAction) -> bool:
        if request.HasField("config"):
            raise invalid("COMMIT takes no config: it commits the one saved by VERIFY_AND_SAVE")
        if self._saved is None:
            raise RpcError(
                Code.FAILED_PRECONDITION,
                "there is no saved forwarding pipeline config; VERIFY_AND_SAVE comes before COMMIT",
            )
        self._commit(self._saved.pipeline, self._saved.updates)
        return True

    async def _reconcile(self, request: SetAction) -> bool:
        """Keep all state: done when the program stays the same, else refused."""
        pipeline = await self._verify(request)
        running = self.committed
        if running is None:
            self._commit(pipeline, [])
            return True
        if p4info.read_bundle(running.bundle) != p4info.read_bundle(pipeline.bundle):
            raise unimplemented(
                "RECONCILE_AND_COMMIT keeps the state only while the program stays the same; this "
                "one differs from the running one: use VERIFY_AND_COMMIT and write the state anew"
            )
        running.config = pipeline.config
        self._saved = None
        return False


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
