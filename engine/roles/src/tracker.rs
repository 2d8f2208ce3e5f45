//! Which values a read may return: the register rule, checked as operations happen.
//!
//! Every write is recorded with the moment it was invoked and the moment from which it is known
//! to have taken effect (`done`): its acknowledgement, or the end of a read that returned it,
//! whichever comes first. A read that began at `t` must not return write `w` if some write was
//! done before `t` and invoked after `w` was done: then `w` was overwritten for certain. A write
//! without acknowledgement that nobody has read may take effect at any time, so it never is.
//!
//! The rule is sound: retries, duplicates, loss and concurrent writers give no false alarm,
//! because it only uses the order of events at this process. It is complete as far as all
//! writers of the key are emulated by this process; the full history checker is another tool.
//!
//! Moments are counted, not timed, so the order is exact. Memory: writes that no present or
//! future read may return are dropped; at most [`MAX_PER_KEY`] are kept for a key.

use std::collections::VecDeque;

use netkv_wire::Key;
use rustc_hash::FxHashMap;

/// Writes kept for one key. More can only pile up when so many lose their acknowledgement.
pub const MAX_PER_KEY: usize = 256;

const NEVER: u64 = u64::MAX;

/// Identifies a write: who, and the request number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WriteId {
    /// Client id, from 1.
    pub client: u16,
    /// Request number.
    pub request: u32,
}

impl WriteId {
    /// The value that a key has before anybody writes it.
    pub const INITIAL: WriteId = WriteId { client: 0, request: 0 };
}

/// What a write does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteKind {
    /// Gives the key a value.
    Put,
    /// Takes it away.
    Delete,
}

/// What a read returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observed {
    /// The value of this write.
    Value(WriteId),
    /// No value.
    NotFound,
    /// A value that nobody can have written.
    Garbage,
}

/// What the tracker thinks of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It may have returned this.
    Fresh,
    /// What it returned had been overwritten before it began.
    Stale,
    /// Nobody wrote this value.
    Phantom,
    /// No judgement is possible: too many writes of the key are without acknowledgement.
    Unchecked,
}

/// A read under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadTicket(u64);

#[derive(Debug, Clone, Copy)]
struct Write {
    id: WriteId,
    kind: WriteKind,
    invoked: u64,
    done: u64,
}

#[derive(Debug, Default)]
struct History {
    writes: Vec<Write>,
    /// Writes that may still take effect have been forgotten.
    saturated: bool,
}

impl History {
    /// The latest invocation among the writes that were done before `moment`. What was done
    /// before that invocation is overwritten.
    fn overwritten_before(&self, moment: u64) -> u64 {
        let settled = self.writes.iter().filter(|write| write.done < moment);
        settled.map(|write| write.invoked).max().unwrap_or(0)
    }

    fn prune(&mut self, horizon: u64) {
        if self.writes.len() > 1 {
            let limit = self.overwritten_before(horizon);
            self.writes.retain(|write| write.done >= limit);
        }
        while self.writes.len() > MAX_PER_KEY {
            // The oldest without acknowledgement goes; it can hardly be under way any more.
            if let Some(at) = self.writes.iter().position(|write| write.done == NEVER) {
                self.writes.remove(at);
            } else {
                self.writes.remove(0);
            }
            self.saturated = true;
        }
    }
}

/// Records writes and judges reads, for every key that this process writes.
#[derive(Debug, Default)]
pub struct Tracker {
    moment: u64,
    keys: FxHashMap<Key, History>,
    /// Reads under way by their beginning, and whether they have ended.
    reads: VecDeque<(u64, bool)>,
}

impl Tracker {
    /// A tracker that knows of no write.
    pub fn new() -> Self {
        Self::default()
    }

    fn tick(&mut self) -> u64 {
        self.moment += 1;
        self.moment
    }

    /// Reads that begin later, and those under way, began at this moment or after it.
    fn horizon(&self) -> u64 {
        self.reads.front().map_or(self.moment + 1, |(began, _)| *began)
    }

    /// A write is about to be sent for the first time. `exists` says whether the key had a value
    /// before anybody wrote it.
    pub fn begin_write(&mut self, key: &Key, id: WriteId, kind: WriteKind, exists: bool) {
        let invoked = self.tick();
        let horizon = self.horizon();
        let history = self.keys.entry(*key).or_insert_with(|| {
            let kind = if exists { WriteKind::Put } else { WriteKind::Delete };
            let initial = Write { id: WriteId::INITIAL, kind, invoked: 0, done: 0 };
            History { writes: vec![initial], saturated: false }
        });
        history.writes.push(Write { id, kind, invoked, done: NEVER });
        if history.writes.len() > MAX_PER_KEY {
            history.prune(horizon);
        }
    }

