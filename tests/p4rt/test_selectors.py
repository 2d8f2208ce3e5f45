"""Action selectors: one-shot sets, groups and their sizes (section 9.2)."""

from __future__ import annotations

from typing import Any

import pytest
from finsy.proto import p4i, p4r

from netkv import _engine
from netkv.p4rt import p4info, translate
from netkv.p4rt.client import ControllerError, P4RuntimeClient
from netkv.p4rt.entities import Call, delete, insert, modify
from netkv.p4rt.errors import Code, RpcError
from netkv.p4rt.schema import Profile, Schema
from tests.p4rt.conftest import probe

Set = p4r.ActionProfileActionSet


def entry(client: P4RuntimeClient, op: int, **action: Any) -> p4r.Entity:
    found = client.names.table_entry("balanced_table", {"h.probe.op": op})
    found.table_entry.action.CopyFrom(p4r.TableAction(**action))
    return found


def forward(client: P4RuntimeClient, port: int, weight: int = 1) -> p4r.ActionProfileAction:
    call = client.names.call(Call("forward", {"port": port}))
    return p4r.ActionProfileAction(action=call, weight=weight)


def profile_id(client: P4RuntimeClient) -> int:
    return client.names.schema.profiles.named("balancer").id


def member(client: P4RuntimeClient, number: int, port: int) -> p4r.Entity:
    return p4r.Entity(
        action_profile_member=p4r.ActionProfileMember(
            action_profile_id=profile_id(client),
            member_id=number,
            action=client.names.call(Call("forward", {"port": port})),
        )
    )


def group(client: P4RuntimeClient, number: int, weights: list[int], size: int = 0) -> p4r.Entity:
    return p4r.Entity(
        action_profile_group=p4r.ActionProfileGroup(
            action_profile_id=profile_id(client),
            group_id=number,
            max_size=size,
            members=[
                p4r.ActionProfileGroup.Member(member_id=at, weight=weight)
                for at, weight in enumerate(weights, start=1)
            ],
        )
    )


async def refused(client: P4RuntimeClient, update: p4r.Update) -> tuple[str, str]:
    with pytest.raises(ControllerError) as caught:
        await client.write([update])
    return caught.value.failed[0].code.name, caught.value.failed[0].message


async def test_a_one_shot_set_is_read_as_it_was_written(
    client: P4RuntimeClient, switch: _engine.Switch
) -> None:
    actions = Set(
        action_profile_actions=[forward(client, 5), forward(client, 6, 2), forward(client, 5)],
        action_selection_mode=Set.HASH,
        size_semantics=Set.SUM_OF_WEIGHTS,
    )
    written = entry(client, 12, action_profile_action_set=actions)
    await client.write([insert(written)])
    (found,) = [each async for each in client.read(client.names.table_entries("balanced_table"))]
    assert found == written
    ports = {port for ip in range(64) for port, _ in switch.process(3, probe(op=12, ip=ip * 7919))}
    assert ports == {5, 6}
    only = Set(action_profile_actions=[forward(client, 4)])
    await client.write([modify(entry(client, 12, action_profile_action_set=only))])
    assert [port for port, _ in switch.process(3, probe(op=12))] == [4]
    await client.write([delete(entry(client, 12))])
    assert switch.process(3, probe(op=12)) == []


async def test_one_shots_and_groups_do_not_mix_in_a_selector(client: P4RuntimeClient) -> None:
    await client.write([insert(member(client, 1, 1)), insert(group(client, 9, [1]))])
    await client.write([insert(entry(client, 11, action_profile_group_id=9))])
    one_shot = entry(
        client, 12, action_profile_action_set=Set(action_profile_actions=[forward(client, 5)])
    )
    code, text = await refused(client, insert(one_shot))
    assert (code, "hold members and groups" in text) == ("INVALID_ARGUMENT", True), text
    await client.write([delete(entry(client, 11)), insert(one_shot)])
    for update in (
        insert(entry(client, 11, action_profile_member_id=1)),
        insert(member(client, 2, 2)),
        insert(group(client, 8, [1])),
    ):
        code, text = await refused(client, update)
        assert (code, "hold one-shot action sets" in text) == ("INVALID_ARGUMENT", True), text


