//! The history of one key, and the judgement of its reads.
//!
//! Rules
//! -----
//! 1. A read joins the cluster of its dictating write at its response. The first response of a
//!    cluster is that of the write or of a read. A write without response and without reads adds no
//!    constraint: it may not have taken effect.
//! 2. Events arrive in order, so only the response of a read can make a history non-linearizable
//!    (see [`crate::witness`]). Such a read is reported and then ignored.
//! 3. Clusters that no pending or future read can return are dropped. So a key has about as many
//!    clusters as pending operations. Constants below limit the exceptions. A read that needs a
//!    forgotten cluster is [`Judgement::Unchecked`], never a violation.
//! 4. A read that returned "not found" can belong to several deletes: see [`crate::not_found`].
//! 5. With [`Condition::Regular`], a read is judged by the same zones but joins no cluster. So a
//!    zone has only its write, and a read is rejected if another write has replaced that one.
//!
//! A linearizable history remains linearizable without some of its reads, and without a write and
//! all reads of it. The limits remove nothing else, so there are no false violations.

use std::collections::VecDeque;

use crate::cluster::{Cluster, ClusterKind};
use crate::condition::Condition;
use crate::event_clock::INITIAL_TIME;
use crate::operation::{NEVER, Observed, Record, WriteId, WriteKind};
use crate::witness::{OverwriteBound, Witness, Zone};

/// Maximum number of given-up writes of one key that may still take effect; older ones are
/// forgotten.
pub const MAX_GIVEN_UP: usize = 64;
/// Maximum number of completed clusters that are kept for pending reads. Beyond it the oldest
/// pending read becomes unchecked.
pub const MAX_COMPLETED_CLUSTERS: usize = 256;
/// Minimum number of clusters at which the register looks for some to drop.
const PRUNE_AT: usize = 4;
/// Maximum number of operations that are kept for the report of a key with deletes.
const MAX_LOG: usize = 128;

/// The judgement of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// The history with it satisfies the condition.
    Legal,
    /// Its dictating write was overwritten by a write that followed it and preceded the read.
    Stale,
    /// It contradicts other reads.
    NotLinearizable,
    /// It returned a value that no client wrote.
    Phantom,
    /// It cannot be judged, since history was forgotten.
    Unchecked,
}

/// The active history of one key. Timestamps must increase from call to call.
#[derive(Debug)]
pub(crate) struct Register {
    /// The invocation of the first write. Reads that were invoked before are not in
    /// `pending_reads`; they may return any value since.
    pub(crate) first_write: u64,
    /// Whether the key had an initial value.
    pub(crate) initially_present: bool,
    /// Whether a delete was acknowledged.
    pub(crate) deleted: bool,
    /// Invocations of the pending reads, ascending.
    pub(crate) pending_reads: VecDeque<u64>,
    /// Pending reads that were invoked up to this time are not judged.
    unchecked_until: u64,
    /// Number of pending writes.
    pending_writes: usize,
    pub(crate) clusters: Vec<Cluster>,
    /// The witnesses of the history that still differ; at least one.
    pub(crate) witnesses: Vec<Witness>,
    /// The constraints common to all witnesses, also to those that were dropped by the limit.
    pub(crate) relaxed: Option<Witness>,
    /// Whether witnesses were dropped by the limit.
    pub(crate) witnesses_dropped: bool,
    /// Whether puts, and whether deletes, that may still take effect were forgotten.
    pub(crate) forgotten: (bool, bool),
    prune_at: usize,
    /// The last completed operations, once there are deletes.
    pub(crate) log: VecDeque<Record>,
    /// Whether `log` has all operations since the history was idle.
    pub(crate) log_complete: bool,
    /// Clusters that were dropped.
    pub(crate) dropped: Vec<Cluster>,
}

/// The history of a key without pending operations.
#[derive(Debug, Clone)]
pub(crate) struct IdleHistory {
    pub(crate) first_write: u64,
    pub(crate) initially_present: bool,
    pub(crate) deleted: bool,
    pub(crate) unchecked_until: u64,
    pub(crate) forgotten: (bool, bool),
    /// Clusters that may be the last one of the key. There is more than one until a read returns
    /// one of them.
    pub(crate) clusters: Vec<(Cluster, Zone)>,
}