    /// The first acknowledgement of a write has come.
    pub fn end_write(&mut self, key: &Key, id: WriteId) {
        let moment = self.tick();
        self.mark_done(key, id, moment);
    }

    fn mark_done(&mut self, key: &Key, id: WriteId, moment: u64) {
        let horizon = self.horizon();
        let Some(history) = self.keys.get_mut(key) else { return };
        if let Some(write) = history.writes.iter_mut().find(|write| write.id == id) {
            write.done = write.done.min(moment);
        }
        history.prune(horizon);
    }

    /// A read is about to be sent for the first time.
    pub fn begin_read(&mut self) -> ReadTicket {
        let began = self.tick();
        self.reads.push_back((began, false));
        ReadTicket(began)
    }

    /// A read is given up.
    pub fn abandon_read(&mut self, ticket: ReadTicket) {
        if let Ok(at) = self.reads.binary_search_by_key(&ticket.0, |(began, _)| *began) {
            self.reads[at].1 = true;
        }
        while self.reads.front().is_some_and(|(_, ended)| *ended) {
            self.reads.pop_front();
        }
    }

    /// A read has ended. `exists` as in [`Tracker::begin_write`]; `issued` says whether the
    /// request number in the value is one that this process has given out.
    pub fn end_read(
        &mut self,
        ticket: ReadTicket,
        key: &Key,
        observed: Observed,
        exists: bool,
        issued: bool,
    ) -> Verdict {
        let verdict = self.judge(ticket.0, key, observed, exists, issued);
        self.abandon_read(ticket);
        if let (Verdict::Fresh, Observed::Value(id)) = (verdict, observed) {
            let moment = self.tick();
            if id != WriteId::INITIAL {
                self.mark_done(key, id, moment);
            }
        }
        verdict
    }

    fn judge(
        &self,
        began: u64,
        key: &Key,
        observed: Observed,
        exists: bool,
        issued: bool,
    ) -> Verdict {
        let Some(history) = self.keys.get(key) else {
            return match observed {
                Observed::Value(WriteId::INITIAL) if exists => Verdict::Fresh,
                Observed::NotFound if !exists => Verdict::Fresh,
                // It had a value, nobody deleted it, and it is gone: what was there is lost.
                Observed::NotFound => Verdict::Stale,
                _ => Verdict::Phantom,
            };
        };
        let limit = history.overwritten_before(began);
        let matches = |write: &&Write| match observed {
            Observed::Value(id) => write.kind == WriteKind::Put && write.id == id,
            Observed::NotFound => write.kind == WriteKind::Delete,
            Observed::Garbage => false,
        };
        let mut known = false;
        for write in history.writes.iter().filter(matches) {
            if write.done >= limit {
                return Verdict::Fresh;
            }
            known = true;
        }
        match observed {
            Observed::Garbage => Verdict::Phantom,
            Observed::Value(WriteId::INITIAL) if !exists => Verdict::Phantom,
            Observed::Value(id) if id != WriteId::INITIAL && !issued => Verdict::Phantom,
            // Overwritten for certain, whether it is still remembered or not.
            _ if known || !history.saturated => Verdict::Stale,
            _ => Verdict::Unchecked,
        }
    }