async def test_members_and_groups_are_checked(client: P4RuntimeClient) -> None:
    no_action = member(client, 1, 1)
    no_action.action_profile_member.ClearField("action")
    unweighted = Set(action_profile_actions=[forward(client, 5, 0)])
    at_random = Set(action_profile_actions=[forward(client, 5)], action_selection_mode=Set.RANDOM)
    await client.write([insert(member(client, 1, 1)), insert(group(client, 9, [3], 4))])
    await client.write([insert(entry(client, 11, action_profile_group_id=9))])
    for update, code, sentence in [
        (insert(member(client, 0, 1)), "INVALID_ARGUMENT", "1 or more, not 0"),
        (insert(group(client, 0, [1])), "INVALID_ARGUMENT", "1 or more, not 0"),
        (insert(no_action), "INVALID_ARGUMENT", "has no action"),
        (insert(member(client, 1, 1)), "ALREADY_EXISTS", "has a member 1"),
        (modify(member(client, 7, 1)), "NOT_FOUND", "no member 7"),
        (delete(member(client, 1, 1)), "FAILED_PRECONDITION", "in use"),
        (delete(group(client, 9, [])), "FAILED_PRECONDITION", "in use"),
        (insert(group(client, 8, [1, 1])), "NOT_FOUND", "no member 2"),
        (insert(group(client, 8, [0])), "INVALID_ARGUMENT", "expected at least 1"),
        (modify(group(client, 9, [3], 5)), "INVALID_ARGUMENT", "max_size 4, and that cannot"),
        (modify(group(client, 9, [5], 4)), "RESOURCE_EXHAUSTED", "may have a size of 4"),
        (insert(entry(client, 12, action_profile_group_id=5)), "NOT_FOUND", "no group 5"),
        (
            modify(entry(client, 11, action_profile_action_set=unweighted)),
            "INVALID_ARGUMENT",
            "expected at least 1",
        ),
        (
            modify(entry(client, 11, action_profile_action_set=at_random)),
            "UNIMPLEMENTED",
            "HASH and SUM_OF_WEIGHTS",
        ),
    ]:
        found, text = await refused(client, update)
        assert (found, sentence in text) == (code, True), (found, text)


def profile(**fields: Any) -> Profile:
    """A selector with these fields in its P4Info."""
    preamble = p4i.Preamble(id=0x11000001, name="selector", alias="selector")
    info = p4i.P4Info(
        action_profiles=[p4i.ActionProfile(preamble=preamble, with_selector=True, **fields)]
    )
    return Schema(info).profiles.get(0x11000001)


def test_sizes_and_weights_are_limited_by_p4info() -> None:
    Member = p4r.ActionProfileGroup.Member  # noqa: N806 (a class)
    members = profile(
        max_group_size=2, sum_of_members=p4i.ActionProfile.SumOfMembers(max_member_weight=10)
    )
    assert translate.size_of(members, [7, 9]) == 2
    assert translate.size_of(profile(max_group_size=2), [7, 9]) == 16
    with pytest.raises(RpcError, match="selector allows 10") as caught:
        translate.weight_of("m", members, Member(weight=11))
    assert caught.value.code is Code.INVALID_ARGUMENT
    fixed = profile(weights_disallowed=True)
    assert translate.weight_of("m", fixed, Member()) == 1
    with pytest.raises(RpcError, match="disallows weights"):
        translate.weight_of("m", fixed, Member(weight=1))


def test_selectors_are_in_p4info(bundle: bytes) -> None:
    (found,) = Schema(p4info.from_bundle(bundle)).profiles
    assert found.with_selector
    assert found.max_group_size == 0
