"""Writes of multicast groups and clone sessions (section 9.5)."""

from __future__ import annotations

from finsy.proto import p4r

from netkv.p4rt import translate
from netkv.p4rt.errors import invalid
from netkv.p4rt.pipeline import Pipeline
from netkv.p4rt.write.kinds import DELETE, INSERT, UpdateType


def replication(
    pipeline: Pipeline, kind: UpdateType, entry: p4r.PacketReplicationEngineEntry
) -> None:
    """Insert, modify or delete a group or session."""
    match entry.WhichOneof("type"):
        case "multicast_group_entry":
            _multicast_group(pipeline, kind, entry.multicast_group_entry)
        case "clone_session_entry":
            _clone_session(pipeline, kind, entry.clone_session_entry)
        case _:
            raise invalid("the replication entry is neither a multicast group nor a clone session")


def _multicast_group(pipeline: Pipeline, kind: UpdateType, entry: p4r.MulticastGroupEntry) -> None:
    group = entry.multicast_group_id
    if not 1 <= group <= 0xFFFF:
        raise invalid(f"a multicast group id is 1 to 65535 (mcast_grp is 16 bits), not {group}")
    if kind == DELETE:
        pipeline.switch.delete_multicast_group(group)
        pipeline.multicast_groups.pop(group, None)
        return
    replicas = translate.replicas_of(f"multicast group {group}", entry.replicas)
    switch = pipeline.switch
    write = switch.insert_multicast_group if kind == INSERT else switch.modify_multicast_group
    write(group, replicas)
    pipeline.multicast_groups[group] = entry


def _clone_session(pipeline: Pipeline, kind: UpdateType, entry: p4r.CloneSessionEntry) -> None:
    session = entry.session_id
    if session == 0:
        raise invalid("a clone session id is 1 or more, not 0")
    if kind == DELETE:
        pipeline.switch.delete_clone_session(session)
        pipeline.clone_sessions.pop(session, None)
        return
    replicas = translate.replicas_of(f"clone session {session}", entry.replicas)
    if entry.packet_length_bytes < 0:
        raise invalid(f"clone session {session}: packet_length_bytes cannot be negative")
    switch = pipeline.switch
    write = switch.insert_clone_session if kind == INSERT else switch.modify_clone_session
    write(session, replicas, entry.class_of_service, entry.packet_length_bytes)
    pipeline.clone_sessions[session] = entry
