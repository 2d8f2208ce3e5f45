//! A witness: an assignment of reads to writes for which the history is linearizable, as the zones
//! of the clusters.
//!
//! A cluster is a write and the reads that returned its value. In every linearization they are
//! contiguous: the write, its reads, and no other write in between. The zone of a cluster (Gibbons
//! and Korach, "Testing shared memories", 1997) consists of the first response and the last
//! invocation of its operations. Cluster A must precede cluster B if the first response in A is
//! before the last invocation in B. If two clusters must precede each other, the history is not
//! linearizable. If there is no such pair, it is.

use crate::cluster::ClusterKind;
use crate::operation::NEVER;

/// The zone of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Zone {
    /// The first response of its operations; [`NEVER`] as long as there is none.
    pub min_response: u64,
    /// The last invocation of its operations.
    pub max_invocation: u64,
    /// The kind of the cluster.
    pub kind: ClusterKind,
}

impl Zone {
    /// The zone of a cluster that is not in a witness; it conflicts with none.
    pub const UNCONSTRAINED: Zone =
        Zone { min_response: NEVER, max_invocation: 0, kind: ClusterKind::UnassignedRead };

    fn with_operation(self, invocation: u64, response: u64) -> Self {
        Self {
            min_response: self.min_response.min(response),
            max_invocation: self.max_invocation.max(invocation),
            ..self
        }
    }

    fn conflicts(self, other: Self) -> bool {
        self.min_response < other.max_invocation
            && other.min_response < self.max_invocation
            && !self.is_same_cluster(other)
    }

    /// Whether one is an unassigned read and the other a delete. The read may belong to the delete,
    /// so neither has to precede the other.
    fn is_same_cluster(self, other: Self) -> bool {
        use ClusterKind::{Delete, UnassignedRead};
        matches!((self.kind, other.kind), (Delete, UnassignedRead) | (UnassignedRead, Delete))
    }
}

/// The zones of all kept clusters, in the order of the register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Witness(pub Vec<Zone>);

impl Witness {
    fn others(&self, at: usize) -> impl Iterator<Item = Zone> + '_ {
        let all = self.0.iter().enumerate();
        all.filter(move |(other, _)| *other != at).map(|(_, zone)| *zone)
    }

    /// Whether an operation with this invocation and the response `now` can be in cluster `at`.
    pub fn allows(&self, at: usize, invocation: u64, now: u64) -> bool {
        let (old, new) = (self.0[at], self.0[at].with_operation(invocation, now));
        // If the first response of the cluster is now, no other invocation is after it, so the
        // cluster has to precede none.
        old.min_response == NEVER
            || new.max_invocation == old.max_invocation
            || !self.others(at).any(|zone| zone.conflicts(new))
    }

    /// Adds an operation to cluster `at`.
    pub fn extend(&mut self, at: usize, invocation: u64, now: u64) {
        self.0[at] = self.0[at].with_operation(invocation, now);
    }

    /// What decides, for a read with this invocation, which writes it can join. One pass over the
    /// zones, so that a read with many possible writes does not compare each with all clusters.
    pub fn joining(&self, invocation: u64) -> Joining {
        let mut first_responses = Largest::NONE;
        for (at, zone) in self.0.iter().enumerate().filter(|(_, it)| it.min_response < invocation) {
            first_responses.take(at, zone.min_response + 1);
        }
        Joining { invocation, bound: self.overwrite_bound(invocation), first_responses }
    }

    /// The bound that determines which clusters are overwritten for every read with an invocation
    /// at `earliest_read` or later.
    pub fn overwrite_bound(&self, earliest_read: u64) -> OverwriteBound {
        let mut bound = OverwriteBound { earliest_read, all: Largest::NONE, writes: Largest::NONE };
        for (at, zone) in
            self.0.iter().enumerate().filter(|(_, zone)| zone.min_response < earliest_read)
        {
            bound.all.take(at, zone.max_invocation);
            if zone.kind != ClusterKind::UnassignedRead {
                bound.writes.take(at, zone.max_invocation);
            }
        }
        bound
    }

    /// Moves the first response of overwritten clusters before all others, so that they remain
    /// overwritten. This changes no verdict: of the clusters with a response before the bound, one
    /// is not overwritten, and every later read of an overwritten cluster conflicts with it.
    pub fn close_overwritten(&mut self, bound: &OverwriteBound) {
        for at in 0..self.0.len() {
            if bound.covers(self, at) {
                self.0[at].min_response = 0;
            }
        }
    }

    /// Normalizes the zones: every bound moves as far as possible without a change of any possible
    /// comparison. Equivalent witnesses become equal. `pending_reads` has the invocations of the
    /// pending reads, ascending.
    pub fn normalize(&mut self, pending_reads: &[u64], now: u64) {
        // A first response is compared with invocations only: known ones, those of pending reads,
        // and later ones.
        let starts =
            self.0.iter().map(|zone| zone.max_invocation).chain(pending_reads.iter().copied());
        let mut starts: Vec<u64> = starts.collect();
        // Stable, since it is faster for runs that are in order already, as here.
        starts.sort();
        for zone in self.0.iter_mut().filter(|zone| zone.min_response != NEVER) {
            let mut later = starts
                [starts.partition_point(|max_invocation| *max_invocation <= zone.min_response)..]
                .iter();
            let mut next = later.next();
            if next == Some(&zone.max_invocation) {
                next = later.next();
            }
            zone.min_response = next.map_or(now, |max_invocation| max_invocation - 1);
        }
        // A last invocation is compared with responses only: known ones and later ones.
        let mut ends: Vec<u64> = self.0.iter().map(|zone| zone.min_response).collect();
        ends.sort();
        for zone in &mut self.0 {
            let mut earlier =
                ends[..ends.partition_point(|end| *end < zone.max_invocation)].iter().rev();
            let mut next = earlier.next();
            if next == Some(&zone.min_response) {
                next = earlier.next();
            }
            zone.max_invocation = next.map_or(0, |end| end + 1);
        }
    }

    /// Whether every continuation that `other` permits is permitted here, too.
    pub fn subsumes(&self, other: &Self) -> bool {
        self.0
            .iter()
            .zip(&other.0)
            .all(|(a, b)| a.min_response >= b.min_response && a.max_invocation <= b.max_invocation)
    }

    /// A measure of its constraints. If not all witnesses can be kept, those with few are.
    pub fn commitments(&self) -> (usize, u64) {
        let responded = self.0.iter().filter(|zone| zone.min_response != NEVER);
        (
            responded.clone().count(),
            responded.map(|zone| zone.max_invocation).fold(0, u64::wrapping_add),
        )
    }
}

