"""A switch loses its connection to the controller, and has it again. The switch runs on."""

from __future__ import annotations

from netkv.events.action import Action, ChangedRack, NodeName


class Disconnect(Action):
    """A connection is lost."""

    NAME = "disconnect"
    ORDER = 120
    NODE_AT = ("disconnect",)
    TARGET = "node"
    IN_SCENARIOS = False

    disconnect: NodeName
    """The connection of this switch is lost. The controller notices that as it would notice that
    the switch has stopped."""

    async def carry_out(self, rack: ChangedRack) -> None:
        rack.set_connected(self.disconnect, False)


class Connect(Action):
    """A connection is there again."""

    NAME = "connect"
    ORDER = 130
    NODE_AT = ("connect",)
    TARGET = "node"
    IN_SCENARIOS = False

    connect: NodeName
    """This switch has its connection again."""

    @property
    def heals(self) -> bool:
        return True

    async def carry_out(self, rack: ChangedRack) -> None:
        rack.set_connected(self.connect, True)
