"""Translation of P4Runtime entities to those of the engine, and back (sections 9.1 and 9.2).

All checks that need only the program are here, so that an error names the table, the field and
its width before the engine is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from finsy.proto import p4i, p4r

from netkv.p4rt import values
from netkv.p4rt.errors import Code, RpcError, invalid, unimplemented
from netkv.p4rt.schema import Field, Profile, Schema, Table

if TYPE_CHECKING:
    from netkv._engine import Action, Match

ActionSet = p4r.ActionProfileActionSet

MAX_PORT = 511
"""A port of v1model is 9 bits wide."""

MAX_INSTANCE = 0xFFFF


def matches_of(owner: str, keys: Sequence[Field], fields: Iterable[p4r.FieldMatch]) -> list[Match]:
    """The keys of an entry in the order of the program; `owner` names the table in errors.

    A field that is left out matches everything; an exact one cannot be left out. A field that
    is given but matches everything is not canonical and refused, as section 9.1.1 requires.
    """
    given: dict[int, p4r.FieldMatch] = {}
    known = {key.id for key in keys}
    for each in fields:
        if each.field_id not in known:
            ids = ", ".join(f"{key.id} ({key.name})" for key in keys)
            raise invalid(f"{owner} has no match field {each.field_id}; it has: {ids or 'none'}")
        if each.field_id in given:
            raise invalid(f"{owner}: match field {each.field_id} is given twice")
        given[each.field_id] = each
    matches: list[Match] = []
    for key in keys:
        match = given.get(key.id)
        if match is not None:
            matches.append(_match(owner, key, match))
        elif key.kind == "exact":
            raise invalid(
                f"{owner}: match field {key.name} is missing; an exact field must be given"
            )
    return matches


def normal(matches: Iterable[Match]) -> tuple[bytes, ...]:
    """The canonical form, without fields that match all: equal matches have equal forms."""
    return tuple(each.SerializeToString() for each in field_matches(matches))


def _match(owner: str, key: Field, match: p4r.FieldMatch) -> Match:
    what = f"{owner}: match field {key.name}"
    kind = match.WhichOneof("field_match_type")
    if kind != key.kind:
        raise invalid(f"{what} is matched {key.kind}, the request has {kind or 'nothing'}")
    full = (1 << key.width) - 1
    match key.kind:
        case "exact":
            return key.id, "exact", _check(match.exact.value, key, what)
        case "optional":
            return key.id, "optional", _check(match.optional.value, key, what)
        case "lpm":
            return _lpm(what, key, match.lpm)
        case "ternary":
            value = values.decode(match.ternary.value, key.width, what)
            mask = values.decode(match.ternary.mask, key.width, f"the mask of {what}")
            if mask == 0:
                raise invalid(f"{what} has mask 0 and matches everything; leave the field out")
            if value & ~mask & full:
                raise invalid(f"{what}: value {value:#x} has bits outside of its mask {mask:#x}")
            return key.id, "ternary", match.ternary.value, match.ternary.mask
        case "range":
            low = values.decode(match.range.low, key.width, f"the low end of {what}")
            high = values.decode(match.range.high, key.width, f"the high end of {what}")
            if low > high:
                raise invalid(f"{what}: low end {low:#x} is above its high end {high:#x}")
            if (low, high) == (0, full):
                raise invalid(f"{what} is the whole range; leave the field out")
            return key.id, "range", match.range.low, match.range.high


def _check(data: bytes, key: Field, what: str) -> bytes:
    values.decode(data, key.width, what)
    return data


def _lpm(what: str, key: Field, match: p4r.FieldMatch.LPM) -> Match:
    value = values.decode(match.value, key.width, what)
    prefix = match.prefix_len
    if not 0 <= prefix <= key.width:
        raise invalid(f"{what}: prefix length {prefix} is not within 1 to {key.width}")
    if prefix == 0:
        raise invalid(f"{what} has prefix length 0 and matches everything; leave the field out")
    if value & ~values.mask_of_prefix(key.width, prefix):
        raise invalid(f"{what}: value {value:#x} has bits set beyond its /{prefix} prefix")
    return key.id, "lpm", match.value, prefix


def priority_of(table: Table, entry: p4r.TableEntry) -> int:
    """The priority of an entry, which must be above 0 exactly if entries can overlap."""
    if table.has_priority and entry.priority <= 0:
        raise invalid(
            f"table {table.name} has ternary, range or optional fields: an entry needs a "
            f"priority above 0 (larger wins), this one has {entry.priority}"
        )
    if not table.has_priority and entry.priority != 0:
        raise invalid(
            f"table {table.name} has no ternary, range or optional field: the priority of an "
            f"entry must be 0, this one has {entry.priority}"
        )
    return entry.priority


def call_of(schema: Schema, action: p4r.Action) -> tuple[int, list[bytes]]:
    """Id and parameters (in the order of the program) of an action."""
    try:
        known = schema.actions.get(action.action_id)
    except RpcError as error:
        raise invalid(str(error)) from None
    # This runs for each entry, so the common case (all parameters, in order) must be fast.
    given = {each.param_id: each.value for each in action.params}
    if len(given) != len(action.params):
        raise invalid(f"action {known.name}: a parameter is given twice")
    params: list[bytes] = []
    for param in known.params:
        data = given.pop(param.id, None)
        if data is None:
            raise invalid(f"action {known.name}: parameter {param.name} is missing")
        values.decode(data, param.width, f"action {known.name}: parameter {param.name}")
        params.append(data)
    if given:
        raise invalid(
            f"action {known.name} has {len(known.params)} parameters and none with id "
            f"{', '.join(map(str, given))}"
        )
    return known.id, params


def table_call_of(
    schema: Schema, table: Table, action: p4r.Action, *, default: bool = False
) -> tuple[int, list[bytes]]:
    """As `call_of`, for an action that `table` must list for entries (or for its default)."""
    call = call_of(schema, action)
    scope = table.actions.get(action.action_id)
    name = schema.actions.get(action.action_id).name
    if scope is None:
        names = ", ".join(schema.actions.get(each).name for each in table.actions)
        raise invalid(f"table {table.name} does not list action {name}; it lists: {names}")
    if default and scope == p4i.ActionRef.TABLE_ONLY:
        raise RpcError(
            Code.PERMISSION_DENIED, f"table {table.name}: {name} is @tableonly, no default action"
        )
    if not default and scope == p4i.ActionRef.DEFAULT_ONLY:
        raise RpcError(
            Code.PERMISSION_DENIED, f"table {table.name}: {name} is @defaultonly, not for entries"
        )
    return call


def action_of(schema: Schema, table: Table, action: p4r.TableAction) -> Action:
    """The action of an entry of `table`, as the engine takes it."""
    kind = action.WhichOneof("type")
    if kind is None:
        raise invalid(f"table {table.name}: the entry has no action")
    if (kind == "action") != (table.profile == 0):
        wanted = "a member or group of its action profile" if table.profile else "an action"
        raise invalid(f"an entry of table {table.name} holds {wanted}, the request has {kind}")
    match kind:
        case "action":
            return ("action", *table_call_of(schema, table, action.action))
        case "action_profile_member_id":
            return "member", action.action_profile_member_id
    profile = schema.profiles.get(table.profile)
    if not profile.with_selector:
        raise invalid(
            f"action profile {profile.name} of table {table.name} has no selector: an entry holds "
            "one member of it"
        )
    if kind == "action_profile_group_id":
        return "group", action.action_profile_group_id
    return "oneshot", _one_shot(schema, table, profile, action.action_profile_action_set)


def _one_shot(
    schema: Schema, table: Table, profile: Profile, actions: p4r.ActionProfileActionSet
) -> list[tuple[int, list[bytes], int]]:
    """The actions of a one-shot entry with their weights."""
    what = f"table {table.name}"
    wanted = (actions.action_selection_mode, actions.size_semantics)
    sums = ActionSet.SUM_OF_MEMBERS if profile.counts_members else ActionSet.SUM_OF_WEIGHTS
    if wanted[0] == ActionSet.RANDOM or wanted[1] not in (0, sums):
        raise unimplemented(
            f"{what}: the selection mode and the size semantics are those of the action selector "
            f"{profile.name} (HASH and {ActionSet.SizeSemantics.Name(sums)}); give these or none"
        )
    weighted = [
        (
            *table_call_of(schema, table, each.action),
            weight_of(f"{what}: action {number} of the set", profile, each),
        )
        for number, each in enumerate(actions.action_profile_actions)
    ]
    size = size_of(profile, [weight for _, _, weight in weighted])
    if 0 < profile.max_group_size < size:
        raise invalid(
            f"{what}: the size of the action set is {size}; action selector {profile.name} allows "
            f"{profile.max_group_size}"
        )
    return weighted


def weight_of(
    what: str, profile: Profile, member: p4r.ActionProfileAction | p4r.ActionProfileGroup.Member
) -> int:
    """The weight of a group's member or a set's action, which must be one the selector allows."""
    if member.WhichOneof("watch_kind") is not None:
        raise unimplemented(f"{what}: a watch port is not supported; leave it out")
    if profile.weights_disallowed:
        if member.weight:
            raise invalid(f"{what}: {profile.name} disallows weights; leave it out")
        return 1
    if member.weight <= 0:
        raise invalid(f"{what} has weight {member.weight}; expected at least 1")
    if profile.counts_members and 0 < profile.max_member_weight < member.weight:
        raise invalid(
            f"{what} has weight {member.weight}; {profile.name} allows {profile.max_member_weight}"
        )
    return member.weight


def size_of(profile: Profile, weights: Sequence[int]) -> int:
    """The size of a group whose members have these weights."""
    return len(weights) if profile.counts_members else sum(weights)


def field_matches(matches: Iterable[Match]) -> list[p4r.FieldMatch]:
    """The keys of an entry as messages; fields that match everything are left out."""
    messages: list[p4r.FieldMatch] = []
    for match in matches:
        message = p4r.FieldMatch(field_id=match[0])
        if match[1] == "exact":
            message.exact.value = values.canonical(match[2])
        elif match[1] == "optional":
            message.optional.value = values.canonical(match[2])
        elif match[1] == "lpm":
            if match[3] == 0:
                continue
            message.lpm.value = values.canonical(match[2])
            message.lpm.prefix_len = match[3]
        elif match[1] == "ternary":
            if not any(match[3]):
                continue
            message.ternary.value = values.canonical(match[2])
            message.ternary.mask = values.canonical(match[3])
        else:
            message.range.low = values.canonical(match[2])
            message.range.high = values.canonical(match[3])
        messages.append(message)
    return messages


def action_message(action_id: int, params: Iterable[bytes]) -> p4r.Action:
    """An action with its parameters as a message."""
    return p4r.Action(
        action_id=action_id,
        params=(
            p4r.Action.Param(param_id=number, value=values.canonical(value))
            for number, value in enumerate(params, start=1)
        ),
    )


def table_action(action: Action) -> p4r.TableAction:
    """The action of an entry as a message."""
    match action[0]:
        case "action":
            return p4r.TableAction(action=action_message(action[1], action[2]))
        case "member":
            return p4r.TableAction(action_profile_member_id=action[1])
        case "group":
            return p4r.TableAction(action_profile_group_id=action[1])
        case "oneshot":
            return p4r.TableAction(
                action_profile_action_set=p4r.ActionProfileActionSet(
                    action_profile_actions=(
                        p4r.ActionProfileAction(
                            action=action_message(action_id, params), weight=weight
                        )
                        for action_id, params, weight in action[1]
                    )
                )
            )


def index_of(message: p4r.CounterEntry | p4r.MeterEntry | p4r.RegisterEntry) -> int | None:
    """The cell that an entry names; None for all cells."""
    if not message.HasField("index"):
        return None
    if message.index.index < 0:
        raise invalid(f"index {message.index.index} is negative")
    return message.index.index


def check_index(name: str, size: int, index: int | None) -> int | None:
    """Raises OUT_OF_RANGE for an index beyond the array `name`; returns the index."""
    if index is not None and index >= size:
        raise RpcError(
            Code.OUT_OF_RANGE, f"{name} has {size} cells, 0 to {size - 1}; there is no {index}"
        )
    return index


def replicas_of(what: str, replicas: Iterable[p4r.Replica]) -> list[tuple[int, int]]:
    """(port, instance) of each copy; the pairs must differ."""
    found: list[tuple[int, int]] = []
    for each in replicas:
        if each.backup_replicas:
            raise unimplemented(f"{what}: backup replicas are not supported")
        match each.WhichOneof("port_kind"):
            case "egress_port":
                port = each.egress_port
            case "port":
                port = values.decode(each.port, 32, f"{what}: the port of a replica")
            case _:
                raise invalid(f"{what}: a replica has no port")
        if port > MAX_PORT:
            raise invalid(f"{what}: a port is 0 to {MAX_PORT}, not {port}")
        if each.instance > MAX_INSTANCE:
            raise invalid(
                f"{what}: an instance is 0 to {MAX_INSTANCE} (egress_rid is 16 bits), "
                f"not {each.instance}"
            )
        pair = (port, each.instance)
        if pair in found:
            raise invalid(
                f"{what}: port {port} with instance {each.instance} is given twice; copies to "
                "one port need different instances"
            )
        found.append(pair)
    return found
