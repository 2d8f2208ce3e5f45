//! One way in which a history may have happened: for every write the span of its cluster.
//!
//! A cluster is a write and the reads that returned it. In any explanation of the history they
//! stand together: the write, then its reads, and no other write between. What matters of a
//! cluster are two moments (its zone, after Gibbons and Korach, "Testing shared memories", 1997):
//! when the first of its operations ended, and when the last of them began. One cluster must come
//! before another if something in it ended before something in the other began. If that holds
//! both ways the history has no explanation, and if it holds for no pair, it has one.

use crate::cluster::ClusterKind;
use crate::operation::NEVER;

/// The zone of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// When the first of its operations ended; [`NEVER`] as long as none has.
    pub end: u64,
    /// When the last of its operations began.
    pub start: u64,
    /// Whose it is.
    pub of: ClusterKind,
}

impl Span {
    /// A cluster that has no place in a world and forbids nothing.
    pub const ABSENT: Span = Span { end: NEVER, start: 0, of: ClusterKind::Nothing };

    fn with(self, begun: u64, ended: u64) -> Self {
        Self { end: self.end.min(ended), start: self.start.max(begun), ..self }
    }

    fn conflicts(self, other: Self) -> bool {
        self.end < other.start && other.end < self.start && !self.may_be_of(other)
    }

    /// Whether one is a read that may belong to the other: it found nothing, and the other is a
    /// delete. Then neither has to come before the other.
    fn may_be_of(self, other: Self) -> bool {
        use ClusterKind::{Delete, Nothing};
        matches!((self.of, other.of), (Delete, Nothing) | (Nothing, Delete))
    }
}

/// Spans of all clusters that are remembered, in the order of the register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct World(pub Vec<Span>);

impl World {
    fn others(&self, at: usize) -> impl Iterator<Item = Span> + '_ {
        let all = self.0.iter().enumerate();
        all.filter(move |(other, _)| *other != at).map(|(_, span)| *span)
    }

    /// Whether cluster `at` may have had an operation that began at `begun` and ends now.
    pub fn allows(&self, at: usize, begun: u64, now: u64) -> bool {
        let (old, new) = (self.0[at], self.0[at].with(begun, now));
        // What ends first now ends after everything has begun, so it must come before nothing.
        old.end == NEVER
            || new.start == old.start
            || !self.others(at).any(|span| span.conflicts(new))
    }

    pub fn extend(&mut self, at: usize, begun: u64, now: u64) {
        self.0[at] = self.0[at].with(begun, now);
    }

    /// Whether the operation would change nothing that can matter: no other cluster ended
    /// something between the old start of `at` and the new one.
    pub fn unaffected(&self, at: usize, begun: u64) -> bool {
        let old = self.0[at];
        old.end != NEVER
            && !self.others(at).any(|span| (old.start..begun.max(old.start)).contains(&span.end))
    }

    /// By what clusters are overwritten for every read that begins at `horizon` or later.
    pub fn overwriting(&self, horizon: u64) -> Overwriting {
        let mut found = Overwriting { horizon, all: Latest::NONE, writes: Latest::NONE };
        for (at, span) in self.0.iter().enumerate().filter(|(_, span)| span.end < horizon) {
            found.all.take(at, span.start);
            if span.of != ClusterKind::Nothing {
                found.writes.take(at, span.start);
            }
        }
        found
    }

    /// Lets what is overwritten end before everything else. That changes nothing for what is not,
    /// and of all that was over by then one cluster is never overwritten: with it, every later
    /// read of what is buried is in conflict.
    pub fn bury(&mut self, limit: &Overwriting) {
        for at in 0..self.0.len() {
            if limit.covers(self, at) {
                self.0[at].end = 0;
            }
        }
    }

    /// Moves every bound as far as possible without changing any comparison that can still be
    /// made, so that worlds that differ in nothing that matters look alike. `reading` has the
    /// beginnings of the reads under way, ascending.
    pub fn simplify(&mut self, reading: &[u64], now: u64) {
        // Ends are only ever compared with beginnings: known ones, those of reads under way, and
        // later ones.
        let starts = self.0.iter().map(|span| span.start).chain(reading.iter().copied());
        let mut starts: Vec<u64> = starts.collect();
        starts.sort_unstable();
        for span in self.0.iter_mut().filter(|span| span.end != NEVER) {
            let mut later = starts[starts.partition_point(|start| *start <= span.end)..].iter();
            let mut next = later.next();
            if next == Some(&span.start) {
                next = later.next();
            }
            span.end = next.map_or(now, |start| start - 1);
        }
        // And beginnings with ends: known ones, and later ones.
        let mut ends: Vec<u64> = self.0.iter().map(|span| span.end).collect();
        ends.sort_unstable();
        for span in &mut self.0 {
            let mut earlier = ends[..ends.partition_point(|end| *end < span.start)].iter().rev();
            let mut next = earlier.next();
            if next == Some(&span.end) {
                next = earlier.next();
            }
            span.start = next.map_or(0, |end| end + 1);
        }
    }

    /// Whether whatever may follow in `other` may follow here too.
    pub fn covers(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a.end >= b.end && a.start <= b.start)
    }

    /// How much it has committed to: less is better when not all worlds can be kept.
    pub fn commitments(&self) -> (usize, u64) {
        let settled = self.0.iter().filter(|span| span.end != NEVER);
        (settled.clone().count(), settled.map(|span| span.start).fold(0, u64::wrapping_add))
    }
}

/// When the latest cluster began that ended something before a horizon.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Overwriting {
    horizon: u64,
    all: Latest,
    /// Of all but the reads that stand alone: these overwrite no delete, they may have seen it.
    writes: Latest,
}

#[derive(Debug, Clone, Copy)]
struct Latest {
    start: u64,
    by: usize,
    /// The same without `by`.
    second: u64,
}

impl Latest {
    const NONE: Self = Self { start: 0, by: usize::MAX, second: 0 };

    fn take(&mut self, at: usize, start: u64) {
        if self.by == usize::MAX || start > self.start {
            *self = Self { start, by: at, second: self.start };
        } else {
            self.second = self.second.max(start);
        }
    }

    fn without(&self, at: usize) -> u64 {
        if self.by == at { self.second } else { self.start }
    }
}

impl Overwriting {
    /// Whether no read may return cluster `at` of `world` that begins at the horizon or later:
    /// something that ended before then began after the cluster ended something. Nothing later
    /// depends on its span either: a cluster that could still come into conflict with it is
    /// overwritten itself.
    pub fn covers(&self, world: &World, at: usize) -> bool {
        let span = world.0[at];
        let by = if span.of == ClusterKind::Delete { &self.writes } else { &self.all };
        span.end < self.horizon && span.end < by.without(at)
    }
}
