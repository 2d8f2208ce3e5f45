//! The mutants: racks without one protection.

use netkv_roles::mutation;

use super::control::ScriptFault;
use crate::common::traps;

pub type Mutant = traps::Mutant<ScriptFault>;

// The switch programs. An edit of a control that leaf and spine share is made in both.

pub const ANY_VERSION: Mutant = Mutant::program(
    "Validity accepts an UPDATE of any version",
    "(!COMPARE_VERSIONS || hdr.cache_metadata.version == meta.version)",
    "true",
);
const INVALIDATE: &str = "valid.write(meta.entry, 0);";
pub const PUT_KEEPS: Mutant = Mutant::program(
    "Validity leaves the entry valid when a PUT of 32 bytes passes",
    INVALIDATE,
    "if (hdr.kv.op != OP_PUT || hdr.kv.length != 32) { valid.write(meta.entry, 0); }",
);
pub const INVALIDATE_KEEPS: Mutant = Mutant::program(
    "Validity leaves the entry valid when an INVALIDATE passes",
    INVALIDATE,
    "if (hdr.kv.op != OP_INVALIDATE) { valid.write(meta.entry, 0); }",
);
pub const LEAF_ANSWERS: Mutant = Mutant::program(
    "the leaf answers a read whose upper copy is invalid",
    "meta.readable = meta.readable && !refreshes;",
    "",
);
pub const LEAF_METADATA: Mutant = Mutant::program(
    "the leaf replaces the cache metadata of the upper copy",
    "if (!meta.answered && !refreshes) {",
    "if (!meta.answered) {",
);

// The server.

macro_rules! roles {
    ($($name:ident = $mutation:ident, $text:literal;)*) => {
        $(pub const $name: Mutant = Mutant::role($text, mutation::$mutation);)*
    };
}

roles! {
    FORGET_UPPER = ForgetUpperCopies, "the server does not invalidate upper copies";
    NO_LEARNING = NoLearning, "a restarted server assumes that there are no upper copies";
    WAIT_FOR_EVER = WaitForEver, "the server waits for a silent upper switch for ever";
    RESTARTED_ONCE = RestartedOnce, "the server sends RESTARTED once";
    OVERTAKE = OvertakeWrites, "the server lets writes of one key overtake each other";
    NO_REFRESH = NoRefresh, "the server does not refill entries that reads find invalid";
    PUSH_ANY_SIZE = PushAnySize, "the server pushes values that do not fit";
    UPDATE_ONCE = UpdateOnce, "the server sends UPDATE once";
    INVALIDATE_ONCE = InvalidateOnce, "the server sends INVALIDATE once";
    ANSWERS_BY_KEY = MatchAnswersByKey, "the server matches the switch's answers by key";
    EVICT_ANY = EvictAnyGeneration, "the server accepts EVICTED of any generation";
}

// The control plane and the driver.

pub const ANSWER_RESTARTED_EARLY: Mutant = Mutant::script(
    "the controller answers RESTARTED before the copies are installed again",
    ScriptFault::AnswerRestartedEarly,
);
pub const ANY_INSTALL_ANSWER: Mutant = Mutant::script(
    "the controller takes an answer to an earlier INSTALL for that of the restarted server",
    ScriptFault::AnyInstallAnswer,
);
pub const KEEP_LOST: Mutant = Mutant::script(
    "the controller sends no EVICTED for the copies of a lost switch",
    ScriptFault::KeepLostCopies,
);
pub const EVICT_EARLY: Mutant = Mutant::script(
    "the controller sends EVICTED before the edges exclude the switch",
    ScriptFault::EvictBeforeExclusion,
);
pub const OLD_NUMBERS: Mutant = Mutant::script(
    "a restarted server begins with its old request numbers",
    ScriptFault::RestartWithOldNumbers,
);
pub const SAME_GENERATION: Mutant =
    Mutant::script("the controller assigns a generation twice", ScriptFault::ReuseGenerations);
