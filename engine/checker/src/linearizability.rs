//! The interface of the checker: it records operations and judges each read at its response.

use std::num::NonZeroU64;

use netkv_wire::Key;
use rustc_hash::FxHashSet;

use crate::compact::comparable;
use crate::condition::Condition;
use crate::counterexample::counterexample;
use crate::dropped::Dropped;
use crate::event_clock::EventClock;
use crate::histories::{Histories, MAX_ACTIVE, MAX_IDLE};
use crate::operation::{Action, Observed, Record, WriteId, WriteKind};
use crate::pending_reads::PendingReads;
use crate::refused::RefusedWrites;
use crate::register::{Judgement, Register};
use crate::violation::{Violation, ViolationKind};
use crate::violation_log::ViolationLog;

/// Maximum number of given-up writes that are kept, over all keys and the whole run.
pub const MAX_GIVEN_UP_IN_ALL: usize = 1 << 20;

/// The verdict on a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Its result is legal.
    Fresh,
    /// Its result is a value that was overwritten, or it contradicts other reads.
    Stale,
    /// Its result is a value that no client wrote, or that of a refused write.
    Phantom,
    /// It cannot be judged.
    Unchecked,
}

/// Identifies a pending read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadTicket {
    invocation: NonZeroU64,
    /// Its number in the pending reads.
    number: u64,
}

impl ReadTicket {
    fn time(self) -> u64 {
        self.invocation.get()
    }
}

/// The response to a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The request of the read.
    pub reader: WriteId,
    /// Its result.
    pub observed: Observed,
    /// Whether the key had an initial value.
    pub exists: bool,
    /// Whether a client has made the request that is encoded in the value.
    pub issued: bool,
    /// Whether this is the final read of the key, after all writes.
    pub last: bool,
}

/// The verdict on all operations so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Writes that were acknowledged and reads that were judged.
    pub checked_ops: u64,
    /// Keys with a read that could not be judged.
    pub unchecked_keys: u64,
    /// Reads that no linearization permits.
    pub violations: u64,
}

impl Summary {
    /// Whether the history of every key is linearizable. `None` if there is no violation, but
    /// nothing was judged, or not every read could be.
    pub fn linearizable(&self) -> Option<bool> {
        match (self.violations, self.unchecked_keys) {
            (0, 0) if self.checked_ops > 0 => Some(true),
            (0, _) => None,
            _ => Some(false),
        }
    }
}

/// Records operations and judges reads. Times are nanoseconds of the driver and occur in reports
/// only; the verdicts depend on the order of the calls.
#[derive(Debug)]
pub struct Checker {
    condition: Condition,
    clock: EventClock,
    /// The history of every written key.
    histories: Histories,
    pending_reads: PendingReads,
    dropped: Dropped,
    refused: RefusedWrites,
    given_up: usize,
    checked_ops: u64,
    unchecked: FxHashSet<Key>,
    violation_log: ViolationLog,
}

impl Default for Checker {
    fn default() -> Self {
        Self::with_limits(MAX_ACTIVE, MAX_IDLE)
    }
}

impl Checker {
    /// A checker without operations.
    pub fn new() -> Self {
        Self::default()
    }

    /// This checker with another condition than linearizability.
    pub fn judging(self, condition: Condition) -> Self {
        Self { condition, ..self }
    }

    /// A checker that keeps up to `active` active and `idle` idle histories without need (see
    /// `histories.rs`). Speed and reports depend on the limits, verdicts do not.
    pub fn with_limits(active: usize, idle: usize) -> Self {
        Self {
            condition: Condition::Linearizable,
            clock: EventClock::default(),
            histories: Histories::new((active, idle)),
            pending_reads: PendingReads::default(),
            dropped: Dropped::default(),
            refused: RefusedWrites::default(),
            given_up: 0,
            checked_ops: 0,
            unchecked: FxHashSet::default(),
            violation_log: ViolationLog::default(),
        }
    }

