//! One key: what its history so far allows.
//!
//! Rules
//! -----
//! 1. Nothing is decided before it must be: a read says which write it saw only when it ends, a
//!    write has an end only when it is acknowledged or a read has returned it. A write that has no
//!    end and that nobody has read may be left out, and constrains nothing.
//! 2. The ends of events come in order, so only the end of a read can make a history impossible
//!    (see [`crate::world`]). Such a read is told, and then left out.
//! 3. Clusters that no present or future read may return are dropped. So a key keeps about as many
//!    clusters as it has operations under way; the rest is bounded by the limits below, and what
//!    they cost is told as [`Judgement::Unchecked`], never as a violation.
//! 4. A read that found nothing does not say which delete it saw: `absent` has that.
//!
//! Removing reads, or a write with all its reads, from a linearizable history leaves a
//! linearizable one; every limit below does nothing else, so there are no false alarms.

use std::collections::VecDeque;

use crate::cluster::{Cluster, ClusterKind};
use crate::moments::BEFORE;
use crate::operation::{NEVER, Observed, Record, WriteId, WriteKind};
use crate::world::{Overwriting, Span, World};

/// Writes of one key that were given up and may still take effect; older ones are forgotten.
pub const MAX_GIVEN_UP: usize = 64;
/// Clusters that are kept for the sake of reads under way; the oldest of these is not judged then.
pub const MAX_SETTLED: usize = 256;
/// Clusters from which on it is worth while to look for some to drop.
const PRUNE_AT: usize = 4;
/// Operations remembered for the report of a key with deletes.
const MAX_LOG: usize = 128;

/// What is thought of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// The history with it has an explanation.
    Legal,
    /// What it returned had been overwritten by a write that began afterwards and was over before
    /// the read began.
    Stale,
    /// It contradicts other reads.
    Disordered,
    /// Nobody wrote what it returned.
    Phantom,
    /// It cannot be judged any more.
    Unchecked,
}

/// The history of one key. Moments must grow from call to call.
#[derive(Debug)]
pub(crate) struct Register {
    /// When the first write began; reads that began before are not in `reading`, because they
    /// may return any value that the key had since.
    pub(crate) born: u64,
    /// Whether the key had a value before anybody wrote it.
    pub(crate) existed: bool,
    /// Whether a delete was acknowledged.
    pub(crate) deleted: bool,
    /// Beginnings of the reads under way, ascending.
    pub(crate) reading: VecDeque<u64>,
    /// Reads that began up to here, and are not over, are not judged.
    blind: u64,
    /// Writes under way.
    writing: usize,
    pub(crate) clusters: Vec<Cluster>,
    /// All ways in which the history may have happened, as far as they still differ; at least one.
    pub(crate) worlds: Vec<World>,
    /// What holds in every world, also in those that were too many to keep.
    pub(crate) relaxed: Option<World>,
    /// Worlds were dropped that may be possible.
    pub(crate) lossy: bool,
    /// Writes that may still take effect are forgotten: puts, deletes.
    pub(crate) forgotten: (bool, bool),
    prune_at: usize,
    /// The last operations that ended, once there are deletes.
    pub(crate) log: VecDeque<Record>,
    /// Whether that is all of them since the key was at rest.
    pub(crate) log_whole: bool,
    /// Where clusters go that are dropped.
    pub(crate) dropped: Vec<Cluster>,
}

/// What is kept of a key that nobody uses at present.
#[derive(Debug, Clone)]
pub(crate) struct Rest {
    pub(crate) born: u64,
    pub(crate) existed: bool,
    pub(crate) deleted: bool,
    pub(crate) blind: u64,
    pub(crate) forgotten: (bool, bool),
    /// What the key may have; more than one write as long as nobody has read which.
    pub(crate) clusters: Vec<(Cluster, Span)>,
}

impl Register {
    /// A key that nobody has written yet; its first write begins after `born`.
    pub(crate) fn new(existed: bool, born: u64) -> Self {
        Self::from_rest(&Self::rest_of_new(existed, born))
    }

    /// The same at rest.
    pub(crate) fn rest_of_new(existed: bool, born: u64) -> Rest {
        let kind = if existed { ClusterKind::Put } else { ClusterKind::Delete };
        Rest {
            born,
            existed,
            deleted: false,
            blind: BEFORE,
            forgotten: (false, false),
            clusters: vec![(
                Cluster::new(WriteId::INITIAL, kind, BEFORE, BEFORE),
                Span { end: BEFORE, start: BEFORE, of: kind },
            )],
        }
    }

    pub(crate) fn from_rest(rest: &Rest) -> Self {
        let mut register = Self {
            born: 0,
            existed: false,
            deleted: false,
            reading: VecDeque::new(),
            blind: 0,
            writing: 0,
            clusters: Vec::new(),
            worlds: vec![World(Vec::new())],
            relaxed: None,
            lossy: false,
            forgotten: (false, false),
            prune_at: PRUNE_AT,
            log: VecDeque::new(),
            log_whole: true,
            dropped: Vec::new(),
        };
        register.wake(rest);
        register
    }

