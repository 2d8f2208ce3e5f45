//! A write and the reads that returned it.

use crate::operation::{Action, Record, WriteId, WriteKind};

/// What kind of cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClusterKind {
    Put,
    Delete,
    /// Reads that found nothing and could have seen one of several deletes: see `absent`.
    Nothing,
}

/// A write and what is told of its reads; its spans are in the worlds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cluster {
    pub id: WriteId,
    pub kind: ClusterKind,
    pub given_up: bool,
    pub begun: u64,
    pub ended: u64,
    /// The read that ended first, and the one that began last.
    pub reads: Option<(Record, Record)>,
}

impl Cluster {
    pub(crate) fn new(id: WriteId, kind: ClusterKind, begun: u64, ended: u64) -> Self {
        Self { id, kind, given_up: false, begun, ended, reads: None }
    }

    /// The write, if it is one that somebody made.
    pub(crate) fn write(&self) -> Option<Record> {
        let kind = match self.kind {
            ClusterKind::Put => WriteKind::Put,
            ClusterKind::Delete => WriteKind::Delete,
            ClusterKind::Nothing => return None,
        };
        let action = Action::Write(kind);
        let record = Record { id: self.id, action, begun: self.begun, ended: self.ended };
        (self.id != WriteId::INITIAL).then_some(record)
    }

    /// The operations that give the cluster its span.
    pub(crate) fn records(&self) -> impl Iterator<Item = Record> + use<> {
        let reads = self.reads.into_iter().flat_map(|(first, last)| [first, last]);
        self.write().into_iter().chain(reads)
    }
}