impl Register {
    /// The history of a key without writes. The first write is invoked after `first_write`.
    pub(crate) fn new(initially_present: bool, first_write: u64) -> Self {
        Self::from_idle(&Self::new_idle(initially_present, first_write))
    }

    /// The idle history of a key without writes.
    pub(crate) fn new_idle(initially_present: bool, first_write: u64) -> IdleHistory {
        let kind = if initially_present { ClusterKind::Put } else { ClusterKind::Delete };
        IdleHistory {
            first_write,
            initially_present,
            deleted: false,
            unchecked_until: INITIAL_TIME,
            forgotten: (false, false),
            clusters: vec![(
                Cluster::new(WriteId::INITIAL, kind, INITIAL_TIME, INITIAL_TIME),
                Zone { min_response: INITIAL_TIME, max_invocation: INITIAL_TIME, kind },
            )],
        }
    }

    pub(crate) fn from_idle(idle: &IdleHistory) -> Self {
        let mut register = Self {
            first_write: 0,
            initially_present: false,
            deleted: false,
            pending_reads: VecDeque::new(),
            unchecked_until: 0,
            pending_writes: 0,
            clusters: Vec::new(),
            witnesses: vec![Witness(Vec::new())],
            relaxed: None,
            witnesses_dropped: false,
            forgotten: (false, false),
            prune_at: PRUNE_AT,
            log: VecDeque::new(),
            log_complete: true,
            dropped: Vec::new(),
        };
        register.restore(idle);
        register
    }

    /// Replaces this history, which has no pending operations, by that of another key.
    pub(crate) fn restore(&mut self, idle: &IdleHistory) {
        (self.first_write, self.initially_present, self.deleted) =
            (idle.first_write, idle.initially_present, idle.deleted);
        (self.unchecked_until, self.forgotten) = (idle.unchecked_until, idle.forgotten);
        self.clusters.clear();
        self.clusters.extend(idle.clusters.iter().map(|(cluster, _)| *cluster));
        self.witnesses[0].0.clear();
        self.witnesses[0].0.extend(idle.clusters.iter().map(|(_, zone)| *zone));
        self.log.clear();
        self.log_complete = idle.clusters.len() == 1;
        self.prune_at = PRUNE_AT;
    }

    /// The idle form, if there is no pending operation and exactly one witness. `now` is the
    /// current timestamp.
    pub(crate) fn idle_form(&mut self, now: u64) -> Option<IdleHistory> {
        if self.pending_writes > 0 || !self.pending_reads.is_empty() {
            return None;
        }
        self.prune(now);
        self.reduce_witnesses(now);
        let decided =
            self.witnesses.len() == 1 && self.relaxed.is_none() && !self.witnesses_dropped;
        decided.then(|| IdleHistory {
            first_write: self.first_write,
            initially_present: self.initially_present,
            deleted: self.deleted,
            unchecked_until: self.unchecked_until,
            forgotten: self.forgotten,
            clusters: self
                .clusters
                .iter()
                .copied()
                .zip(self.witnesses[0].0.iter().copied())
                .collect(),
        })
    }

    pub(crate) fn find(&self, id: WriteId) -> Option<usize> {
        self.clusters.iter().rposition(|it| it.id == id && it.kind != ClusterKind::UnassignedRead)
    }

    pub(crate) fn begin_write(&mut self, now: u64, id: WriteId, kind: WriteKind) {
        if self.clusters.len() >= self.prune_at {
            self.prune(now);
            self.prune_at = PRUNE_AT.max(2 * self.clusters.len());
        }
        let kind = match kind {
            WriteKind::Put => ClusterKind::Put,
            WriteKind::Delete => ClusterKind::Delete,
        };
        self.pending_writes += 1;
        let zone = Zone { min_response: NEVER, max_invocation: now, kind };
        self.push(Cluster::new(id, kind, now, NEVER), zone, zone);
    }

    /// Adds a cluster, with its zone in the exact witnesses and in the relaxed one.
    pub(crate) fn push(&mut self, cluster: Cluster, exact: Zone, relaxed: Zone) {
        self.clusters.push(cluster);
        self.witnesses.iter_mut().for_each(|witness| witness.0.push(exact));
        self.relaxed.iter_mut().for_each(|witness| witness.0.push(relaxed));
    }

