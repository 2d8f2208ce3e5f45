//! Clusters: a write and the reads that returned its value.

use crate::operation::{Action, Record, WriteId, WriteKind};

/// The kind of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClusterKind {
    Put,
    Delete,
    /// A read that returned "not found" and is assigned to no delete (see [`crate::not_found`]).
    UnassignedRead,
}

/// A write and the reads for its report. Its zones are in the witnesses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cluster {
    pub id: WriteId,
    pub kind: ClusterKind,
    pub given_up: bool,
    pub invocation: u64,
    pub response: u64,
    /// The read with the first response, and the one with the last invocation.
    pub reads: Option<(Record, Record)>,
}

impl Cluster {
    pub(crate) fn new(id: WriteId, kind: ClusterKind, invocation: u64, response: u64) -> Self {
        Self { id, kind, given_up: false, invocation, response, reads: None }
    }

    /// The write; none for the initial value and for an unassigned read.
    pub(crate) fn write(&self) -> Option<Record> {
        let kind = match self.kind {
            ClusterKind::Put => WriteKind::Put,
            ClusterKind::Delete => WriteKind::Delete,
            ClusterKind::UnassignedRead => return None,
        };
        let action = Action::Write(kind);
        let record =
            Record { id: self.id, action, invocation: self.invocation, response: self.response };
        (self.id != WriteId::INITIAL).then_some(record)
    }

    /// The operations that determine the zone of the cluster.
    pub(crate) fn records(&self) -> impl Iterator<Item = Record> + use<> {
        let reads = self.reads.into_iter().flat_map(|(first, last)| [first, last]);
        self.write().into_iter().chain(reads)
    }
}
