//! Keeping the switch's entries true: INVALIDATE, UPDATE, and the records about them.

use netkv_wire::{FrameView, Key, MAX_CACHED_VALUE, Mark, Op, Status, capacity, is_newer};

use super::control::ControlReply;
use super::state::{Call, Cause, Control, Record, Step, Write};
use super::{Scheme, Server};
use crate::mutation::Mutation;
use crate::{Actions, Nanos};

impl Server {
    /// Applies a write, at once if it is fast (rule 2).
    pub(super) fn start_coherent(
        &mut self,
        now: Nanos,
        key: &Key,
        write: Write,
        out: &mut Actions,
    ) {
        let fast = match (self.records.get(key), write.mark) {
            (None, None) => !write.guarded || self.mutated.by(Mutation::NoGuardTime),
            (Some(record), Some(mark)) => {
                let same = mark.generation == record.generation
                    || self.mutated.by(Mutation::TrustOtherGenerations);
                same && self.is_unpushed(mark.version, record.pushed)
            }
            (Some(_), None) => self.mutated.by(Mutation::TrustUnmarkedWrites),
            (None, Some(_)) => self.mutated.by(Mutation::TrustMarksWithoutRecord),
        };
        if fast {
            let push = write.mark;
            self.store(now, key, write, push, out);
        } else {
            self.stats.slow_writes += 1;
            self.invalidate(now, key, Cause::Write(write), out);
        }
    }

    /// Whether the version of a write is newer than what was pushed.
    fn is_unpushed(&self, version: u32, pushed: u32) -> bool {
        if self.mutated.by(Mutation::PlainVersions) {
            return version > pushed;
        }
        is_newer(version, pushed) || self.mutated.by(Mutation::TrustOldVersions)
    }

    /// A frame about `key` came marked, so the entry was invalid when it passed (rule 5).
    pub(super) fn refresh(&mut self, now: Nanos, key: &Key, mark: Mark, out: &mut Actions) {
        let busy = self.keys.contains_key(key);
        if self.config.scheme != Scheme::NetCache || busy || self.mutated.by(Mutation::NoRefresh) {
            return;
        }
        match self.records.get(key) {
            Some(record) if record.generation == mark.generation => {
                if is_newer(mark.version, record.pushed) {
                    self.fetch(key, mark, None, out);
                }
            }
            Some(record) if is_newer(record.generation, mark.generation) => {}
            _ => self.invalidate(now, key, Cause::Refresh, out),
        }
    }

    /// Makes the entry of `key` invalid, then goes on with `cause`.
    pub(super) fn invalidate(&mut self, now: Nanos, key: &Key, cause: Cause, out: &mut Actions) {
        let request = self.ask(now, Op::Invalidate, key, 0);
        self.set_step(key, Step::Invalidating(cause));
        self.send_question(request, out);
    }

    pub(super) fn on_invalidate_reply(
        &mut self,
        now: Nanos,
        frame: &FrameView<'_>,
        out: &mut Actions,
    ) {
        let key = frame.key();
        if !self.is_answer(frame, Op::Invalidate) {
            return;
        }
        let mark = frame.mark().filter(|_| frame.status() == Status::Ok);
        match (mark, self.records.get(&key)) {
            (Some(mark), Some(record))
                if record.generation == mark.generation
                    && !is_newer(mark.version, record.pushed) =>
            {
                // A switch that counts backwards; ask on, rather than push a version twice.
                self.stats.unexpected += 1;
                return;
            }
            _ => {}
        }
        self.questions.remove(&frame.request());
        let Step::Invalidating(cause) = self.set_step(&key, Step::Idle) else {
            unreachable!("an INVALIDATE is a question only while its key waits for it")
        };
        self.adopt(&key, mark);
        match cause {
            Cause::Write(write) => self.store(now, &key, write, mark, out),
            Cause::Refresh => {
                if let Some(mark) = mark {
                    self.fetch(&key, mark, None, out);
                }
            }
            Cause::Install(control) => match mark {
                Some(mark) if mark.generation == control.generation => {
                    self.fetch(&key, mark, Some(control), out);
                }
                _ => {
                    self.end_install(Some(control), &key, Status::NotCached, out);
                    if let Some(mark) = mark {
                        self.fetch(&key, mark, None, out);
                    }
                }
            },
        }
        self.advance(now, &key, out);
    }