    /// Returns the invocation of the write; `None` if its cluster was dropped.
    pub(crate) fn end_write(&mut self, now: u64, id: WriteId) -> Option<u64> {
        self.pending_writes = self.pending_writes.saturating_sub(1);
        let at = self.find(id)?;
        self.clusters[at].response = now;
        let (invocation, kind) = (self.clusters[at].invocation, self.clusters[at].kind);
        self.deleted |= kind == ClusterKind::Delete;
        for witness in self.witnesses.iter_mut().chain(&mut self.relaxed) {
            witness.extend(at, invocation, now);
        }
        self.record(self.clusters[at].write());
        Some(invocation)
    }

    /// The client gave the write up; it may take effect at any time. It is kept only if `keep`, and
    /// if it is among the last [`MAX_GIVEN_UP`].
    pub(crate) fn give_up_write(&mut self, id: WriteId, keep: bool) {
        self.pending_writes = self.pending_writes.saturating_sub(1);
        let Some(at) = self.find(id) else { return };
        self.clusters[at].given_up = true;
        let may_take_effect = |at: &usize| {
            self.clusters[*at].given_up
                && self.witnesses.iter().all(|it| it.0[*at].min_response == NEVER)
        };
        let unfinished: Vec<usize> = (0..self.clusters.len()).filter(may_take_effect).collect();
        if !unfinished.contains(&at) || keep && unfinished.len() <= MAX_GIVEN_UP {
            return;
        }
        let forgotten = if keep { unfinished[0] } else { at };
        match self.clusters[forgotten].kind {
            ClusterKind::Put => self.forgotten.0 = true,
            _ => self.forgotten.1 = true,
        }
        self.remove(forgotten);
    }

    /// The write was refused, so it has not taken effect and will not. Returns its cluster, unless
    /// that was dropped: it has the reads that returned the value of the write.
    pub(crate) fn refuse_write(&mut self, id: WriteId) -> Option<Cluster> {
        self.pending_writes = self.pending_writes.saturating_sub(1);
        let at = self.find(id)?;
        for witness in self.witnesses.iter_mut().chain(&mut self.relaxed) {
            witness.0.remove(at);
        }
        Some(self.clusters.remove(at))
    }

    pub(crate) fn begin_read(&mut self, now: u64) {
        self.pending_reads.push_back(now);
    }

    /// The read with this invocation has a response or was given up.
    pub(crate) fn end_read(&mut self, invocation: u64) {
        if let Ok(at) = self.pending_reads.binary_search(&invocation) {
            self.pending_reads.remove(at);
        }
    }

    /// Judges a read at its response; it is no longer in `pending_reads`. `issued` is whether a
    /// client has made the request that is encoded in the value.
    pub(crate) fn judge(
        &mut self,
        read: Record,
        observed: Observed,
        issued: bool,
        condition: Condition,
    ) -> Judgement {
        let (invocation, now) = (read.invocation, read.response);
        if invocation <= self.unchecked_until
            && invocation >= self.first_write
            && observed != Observed::Garbage
        {
            return Judgement::Unchecked;
        }
        let id = match observed {
            Observed::Garbage => return Judgement::Phantom,
            Observed::NotFound => return self.judge_not_found(read, condition),
            Observed::Value(id) => id,
        };
        if id == WriteId::INITIAL && !self.initially_present || id != WriteId::INITIAL && !issued {
            return Judgement::Phantom;
        }
        let at = match self.find(id) {
            Some(at) if self.clusters[at].kind == ClusterKind::Put => at,
            Some(_) => return Judgement::Phantom,
            // The cluster was dropped, since no later read may return it, or it was forgotten.
            None if invocation < self.first_write => return Judgement::Legal,
            None if self.forgotten.0 && id != WriteId::INITIAL => return Judgement::Unchecked,
            None => return Judgement::Stale,
        };
        if !self.witnesses.iter().any(|witness| witness.allows(at, invocation, now)) {
            return self.impossible(&[at], invocation, now);
        }
        if condition == Condition::Linearizable {
            if self.witnesses.len() > 1 {
                self.witnesses.retain(|witness| witness.allows(at, invocation, now));
            }
            for witness in self.witnesses.iter_mut().chain(&mut self.relaxed) {
                witness.extend(at, invocation, now);
            }
        }
        self.record_read(at, read);
        Judgement::Legal
    }

