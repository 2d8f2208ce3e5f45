//! The mutants: racks without one protection.

use netkv_roles::mutation;

use crate::common::traps;
use crate::traps::control::ScriptFault;

pub type Mutant = traps::Mutant<ScriptFault>;

// The switch program.

pub const ANY_VERSION: Mutant = Mutant::program(
    "Validity accepts an UPDATE of any version",
    "(!COMPARE_VERSIONS || hdr.cache_metadata.version == meta.version)",
    "true",
);
pub const ANY_GENERATION: Mutant = Mutant::program(
    "Validity accepts an UPDATE of any generation",
    "hdr.cache_metadata.generation == meta.generation",
    "true",
);
pub const VALID_IS_A_BIT: Mutant = Mutant::program(
    "Validity checks whether an entry is valid, not for which generation",
    "meta.readable = valid_generation == meta.generation;",
    "meta.readable = valid_generation != 0;",
);
// If almost everything would fail without a protection, it is disabled only for values of 48 or 32
// bytes, each of which only one trap uses.
const INVALIDATE: &str = "valid.write(meta.entry, 0);";
pub const PUT_KEEPS: Mutant = Mutant::program(
    "Validity leaves the entry valid when a PUT passes",
    INVALIDATE,
    "if (hdr.kv.op != OP_PUT || hdr.kv.length != 32) { valid.write(meta.entry, 0); }",
);
pub const LARGE_PUT_KEEPS: Mutant = Mutant::program(
    "Validity leaves the entry valid when a PUT of more than 128 bytes passes",
    INVALIDATE,
    "if (hdr.kv.op != OP_PUT || hdr.kv.length <= 128) { valid.write(meta.entry, 0); }",
);
pub const DELETE_KEEPS: Mutant = Mutant::program(
    "Validity leaves the entry valid when a DELETE passes",
    INVALIDATE,
    "if (hdr.kv.op != OP_DELETE) { valid.write(meta.entry, 0); }",
);
pub const INVALIDATE_KEEPS: Mutant = Mutant::program(
    "Validity leaves the entry valid when an INVALIDATE passes",
    INVALIDATE,
    "if (hdr.kv.op != OP_INVALIDATE) { valid.write(meta.entry, 0); }",
);
pub const FOREIGN_METADATA: Mutant = Mutant::program(
    "CacheMetadata leaves cache metadata on frames of uncached keys",
    "} else if (hdr.cache_metadata.isValid()) {",
    "} else if (false) {",
);
pub const LENGTH_WITHOUT_METADATA: Mutant = Mutant::program(
    "CacheMetadata adds cache metadata without adding to the length",
    "hdr.ipv4.total_len = hdr.ipv4.total_len + CACHE_METADATA_BYTES;",
    "if (hdr.kv.length != 48) {
                    hdr.ipv4.total_len = hdr.ipv4.total_len + CACHE_METADATA_BYTES;
                }",
);
pub const LENGTH_WITHOUT_VALUE: Mutant = Mutant::program(
    "Reflect adds a value without adding to the length",
    "hdr.udp.length = meta.reply_bytes;",
    "hdr.udp.length = (hdr.kv.length == 48 ? UDP_KV_BYTES : meta.reply_bytes);",
);
pub const OLD_IP_CHECKSUM: Mutant = Mutant::program(
    "UpdateChecksums does not update the IPv4 checksum",
    "update_checksum(hdr.kv.isValid(),",
    "update_checksum(hdr.kv.isValid() && hdr.kv.length != 48,",
);
pub const OLD_UDP_CHECKSUM: Mutant = Mutant::program(
    "UpdateChecksums does not update the UDP checksum",
    "update_checksum_with_payload(hdr.kv.isValid() && hdr.udp.checksum != 0,",
    "update_checksum_with_payload(hdr.kv.isValid() && hdr.udp.checksum != 0 && hdr.kv.length != 40,",
);
pub const CUT_FRAMES: Mutant = Mutant::program(
    "FrameCheck accepts truncated frames",
    "std.parser_error != error.NoError || ",
    "",
);
pub const ANY_EPOCH: Mutant = Mutant::program(
    "StatisticsEpoch accepts a past statistics epoch",
    "meta.epoch == 0 || (ahead != 0 && ahead < 0x8000)",
    "true",
);

// The roles.

macro_rules! roles {
    ($($name:ident = $mutation:ident, $text:literal;)*) => {
        $(pub const $name: Mutant = Mutant::role($text, mutation::$mutation);)*
    };
}

roles! {
    REPEAT_WRITES = RepeatWrites, "the server carries out copies of writes";
    REPEAT_LATE_WRITES = RepeatLateWrites, "the server carries out copies of forgotten writes";
    SILENT_COPIES = LeaveCopiesUnanswered, "the server does not answer copies of writes";
    ANSWER_EARLY = AnswerBeforeStored, "the server answers a write before the store has it";
    ANSWER_FAILURES = AnswerFailuresAsDone,
        "the server answers a refused write as if it were done";
    OVERTAKE = OvertakeWrites, "the server lets writes of one key overtake each other";
    TRUST_WITHOUT_METADATA = TrustWritesWithoutMetadata,
        "the server treats writes of a cached key without cache metadata as fast";
    TRUST_METADATA = TrustMetadataWithoutRecord,
        "the server trusts cache metadata of entries that it has no record of";
    TRUST_OLD_VERSIONS = TrustOldVersions, "the server trusts cache metadata whose version it has pushed";
    TRUST_GENERATIONS = TrustOtherGenerations, "the server trusts cache metadata of other generations";
    PLAIN_VERSIONS = PlainVersions, "the server compares versions as plain numbers";
    NO_GUARD = NoGuardTime, "the server has no guard time";
    NO_REFRESH = NoRefresh, "the server does not refill entries that reads find invalid";
    PUSH_ANY_SIZE = PushAnySize, "the server pushes values that do not fit";
    UPDATE_ONCE = UpdateOnce, "the server sends UPDATE once";
    INVALIDATE_ONCE = InvalidateOnce, "the server sends INVALIDATE once";
    OUTGROWN_ONCE = OutgrownOnce, "the server sends OUTGROWN once";
    ANSWERS_BY_KEY = MatchAnswersByKey, "the server matches the switch's answers by key";
    REPEAT_CONTROL = RepeatControl, "the server carries out copies of the controller's messages";
    EVICT_ANY = EvictAnyGeneration, "the server accepts EVICTED of any generation";
    HOLD_FOR_EVER = HoldForEver, "ADMIT holds writes without a lease";
    HOLD_NOTHING = HoldNothing, "ADMIT holds no writes";
    REQUEST_ONCE = RequestOnce, "the client sends requests once";
    REPLIES_BY_KEY = MatchRepliesByKey, "the client matches replies by key";
}

// The control plane and the driver.

pub const SAME_GENERATION: Mutant =
    Mutant::script("the controller assigns a generation twice", ScriptFault::ReuseGenerations);
pub const EARLY_REUSE: Mutant = Mutant::script(
    "the controller reuses cells before the lookup entry is deleted",
    ScriptFault::ReuseCellsEarly,
);
pub const NO_MEMORY: Mutant = Mutant::script(
    "a restarted server does not know the applied writes",
    ScriptFault::RestartWithoutMarks,
);
pub const OLD_NUMBERS: Mutant = Mutant::script(
    "a restarted server begins with its old request numbers",
    ScriptFault::RestartWithOldNumbers,
);