    /// Goes on with another key that was at rest, in the memory of this one, which is.
    pub(crate) fn wake(&mut self, rest: &Rest) {
        (self.born, self.existed, self.deleted) = (rest.born, rest.existed, rest.deleted);
        (self.blind, self.forgotten) = (rest.blind, rest.forgotten);
        self.clusters.clear();
        self.clusters.extend(rest.clusters.iter().map(|(cluster, _)| *cluster));
        self.worlds[0].0.clear();
        self.worlds[0].0.extend(rest.clusters.iter().map(|(_, span)| *span));
        self.log.clear();
        self.log_whole = rest.clusters.len() == 1;
        self.prune_at = PRUNE_AT;
    }

    /// What to keep of it, if nothing is under way and the history has happened in one way. `now` is
    /// the present moment.
    pub(crate) fn rest(&mut self, now: u64) -> Option<Rest> {
        if self.writing > 0 || !self.reading.is_empty() {
            return None;
        }
        self.prune(now);
        let decided = self.worlds.len() == 1 && self.relaxed.is_none() && !self.lossy;
        decided.then(|| Rest {
            born: self.born,
            existed: self.existed,
            deleted: self.deleted,
            blind: self.blind,
            forgotten: self.forgotten,
            clusters: self.clusters.iter().copied().zip(self.worlds[0].0.iter().copied()).collect(),
        })
    }

    pub(crate) fn find(&self, id: WriteId) -> Option<usize> {
        self.clusters.iter().rposition(|it| it.id == id && it.kind != ClusterKind::Nothing)
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
        self.writing += 1;
        let span = Span { end: NEVER, start: now, of: kind };
        self.push(Cluster::new(id, kind, now, NEVER), span, span);
    }

    /// Adds a cluster with its span in the exact worlds and in the relaxed one.
    pub(crate) fn push(&mut self, cluster: Cluster, exact: Span, relaxed: Span) {
        self.clusters.push(cluster);
        self.worlds.iter_mut().for_each(|world| world.0.push(exact));
        self.relaxed.iter_mut().for_each(|world| world.0.push(relaxed));
    }

    pub(crate) fn end_write(&mut self, now: u64, id: WriteId) {
        self.writing = self.writing.saturating_sub(1);
        let Some(at) = self.find(id) else { return };
        self.clusters[at].ended = now;
        let (begun, kind) = (self.clusters[at].begun, self.clusters[at].kind);
        self.deleted |= kind == ClusterKind::Delete;
        for world in self.worlds.iter_mut().chain(&mut self.relaxed) {
            world.extend(at, begun, now);
        }
        self.note(self.clusters[at].write());
    }

    /// The writer waits no longer; the write may take effect at any time. It is remembered for
    /// that as long as there is room, and only if `keep` says so.
    pub(crate) fn give_up_write(&mut self, id: WriteId, keep: bool) {
        self.writing = self.writing.saturating_sub(1);
        let Some(at) = self.find(id) else { return };
        self.clusters[at].given_up = true;
        let waits = |at: &usize| {
            self.clusters[*at].given_up && self.worlds.iter().all(|it| it.0[*at].end == NEVER)
        };
        let waiting: Vec<usize> = (0..self.clusters.len()).filter(waits).collect();
        if !waiting.contains(&at) || keep && waiting.len() <= MAX_GIVEN_UP {
            return;
        }
        let victim = if keep { waiting[0] } else { at };
        match self.clusters[victim].kind {
            ClusterKind::Put => self.forgotten.0 = true,
            _ => self.forgotten.1 = true,
        }
        self.remove(victim);
    }

    pub(crate) fn begin_read(&mut self, now: u64) {
        self.reading.push_back(now);
    }

    /// The read that began at `begun` is over, or its reader waits no longer.
    pub(crate) fn end_reading(&mut self, begun: u64) {
        if let Ok(at) = self.reading.binary_search(&begun) {
            self.reading.remove(at);
        }
    }

    /// Judges a read that ends now; it is no longer in `reading`. `issued` says whether the request
    /// in the value is one that somebody can have made.
    pub(crate) fn judge(&mut self, read: Record, observed: Observed, issued: bool) -> Judgement {
        let (begun, now) = (read.begun, read.ended);
        if begun <= self.blind && begun >= self.born && observed != Observed::Garbage {
            return Judgement::Unchecked;
        }
        let id = match observed {
            Observed::Garbage => return Judgement::Phantom,
            Observed::NotFound => return self.judge_absent(read),
            Observed::Value(id) => id,
        };
        if id == WriteId::INITIAL && !self.existed || id != WriteId::INITIAL && !issued {
            return Judgement::Phantom;
        }
        let at = match self.find(id) {
            Some(at) if self.clusters[at].kind == ClusterKind::Put => at,
            Some(_) => return Judgement::Phantom,
            // Dropped, because nobody who began to read later may see it, or forgotten.
            None if begun < self.born => return Judgement::Legal,
            None if self.forgotten.0 && id != WriteId::INITIAL => return Judgement::Unchecked,
            None => return Judgement::Stale,
        };
        if !self.worlds.iter().any(|world| world.allows(at, begun, now)) {
            return self.impossible(&[at], begun, now);
        }
        if self.worlds.len() > 1 {
            self.worlds.retain(|world| world.allows(at, begun, now));
        }
        for world in self.worlds.iter_mut().chain(&mut self.relaxed) {
            world.extend(at, begun, now);
        }
        self.told(at, read);
        Judgement::Legal
    }

