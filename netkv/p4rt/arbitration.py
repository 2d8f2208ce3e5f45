"""Client arbitration of P4Runtime 1.5 (section 5), as a state machine without I/O.

Rules
-----
1. Each role elects on its own; the default role has the name "".
2. A controller is primary when its election id is at least the highest id that its role has ever
   seen. Id 0 (or none) never becomes primary.
3. When the primary's stream ends or it lowers its id, the role has no primary until another
   controller claims the highest id seen again, or a higher one.
4. A change of the primary is reported to every controller of the role; an update that changes
   nothing is answered to its sender alone. The primary gets OK, a backup ALREADY_EXISTS while there
   is a primary and NOT_FOUND while there is none. The election id in it is the highest seen.
5. Two controllers of one role cannot have the same id above 0: the later stream is ended.
6. A controller keeps the role of its first update.
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
    election_id: int = 0

    @property
    def is_primary(self) -> bool:
        """Whether it may write on behalf of its role."""
        return self.role is not None and self.role.primary is self


@dataclass(eq=False)
class Role:
    """The election of one role."""

    name: str
    highest: int = 0
    primary: Controller | None = None
    controllers: list[Controller] = field(default_factory=list)
    config: stratum.P4RoleConfig | None = None
    """What the role may touch; None is everything. Set by the primary."""

    @property
    def receives_packets(self) -> bool:
        """Whether packet-ins and digests go to it."""
        return self.config is None or self.config.receives_packet_ins

    @property
    def sets_pipeline(self) -> bool:
        """Whether its primary may set the forwarding pipeline config."""
        return self.config is None or self.config.can_push_pipeline

    def check_object(self, number: int, name: str) -> None:
        """Raises PERMISSION_DENIED unless the role may write the object with this P4Info id."""
        config = self.config
        if config is None:
            return
        if number not in config.exclusive_p4_ids and number not in config.shared_p4_ids:
            raise RpcError(
                Code.PERMISSION_DENIED,
                f"role {self.name!r} may not write {name}; its configuration lists neither "
                f"exclusive nor shared access to id {number}",
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
        """A controller's claim; returns the notices to send.

        Raises what ends the controller's stream: NOT_FOUND for another device, INVALID_ARGUMENT
        for an election id that is used by another controller or an unknown role configuration,
        FAILED_PRECONDITION for a change of the role.
        """
        self.check_device(request.device_id)
        name = request.role.name
        if controller.role is not None and controller.role.name != name:
            raise RpcError(
                Code.FAILED_PRECONDITION,
                f"this stream is of role {controller.role.name!r} and cannot become one of "
                f"role {name!r}; open another stream",
            )
        config = _role_config(request.role)
        election_id = U128.decode(request.election_id)
        role = self._roles.setdefault(name, Role(name))
        for other in role.controllers:
            if other is not controller and election_id and other.election_id == election_id:
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
        if role.primary is not before:
            return [_notice(role, each, self.device_id) for each in role.controllers]
        return [_notice(role, controller, self.device_id)]

    def leave(self, controller: Controller) -> list[Notice]:
        """The controller's stream has ended."""
        role = controller.role
        if role is None or controller not in role.controllers:
            return []
        role.controllers.remove(controller)
        if role.primary is not controller:
            return []
        role.primary = None
        return [_notice(role, each, self.device_id) for each in role.controllers]

    def check_device(self, device_id: int) -> None:
        """Raises NOT_FOUND unless requests for this device are for us."""
        if device_id != self.device_id:
            raise RpcError(
                Code.NOT_FOUND,
                f"there is no device {device_id} at this server; its device is {self.device_id}",
            )

    def authorize(self, role_name: str, election_id: p4r.Uint128) -> Role:
        """The role on whose behalf a Write or a pipeline config comes.

        Raises PERMISSION_DENIED unless `election_id` is that of the role's primary.
        """
        role = self._roles.get(role_name)
        claimed = U128.decode(election_id)
        if role is None or role.primary is None:
            raise RpcError(
                Code.PERMISSION_DENIED,
                f"role {role_name!r} has no primary controller; open a stream and send an "
                "arbitration update first",
            )
        if role.primary.election_id != claimed:
            raise RpcError(
                Code.PERMISSION_DENIED,
                f"only the primary controller of role {role_name!r} may do this; its election id "
                f"is {role.primary.election_id}, the request has {claimed}",
            )
        return role

    def packet_receivers(self) -> Iterator[tuple[Role, Controller]]:
        """The primaries that packet-ins and digests go to, with their roles."""
        for role in self._roles.values():
            if role.primary is not None and role.receives_packets:
                yield role, role.primary

    @staticmethod
    def _elect(role: Role, controller: Controller) -> None:
        if controller.election_id and controller.election_id >= role.highest:
            role.highest = controller.election_id
            role.primary = controller
        elif role.primary is controller:
            role.primary = None


def _role_config(role: p4r.Role) -> stratum.P4RoleConfig | None:
    """The only published format of a role's configuration is Stratum's."""
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
    update = p4r.MasterArbitrationUpdate(
        device_id=device_id, election_id=U128.encode(role.highest), status=status
    )
    if role.name:
        update.role.name = role.name
        if role.config is not None:
            update.role.config.Pack(role.config)
    return Notice(controller, update)
