"""Arbitration: which controller is primary after controllers connect and disconnect."""

from __future__ import annotations

import pytest
from finsy.proto import U128, p4r, stratum

from netkv.p4rt.arbitration import Arbitration, Controller, Notice
from netkv.p4rt.errors import Code, RpcError, code_of


def claim(
    arbitration: Arbitration, controller: Controller, election_id: int, role: str = ""
) -> list[tuple[Controller, Code, int]]:
    update = p4r.MasterArbitrationUpdate(device_id=1)
    if election_id:
        update.election_id.CopyFrom(U128.encode(election_id))
    if role:
        update.role.name = role
    return contents(arbitration.update(controller, update))


def contents(notices: list[Notice]) -> list[tuple[Controller, Code, int]]:
    return [
        (each.to, code_of(each.update.status.code), U128.decode(each.update.election_id))
        for each in notices
    ]


@pytest.fixture
def arbitration() -> Arbitration:
    return Arbitration(1)


def test_higher_election_id_takes_over_and_both_are_notified(arbitration: Arbitration) -> None:
    first, second = Controller(), Controller()
    assert claim(arbitration, first, 1) == [(first, Code.OK, 1)]
    assert claim(arbitration, second, 2) == [
        (first, Code.ALREADY_EXISTS, 2),
        (second, Code.OK, 2),
    ]
    assert second.is_primary
    assert not first.is_primary
    with pytest.raises(RpcError, match="only the primary") as caught:
        arbitration.authorize("", U128.encode(1))
    assert caught.value.code is Code.PERMISSION_DENIED
    arbitration.authorize("", U128.encode(2))


def test_lower_election_id_is_a_backup_without_notifications(arbitration: Arbitration) -> None:
    first, second = Controller(), Controller()
    claim(arbitration, first, 5)
    assert claim(arbitration, second, 4) == [(second, Code.ALREADY_EXISTS, 5)]
    assert first.is_primary


def test_backups_are_notified_when_the_primary_disconnects(
    arbitration: Arbitration,
) -> None:
    primary, backup = Controller(), Controller()
    claim(arbitration, primary, 9)
    claim(arbitration, backup, 3)
    assert contents(arbitration.leave(primary)) == [(backup, Code.NOT_FOUND, 9)]
    # A backup does not become primary by itself, nor with an id below the highest seen.
    assert claim(arbitration, backup, 8) == [(backup, Code.NOT_FOUND, 9)]
    with pytest.raises(RpcError, match="no primary controller"):
        arbitration.authorize("", U128.encode(8))
    assert claim(arbitration, backup, 9) == [(backup, Code.OK, 9)]


def test_a_primary_can_step_down(arbitration: Arbitration) -> None:
    primary, backup = Controller(), Controller()
    claim(arbitration, primary, 9)
    claim(arbitration, backup, 3)
    assert claim(arbitration, primary, 1) == [
        (primary, Code.NOT_FOUND, 9),
        (backup, Code.NOT_FOUND, 9),
    ]


def test_an_election_id_cannot_be_used_twice(arbitration: Arbitration) -> None:
    claim(arbitration, Controller(), 7)
    with pytest.raises(RpcError, match="election id 7 is used") as caught:
        claim(arbitration, Controller(), 7)
    assert caught.value.code is Code.INVALID_ARGUMENT


def test_controller_without_election_id_is_never_primary(arbitration: Arbitration) -> None:
    watcher, another = Controller(), Controller()
    assert claim(arbitration, watcher, 0) == [(watcher, Code.NOT_FOUND, 0)]
    assert claim(arbitration, another, 0) == [(another, Code.NOT_FOUND, 0)]


def test_each_role_has_its_own_primary(arbitration: Arbitration) -> None:
    first, second = Controller(), Controller()
    claim(arbitration, first, 1)
    assert claim(arbitration, second, 1, "monitoring") == [(second, Code.OK, 1)]
    assert first.is_primary
    assert second.is_primary
    with pytest.raises(RpcError, match="cannot become one of role ''") as caught:
        claim(arbitration, second, 2)
    assert caught.value.code is Code.FAILED_PRECONDITION


def test_role_is_limited_to_the_ids_of_its_configuration(arbitration: Arbitration) -> None:
    controller = Controller()
    update = p4r.MasterArbitrationUpdate(device_id=1, election_id=U128.encode(1))
    update.role.name = "tables"
    update.role.config.Pack(stratum.P4RoleConfig(shared_p4_ids=[5]))
    arbitration.update(controller, update)
    role = arbitration.authorize("tables", U128.encode(1))
    role.check_object(5, "table a")
    with pytest.raises(RpcError, match="may not write table b"):
        role.check_object(6, "table b")
    assert not role.sets_pipeline
    assert list(arbitration.packet_receivers()) == []


def test_another_device_is_not_found(arbitration: Arbitration) -> None:
    with pytest.raises(RpcError, match="no device 2") as caught:
        arbitration.update(Controller(), p4r.MasterArbitrationUpdate(device_id=2))
    assert caught.value.code is Code.NOT_FOUND
