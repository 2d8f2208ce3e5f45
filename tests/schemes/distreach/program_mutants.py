"""DistReach with programs that lack one protection each.

A mutant is an edit of the text of a program, which must be found exactly once. A protection that
another one covers has a mutant without both; it says so.
"""

from tests.p4programs.defects import Patch
from tests.schemes.distreach.distreach_rack import System

IGNORES_STORED: Patch = (
    "distreach/entry.p4",
    "meta.storable && meta.validity == VALID;",
    "meta.validity == VALID;",
)


class UpperStoresNothing(System):
    """A switch above the tail confirms writes without storing them."""

    upper = ("distreach/entry.p4", "meta.stores = meta.applied ||", "meta.stores = ")


class HeadAnswers(System):
    """The head answers reads and writes, as the tail does."""

    upper = (
        "distreach/metadata.p4",
        "const bit<8> ROLE_NONE",
        "#define TAIL\nconst bit<8> ROLE_NONE",
    )


class AcceptsAnyPosition(System):
    """A write is storable even if it has bypassed a switch of its chain."""

    tail = ("distreach/chain.p4", "== meta.position\n", "!= 9\n")


class StoresThroughAnyGeneration(System):
    """A write is storable in an entry even if the other switches have stored it in an earlier one
    of the key."""

    tail = (
        "distreach/chain.p4",
        "\n                                && hdr.version_stamp.generation[31:8]"
        " == meta.generation[23:0]",
        "",
    )


class RepeatsGetNewNumbers(System):
    """A repeated write gets another sequence."""

    upper = (
        "distreach/requests.p4",
        "meta.repeated = true;\n            } else if (same && meta.previous",
        "meta.first_copy = true;\n            } else if (same && meta.previous",
    )


class DropsRepeats(System):
    """A repeated write is dropped."""

    upper = (
        "distreach/requests.p4",
        "meta.repeated = true;\n            } else if (same && meta.previous",
        "meta.drop_reason = DROP_LATE;\n            } else if (same && meta.previous",
    )


class ForgetsOldRequests(System):
    """A request older than the window counts as new."""

    upper = ("distreach/requests.p4", "meta.drop_reason = DROP_LATE;", "meta.first_copy = true;")


class DropsEarlierRequests(System):
    """A request that the head numbered in an earlier incarnation is dropped, not PAST."""

    upper = ("distreach/requests.p4", "} else if (same) {", "} else if (false) {")


class NumbersEarlierRequests(System):
    """A request of an earlier incarnation is a write like any other, also if the head knows it."""

    upper = (
        "distreach/requests.p4",
        "meta.past = hdr.version_stamp.incarnation != 0;\n                meta.storable = false;",
        "meta.past = false;\n                meta.first_copy = true;",
    )


class EverySwitchNumbers(System):
    """Every switch of the chain gives a write a sequence of its own."""

    upper = tail = (
        "distreach/chain.p4",
        "meta.head = meta.position == 0;",
        "meta.head = true;",
    )


class TailStoresInAnyOrder(System):
    """The tail stores each write that arrives, also an older one."""

    tail = (
        "distreach/entry.p4",
        "meta.applied = newest && meta.storable",
        "meta.applied = meta.storable",
    )


class StoresEarlierCopies(System):
    """A copy is storable even if its first copy passed the head without an entry."""

    upper = (
        "distreach/requests.p4",
        "&& cell[40:40] == 1\n                                && cell[31:0] == meta.generation",
        "",
    )


class StoresCopiesOfAnyGeneration(System):
    """A copy is storable even if its first copy passed an earlier entry of the key."""

    upper = (
        "distreach/requests.p4",
        "\n                                && cell[31:0] == meta.generation",
        "",
    )


class NeverSupersedes(System):
    """The head does not tell the next switches that it knows a newer write."""

    upper = ("distreach/chain.p4", "if (meta.superseded) {", "if (false) {")


class StoresWithoutIncarnation(System):
    """Entries take writes of clients that know no incarnation."""

    upper = tail = ("distreach/chain.p4", "meta.storable = knows;", "meta.storable = true;")


class NothingOutdates(System):
    """No write and no reply outdates an entry of the tail."""

    tail = ("write_back/entry.p4", "} else if (meta.outdates) {", "} else if (false) {")


class RefreshesWithOlderRecords(System):
    """Every reply to a conservative read refreshes the entry."""

    upper = tail = (
        "distreach/entry.p4",
        "&& (newest || sequence == maximum);",
        ";",
    )