    /// No world that is kept allows a read of any of these clusters. It is impossible, unless
    /// others were possible and what all have in common allows it.
    pub(crate) fn impossible(&mut self, options: &[usize], begun: u64, now: u64) -> Judgement {
        if let (true, Some(relaxed)) = (self.lossy, &self.relaxed) {
            let mut possible = options.iter().filter(|at| relaxed.allows(**at, begun, now));
            if let Some(at) = possible.next() {
                let only = possible.next().is_none();
                let mut world = relaxed.clone();
                if only {
                    world.extend(*at, begun, now);
                }
                self.relaxed = Some(world.clone());
                self.worlds = vec![world];
                return Judgement::Unchecked;
            }
        }
        let spans = &self.worlds[0].0;
        let replaced = |at: &usize| {
            (self.clusters.iter().zip(spans))
                .any(|(other, span)| other.begun > spans[*at].end && span.end < begun)
        };
        match options.iter().all(replaced) {
            true => Judgement::Stale,
            false => Judgement::Disordered,
        }
    }

    /// Remembers a read of cluster `at` for reports.
    pub(crate) fn told(&mut self, at: usize, read: Record) {
        let reads = &mut self.clusters[at].reads;
        let (first, last) = reads.unwrap_or((read, read));
        *reads = Some((first, if read.begun > last.begun { read } else { last }));
        self.note(Some(read));
    }

    /// Remembers an operation, if it may be needed to tell what deletes have to do with it.
    fn note(&mut self, record: Option<Record>) {
        if !self.clusters.iter().any(|it| it.kind != ClusterKind::Put) {
            return;
        }
        if self.log.len() == MAX_LOG {
            self.log.pop_front();
            self.log_whole = false;
        }
        self.log.extend(record);
    }

    /// Drops what no longer matters; `now` is the present moment.
    pub(crate) fn prune(&mut self, now: u64) {
        while !self.drop_overwritten(now) {
            // Reads that take too long hold too much: the oldest goes unjudged.
            let Some(oldest) = self.reading.pop_front() else { break };
            self.blind = oldest;
        }
        if (self.lossy || self.worlds.len() > 1)
            && self.clusters.iter().all(|it| it.kind == ClusterKind::Put)
        {
            // Without deletes nothing is uncertain any more.
            self.worlds.truncate(1);
            if let Some(relaxed) = self.relaxed.take() {
                self.worlds[0] = relaxed;
            }
            self.lossy = false;
        }
    }

    /// Whether few enough are left.
    fn drop_overwritten(&mut self, now: u64) -> bool {
        let horizon = self.reading.front().copied().unwrap_or(now + 1);
        let limits: Vec<Overwriting> =
            self.worlds.iter().chain(&self.relaxed).map(|it| it.overwriting(horizon)).collect();
        let exact = self.worlds.len();
        // What is overwritten in one world and kept for another must stay so, even if what
        // overwrote it is dropped now.
        for (world, limit) in self.worlds.iter_mut().chain(&mut self.relaxed).zip(&limits) {
            world.bury(limit);
        }
        for at in (0..self.clusters.len()).rev() {
            // In exact worlds it has no place, so only the relaxed one counts.
            let skipped = if self.clusters[at].kind == ClusterKind::Nothing { exact } else { 0 };
            let mut worlds = self.worlds.iter().chain(&self.relaxed).zip(&limits).skip(skipped);
            if worlds.all(|(world, limit)| limit.covers(world, at)) {
                self.remove(at);
            }
        }
        let settled = self.clusters.iter().zip(&self.worlds[0].0);
        let settled = settled
            .filter(|(it, span)| it.kind == ClusterKind::Nothing || span.end != NEVER)
            .count();
        settled <= MAX_SETTLED
    }

    pub(crate) fn remove(&mut self, at: usize) {
        let cluster = self.clusters[at];
        if cluster.kind == ClusterKind::Delete && cluster.ended == NEVER {
            // It will not be found when it ends.
            self.note(cluster.write());
        }
        self.clusters.remove(at);
        self.dropped.push(cluster);
        for world in self.worlds.iter_mut().chain(&mut self.relaxed) {
            world.0.remove(at);
        }
    }
}
