"""Client arbitration of P4Runtime 1.5 (section 5), as a state machine without I/O.

Rules
-----
1. Each role has its own election; the default role has the name "".
2. A controller is primary when its election id is at least the highest id that its role has ever
   seen. A controller without an id never becomes primary; an id of 0 is an id.
3. When the primary's stream ends or it lowers its id, the role has no primary until another
   controller claims the highest id seen again, or a higher one.
4. Every update of a controller that is primary before or after it is reported to every controller
   of the role, to the new primary last. An update of a backup is answered to its sender alone. The
   primary gets OK, a backup ALREADY_EXISTS while there is a primary and NOT_FOUND while there is
   none. The election id in it is the highest seen, and unset if there has not been a primary.
5. Two controllers of one role cannot have the same id: the later stream is ended.
6. A controller keeps device and role of its first update.
7. Two roles cannot have exclusive access to the same object.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from finsy.proto import U128, p4r, rpc_status, stratum

from netkv.p4rt.errors import Code, RpcError, code_number, invalid


@dataclass(eq=False)
class Controller:
    """One stream, as arbitration sees it. `role` is None until its first update."""

    role: Role | None = None
    election_id: int | None = None

    @property
    def is_primary(self) -> bool:
        """Whether it may write on behalf of its role."""
        return self.role is not None and self.role.primary is self


@dataclass(eq=False)
class Role:
    """The election of one role."""

    name: str
    highest: int | None = None
    primary: Controller | None = None
    controllers: list[Controller] = field(default_factory=list)
    config: stratum.P4RoleConfig | None = None
    """The objects that the role may access; None: all. The primary sets it."""

    @property
    def receives_packets(self) -> bool:
        """Whether its primary gets packet-ins."""
        return self.config is None or self.config.receives_packet_ins

    @property
    def sets_pipeline(self) -> bool:
        """Whether its primary may set the forwarding pipeline config."""
        return self.config is None or self.config.can_push_pipeline

    def may_access(self, number: int) -> bool:
        """Whether the object with this P4Info id belongs to the role."""
        config = self.config
        return config is None or number in config.exclusive_p4_ids or number in config.shared_p4_ids

    def check_object(self, number: int, name: str) -> None:
        """Raises PERMISSION_DENIED unless the role may write the object with this P4Info id."""
        if self.config is None or self.may_access(number):
            return
        listed = sorted({*self.config.exclusive_p4_ids, *self.config.shared_p4_ids})
        known = f"its ids: {', '.join(map(str, listed))}" if listed else "it lists none"
        raise RpcError(
            Code.PERMISSION_DENIED,
            f"role {self.name!r} may not write {name}; its configuration lists neither "
            f"exclusive nor shared access to id {number} ({known})",
        )

    def check_replication(self) -> None:
        """Raises PERMISSION_DENIED unless the role may write groups and sessions.

        They have no P4Info id, so a configuration cannot list them.
        """
        if self.config is not None:
            raise RpcError(
                Code.PERMISSION_DENIED,
                f"role {self.name!r} may not write multicast groups and clone sessions: it has a "
                "configuration, and that cannot list them; use a role without a configuration",
            )


@dataclass(frozen=True)
class Notice:
    """An arbitration update to be sent to a controller."""

    to: Controller
    update: p4r.MasterArbitrationUpdate


class Arbitration:
    """All roles of one device."""

    def __init__(self, device_id: int) -> None:
        self.device_id = device_id
        self._roles: dict[str, Role] = {}

    def update(self, controller: Controller, request: p4r.MasterArbitrationUpdate) -> list[Notice]:
        """Handles a controller's claim; returns the notices to send.

        Raises an error that ends the controller's stream: NOT_FOUND for another device,
        INVALID_ARGUMENT for an election id of another controller or an invalid role configuration,
        FAILED_PRECONDITION for a change of device or role.
        """
        if controller.role is None:
            self.check_device(request.device_id)
        elif request.device_id != self.device_id:
            raise RpcError(
                Code.FAILED_PRECONDITION,
                f"this stream is of device {self.device_id} and cannot become one of device "
                f"{request.device_id}; open another stream",
            )
        name = request.role.name
        if controller.role is not None and controller.role.name != name:
            raise RpcError(
                Code.FAILED_PRECONDITION,
                f"this stream is of role {controller.role.name!r} and cannot become one of "
                f"role {name!r}; open another stream",
            )
        config = _role_config(request.role)
        self._check_exclusive(name, config)
        election_id = U128.decode(request.election_id) if request.HasField("election_id") else None
        role = self._roles.setdefault(name, Role(name))
        for other in role.controllers:
            if other is controller or election_id is None:
                continue
            if other.election_id == election_id:
                raise invalid(
                    f"election id {election_id} is used by another controller of "
                    f"role {name!r}; choose one that is not"
                )
        if controller.role is None:
            controller.role = role
            role.controllers.append(controller)
        controller.election_id = election_id
        before = role.primary
        self._elect(role, controller)
        if role.primary is controller:
            role.config = config
        if controller not in (before, role.primary):
            return [_notice(role, controller, self.device_id)]
        others = [each for each in role.controllers if each is not role.primary]
        primary = [role.primary] if role.primary is not None else []
        return [_notice(role, each, self.device_id) for each in (*others, *primary)]

    def leave(self, controller: Controller) -> list[Notice]:
        """Handles the end of a controller's stream; returns the notices to send."""
        role = controller.role
        if role is None or controller not in role.controllers:
            return []
        role.controllers.remove(controller)
        if role.primary is not controller:
            return []
        role.primary = None
        return [_notice(role, each, self.device_id) for each in role.controllers]

    def check_device(self, device_id: int) -> None:
        """Raises NOT_FOUND unless this is the device of the server."""
        if device_id != self.device_id:
            raise RpcError(
                Code.NOT_FOUND,
                f"there is no device {device_id} at this server; its device is {self.device_id}",
            )

    def role(self, name: str) -> Role | None:
        """The role with this name; None if no controller has claimed it yet."""
        return self._roles.get(name)

    def authorize(self, role_name: str, election_id: p4r.Uint128 | None) -> Role:
        """The role that a Write or a pipeline config is sent for.

        Raises NOT_FOUND for a role that no controller has claimed, and PERMISSION_DENIED unless
        `election_id` is that of the role's primary.
        """
        role = self._roles.get(role_name)
        if role is None and role_name:
            known = ", ".join(repr(each) for each in self._roles if each)
            raise RpcError(
                Code.NOT_FOUND,
                f"there is no role {role_name!r}; the roles of this device: "
                f"the default role{', ' if known else ''}{known}",
            )
        if role is None or role.primary is None:
            raise RpcError(
                Code.PERMISSION_DENIED,
                f"role {role_name!r} has no primary controller; open a stream and send an "
                "arbitration update first",
            )
        claimed = None if election_id is None else U128.decode(election_id)
        if role.primary.election_id != claimed:
            shown = "no election id" if claimed is None else str(claimed)
            raise RpcError(
                Code.PERMISSION_DENIED,
                f"only the primary controller of role {role_name!r} may do this; its election id "
                f"is {role.primary.election_id}, the request has {shown}",
            )
        return role

    def packet_receivers(self) -> Iterator[tuple[Role, Controller]]:
        """The primaries that get packet-ins, with their roles."""
        for role in self._roles.values():
            if role.primary is not None and role.receives_packets:
                yield role, role.primary

    def owners(self, number: int) -> Iterator[Controller]:
        """The primaries that get notifications of the object with this P4Info id."""
        for role in self._roles.values():
            if role.primary is not None and role.may_access(number):
                yield role.primary

    def _check_exclusive(self, name: str, config: stratum.P4RoleConfig | None) -> None:
        """Raises INVALID_ARGUMENT if another role has exclusive access to the same object."""
        for role in self._roles.values():
            if config is None or role.config is None or role.name == name:
                continue
            shared = {*config.exclusive_p4_ids} & {*role.config.exclusive_p4_ids}
            if shared:
                raise invalid(
                    f"role {name!r} claims exclusive access to id {min(shared)}, which role "
                    f"{role.name!r} has; list it under shared_p4_ids in both"
                )

    @staticmethod
    def _elect(role: Role, controller: Controller) -> None:
        claimed = controller.election_id
        if claimed is not None and (role.highest is None or claimed >= role.highest):
            role.highest = claimed
            role.primary = controller
        elif role.primary is controller:
            role.primary = None


