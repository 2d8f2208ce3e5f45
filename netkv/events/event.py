"""Events: actions with their times, as scenarios and cases of `netkv soak` have them.

Times are seconds from the start of the measured part. Events have the same meaning live and in the
simulator; docs/use/scenarios.md lists them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import ConfigDict, Field, ValidationError, create_model, model_validator
from pydantic.fields import FieldInfo

from netkv import kinds
from netkv.errors import FieldError
from netkv.events.action import Action
from netkv.events.catalogue import ACTIONS, IN_SCENARIOS
from netkv.options import SECONDS, Spec


class Event(Spec):
    """An event: exactly one action besides its time. It has the options of all actions, so that
    users write an action as one of them: `{at: 3, kill: switch}`."""

    model_config = ConfigDict(defer_build=True)

    ACTIONS: ClassVar[tuple[type[Action], ...]] = ()

    at: Annotated[float, Field(ge=0), SECONDS]
    """When, from the start of the measured part."""

    @classmethod
    def of(cls, at: float, action: Action) -> Self:
        """The event of an action."""
        given = {name: getattr(action, name) for name in action.model_fields_set}
        return cls.model_validate({"at": at, **given})

    @cached_property
    def action(self) -> Action:
        """Its action."""
        (kind,) = self._given
        given = {name: getattr(self, name) for name in kind.model_fields}
        return kind.model_construct(self.model_fields_set & kind.model_fields.keys(), **given)

    def describe(self) -> str:
        """A description for the list of events."""
        return self.action.describe()

    @property
    def _given(self) -> list[type[Action]]:
        return [it for it in self.ACTIONS if getattr(self, it.NAME) is not None]

    @model_validator(mode="after")
    def _one_action(self) -> Self:
        given = [it.NAME for it in self._given]
        if len(given) != 1:
            names, found = [it.NAME for it in self.ACTIONS], " and ".join(given) or "none"
            raise FieldError(
                f"an event has exactly one of {', '.join(names)}; this one has {found}",
                *given[1:2],
            )
        for kind in self.ACTIONS:
            for name, option in kind.FURTHER.items():
                if getattr(self, name) is not None and not option.is_of(self.action, kind):
                    raise FieldError(f"'{name}' belongs to {option.belongs}", name)
        return self


def options(actions: Iterable[type[Action]], *, live: bool = False) -> dict[str, tuple[Any, None]]:
    """The options of actions as fields of a model, which may all be left out.

    `live`: only those that live racks support.
    """
    return {
        name: (_type(field) | None, None)
        for action in actions
        for name, field in action.model_fields.items()
        if not live or name not in action.FURTHER or action.FURTHER[name].live
    }


def _type(field: FieldInfo) -> Any:
    """The type of a field with its limits."""
    return Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation


def form() -> dict[str, dict[str, Any]]:
    """What the form of a scenario needs to know of the options of events: keywords of each.

    An action has `beginning`, its value in a new event, and `outage` if its node goes down
    ("begins") or comes up ("ends"). A further option has `of`: the action and the beginning of the
    names of nodes that it is for.
    """
    found: dict[str, dict[str, Any]] = {}
    for action in IN_SCENARIOS:
        found[action.NAME] = {"beginning": action.BEGINNING}
        if action.OUTAGE is not None:
            found[action.NAME]["outage"] = action.OUTAGE
        for name, option in action.FURTHER.items():
            found[name] = {"of": {"action": action.NAME, "node": option.of.NAME}}
    return found


def declared_by(actions: Iterable[type[Action]]) -> dict[str, type[Spec]]:
    """Option → the action that declares it."""
    return {name: action for action in actions for name in action.model_fields}


def action_of(fields: dict[str, Any]) -> Action:
    """The action of the event of a scenario with these options, without `at`; raises
    `FieldError`."""
    try:
        return TimelineEvent.model_validate({**fields, "at": 0}).action
    except ValidationError as error:
        first = error.errors()[0]
        path, cause = first["loc"], first.get("ctx", {}).get("error")
        if isinstance(cause, FieldError):
            raise cause.below(*path) from None
        raise FieldError(kinds.described(first), *path) from None


if TYPE_CHECKING:

    class TimelineEvent(Event):
        """An event of a scenario."""

        def __init__(self, **options: Any) -> None: ...

    class CaseEvent(Event):
        """An event that only cases of `netkv soak` have."""

        def __init__(self, **options: Any) -> None: ...

else:

    def _event(name: str, text: str, actions: tuple[type[Action], ...]) -> type[Event]:
        event = create_model(
            name, __base__=Event, __module__=__name__, __doc__=text, **options(actions)
        )
        event.ACTIONS = actions
        event.declared_by = declared_by(actions)
        return event

    TimelineEvent = _event(
        "TimelineEvent",
        "An event in the measured part; it has exactly one action besides `at`.",
        IN_SCENARIOS,
    )
    CaseEvent = _event(
        "CaseEvent",
        "An event that only cases of `netkv soak` have.",
        tuple(it for it in ACTIONS if not it.IN_SCENARIOS),
    )
