//! Reads that returned "not found": their assignment to deletes.
//!
//! Such a read can belong to any of several deletes. The checker tries each of them, and each
//! assignment that is possible makes a witness. A witness that another one subsumes is dropped. If
//! an assignment adds no constraint, it is the only one that is followed. The judgement is exact as
//! long as there are at most [`MAX_WITNESSES`] witnesses, which is usual.
//!
//! If there are more, those with the fewest constraints are kept, together with a relaxed witness.
//! The relaxed witness has the constraints common to all: a read with several possible deletes is a
//! cluster of its own there. If a kept witness permits a read, the history is linearizable. If the
//! relaxed witness does not permit it, the history is not. Otherwise the read is unchecked.

use crate::cluster::{Cluster, ClusterKind};
use crate::condition::Condition;
use crate::operation::{NEVER, Record, WriteId};
use crate::register::{Judgement, Register};
use crate::witness::{Witness, Zone};

/// Maximum number of witnesses that are kept for one key.
pub const MAX_WITNESSES: usize = 16;

impl Register {
    /// Judges a read that returned "not found", at its response.
    pub(crate) fn judge_not_found(&mut self, read: Record, condition: Condition) -> Judgement {
        let (invocation, now) = (read.invocation, read.response);
        if invocation < self.first_write && (self.deleted || !self.initially_present) {
            return Judgement::Legal;
        }
        if self.forgotten.1 {
            return Judgement::Unchecked;
        }
        let deletes: Vec<usize> = (0..self.clusters.len())
            .filter(|at| self.clusters[*at].kind == ClusterKind::Delete)
            .collect();
        if condition == Condition::Regular {
            // There is one witness, since no assignment adds a constraint.
            let candidates = Candidates::of(&self.witnesses[0], &deletes, invocation);
            let Some(assigned) = candidates.first() else {
                return self.impossible(&deletes, invocation, now);
            };
            self.record_read(assigned, read);
            return Judgement::Legal;
        }
        let limit = 2 * MAX_WITNESSES / self.witnesses.len();
        let mut dropped = false;
        let mut next: Vec<Witness> = Vec::new();
        let mut assigned = None;
        for witness in &self.witnesses {
            let candidates = Candidates::of(witness, &deletes, invocation);
            assigned = assigned.or(candidates.first());
            match candidates {
                Candidates::Unchanged(_) => next.push(witness.clone()),
                Candidates::AnyOf(mut options) => {
                    self.drop_equivalent(witness, &mut options, invocation);
                    dropped |= options.len() > limit;
                    next.extend(options.iter().take(limit).map(|at| {
                        let mut witness = witness.clone();
                        witness.extend(*at, invocation, now);
                        witness
                    }));
                }
            }
        }
        let Some(assigned) = assigned else {
            return self.impossible(&deletes, invocation, now);
        };
        if next.len() > 1 && self.relaxed.is_none() {
            self.relaxed = Some(self.witnesses[0].clone());
        }
        self.witnesses_dropped |= dropped;
        // Witnesses that the read has only extended are compared when there are more of them, or
        // fewer: a comparison sorts the zones of each.
        let as_many = next.len() == self.witnesses.len();
        self.witnesses = next;
        self.record_read(assigned, read);
        self.add_to_relaxed(&deletes, read);
        if !as_many {
            self.reduce_witnesses(now);
        }
        // Some delete took effect. A read that was invoked before the first write may return it.
        self.deleted = true;
        Judgement::Legal
    }

    /// Keeps one of equivalent candidates: deletes that were given up, have no reads and were
    /// invoked before the read. It is the youngest, since an older one may also be a candidate for
    /// an older read.
    fn drop_equivalent(&self, witness: &Witness, options: &mut Vec<usize>, invocation: u64) {
        let equal = |at: usize| {
            self.clusters[at].given_up
                && witness.0[at].min_response == NEVER
                && self.clusters[at].invocation < invocation
        };
        let youngest = options.iter().copied().filter(|at| equal(*at)).max();
        options.retain(|at| !equal(*at) || Some(*at) == youngest);
    }

    /// Adds the read to the relaxed witness.
    fn add_to_relaxed(&mut self, deletes: &[usize], read: Record) {
        let Some(relaxed) = &mut self.relaxed else { return };
        let candidates = Candidates::of(relaxed, deletes, read.invocation);
        match candidates {
            Candidates::Unchanged(_) => {}
            Candidates::AnyOf(only) if only.len() == 1 => {
                relaxed.extend(only[0], read.invocation, read.response)
            }
            Candidates::AnyOf(_) => {
                let kind = ClusterKind::UnassignedRead;
                let zone =
                    Zone { min_response: read.response, max_invocation: read.invocation, kind };
                let cluster = Cluster {
                    id: WriteId::INITIAL,
                    kind,
                    given_up: false,
                    invocation: read.invocation,
                    response: read.response,
                    reads: Some((read, read)),
                };
                self.push(cluster, Zone::UNCONSTRAINED, zone);
            }
        }
    }

    /// Drops the witnesses that others subsume, and those beyond the limit.
    pub(crate) fn reduce_witnesses(&mut self, now: u64) {
        if self.witnesses.len() > 1 {
            let pending_reads: Vec<u64> = self.pending_reads.iter().copied().collect();
            let mut kept: Vec<Witness> = Vec::new();
            for mut witness in std::mem::take(&mut self.witnesses) {
                witness.normalize(&pending_reads, now);
                if !kept.iter().any(|other| other.subsumes(&witness)) {
                    kept.retain(|other| !witness.subsumes(other));
                    kept.push(witness);
                }
            }
            if kept.len() > MAX_WITNESSES {
                kept.sort_by_key(Witness::commitments);
                kept.truncate(MAX_WITNESSES);
                self.witnesses_dropped = true;
            }
            self.witnesses = kept;
        }
        if self.witnesses.len() == 1 && !self.witnesses_dropped && self.relaxed.take().is_some() {
            let unassigned = |it: &Cluster| it.kind == ClusterKind::UnassignedRead;
            while let Some(at) = self.clusters.iter().rposition(unassigned) {
                self.remove(at);
            }
        }
    }
}

/// The deletes to which a read that returned "not found" can belong.
enum Candidates {
    /// This one, and the assignment adds no constraint.
    Unchanged(usize),
    /// Any of these.
    AnyOf(Vec<usize>),
}

impl Candidates {
    fn of(witness: &Witness, deletes: &[usize], invocation: u64) -> Self {
        let joining = witness.joining(invocation);
        let candidates: Vec<usize> =
            deletes.iter().copied().filter(|at| joining.allows(witness, *at)).collect();
        match candidates.iter().find(|at| joining.is_unaffected(witness, **at)) {
            Some(at) => Candidates::Unchanged(*at),
            None => Candidates::AnyOf(candidates),
        }
    }

    fn first(&self) -> Option<usize> {
        match self {
            Candidates::Unchanged(at) => Some(*at),
            Candidates::AnyOf(candidates) => candidates.first().copied(),
        }
    }
}