def _role_config(role: p4r.Role) -> stratum.P4RoleConfig | None:
    """A role's configuration, in the only published format, that of Stratum."""
    if not role.HasField("config"):
        return None
    config = stratum.P4RoleConfig()
    if not role.config.Unpack(config):
        raise invalid(
            f"the configuration of role {role.name!r} is a {role.config.type_url!r}; this server "
            "knows stratum.P4RoleConfig"
        )
    if not role.name:
        raise invalid("the default role has access to everything and takes no configuration")
    return config


def _notice(role: Role, controller: Controller, device_id: int) -> Notice:
    if role.primary is controller:
        status = rpc_status.Status(message="you are the primary controller")
    elif role.primary is not None:
        status = rpc_status.Status(
            code=code_number(Code.ALREADY_EXISTS),
            message="you are a backup; another controller is primary",
        )
    else:
        status = rpc_status.Status(
            code=code_number(Code.NOT_FOUND), message="you are a backup; there is no primary"
        )
    update = p4r.MasterArbitrationUpdate(device_id=device_id, status=status)
    if role.highest is not None:
        update.election_id.CopyFrom(U128.encode(role.highest))
    if role.name:
        update.role.name = role.name
        if role.config is not None:
            update.role.config.Pack(role.config)
    return Notice(controller, update)
