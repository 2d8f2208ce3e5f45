"""Entries of tables whose actions are in an action profile, as they were written.

A read returns a one-shot entry as it was written, with fields that the engine does not need. The
entries of the tables of a selector are all one-shot, or none is (section 9.2.3).
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from finsy.proto import p4r

from netkv.p4rt import translate
from netkv.p4rt.errors import invalid
from netkv.p4rt.schema import Profile, Table

if TYPE_CHECKING:
    from netkv._engine import Match

Key = tuple[int, tuple[bytes, ...], int]
"""Table, match and priority of an entry."""


def _key(table: Table, matches: list[Match], priority: int) -> Key:
    return table.id, translate.normal(matches), priority


def _is_one_shot(action: p4r.TableAction) -> bool:
    return action.HasField("action_profile_action_set")


class IndirectEntries:
    """The actions of the entries of all such tables, by profile."""

    def __init__(self) -> None:
        self._entries: defaultdict[int, dict[Key, p4r.TableAction]] = defaultdict(dict)

    def check(
        self, table: Table, matches: list[Match], priority: int, action: p4r.TableAction
    ) -> None:
        """Raises INVALID_ARGUMENT if one-shot entries and others would be mixed."""
        if not table.profile:
            return
        key = _key(table, matches, priority)
        other = next((each for at, each in self._entries[table.profile].items() if at != key), None)
        if other is not None and _is_one_shot(other) != _is_one_shot(action):
            style = "one-shot action sets" if _is_one_shot(other) else "members and groups"
            raise invalid(
                f"table {table.name}: the entries of its action selector hold {style}, and one "
                "selector cannot have both; use the same, or delete them first"
            )

    def check_members(self, profile: Profile) -> None:
        """Raises INVALID_ARGUMENT for a member or group of a selector with one-shot entries."""
        # All entries are one-shot, or none is.
        some = next(iter(self._entries[profile.id].values()), None)
        if some is not None and _is_one_shot(some):
            raise invalid(
                f"the entries of action selector {profile.name} hold one-shot action sets, and one "
                "selector cannot have both; delete them before members and groups are inserted"
            )

    def remember(
        self, table: Table, matches: list[Match], priority: int, action: p4r.TableAction
    ) -> None:
        """Stores the action of a written entry."""
        if table.profile:
            self._entries[table.profile][_key(table, matches, priority)] = action

    def forget(self, table: Table, matches: list[Match], priority: int) -> None:
        """Removes a deleted entry."""
        if table.profile:
            self._entries[table.profile].pop(_key(table, matches, priority), None)

    def action(self, table: Table, matches: list[Match], priority: int) -> p4r.TableAction | None:
        """The action of an entry as it was written; None for an entry of the program's source."""
        return self._entries[table.profile].get(_key(table, matches, priority))