class UpperRefreshesNothing(System):
    """Replies refresh the entry of the tail only."""

    upper = ("distreach/entry.p4", "meta.refreshes = hdr", "meta.refreshes = false && hdr")


class TailRefreshesNothing(System):
    """Replies refresh the entries above the tail only."""

    tail = ("distreach/entry.p4", "meta.refreshes = hdr", "meta.refreshes = false && hdr")


class RefreshesAnyGeneration(System):
    """A reply to a read that passed an earlier entry of the key refreshes the present one."""

    upper = tail = (
        "distreach/entry.p4",
        "\n                             && hdr.version_stamp.generation == meta.generation",
        "",
    )


class EmbedsNothing(System):
    """Reads of an outdated entry reach the server without its record."""

    tail = (
        "distreach/entry.p4",
        "|| (meta.answers_reads && (meta.stored.latest || meta.stored.dirty))",
        "",
    )


class EmbedsWithoutLength(System):
    """The lengths of a frame are not those of the record that was added to it."""

    tail = (
        "write_back/messages.p4",
        "hdr.udp.length = hdr.udp.length + value_bytes;",
        "",
    )


class UpperForgetsDeletes(System):
    """A switch above the tail stores a deletion as an empty value."""

    upper = (
        "write_back/entry.p4",
        "++ (bit<1>) meta.incoming.deleted",
        "++ 1w0",
    )


class FillsAreLatest(System):
    """The record of each FILL counts as the latest one."""

    upper = tail = ("distreach/entry.p4", "latest = !meta.filled;", "latest = true;")


class RecoveriesFillTheLatest(System):
    """The record of each FILL of a recovery counts as the latest one."""

    upper = tail = (
        "distreach/entry.p4",
        "latest = !meta.filled;",
        "latest = !meta.filled || (hdr.version_stamp.bits & BIT_VALID) != 0;",
    )


class TailCountsNothing(System):
    """The tail has no sketch."""

    tail = ("distreach/switch.p4", "meta.sampled && !meta.serving", "false")


class ReportsNoHotKeys(System):
    """The tail does not mark requests for hot keys."""

    tail = ("write_back/messages.p4", "hdr.version_stamp.bits = BIT_HOT;", "")


class EveryKeyIsHot(System):
    """The tail ignores the threshold."""

    tail = (
        "write_back/statistics.p4",
        "meta.hot = meta.estimate >= meta.hot_threshold;",
        "meta.hot = true;",
    )


class FrozenEntriesStore(System):
    """The tail stores writes after EVICT."""

    tail = ("write_back/entry.p4", "new[31:24] = TO_BE_EVICTED;", "new[31:24] = VALID;")


class FillsAnyGeneration(System):
    """A copy of FILL fills the entry again."""

    upper = tail = (
        "write_back/entry.p4",
        "meta.filled = is_newer(meta.generation, old[63:32]);",
        "meta.filled = true;",
    )


class RetiresAnyGeneration(System):
    """RETIRE retires the entry whatever its generation."""

    upper = tail = (
        "write_back/entry.p4",
        "} else if (meta.same_generation && old[23:23] == 0) {",
        "} else if (old[23:23] == 0) {",
    )


class PlainNumbers(System):
    """Sequence numbers are compared as plain numbers."""

    upper = tail = ("write_back/sequence.p4", "a - b < 0x80000000", "a > b")


class AcceptsLateFrames(System):
    """The tail accepts requests that were sequenced in an earlier incarnation."""

    tail = ("distreach/chain.p4", "meta.drop_reason = DROP_LATE;", "")


class RecoveredIsLatest(System):
    """Sequences of earlier incarnations are older than all, and equal."""

    upper = tail = (
        "distreach/entry.p4",
        "sequence = hdr.version_stamp.incarnation ++ hdr.version_stamp.sequence;",
        "sequence = hdr.version_stamp.incarnation ++ hdr.version_stamp.sequence;"
        " if (!meta.same_incarnation) { sequence = 0; }",
    )


class NothingIsPast(System):
    """A write first sent before the last loss is a write like any other."""

    upper = tail = (
        "distreach/chain.p4",
        "meta.past = hdr.version_stamp.incarnation != 0 && !knows;",
        "",
    )


class HoldsNothing(System):
    """In mode *hold* a switch lets requests for its entries pass."""

    upper = tail = ("distreach/requests.p4", "(meta.mode == MODE_HOLD && meta.cached)", "false")


class HoldsEverything(System):
    """In mode *hold* a switch drops all requests."""

    upper = tail = (
        "distreach/requests.p4",
        "(meta.mode == MODE_HOLD && meta.cached)",
        "meta.mode == MODE_HOLD",
    )
