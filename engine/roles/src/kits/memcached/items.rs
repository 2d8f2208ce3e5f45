//! The items of a server and their CAS versions: how reads and writes are carried out.
//!
//! Between this module and `server`, the version stamp of a write is the CAS version that it
//! requires, and the stamp of a reply the version of the item.

use std::convert::Infallible;

use netkv_wire::{FrameView, Key, Op, Sequence, Stamp, Status};
use rustc_hash::FxHashMap;

use crate::common::window::Seen;
use crate::kits::single_key::server::state::{Call, Read};
use crate::kits::single_key::server::{Protocol, Server, Write};
use crate::kits::single_key::{self, ServerConfig};
use crate::{Actions, Counts, Nanos, StoreResult};

/// The stamp that carries a CAS version; `None` for version 0.
pub(super) fn stamp_of(version: u64) -> Option<Stamp> {
    let sequence = Sequence { incarnation: (version >> 32) as u32, number: version as u32 };
    (version != 0).then(|| Stamp { sequence, ..Stamp::default() })
}

/// The CAS version that a stamp carries; 0 for none.
pub(super) fn version_of(stamp: Option<Stamp>) -> u64 {
    let Sequence { incarnation, number } = stamp.unwrap_or_default().sequence;
    u64::from(incarnation) << 32 | u64::from(number)
}

/// The versions of a server's items.
#[derive(Debug)]
pub(super) struct Items {
    /// Versions of the items that were written in this incarnation.
    versions: FxHashMap<Key, u64>,
    /// The version of all others.
    initial: u64,
    newest: u64,
    /// Conditional writes that were refused.
    conflicts: u64,
}

/// A read that waits for the store.
#[derive(Debug)]
pub(super) struct VersionedRead {
    read: Read,
    /// The version of the item when the store got the read. The store may have answered with a
    /// newer value: then a write that requires this version is refused, although it need not be.
    version: u64,
}

/// The work under way for a key.
#[derive(Debug)]
pub(super) enum Step {
    /// The store reads the item, to compare it with what a conditional write requires.
    Comparing(Write<u64>),
    /// The store has the write.
    Storing(Write<u64>),
}

impl Items {
    fn version(&self, key: &Key) -> u64 {
        self.versions.get(key).copied().unwrap_or(self.initial)
    }

    /// Records a write that took effect; returns the version of the item, 0 if it is deleted.
    fn written(&mut self, key: &Key, op: Op) -> u64 {
        if op == Op::Delete {
            self.versions.remove(key);
            return 0;
        }
        self.newest += 1;
        self.versions.insert(*key, self.newest);
        self.newest
    }
}

impl Server<Items> {
    fn end(
        &mut self,
        key: &Key,
        write: Write<u64>,
        (status, version): (Status, u64),
        out: &mut Actions,
    ) {
        self.note(write.sender, write.request, Seen::Ended(status));
        let reply = self.reply_to_write(key, &write, status);
        out.send(&netkv_wire::Message { stamp: stamp_of(version), ..reply });
        self.recycle(write.value);
    }

    fn put(&mut self, now: Nanos, key: &Key, write: Write<u64>, out: &mut Actions) {
        self.store(now, key, &write, out);
        self.set_step(key, Step::Storing(write));
    }
}

impl Protocol for Items {
    type Config = ();
    /// The version that a write requires; 0 for any.
    type Tag = u64;
    type Step = Step;
    type KeyState = ();
    type Control = Infallible;
    type Query = VersionedRead;
    type Timer = ();

    fn new(config: &ServerConfig<()>, _: Nanos) -> Self {
        // Versions of one incarnation differ from those of all others.
        let initial = u64::from(config.first_request) << 32 | 1;
        Self { versions: FxHashMap::default(), initial, newest: initial, conflicts: 0 }
    }

    fn on_get(
        server: &mut single_key::Server<Self>,
        _: Nanos,
        frame: &FrameView<'_>,
        out: &mut Actions,
    ) {
        let read = Read::of(frame);
        let (key, version) = (read.key, server.protocol.version(&read.key));
        let call = server.calls.add(Call::Query(VersionedRead { read, version }));
        out.get(call, key);
    }

    fn tag(&self, frame: &FrameView<'_>, _: Nanos) -> u64 {
        version_of(frame.stamp())
    }

    fn start_write(
        server: &mut single_key::Server<Self>,
        now: Nanos,
        key: &Key,
        write: Write<u64>,
        out: &mut Actions,
    ) {
        if write.tag == 0 {
            server.put(now, key, write, out);
        } else {
            server.get_for_step(key, Step::Comparing(write), out);
        }
    }

    /// A copy gets no answer: rule 3 of the protocol.
    fn on_copy(
        _: &mut single_key::Server<Self>,
        _: Nanos,
        _: &FrameView<'_>,
        _: Option<Status>,
        _: &mut Actions,
    ) {
    }

    fn on_queried(
        server: &mut single_key::Server<Self>,
        now: Nanos,
        query: VersionedRead,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        let reply = server.reply_to_read(now, &query.read, result);
        let version = if reply.status == Status::Ok { query.version } else { 0 };
        out.send(&netkv_wire::Message { stamp: stamp_of(version), ..reply });
    }

    fn on_step_stored(
        server: &mut single_key::Server<Self>,
        now: Nanos,
        key: &Key,
        step: Step,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        match (step, result) {
            (Step::Comparing(write), StoreResult::Value(..))
                if write.tag == server.protocol.version(key) =>
            {
                server.put(now, key, write, out);
            }
            (Step::Comparing(write), StoreResult::Value(..) | StoreResult::NotFound(_)) => {
                server.protocol.conflicts += 1;
                let exists = matches!(result, StoreResult::Value(..));
                let status = if exists { Status::Conflict } else { Status::NotFound };
                server.end(key, write, (status, 0), out);
            }
            (Step::Storing(write), StoreResult::Done) => {
                let version = server.protocol.written(key, write.op);
                server.end(key, write, (Status::Ok, version), out);
            }
            (Step::Comparing(write) | Step::Storing(write), _) => {
                server.end(key, write, (Status::Rejected, 0), out);
            }
        }
    }

    fn add_counts(&self, into: &mut Counts) {
        into.push(("conflicts", self.conflicts));
    }
}