/// The last invocations of the clusters with a response before `earliest_read`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OverwriteBound {
    earliest_read: u64,
    all: Largest,
    /// Without unassigned reads. Those may belong to a delete and do not overwrite it.
    writes: Largest,
}

/// The largest time of several clusters, and the largest without one of them.
#[derive(Debug, Clone, Copy)]
struct Largest {
    time: u64,
    /// The cluster that has it.
    by: usize,
    /// The largest one without cluster `by`.
    second: u64,
}

impl Largest {
    const NONE: Self = Self { time: 0, by: usize::MAX, second: 0 };

    fn take(&mut self, at: usize, time: u64) {
        if self.by == usize::MAX || time > self.time {
            *self = Self { time, by: at, second: self.time };
        } else {
            self.second = self.second.max(time);
        }
    }

    fn without(&self, at: usize) -> u64 {
        if self.by == at { self.second } else { self.time }
    }
}

/// Decides which writes a read can join, for all clusters of a witness but unassigned reads.
pub(crate) struct Joining {
    invocation: u64,
    /// Of the clusters with a response before the read.
    bound: OverwriteBound,
    /// The times after the first responses before the read; 0 if there is none.
    first_responses: Largest,
}

impl Joining {
    /// [`Witness::allows`] for the read.
    pub fn allows(&self, witness: &Witness, at: usize) -> bool {
        let zone = witness.0[at];
        zone.min_response == NEVER
            || self.invocation <= zone.max_invocation
            || zone.min_response >= self.bound.latest_overwrite(zone.kind, at)
    }

    /// Whether the read would add no constraint to cluster `at`: no other cluster has its first
    /// response between the last invocation of `at` and the read.
    pub fn is_unaffected(&self, witness: &Witness, at: usize) -> bool {
        let zone = witness.0[at];
        zone.min_response != NEVER
            && (self.invocation <= zone.max_invocation
                || self.first_responses.without(at) <= zone.max_invocation)
    }
}

impl OverwriteBound {
    /// Whether cluster `at` is overwritten for every read with an invocation at `earliest_read` or
    /// later. Then another cluster with a response before `earliest_read` has an invocation after
    /// the first response of this one. Its zone is no longer needed, either: every cluster that
    /// could conflict with it is overwritten itself.
    pub fn covers(&self, witness: &Witness, at: usize) -> bool {
        let zone = witness.0[at];
        zone.min_response < self.earliest_read
            && zone.min_response < self.latest_overwrite(zone.kind, at)
    }

    /// The last invocation of the clusters that can overwrite cluster `at` of this kind.
    fn latest_overwrite(&self, kind: ClusterKind, at: usize) -> u64 {
        let by = if kind == ClusterKind::Delete { &self.writes } else { &self.all };
        by.without(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netkv_workload::Random;

    fn random_zone(random: &mut Random) -> Zone {
        let kinds = [ClusterKind::Put, ClusterKind::Delete, ClusterKind::UnassignedRead];
        Zone {
            min_response: if random.below(4) == 0 { NEVER } else { random.below(8) },
            max_invocation: random.below(8),
            kind: kinds[random.below(3) as usize],
        }
    }

    /// The definition: no other cluster has its first response between the old last invocation and
    /// the new one.
    fn adds_no_constraint(witness: &Witness, at: usize, invocation: u64) -> bool {
        let old = witness.0[at];
        let between = old.max_invocation..invocation.max(old.max_invocation);
        old.min_response != NEVER
            && !witness.others(at).any(|zone| between.contains(&zone.min_response))
    }

    #[test]
    fn one_pass_decides_as_a_comparison_with_all_other_clusters() {
        let mut random = Random::new(7, 0);
        for _ in 0..20_000 {
            let clusters = 1 + random.below(6);
            let witness = Witness((0..clusters).map(|_| random_zone(&mut random)).collect());
            let invocation = random.below(9);
            let joining = witness.joining(invocation);
            let writes = |at: &usize| witness.0[*at].kind != ClusterKind::UnassignedRead;
            for at in (0..witness.0.len()).filter(writes) {
                let allows = witness.allows(at, invocation, 10);
                assert_eq!(joining.allows(&witness, at), allows, "{witness:?} {at} {invocation}");
                let unaffected = adds_no_constraint(&witness, at, invocation);
                assert_eq!(joining.is_unaffected(&witness, at), unaffected, "{witness:?} {at}");
            }
        }
    }
}
