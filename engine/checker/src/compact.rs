//! The compact form of a key's history: its last write, in 8 bytes.
//!
//! It is possible if only one write can be the last one, and no pending read was invoked before
//! that was so. Then all past operations precede all future ones, and past times do not matter. The
//! verdicts are those of a complete history. Reports lack the times of the write, and the reads of
//! a write that was never acknowledged.

use crate::cluster::{Cluster, ClusterKind};
use crate::event_clock::{COMPACT_INTERVAL, INITIAL_TIME};
use crate::operation::{NEVER, WriteId};
use crate::register::IdleHistory;
use crate::witness::Zone;

/// The compact form of a key's history.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compact {
    request: u32,
    client: u16,
    flags: u8,
}

const _: () = assert!(size_of::<Compact>() == 8);

/// The key had an initial value.
const INITIALLY_PRESENT: u8 = 1;
/// A delete was acknowledged.
const DELETED: u8 = 1 << 1;
/// Puts that may still take effect were forgotten.
const FORGOTTEN_PUT: u8 = 1 << 2;
/// Deletes that may still take effect were forgotten.
const FORGOTTEN_DELETE: u8 = 1 << 3;
/// The last write is a delete.
const DELETE: u8 = 1 << 4;
/// The last write was never acknowledged, but a read returned it.
const UNANSWERED: u8 = 1 << 5;

impl Compact {
    /// Makes the compact form of an idle history. `oldest` is the invocation of the oldest pending
    /// read of any key. None if several writes can be the last one, or if a pending read may need
    /// the history.
    pub(crate) fn new(history: &IdleHistory, oldest: u64) -> Option<Self> {
        let [(cluster, _)] = history.clusters[..] else { return None };
        if oldest <= history.first_write || oldest <= history.unchecked_until {
            return None;
        }
        let flags = [
            (history.initially_present, INITIALLY_PRESENT),
            (history.deleted, DELETED),
            (history.forgotten.0, FORGOTTEN_PUT),
            (history.forgotten.1, FORGOTTEN_DELETE),
            (cluster.kind == ClusterKind::Delete, DELETE),
            (cluster.response == NEVER, UNANSWERED),
        ];
        let flags = flags.iter().filter(|(is, _)| *is).fold(0, |all, (_, flag)| all | flag);
        let WriteId { client, request } = cluster.id;
        Some(Self { request, client, flags })
    }

    /// The idle history, without times.
    pub(crate) fn history(self) -> IdleHistory {
        let is = |flag| self.flags & flag != 0;
        let id = WriteId { client: self.client, request: self.request };
        let kind = if is(DELETE) { ClusterKind::Delete } else { ClusterKind::Put };
        let (invocation, end) =
            if id == WriteId::INITIAL { (INITIAL_TIME, INITIAL_TIME) } else { COMPACT_INTERVAL };
        let response = if is(UNANSWERED) { NEVER } else { end };
        let mut cluster = Cluster::new(id, kind, invocation, response);
        cluster.given_up = is(UNANSWERED);
        IdleHistory {
            first_write: INITIAL_TIME,
            initially_present: is(INITIALLY_PRESENT),
            deleted: is(DELETED),
            unchecked_until: INITIAL_TIME,
            forgotten: (is(FORGOTTEN_PUT), is(FORGOTTEN_DELETE)),
            clusters: vec![(cluster, Zone { min_response: end, max_invocation: invocation, kind })],
        }
    }
}

/// The dropped clusters `past` of a key, youngest first, whose times can be compared with those of
/// the clusters in `present`. Clusters older than one without times are left out.
pub(crate) fn comparable(present: &[Cluster], mut past: Vec<Cluster>) -> Vec<Cluster> {
    let timeless = |cluster: &Cluster| cluster.invocation == COMPACT_INTERVAL.0;
    if present.iter().any(timeless) {
        past.clear();
    } else if let Some(at) = past.iter().position(timeless) {
        past.truncate(at + 1);
    }
    past
}