    /// Records the invocation of a write. `exists` is whether the key had an initial value.
    pub fn begin_write(&mut self, now: u64, key: &Key, id: WriteId, kind: WriteKind, exists: bool) {
        let time = self.clock.next(now);
        self.histories.get_or_new(key, exists, time).begin_write(time, id, kind);
        self.shrink_unused(time);
    }

    /// Records the response of a write, its first acknowledgement. Returns when it was invoked, in
    /// nanoseconds of the driver; `None` if it was dropped.
    pub fn end_write(&mut self, now: u64, key: &Key, id: WriteId) -> Option<u64> {
        let time = self.clock.next(now);
        self.checked_ops += 1;
        let mut begun = None;
        self.with_history(key, |register| begun = register.end_write(time, id));
        begun.map(|time| self.clock.nanos(time))
    }

    /// The client gave the write up, or got a reply that its outcome is unknown. The write may have
    /// taken effect, or may do so later.
    pub fn give_up_write(&mut self, key: &Key, id: WriteId) {
        self.given_up += 1;
        let keep = self.given_up <= MAX_GIVEN_UP_IN_ALL;
        self.with_history(key, |register| register.give_up_write(id, keep));
    }

    /// Records that a write was refused: it has not taken effect and will not. The verdict is on
    /// the reads that have already returned its value.
    pub fn refuse_write(&mut self, now: u64, key: &Key, id: WriteId) -> Verdict {
        let time = self.clock.next(now);
        self.checked_ops += 1;
        let mut cluster = None;
        self.with_history(key, |register| cluster = register.refuse_write(id));
        let cluster = cluster.or_else(|| self.dropped.of_key(key).find(|it| it.id == id));
        let Some(cluster) = cluster else { return Verdict::Fresh };
        let refused = self.refused.add(id, cluster.invocation, time);
        let Some((read, _)) = cluster.reads else { return Verdict::Fresh };
        self.log_refused(key, refused, read);
        Verdict::Phantom
    }

    /// Logs that a read has returned the value of a refused write.
    fn log_refused(&mut self, key: &Key, refused: Record, read: Record) {
        let kind = ViolationKind::RefusedValue;
        if self.violation_log.count(key, kind) {
            let mut records = vec![refused, read];
            records.sort_unstable_by_key(|it| it.invocation);
            self.violation_log.keep(key, kind, read.id, records);
        }
    }

    /// Records the invocation of a read.
    pub fn begin_read(&mut self, now: u64, key: &Key) -> ReadTicket {
        let time = self.clock.next(now);
        let number = self.pending_reads.begin(time);
        self.with_history(key, |register| register.begin_read(time));
        let invocation = NonZeroU64::new(time).expect("the clock starts after 0");
        ReadTicket { invocation, number }
    }

    /// When a read was invoked, in nanoseconds of the driver.
    pub fn begun(&self, ticket: ReadTicket) -> u64 {
        self.clock.nanos(ticket.time())
    }

    /// The client gave the read up.
    pub fn give_up_read(&mut self, key: &Key, ticket: ReadTicket) {
        self.pending_reads.end(ticket.number);
        self.with_history(key, |register| register.end_read(ticket.time()));
    }

    /// The read has a result that cannot be judged.
    pub fn skip_read(&mut self, key: &Key, ticket: ReadTicket) {
        self.give_up_read(key, ticket);
        self.unchecked.insert(*key);
    }