    /// Believes what the switch says about its entry (rule 4). The version counts as pushed: it
    /// was made for a push, and no write carries it.
    fn adopt(&mut self, key: &Key, mark: Option<Mark>) {
        let Some(mark) = mark else {
            self.forget(key);
            return;
        };
        let outgrown = match self.records.get(key) {
            Some(record) if record.generation == mark.generation => record.outgrown,
            _ => {
                self.forget(key);
                None
            }
        };
        let record = Record { generation: mark.generation, pushed: mark.version, outgrown };
        self.records.insert(*key, record);
    }

    /// Drops the record of `key`, and what was being said about it to the controller.
    pub(super) fn forget(&mut self, key: &Key) {
        if let Some(Record { outgrown: Some(request), .. }) = self.records.remove(key) {
            self.questions.remove(&request);
        }
    }

    /// Asks the store for the value of `key`, to push it.
    fn fetch(&mut self, key: &Key, mark: Mark, install: Option<Control>, out: &mut Actions) {
        let call = self.calls.add(Call::Key(*key));
        out.get(call, *key);
        self.set_step(key, Step::Fetching { mark, install });
    }

    /// Sends the value of `key` to the switch if it fits; `None` is a deleted key (rule 3).
    pub(super) fn push(
        &mut self,
        now: Nanos,
        key: &Key,
        mark: Mark,
        value: Option<Vec<u8>>,
        install: Option<Control>,
        out: &mut Actions,
    ) {
        let Some(record) = self.records.get_mut(key).filter(|it| it.generation == mark.generation)
        else {
            // The controller has evicted the entry in the meantime.
            self.end_install(install, key, Status::NotCached, out);
            return;
        };
        record.pushed = mark.version;
        let room = capacity(mark.bitmap).min(MAX_CACHED_VALUE);
        match value {
            Some(value) if value.len() <= room || self.mutated.by(Mutation::PushAnySize) => {
                self.stats.updates += 1;
                let request = self.ask(now, Op::Update, key, mark.generation);
                self.set_step(key, Step::Updating { mark, value, install });
                self.send_question(request, out);
            }
            unfit => {
                let status = if unfit.is_some() { Status::TooLarge } else { Status::NotFound };
                if install.is_some() {
                    self.end_install(install, key, status, out);
                } else {
                    self.report_outgrown(now, key, out);
                }
            }
        }
    }

    pub(super) fn on_update_reply(&mut self, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) {
        let key = frame.key();
        if !self.is_answer(frame, Op::Update) {
            return;
        }
        self.questions.remove(&frame.request());
        let Step::Updating { mark, value, install } = self.set_step(&key, Step::Idle) else {
            unreachable!("an UPDATE is a question only while its key waits for it")
        };
        self.recycle(value);
        let not_cached = frame.status() == Status::NotCached;
        let same = |record: &Record| record.generation == mark.generation;
        if not_cached && self.records.get(&key).is_some_and(same) {
            self.forget(&key);
        }
        // Stale: a newer write has passed the switch. It will come here, or a read marked by it.
        let status = if not_cached { Status::NotCached } else { Status::Ok };
        self.end_install(install, &key, status, out);
        self.advance(now, &key, out);
    }

    /// Tells the controller that the entry of `key` is of no use any more.
    fn report_outgrown(&mut self, now: Nanos, key: &Key, out: &mut Actions) {
        let Some(record) = self.records.get(key).copied() else { return };
        if record.outgrown.is_some() {
            return;
        }
        let request = self.ask(now, Op::Outgrown, key, record.generation);
        self.records.insert(*key, Record { outgrown: Some(request), ..record });
        self.send_question(request, out);
    }

    pub(super) fn on_outgrown_reply(&mut self, frame: &FrameView<'_>) {
        if !self.is_answer(frame, Op::Outgrown) {
            return;
        }
        self.questions.remove(&frame.request());
        if let Some(record) = self.records.get_mut(&frame.key()) {
            record.outgrown = None;
        }
    }

    /// Answers an INSTALL, if it is one, and lets the writes of its key go.
    pub(super) fn end_install(
        &mut self,
        install: Option<Control>,
        key: &Key,
        status: Status,
        out: &mut Actions,
    ) {
        if let Some(control) = install {
            self.release(key);
            self.answer_control(key, &control, ControlReply { status, length: 0 }, out);
        }
    }
}
