"""Writes of the members and groups of action profiles and selectors (section 9.2)."""

from __future__ import annotations

from finsy.proto import p4r

from netkv.p4rt import translate
from netkv.p4rt.arbitration import Role
from netkv.p4rt.errors import Code, RpcError, invalid
from netkv.p4rt.pipeline import Pipeline
from netkv.p4rt.replicas import in_each_pipeline
from netkv.p4rt.schema import Profile
from netkv.p4rt.write.kinds import DELETE, INSERT, MODIFY, UpdateType


def member(
    pipeline: Pipeline, role: Role, kind: UpdateType, entry: p4r.ActionProfileMember
) -> None:
    """Insert, modify or delete a member."""
    profile = pipeline.schema.profiles.get(entry.action_profile_id)
    what = f"action profile {profile.name}"
    role.check_object(profile.id, what)
    switch, number = pipeline.switch, entry.member_id
    if not number:
        raise invalid(f"{what}: a member id is 1 or more, not 0")
    if kind == DELETE:
        in_each_pipeline(
            switch, lambda at: switch.delete_action_member(profile.id, number, pipeline=at)
        )
        return
    if kind == INSERT:
        pipeline.indirect.check_members(profile)
    if not entry.HasField("action"):
        raise invalid(f"{what}: member {number} has no action")
    call = translate.call_of(pipeline.schema, entry.action)
    # Each table that shares the profile must list the action.
    for table in profile.tables:
        translate.table_call_of(pipeline.schema, pipeline.schema.tables.get(table), entry.action)
    write = switch.insert_action_member if kind == INSERT else switch.modify_action_member
    in_each_pipeline(switch, lambda at: write(profile.id, number, *call, pipeline=at))


def group(pipeline: Pipeline, role: Role, kind: UpdateType, entry: p4r.ActionProfileGroup) -> None:
    """Insert, modify or delete a group."""
    profile = pipeline.schema.profiles.get(entry.action_profile_id)
    what = f"group {entry.group_id} of {profile.name}"
    role.check_object(profile.id, f"action profile {profile.name}")
    if not profile.with_selector:
        raise invalid(f"action profile {profile.name} has no selector and takes no groups")
    switch, number = pipeline.switch, entry.group_id
    if not number:
        raise invalid(f"action profile {profile.name}: a group id is 1 or more, not 0")
    if kind == DELETE:
        in_each_pipeline(
            switch, lambda at: switch.delete_action_group(profile.id, number, pipeline=at)
        )
        pipeline.groups.pop((profile.id, number), None)
        return
    if kind == INSERT:
        pipeline.indirect.check_members(profile)
    known = pipeline.groups.get((profile.id, number))
    if kind == MODIFY and known is not None and entry.max_size != known.max_size:
        raise invalid(
            f"{what} was inserted with max_size {known.max_size}, and that cannot change to "
            f"{entry.max_size}; delete the group and insert it again"
        )
    members = [
        (each.member_id, translate.weight_of(f"{what}: member {each.member_id}", profile, each))
        for each in entry.members
    ]
    if kind == INSERT:
        _check_max_size(what, profile, entry.max_size)
    limit = entry.max_size or profile.max_group_size
    size = translate.size_of(profile, [weight for _, weight in members])
    if 0 < limit < size:
        raise RpcError(
            Code.RESOURCE_EXHAUSTED,
            f"{what} may have a size of {limit} ({_unit(profile)}), its members have {size}",
        )
    write = switch.insert_action_group if kind == INSERT else switch.modify_action_group
    in_each_pipeline(switch, lambda at: write(profile.id, number, members, pipeline=at))
    pipeline.groups[profile.id, number] = entry


def _check_max_size(what: str, profile: Profile, size: int) -> None:
    """Raises INVALID_ARGUMENT for a `max_size` that is not allowed."""
    if size < 0:
        raise invalid(f"{what}: max_size is {size}; expected 0 or more")
    if profile.max_group_size and not 1 <= size <= profile.max_group_size:
        raise invalid(
            f"{what}: max_size is {size}; the program allows 1 to {profile.max_group_size}"
        )


def _unit(profile: Profile) -> str:
    return "number of members" if profile.counts_members else "sum of weights"