    /// Judges a read for which no kept witness permits any of the clusters `options`. If witnesses
    /// were dropped and the relaxed one permits it, it is unchecked; else it is a violation.
    pub(crate) fn impossible(&mut self, options: &[usize], invocation: u64, now: u64) -> Judgement {
        if let (true, Some(relaxed)) = (self.witnesses_dropped, &self.relaxed) {
            let mut possible = options.iter().filter(|at| relaxed.allows(**at, invocation, now));
            if let Some(at) = possible.next() {
                let only = possible.next().is_none();
                let mut witness = relaxed.clone();
                if only {
                    witness.extend(*at, invocation, now);
                }
                self.relaxed = Some(witness.clone());
                self.witnesses = vec![witness];
                return Judgement::Unchecked;
            }
        }
        let zones = &self.witnesses[0].0;
        let replaced = |at: &usize| {
            (self.clusters.iter().zip(zones)).any(|(other, zone)| {
                other.invocation > zones[*at].min_response && zone.min_response < invocation
            })
        };
        match options.iter().all(replaced) {
            true => Judgement::Stale,
            false => Judgement::NotLinearizable,
        }
    }

    /// Records a read of cluster `at` for reports.
    pub(crate) fn record_read(&mut self, at: usize, read: Record) {
        let reads = &mut self.clusters[at].reads;
        let (first, last) = reads.unwrap_or((read, read));
        *reads = Some((first, if read.invocation > last.invocation { read } else { last }));
        self.record(Some(read));
    }

    /// Records an operation for reports, if the key has deletes.
    fn record(&mut self, record: Option<Record>) {
        if !self.clusters.iter().any(|it| it.kind != ClusterKind::Put) {
            return;
        }
        if self.log.len() == MAX_LOG {
            self.log.pop_front();
            self.log_complete = false;
        }
        self.log.extend(record);
    }

    /// Drops clusters that no read can return any more. `now` is the current timestamp.
    pub(crate) fn prune(&mut self, now: u64) {
        while !self.drop_overwritten(now) {
            // Long reads keep too many clusters: the oldest read becomes unchecked.
            let Some(oldest) = self.pending_reads.pop_front() else { break };
            self.unchecked_until = oldest;
        }
        if (self.witnesses_dropped || self.witnesses.len() > 1)
            && self.clusters.iter().all(|it| it.kind == ClusterKind::Put)
        {
            // Without deletes, all witnesses are equal.
            self.witnesses.truncate(1);
            if let Some(relaxed) = self.relaxed.take() {
                self.witnesses[0] = relaxed;
            }
            self.witnesses_dropped = false;
        }
    }

    /// Drops overwritten clusters. Returns whether the rest is within the limit.
    fn drop_overwritten(&mut self, now: u64) -> bool {
        let earliest_read = self.pending_reads.front().copied().unwrap_or(now + 1);
        let bounds: Vec<OverwriteBound> = self
            .witnesses
            .iter()
            .chain(&self.relaxed)
            .map(|it| it.overwrite_bound(earliest_read))
            .collect();
        let exact = self.witnesses.len();
        // A cluster that is overwritten in one witness and kept for another must remain
        // overwritten, even if its overwriting cluster is dropped now.
        for (witness, bound) in self.witnesses.iter_mut().chain(&mut self.relaxed).zip(&bounds) {
            witness.close_overwritten(bound);
        }
        for at in (0..self.clusters.len()).rev() {
            // An unassigned read is in the relaxed witness only.
            let skipped =
                if self.clusters[at].kind == ClusterKind::UnassignedRead { exact } else { 0 };
            let mut witnesses =
                self.witnesses.iter().chain(&self.relaxed).zip(&bounds).skip(skipped);
            if witnesses.all(|(witness, bound)| bound.covers(witness, at)) {
                self.remove(at);
            }
        }
        let completed = self.clusters.iter().zip(&self.witnesses[0].0);
        let completed = completed
            .filter(|(it, zone)| {
                it.kind == ClusterKind::UnassignedRead || zone.min_response != NEVER
            })
            .count();
        completed <= MAX_COMPLETED_CLUSTERS
    }

    pub(crate) fn remove(&mut self, at: usize) {
        let cluster = self.clusters[at];
        if cluster.kind == ClusterKind::Delete && cluster.response == NEVER {
            // Its response will not find the cluster.
            self.record(cluster.write());
        }
        self.clusters.remove(at);
        self.dropped.push(cluster);
        for witness in self.witnesses.iter_mut().chain(&mut self.relaxed) {
            witness.0.remove(at);
        }
    }
}
