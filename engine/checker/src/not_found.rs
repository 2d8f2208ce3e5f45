//! Reads that found nothing: which delete they saw, if there are several.
//!
//! Such a read is tried with every delete that it may have seen. Each that fits makes a world of
//! its own; worlds that allow no more than others are dropped, and a read that fits a delete that
//! was in place anyway makes none. While all worlds are kept (at most [`MAX_WORLDS`], which is
//! seldom reached) the judgement is exact.
//!
//! If there are more, some of the most flexible ones are kept, and beside them a relaxed world of what
//! holds in all: there a read that may have seen one of several deletes stands alone, as a moment
//! at which the key had no value. As long as one kept world fits, the history has an explanation;
//! if the relaxed one does not fit, it has none; only in between it cannot be judged.

use crate::cluster::{Cluster, ClusterKind};
use crate::operation::{NEVER, Record, WriteId};
use crate::register::{Judgement, Register};
use crate::world::{Span, World};

/// Worlds kept for one key.
pub const MAX_WORLDS: usize = 16;

impl Register {
    pub(crate) fn judge_absent(&mut self, read: Record) -> Judgement {
        let (begun, now) = (read.begun, read.ended);
        if begun < self.born && (self.deleted || !self.existed) {
            return Judgement::Legal;
        }
        if self.forgotten.1 {
            return Judgement::Unchecked;
        }
        let deletes: Vec<usize> = (0..self.clusters.len())
            .filter(|at| self.clusters[*at].kind == ClusterKind::Delete)
            .collect();
        let most = 2 * MAX_WORLDS / self.worlds.len();
        let mut cut = false;
        let mut next: Vec<World> = Vec::new();
        let mut seen = None;
        for world in &self.worlds {
            let fits = Fits::of(world, &deletes, begun, now);
            seen = seen.or(fits.first());
            match fits {
                Fits::Already(_) => next.push(world.clone()),
                Fits::Some(mut options) => {
                    self.leave_equals(world, &mut options, begun);
                    cut |= options.len() > most;
                    next.extend(options.iter().take(most).map(|at| {
                        let mut world = world.clone();
                        world.extend(*at, begun, now);
                        world
                    }));
                }
            }
        }
        let Some(seen) = seen else {
            return self.impossible(&deletes, begun, now);
        };
        if next.len() > 1 && self.relaxed.is_none() {
            self.relaxed = Some(self.worlds[0].clone());
        }
        self.lossy |= cut;
        self.worlds = next;
        self.told(seen, read);
        self.relax(&deletes, read);
        self.reduce(now);
        // Some delete took effect; who began to read before the first write may have seen it.
        self.deleted = true;
        Judgement::Legal
    }

    /// Of deletes that were given up, that nobody has seen and that began before the read, one is
    /// as good as the other to explain it; the one to use is the youngest, since an older one may
    /// also explain an older read.
    fn leave_equals(&self, world: &World, options: &mut Vec<usize>, begun: u64) {
        let equal = |at: usize| {
            self.clusters[at].given_up
                && world.0[at].end == NEVER
                && self.clusters[at].begun < begun
        };
        let youngest = options.iter().copied().filter(|at| equal(*at)).max();
        options.retain(|at| !equal(*at) || Some(*at) == youngest);
    }

    /// Takes the read into the relaxed world.
    fn relax(&mut self, deletes: &[usize], read: Record) {
        let Some(relaxed) = &mut self.relaxed else { return };
        let fits = Fits::of(relaxed, deletes, read.begun, read.ended);
        match fits {
            Fits::Already(_) => {}
            Fits::Some(only) if only.len() == 1 => relaxed.extend(only[0], read.begun, read.ended),
            Fits::Some(_) => {
                let kind = ClusterKind::Nothing;
                let span = Span { end: read.ended, start: read.begun, of: kind };
                let cluster = Cluster {
                    id: WriteId::INITIAL,
                    kind,
                    given_up: false,
                    begun: read.begun,
                    ended: read.ended,
                    reads: Some((read, read)),
                };
                self.push(cluster, Span::ABSENT, span);
            }
        }
    }

    /// Drops the worlds that others cover, and those that are too many.
    fn reduce(&mut self, now: u64) {
        if self.worlds.len() > 1 {
            let reading: Vec<u64> = self.reading.iter().copied().collect();
            let mut kept: Vec<World> = Vec::new();
            for mut world in std::mem::take(&mut self.worlds) {
                world.simplify(&reading, now);
                if !kept.iter().any(|other| other.covers(&world)) {
                    kept.retain(|other| !world.covers(other));
                    kept.push(world);
                }
            }
            if kept.len() > MAX_WORLDS {
                kept.sort_by_key(World::commitments);
                kept.truncate(MAX_WORLDS);
                self.lossy = true;
            }
            self.worlds = kept;
        }
        if self.worlds.len() == 1 && !self.lossy && self.relaxed.take().is_some() {
            let lone = |it: &Cluster| it.kind == ClusterKind::Nothing;
            while let Some(at) = self.clusters.iter().rposition(lone) {
                self.remove(at);
            }
        }
    }
}

/// Which deletes a read that found nothing may have seen.
enum Fits {
    /// This one, and that changes nothing.
    Already(usize),
    /// Any of these.
    Some(Vec<usize>),
}

impl Fits {
    fn of(world: &World, deletes: &[usize], begun: u64, now: u64) -> Self {
        let fits: Vec<usize> =
            deletes.iter().copied().filter(|at| world.allows(*at, begun, now)).collect();
        match fits.iter().find(|at| world.unaffected(**at, begun)) {
            Some(at) => Fits::Already(*at),
            None => Fits::Some(fits),
        }
    }

    fn first(&self) -> Option<usize> {
        match self {
            Fits::Already(at) => Some(*at),
            Fits::Some(fits) => fits.first().copied(),
        }
    }
}
