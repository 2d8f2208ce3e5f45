//! The least that is kept of a key: which write it has.
//!
//! If one write only can be what a key has, and no read is under way that began before that was so,
//! then nothing that happens later depends on when anything was: all that was is over before all
//! that comes. So a key that nobody has used for a while is [`Settled`], 8 bytes beside its name,
//! however much was done to it. Judgements are what they were with everything remembered; what is
//! lost are times in reports, and the reads that saw a write that was never acknowledged.

use crate::cluster::{Cluster, ClusterKind};
use crate::moments::{BEFORE, SETTLED};
use crate::operation::{NEVER, WriteId};
use crate::register::Rest;
use crate::world::Span;

/// See the module.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settled {
    request: u32,
    client: u16,
    flags: u8,
}

const _: () = assert!(size_of::<Settled>() == 8);

/// The key had a value before anybody wrote it.
const EXISTED: u8 = 1;
/// A delete was acknowledged.
const DELETED: u8 = 1 << 1;
/// Puts that may still take effect are forgotten.
const FORGOTTEN_PUT: u8 = 1 << 2;
/// Deletes that may still take effect are forgotten.
const FORGOTTEN_DELETE: u8 = 1 << 3;
/// The write is a delete.
const DELETE: u8 = 1 << 4;
/// The write was never acknowledged: a read has seen it.
const UNANSWERED: u8 = 1 << 5;

impl Settled {
    /// What is left of a key at rest. `oldest` is when the oldest read under way began, of any key.
    /// None if it is undecided what the key has, or if that matters to a read under way.
    pub(crate) fn new(rest: &Rest, oldest: u64) -> Option<Self> {
        let [(cluster, _)] = rest.clusters[..] else { return None };
        if oldest <= rest.born || oldest <= rest.blind {
            return None;
        }
        let flags = [
            (rest.existed, EXISTED),
            (rest.deleted, DELETED),
            (rest.forgotten.0, FORGOTTEN_PUT),
            (rest.forgotten.1, FORGOTTEN_DELETE),
            (cluster.kind == ClusterKind::Delete, DELETE),
            (cluster.ended == NEVER, UNANSWERED),
        ];
        let flags = flags.iter().filter(|(is, _)| *is).fold(0, |all, (_, flag)| all | flag);
        let WriteId { client, request } = cluster.id;
        Some(Self { request, client, flags })
    }

    /// The key as it was at rest, without the times.
    pub(crate) fn rest(self) -> Rest {
        let is = |flag| self.flags & flag != 0;
        let id = WriteId { client: self.client, request: self.request };
        let kind = if is(DELETE) { ClusterKind::Delete } else { ClusterKind::Put };
        let (begun, end) = if id == WriteId::INITIAL { (BEFORE, BEFORE) } else { SETTLED };
        let ended = if is(UNANSWERED) { NEVER } else { end };
        let mut cluster = Cluster::new(id, kind, begun, ended);
        cluster.given_up = is(UNANSWERED);
        Rest {
            born: BEFORE,
            existed: is(EXISTED),
            deleted: is(DELETED),
            blind: BEFORE,
            forgotten: (is(FORGOTTEN_PUT), is(FORGOTTEN_DELETE)),
            clusters: vec![(cluster, Span { end, start: begun, of: kind })],
        }
    }
}

/// Clusters of a key that were dropped, youngest first, as far as they may stand beside those of
/// `present`: once a write has lost its times, the older ones must lose theirs.
pub(crate) fn comparable(present: &[Cluster], mut past: Vec<Cluster>) -> Vec<Cluster> {
    let timeless = |cluster: &Cluster| cluster.begun == SETTLED.0;
    if present.iter().any(timeless) {
        past.clear();
    } else if let Some(at) = past.iter().position(timeless) {
        past.truncate(at + 1);
    }
    past
}