    /// Keys that have been written, in no order.
    pub fn written(&self) -> impl ExactSizeIterator<Item = &Key> {
        self.keys.keys()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netkv_workload::key_of;

    fn write(request: u32) -> WriteId {
        WriteId { client: 1, request }
    }

    struct Register {
        tracker: Tracker,
        key: Key,
    }

    impl Register {
        fn new() -> Self {
            Self { tracker: Tracker::new(), key: key_of(1) }
        }
        fn begin(&mut self, request: u32) {
            self.tracker.begin_write(&self.key, write(request), WriteKind::Put, true);
        }
        fn delete(&mut self, request: u32) {
            self.tracker.begin_write(&self.key, write(request), WriteKind::Delete, true);
        }
        fn end(&mut self, request: u32) {
            self.tracker.end_write(&self.key, write(request));
        }
        fn read(&mut self, observed: Observed) -> Verdict {
            let ticket = self.tracker.begin_read();
            self.end_read(ticket, observed)
        }
        fn end_read(&mut self, ticket: ReadTicket, observed: Observed) -> Verdict {
            self.tracker.end_read(ticket, &self.key, observed, true, true)
        }
        fn kept(&self) -> usize {
            self.tracker.keys[&self.key].writes.len()
        }
    }

    fn value(request: u32) -> Observed {
        Observed::Value(write(request))
    }

    const INITIAL: Observed = Observed::Value(WriteId::INITIAL);

    #[test]
    fn a_read_after_an_acknowledged_write_must_not_see_what_was_before() {
        let mut register = Register::new();
        assert_eq!(register.read(INITIAL), Verdict::Fresh);
        register.begin(1);
        assert_eq!(register.read(INITIAL), Verdict::Fresh, "not acknowledged yet");
        register.end(1);
        assert_eq!(register.read(INITIAL), Verdict::Stale);
        assert_eq!(register.read(value(1)), Verdict::Fresh);
    }

    #[test]
    fn a_read_that_began_before_the_acknowledgement_may_see_either() {
        let mut register = Register::new();
        register.begin(1);
        let (early, late) = (register.tracker.begin_read(), register.tracker.begin_read());
        register.end(1);
        register.begin(2);
        register.end(2);
        assert_eq!(register.end_read(early, INITIAL), Verdict::Fresh);
        assert_eq!(register.end_read(late, value(2)), Verdict::Fresh);
        assert_eq!(register.read(value(1)), Verdict::Stale);
    }

    #[test]
    fn concurrent_writes_may_take_effect_in_either_order() {
        let mut register = Register::new();
        register.begin(1);
        register.begin(2);
        register.end(1);
        register.end(2);
        assert_eq!(register.read(value(1)), Verdict::Fresh);
        assert_eq!(register.read(value(2)), Verdict::Fresh);
    }

    #[test]
    fn a_write_without_acknowledgement_may_appear_at_any_time_until_it_was_seen() {
        let mut register = Register::new();
        register.begin(1);
        register.begin(2);
        register.end(2);
        register.begin(3);
        register.end(3);
        assert_eq!(register.read(value(1)), Verdict::Fresh, "it took effect just now");
        assert_eq!(register.read(value(3)), Verdict::Fresh, "1 and 3 may overlap");
        register.begin(4);
        register.end(4);
        assert_eq!(register.read(value(1)), Verdict::Stale, "4 began after 1 had been seen");
    }

    #[test]
    fn a_write_that_was_only_seen_still_overwrites() {
        let mut register = Register::new();
        register.begin(1);
        register.end(1);
        register.begin(2);
        assert_eq!(register.read(value(2)), Verdict::Fresh);
        assert_eq!(register.read(value(1)), Verdict::Stale, "a read has already seen 2");
    }

    #[test]
    fn a_deleted_key_has_no_value_and_an_undeleted_one_does() {
        let mut register = Register::new();
        assert_eq!(register.read(Observed::NotFound), Verdict::Stale, "nobody deleted it");
        register.delete(1);
        register.end(1);
        assert_eq!(register.read(Observed::NotFound), Verdict::Fresh);
        assert_eq!(register.read(INITIAL), Verdict::Stale);
        register.begin(2);
        register.end(2);
        assert_eq!(register.read(Observed::NotFound), Verdict::Stale);
    }

    #[test]
    fn values_of_nobody_are_told_from_old_ones() {
        let mut register = Register::new();
        assert_eq!(register.read(Observed::Garbage), Verdict::Phantom);
        register.begin(1);
        let ticket = register.tracker.begin_read();
        let verdict = register.tracker.end_read(ticket, &key_of(1), value(77), true, false);
        assert_eq!(verdict, Verdict::Phantom);
        let ticket = register.tracker.begin_read();
        let verdict = register.tracker.end_read(ticket, &key_of(2), INITIAL, false, false);
        assert_eq!(verdict, Verdict::Phantom, "the key never had an initial value");
    }

    #[test]
    fn memory_stays_small_and_dropped_writes_are_still_stale() {
        let mut register = Register::new();
        for request in 1..10_000 {
            register.begin(request);
            register.end(request);
            assert!(register.kept() <= 2);
        }
        assert_eq!(register.read(value(5)), Verdict::Stale);
        assert_eq!(register.read(INITIAL), Verdict::Stale);
        assert_eq!(register.read(value(9999)), Verdict::Fresh);
    }

    #[test]
    fn a_slow_read_keeps_what_it_may_still_return() {
        let mut register = Register::new();
        register.begin(1);
        register.end(1);
        let slow = register.tracker.begin_read();
        for request in 2..50 {
            register.begin(request);
            register.end(request);
        }
        assert_eq!(register.end_read(slow, value(1)), Verdict::Fresh);
        register.begin(50);
        register.end(50);
        assert!(register.kept() <= 2, "nothing is kept once the read is over");
    }

    #[test]
    fn endless_lost_writes_end_in_unchecked_reads_not_in_false_alarms() {
        let mut register = Register::new();
        for request in 0..1000 {
            register.begin(request + 1);
        }
        register.begin(2000);
        register.end(2000);
        assert!(register.kept() <= MAX_PER_KEY);
        for request in 2001..3000 {
            register.begin(request);
            register.end(request);
        }
        assert!(matches!(register.read(value(1)), Verdict::Unchecked | Verdict::Fresh));
    }
}