    /// Records the response of a read and judges it.
    pub fn end_read(&mut self, now: u64, key: &Key, ticket: ReadTicket, answer: Answer) -> Verdict {
        let time = self.clock.next(now);
        let action = Action::Read(answer.observed);
        let read = Record { id: answer.reader, action, invocation: ticket.time(), response: time };
        let mut judgement = judge_unwritten(&answer);
        let condition = self.condition;
        self.with_history(key, |register| {
            register.end_read(read.invocation);
            judgement = register.judge(read, answer.observed, answer.issued, condition);
        });
        self.pending_reads.end(ticket.number);
        let refused = match answer.observed {
            Observed::Value(id) => self.refused.get(id),
            _ => None,
        };
        let verdict = match refused {
            Some(refused) => {
                self.checked_ops += 1;
                self.log_refused(key, refused, read);
                Verdict::Phantom
            }
            None => self.report(key, read, &answer, judgement),
        };
        self.shrink_unused(time);
        verdict
    }

    /// Counts a judgement and logs a violation.
    fn report(&mut self, key: &Key, read: Record, answer: &Answer, it: Judgement) -> Verdict {
        let (kind, verdict) = match it {
            Judgement::Legal => {
                self.checked_ops += 1;
                self.violation_log.mark_recovered(key);
                return Verdict::Fresh;
            }
            Judgement::Unchecked => {
                self.unchecked.insert(*key);
                return Verdict::Unchecked;
            }
            Judgement::Phantom => (ViolationKind::PhantomValue, Verdict::Phantom),
            Judgement::Stale if answer.last => (ViolationKind::LostWrite, Verdict::Stale),
            Judgement::Stale => (ViolationKind::StaleRead, Verdict::Stale),
            Judgement::NotLinearizable => (ViolationKind::NotLinearizable, Verdict::Stale),
        };
        self.checked_ops += 1;
        if self.violation_log.count(key, kind) {
            let register = self.histories.get(key).filter(|_| kind != ViolationKind::PhantomValue);
            let records = register.map_or_else(
                || vec![read],
                |register| {
                    let dropped = register.dropped.iter().rev().copied();
                    let dropped = dropped.chain(self.dropped.of_key(key)).collect();
                    let known = comparable(&register.clusters, dropped);
                    counterexample(register, read, &known, self.condition)
                },
            );
            self.violation_log.keep(key, kind, read.id, records);
        }
        verdict
    }

    /// Number of keys that have been written.
    pub fn written(&self) -> usize {
        self.histories.len()
    }

    /// The largest written keys below `bound` (none: of all keys), ascending. There are about
    /// `wanted`, and fewer only if no more exist. Also returns the bound for the next call; none
    /// at the end.
    pub fn written_below(&self, bound: Option<&Key>, wanted: usize) -> (Vec<Key>, Option<Key>) {
        self.histories.below(bound, wanted)
    }

    /// Number of writes of all keys that are kept because a read may still return them. It visits
    /// every history.
    pub fn kept_writes(&self) -> usize {
        self.histories.kept_writes()
    }

    /// The verdict on all operations so far.
    pub fn summary(&self) -> Summary {
        Summary {
            checked_ops: self.checked_ops,
            unchecked_keys: self.unchecked.len() as u64,
            violations: self.violation_log.total(),
        }
    }

    /// The first violations, with their operations.
    pub fn violations(&self) -> Vec<Violation> {
        self.violation_log.report(&self.clock)
    }

    /// Applies a function to the history of a key, if it has one.
    fn with_history(&mut self, key: &Key, act: impl FnOnce(&mut Register)) {
        let Some(register) = self.histories.get(key) else { return };
        act(register);
        self.dropped.take_from(key, register);
    }

    fn shrink_unused(&mut self, time: u64) {
        self.histories.shrink_unused(time, self.pending_reads.oldest(), &mut self.dropped);
    }
}

/// Judges a read of a key that was never written.
fn judge_unwritten(answer: &Answer) -> Judgement {
    match answer.observed {
        Observed::Value(WriteId::INITIAL) if answer.exists => Judgement::Legal,
        Observed::NotFound if !answer.exists => Judgement::Legal,
        // The initial value was never deleted: it is lost.
        Observed::NotFound => Judgement::Stale,
        _ => Judgement::Phantom,
    }
}
