//! The argument of compiled functions: data shared by the code and the executor.

use netkv_dataplane::{BitWriter, CopyTarget, HeaderPlan, Objects, Output, Requests, Tally};

/// The argument of compiled functions. Its layout is fixed; code accesses fields by their offsets.
///
/// [`crate::executor`] sets the pointers. Each points to memory that outlives the call and that is
/// not accessed otherwise during it.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Context {
    /// The received frame, of `frame_length` bytes.
    pub(crate) frame: *const u8,
    pub(crate) frame_length: u64,
    /// Buffer for the sent frame. It has at least `frame_length` bytes, those of the program's
    /// headers and [`SLACK`].
    pub(crate) out: *mut u8,
    /// Buffer for the recirculated frame, as large as `out`.
    pub(crate) again: *mut u8,
    /// Bytes of the frame in `out` or `again`.
    pub(crate) out_length: u64,
    /// The bytes of a recirculated frame from position `payload_start` on are not in `frame`, but
    /// at the same position from `payload`.
    pub(crate) payload: *const u8,
    pub(crate) payload_start: u64,
    /// The same of the frame in `again`.
    pub(crate) next_payload: *const u8,
    pub(crate) next_payload_start: u64,
    /// The state area of the packet.
    pub(crate) state: *mut u64,
    /// Bytes parsed.
    pub(crate) cursor: u64,
    /// The packet's `length` (see [`netkv_dataplane::Packet`]).
    pub(crate) length: u64,
    pub(crate) ingress_length: u64,
    pub(crate) port: u64,
    pub(crate) now_ns: u64,
    /// Port to which the frame is sent.
    pub(crate) egress_port: u64,
    pub(crate) requests: Requests,
    /// Words of the digest's members.
    pub(crate) digest: *mut u64,
    /// Keys of a table or a select for a helper.
    pub(crate) keys: *mut u64,
    /// Input of a hash, or of a selector.
    pub(crate) hash: *mut u8,
    /// Parameters of the action that a helper has looked up.
    pub(crate) action_data: *const u64,
    pub(crate) tables: *const TableView,
    /// Start of each memory block of registers.
    pub(crate) registers: *const *mut u8,
    /// First cell of each counter array.
    pub(crate) counters: *const *mut u8,
    pub(crate) counts: *mut u8,
    /// How often each assertion was false.
    pub(crate) failed_assertions: *mut u64,
    /// The clones of the first `clone_sessions` session numbers.
    pub(crate) clone_targets: *const CopyTarget,
    pub(crate) clone_sessions: u64,
    /// The copies of the first `group_count` multicast groups.
    pub(crate) groups: *const GroupView,
    pub(crate) group_count: u64,
    /// Copies of a multicast group that the code has begun with.
    pub(crate) copies: u64,
    /// State area, length and truncation of the multicast packet, if the code returns with one of
    /// its copies and leaves the others to the switch.
    pub(crate) original: *mut u64,
    pub(crate) original_length: u64,
    /// Where frames are appended that leave before the function returns, and the room that a frame
    /// needs beside its length.
    pub(crate) output: *mut Output,
    pub(crate) header_room: u64,
    /// Additional passes of the packet at the start of the function.
    pub(crate) passes: u64,
    /// The number of the recirculation with which the packet goes on after
    /// [`outcome::RECIRCULATED_FIELDS`].
    pub(crate) recirculation: u64,
    /// Packets that were finished before the function returned.
    pub(crate) tally: Tally,
    /// Whether code may process an egress clone (0 or 1), and whether it has done so.
    pub(crate) may_clone: u64,
    pub(crate) cloned: u64,
    /// The frames for which the function that computes slots is called.
    pub(crate) ahead: *mut Ahead,
    pub(crate) ahead_count: u64,
    pub(crate) objects: *mut Objects,
    pub(crate) helpers: *mut Scratch,
}

/// Buffers of the helpers, which are reused for every packet.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub(crate) writer: BitWriter,
    pub(crate) wide: Vec<u64>,
    pub(crate) headers: Vec<HeaderPlan>,
    pub(crate) state_words: usize,
}

/// A frame that comes later in a batch, and the slot of its lookup.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Ahead {
    pub(crate) frame: *const u8,
    pub(crate) length: u64,
    pub(crate) port: u64,
    /// Set by the code: the first slot of the search; null if the packet does not come to the
    /// lookup.
    pub(crate) slot: *const u64,
}

impl Ahead {
    /// No frame.
    pub(crate) const NONE: Self =
        Self { frame: std::ptr::null(), length: 0, port: 0, slot: std::ptr::null() };
}

/// The part of a table that compiled code reads. `slots` is null if a helper looks up the table.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct TableView {
    pub(crate) slots: *const u64,
    /// Number of slots minus 1.
    pub(crate) mask: u64,
    /// First keys of the intervals whose slots follow each other, if the table is looked up by
    /// interval.
    pub(crate) starts: *const u64,
    /// Index of the default action in the table, and its parameters.
    pub(crate) default_action: u64,
    pub(crate) default_data: *const u64,
}

/// The copies of a multicast group; none if the switch makes them.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct GroupView {
    pub(crate) first: *const CopyTarget,
    pub(crate) end: *const CopyTarget,
}

/// Unused bytes after a frame that code may overwrite, since it writes headers in units of eight
/// bytes.
pub(crate) const SLACK: usize = 16;

/// Results of compiled functions.
pub(crate) mod outcome {
    pub(crate) const SENT: u64 = 0;
    pub(crate) const DROPPED_IN_INGRESS: u64 = 1;
    pub(crate) const DROPPED_IN_EGRESS: u64 = 2;
    pub(crate) const END_OF_INGRESS: u64 = 3;
    pub(crate) const END_OF_EGRESS: u64 = 4;
    pub(crate) const OTHER_PIPELINE: u64 = 5;
    /// The frame is none of those that the fast function processes.
    pub(crate) const OTHER_PATH: u64 = 6;
    /// The frame in `again` is recirculated. The state holds the metadata that it keeps.
    pub(crate) const RECIRCULATED: u64 = 7;
    /// The packet goes on with the recirculation of that number. The state has the words that it
    /// needs.
    pub(crate) const RECIRCULATED_FIELDS: u64 = 10;
    /// As `SENT`, for the last copy of a multicast group.
    pub(crate) const SENT_COPY: u64 = 9;
    /// As `END_OF_EGRESS`, for a copy of a multicast group after which the group has more.
    pub(crate) const END_OF_COPY: u64 = 8;
}
