"""Links lose, duplicate, corrupt, reorder and delay frames."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from netkv.errors import FieldError
from netkv.events.action import Action, ChangedRack, Choice, DrawnFault, Target, between, one
from netkv.events.state import RackState
from netkv.model import layout, nodes
from netkv.model.nodes import (
    Card,
    Client,
    Controller,
    Coordinator,
    LinkedNode,
    Servers,
    Storage,
    Switch,
    check_names,
)
from netkv.options import SECONDS, Spec

Direction = Literal["both", "to", "from"]
Probability = Annotated[float, Field(ge=0, le=1)]
Delay = Annotated[float, Field(ge=0, le=10), SECONDS]

_DIRECTIONS: tuple[Direction, ...] = ("both", "to", "from")


class LinkFault(Spec):
    """How the link of a node treats frames from now on; it replaces earlier settings.

    If all values are 0, the link works normally.
    """

    node: str
    """The node at the end of the link: `client`, `servers-0`, `servers-1`, ... The cable between
    two switches has the names of both: `spine-0:leaf-1`."""
    direction: Direction = "both"
    """Seen from the node, or the second switch: frames `to` it, `from` it, or `both`."""
    loss: Probability = 0.0
    """Probability that a frame is lost; 1 cuts the link."""
    duplicate: Probability = 0.0
    """Probability that a frame arrives twice."""
    corrupt: Probability = 0.0
    """Probability that a copy of a frame arrives with flipped bits: one burst of 1 to 15 bits,
    anywhere in the frame."""
    reorder: Probability = 0.0
    """Share of frames that are held back so that later ones overtake them."""
    delay: Delay = 0.0
    """Additional delay of every frame."""
    jitter: Delay = 0.0
    """Further delay of each frame, uniform from 0 to this."""
    reorder_span: Annotated[float, Field(gt=0, le=10), SECONDS] = 0.001
    """The longest time for which a frame is held back."""

    @property
    def directions(self) -> tuple[nodes.Direction, ...]:
        """The directions that the fault affects."""
        return ("to", "from") if self.direction == "both" else (self.direction,)

    @property
    def impairment(self) -> dict[str, float]:
        """The settings for the engine (`SwitchNode.impair`)."""
        names = ("loss", "duplicate", "corrupt", "reorder", "delay", "jitter", "reorder_span")
        return {name: getattr(self, name) for name in names}

    @property
    def heals(self) -> bool:
        """Whether the link is in order from now on."""
        shares = (self.loss, self.duplicate, self.corrupt, self.reorder)
        return not any((*shares, self.delay, self.jitter))

    def describe(self) -> str:
        """For the list of events: `link to servers-0: loss 0.1, delay 0.002 s`."""
        where = {"both": "of", "to": "to", "from": "from"}[self.direction]
        if self.heals:
            return f"link {where} {self.node}: in order"
        names = ("loss", "duplicate", "corrupt", "reorder")
        shares = [f"{n} {getattr(self, n):g}" for n in names]
        times = [f"{n} {getattr(self, n):g} s" for n in ("delay", "jitter")]
        given = [text for text in (*shares, *times) if text.split()[1] != "0"]
        return f"link {where} {self.node}: {', '.join(given)}"


def _linked(choice: Choice) -> list[str]:
    return [*choice.of(Client, Servers, Coordinator, Card), *choice.cables]


def _drawn(kind: str, strength: Callable[[random.Random], dict[str, float]]) -> DrawnFault:
    """A link is bad in this way, then in order."""

    def draw(rng: random.Random, node: str, _: Storage | None) -> tuple[Action, Action]:
        direction = one(rng, _DIRECTIONS)
        ends = {"node": node, "direction": direction}
        bad = LinkFault.model_validate({**ends, **strength(rng)})
        return Link(link=bad), Link(link=LinkFault(node=node, direction=direction))

    return DrawnFault(kind, _linked, draw)


class Link(Action):
    """The quality of a link changes."""

    NAME = "link"
    ORDER = 50
    NODE_AT = ("link", "node")
    BEGINNING: ClassVar[dict[str, str]] = {"node": "servers-0"}
    NOUNS: ClassVar[Mapping[type[Spec], str]] = {LinkFault: "a link"}
    TARGET = "link"
    DRAWN = (
        _drawn("loss", lambda rng: {"loss": between(rng, 0.01, 0.3)}),
        _drawn("duplicate", lambda rng: {"duplicate": between(rng, 0.01, 0.3)}),
        _drawn("corrupt", lambda rng: {"corrupt": between(rng, 0.01, 0.3)}),
        _drawn("reorder", lambda rng: {"reorder": between(rng, 0.05, 0.5)}),
        _drawn(
            "delay",
            lambda rng: {"delay": between(rng, 0.0005, 0.01), "jitter": between(rng, 0, 0.005)},
        ),
        _drawn("cut", lambda _: {"loss": 1.0}),
    )

    link: LinkFault
    """From now on the link of a node, or a cable between switches, loses, duplicates, corrupts,
    reorders or delays frames."""

    @property
    def parts(self) -> list[Target]:
        return [("link", self.link.node, direction) for direction in self.link.directions]

    @property
    def heals(self) -> bool:
        return self.link.heals

    @property
    def cures(self) -> Mapping[Target, Action]:
        node, ways = self.link.node, () if self.heals else self.link.directions
        return {("link", node, way): Link(link=LinkFault(node=node, direction=way)) for way in ways}

    def describe(self) -> str:
        return self.link.describe()

    def check(self, state: RackState, where: str) -> None:
        link, cables = self.link, layout.cables(state.lab)
        if state.nodes.get(link.node) in (Switch, Controller):
            other = f", or by the two switches at its ends: {cables[0]}" if cables else ""
            if link.node == Controller.NAME:
                other = "; the control channel is cut by 'partition: controller'"
            raise FieldError(
                f"{where} is about the link of '{link.node}'; a link is named by the node at its "
                f"other end: {Client.NAME} or {state.servers[0]}{other}",
                *self.NODE_AT,
            )
        linked = [name for name, kind in state.nodes.items() if issubclass(kind, LinkedNode)]
        check_names([link.node], (*linked, *cables), where, *self.NODE_AT)
        for direction in link.directions:
            part = ("link", link.node, direction)
            if link.loss < 1:
                state.ended(part)
                continue
            text = (
                f"the link {direction} '{link.node}' loses every frame at the end, so nothing "
                f"could be verified; heal it with a 'link' event without losses"
            )
            state.must_end(part, FieldError(text, "link"))

    async def carry_out(self, rack: ChangedRack) -> None:
        link = rack.link(self.link.node)
        for direction in self.link.directions:
            await link.impair(direction, self.link.impairment)

    def simpler(self, end: Action | None) -> Iterator[tuple[Action, Action | None]]:
        """One direction only, without corruption or only with it."""
        link = self.link
        if link.direction == "both":
            for way in link.directions:
                yield self._one_way(way), end._one_way(way) if isinstance(end, Link) else end
        if link.corrupt:
            only = LinkFault(node=link.node, direction=link.direction, corrupt=link.corrupt)
            for other in (link.model_copy(update={"corrupt": 0.0}), only):
                if not other.heals and other != link:
                    yield Link(link=other), end

    def _one_way(self, way: nodes.Direction) -> Link:
        return Link(link=self.link.model_copy(update={"direction": way}))
