//! The mutants: racks without one protection.

use netkv_roles::mutation;

use crate::common::traps;
use crate::traps::control::ScriptFault;

pub type Mutant = traps::Mutant<ScriptFault>;

// The switch program.

pub const OLD_REPLIES: Mutant = Mutant::program(
    "MaxSequence lets a read reply of any age refresh",
    "&& (meta.outdates || sequence == maximum);",
    ";",
);
pub const ANY_GENERATION: Mutant = Mutant::program(
    "MaxSequence lets read replies of any generation refresh",
    "&& hdr.version_stamp.generation == meta.generation",
    "",
);
pub const MAXIMUM_STAYS: Mutant = Mutant::program(
    "MaxSequence does not raise the maximum for replies",
    "if (meta.role != ROLE_REPLY || meta.outdates) {",
    "if (meta.role != ROLE_REPLY) {",
);
pub const NEWER_KEEPS: Mutant = Mutant::program(
    "EntryFlags keeps an entry latest when a newer record exists",
    "} else if (meta.outdates) {",
    "} else if (false) {",
);
pub const OUTDATED_STAYS_DIRTY: Mutant = Mutant::program(
    "EntryFlags keeps an entry dirty when the server has a newer record",
    "(meta.stored.dirty && meta.role != ROLE_REPLY)",
    "meta.stored.dirty",
);
pub const FILLED_IS_LATEST: Mutant = Mutant::program(
    "Entry makes the record of FILL the latest",
    "meta.incoming.latest = !meta.filled;",
    "meta.incoming.latest = true;",
);
pub const REPLIES_PASS_BY: Mutant = Mutant::program(
    "ReplyPort forwards replies to writes without passing their entry",
    "} else if (meta.cached) {
            // The reply passes",
    "} else if (meta.cached && hdr.kv.op == OP_GET_REPLY) {
            // The reply passes",
);
pub const FILL_AGAIN: Mutant = Mutant::program(
    "EntryState accepts every FILL",
    "meta.filled = is_newer(meta.generation, old[63:32]);",
    "meta.filled = true;",
);
pub const FILL_VALIDATES: Mutant = Mutant::program(
    "EntryState has FILL make an entry valid",
    "new = meta.generation ++ INVALID ++ 24w0;",
    "new = meta.generation ++ VALID ++ 24w0;",
);
pub const ANY_CONTROL: Mutant = Mutant::program(
    "EntryState accepts messages about any generation",
    "meta.same_generation = old[63:32] == meta.generation && meta.generation != 0;",
    "meta.same_generation = old[63:32] == meta.generation || meta.role == ROLE_CONTROL;",
);
pub const RETIRED_SERVES: Mutant = Mutant::program(
    "EntryState lets a retired entry serve",
    "new[31:23] = INVALID ++ 1w1;",
    "new[23:23] = 1w1;",
);
pub const EMBED_NOTHING: Mutant = Mutant::program(
    "ForwardToServer does not mark embedded records",
    "hdr.version_stamp.bits | BIT_EMBEDDED;",
    "hdr.version_stamp.bits;",
);
pub const EVICTED_KEEPS: Mutant = Mutant::program(
    "Entry keeps an entry under eviction latest when a write or its reply passes",
    "if (meta.applied || meta.outdates || meta.filled
            || (meta.role == ROLE_REPLY && meta.serving)) {",
    "meta.outdates = false;
        if (meta.applied || meta.filled) {",
);
pub const APPLY_COPIES: Mutant = Mutant::program(
    "Dedup forgets every write",
    "if (cell[9:9] == 1 && ahead == 0) {",
    "cell = 0;
            if (cell[9:9] == 1 && ahead == 0) {",
);
pub const APPLY_FORWARDED: Mutant = Mutant::program(
    "Dedup applies copies of writes that were forwarded",
    "meta.repeated = cell[8:8] == 1;",
    "meta.repeated = cell[8:8] == 1;
                meta.applied = !meta.repeated && meta.validity == VALID && meta.incoming.fits;",
);
pub const FORGET_WITH_ENTRY: Mutant = Mutant::program(
    "Dedup forgets an applied write when its entry is evicted",
    "meta.repeated = cell[8:8] == 1;",
    "meta.repeated = cell[8:8] == 1 && meta.same_generation;",
);
pub const APPLY_PAST: Mutant = Mutant::program(
    "Dedup applies writes of past incarnations",
    "&& meta.same_incarnation;\n                cells.write(",
    ";\n                cells.write(",
);
pub const PAST_NOT_SET: Mutant = Mutant::program(
    "ForwardToServer does not set PAST in a write of a past incarnation",
    "if (meta.past) {",
    "if (false) {",
);
pub const REPORT_AGAIN: Mutant = Mutant::program(
    "ReportedSnapshot does not record the entries that it has reported",
    "if (meta.applied) {
                cells.write(meta.entry, meta.snapshot);
            }",
    "",
);
pub const REFRESH_AFTER_POINT: Mutant = Mutant::program(
    "ReportedSnapshot lets replies refresh entries whose original was not reported",
    "meta.refreshes = false; // only",
    "// only",
);
pub const STAY_IN_PIPELINE: Mutant =
    Mutant::program("Snapshot redirects nothing", "meta.redirected = true;", "");
pub const PLAIN_NUMBERS: Mutant =
    Mutant::program("is_newer compares plain numbers", "a - b < 0x80000000", "a > b");
pub const ANY_INCARNATION: Mutant = Mutant::program(
    "MaxSequence compares numbers without their incarnations",
    "sequence = hdr.version_stamp.incarnation ++",
    "sequence = meta.incarnation ++",
);
pub const PAST_IS_OLDEST: Mutant = Mutant::program(
    "MaxSequence takes sequences of past incarnations for older than all",
    "sequence = hdr.version_stamp.incarnation ++ hdr.version_stamp.sequence;",
    "sequence = hdr.version_stamp.incarnation ++ hdr.version_stamp.sequence;
        if (!meta.same_incarnation) {
            sequence = 0;
        }",
);

// The roles.

macro_rules! roles {
    ($($name:ident = $mutation:ident, $text:literal;)*) => {
        $(pub const $name: Mutant = Mutant::role($text, mutation::$mutation);)*
    };
}

roles! {
    UNGUARDED = StoreUnguarded, "the server stores writes older than the stored record";
    PLAIN_SEQUENCES = PlainSequences, "the server compares sequences as plain numbers";
    NO_TOMBSTONES = LeaveNoTombstones, "the server leaves no tombstones";
    IGNORE_EMBEDDED = IgnoreEmbedded, "the server ignores embedded records";
    ANSWER_EMBEDDED = AnswerEmbedded, "the server answers with older embedded records";
    DO_PAST = DoPastWrites, "the server carries out writes of past incarnations";
    RESTORE_ANYTHING = RestoreAnything, "the server restores records older than the stored one";
    REPEAT_WRITES = RepeatWrites, "the server carries out copies of writes";
    REQUEST_ONCE = RequestOnce, "the client sends requests once";
    KEEP_NO_READS = ClientKeepsNoReads, "the client does not preserve records that it reads";
    KEEP_NO_EMBEDDED = ClientKeepsNoEmbedded, "the client does not preserve embedded records";
    KEEP_NO_DELETES = ClientKeepsNoDeletes, "the client does not preserve deletes";
    TAKE_PAST = ClientTakesPastAnswers, "the client accepts answers of a failed switch";
    STAMP_ANEW = ClientStampsRetriesAnew, "the client stamps retries with the current incarnation";
}

// The controller.

pub const VALIDATE_EARLY: Mutant = Mutant::script(
    "the controller sends VALIDATE before all pipelines have the key",
    ScriptFault::ValidateEarly,
);
pub const RETIRE_LATE: Mutant =
    Mutant::script("the controller deletes lookup entries before RETIRE", ScriptFault::RetireLate);
pub const RESTORE_NOTHING: Mutant =
    Mutant::script("the controller restores nothing", ScriptFault::RestoreNothing);
pub const NO_REDIRECTION: Mutant = Mutant::script(
    "the controller redirects nothing before the snapshot point",
    ScriptFault::PointWithoutRedirection,
);
pub const SNAPSHOT_WINS: Mutant =
    Mutant::script("the controller recovers the record of the snapshot", ScriptFault::SnapshotWins);
pub const COLLECT_FROM_ONE: Mutant =
    Mutant::script("the controller collects from one client", ScriptFault::CollectFromOneClient);
