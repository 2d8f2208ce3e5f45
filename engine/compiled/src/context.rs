//! What compiled code and the executor hand each other.

use netkv_dataplane::{Objects, Requests};

/// The one argument of compiled code. Its layout is fixed; code addresses fields by their offsets.
///
/// Pointers are set by [`crate::executor`] and hold for the call: each points at memory that lives
/// longer than the call and that nothing else touches during it.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Context {
    /// The bytes that came in, `frame_length` of them.
    pub(crate) frame: *const u8,
    pub(crate) frame_length: u64,
    /// Room for the frame that leaves: at least `frame_length` bytes and what the headers of the
    /// program take, and [`SLACK`].
    pub(crate) out: *mut u8,
    /// Bytes written there.
    pub(crate) out_length: u64,
    /// The state area of the packet.
    pub(crate) state: *mut u64,
    /// Bytes parsed.
    pub(crate) cursor: u64,
    /// The packet's `length` (see [`netkv_dataplane::Packet`]).
    pub(crate) length: u64,
    pub(crate) ingress_length: u64,
    pub(crate) port: u64,
    pub(crate) now_ns: u64,
    /// Port on which the frame leaves.
    pub(crate) egress_port: u64,
    pub(crate) requests: Requests,
    /// Words of the digest's members.
    pub(crate) digest: *mut u64,
    /// Keys of a table or a select for a helper.
    pub(crate) keys: *mut u64,
    /// Input of a hash, or of a selector.
    pub(crate) hash: *mut u8,
    /// Parameters of the action that a helper has found.
    pub(crate) action_data: *const u64,
    pub(crate) tables: *const TableView,
    /// Start of the memory that each group of registers lies in.
    pub(crate) registers: *const *mut u8,
    /// First cell of each counter array.
    pub(crate) counters: *const *mut u8,
    pub(crate) counts: *mut u8,
    pub(crate) objects: *mut Objects,
    pub(crate) helpers: *mut crate::helpers::Scratch,
}

/// What compiled code reads of a table. `slots` is null where a helper looks up.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct TableView {
    pub(crate) slots: *const u64,
    /// Number of slots minus 1.
    pub(crate) mask: u64,
    /// Index of the default action in the table, and its parameters.
    pub(crate) default_action: u64,
    pub(crate) default_data: *const u64,
}

/// Bytes behind a frame that code may write to, and that say nothing: headers are written eight
/// bytes at a time.
pub(crate) const SLACK: usize = 16;

/// What compiled code answers.
pub(crate) mod outcome {
    pub(crate) const SENT: u64 = 0;
    pub(crate) const DROPPED_IN_INGRESS: u64 = 1;
    pub(crate) const DROPPED_IN_EGRESS: u64 = 2;
    pub(crate) const END_OF_INGRESS: u64 = 3;
    pub(crate) const END_OF_EGRESS: u64 = 4;
    pub(crate) const OTHER_PIPELINE: u64 = 5;
}
