//! A server of single keys, and the interface of the protocol that it follows.

use std::collections::VecDeque;
use std::fmt::Debug;

use netkv_wire::{FrameView, Key, Op, Stamp, Status};
use rustc_hash::FxHashMap;

use super::config::ServerConfig;
use super::state::{Call, Write};
use crate::common::copies::Copies;
use crate::common::service::Service;
use crate::common::slots::Slots;
use crate::common::timers::Timers;
use crate::common::window::Window;
use crate::{Actions, Counts, Nanos, ServerStats, StoreResult};

/// One partition's storage server. The comment of the parent module has its rules.
#[derive(Debug)]
pub struct Server<P: Protocol> {
    pub(crate) config: ServerConfig<P::Config>,
    pub(crate) keys: FxHashMap<Key, KeyState<P>>,
    pub(crate) windows: FxHashMap<u16, Window<Status>>,
    /// Reads until they are answered, and writes until they are served; from then on `windows` has
    /// them.
    pub(crate) copies: Copies<(u16, u32)>,
    pub(crate) calls: Slots<Call<P::Query>>,
    pub(crate) timers: Timers<P::Timer>,
    pub(super) service: Option<Service>,
    pub(super) spare: Vec<Vec<u8>>,
    pub(crate) stats: ServerStats,
    pub(crate) protocol: P,
}

/// A key with work that is under way, waiting or held. Other keys take no memory.
#[derive(Debug)]
pub struct KeyState<P: Protocol> {
    /// The work under way; at most one at a time.
    pub(crate) step: Option<P::Step>,
    pub(crate) writes: VecDeque<Write<P::Tag>>,
    /// Further state of the protocol.
    pub(crate) own: P::KeyState,
}

impl<P: Protocol> Default for KeyState<P> {
    fn default() -> Self {
        Self { step: None, writes: VecDeque::new(), own: P::KeyState::default() }
    }
}

/// The next work to start for a key without work under way.
#[derive(Debug)]
pub enum Next<P: Protocol> {
    /// Work of the protocol.
    Control(P::Control),
    /// A write.
    Write(Write<P::Tag>),
    /// Nothing yet: writes are held.
    Hold,
    /// Nothing: the state of the key can be dropped.
    Nothing,
}

impl<P: Protocol> KeyState<P> {
    /// The first waiting write.
    pub(crate) fn next_write(&mut self) -> Next<P> {
        self.writes.pop_front().map_or(Next::Nothing, Next::Write)
    }
}

/// A protocol, with the state of a server beside requests. Methods take the whole server, since
/// they use its requests, keys and storage calls.
pub trait Protocol: Debug + Send + Sync + Sized + 'static {
    /// Its settings.
    type Config: Debug + Copy + Default + PartialEq + Send + Sync;
    /// The fields that it reads from the frame of a write.
    type Tag: Debug + Send + Sync;
    /// The work that may be under way for a key.
    type Step: Debug + Send + Sync;
    /// Further state of a key while work is under way or waiting.
    type KeyState: Debug + Default + Send + Sync;
    /// Work that waits for a key beside writes.
    type Control: Debug + Send + Sync;
    /// A storage read that does not wait for other work of its key.
    type Query: Debug + Send + Sync;
    /// Its timers.
    type Timer: Debug + Copy + Ord + Send + Sync;

    /// The state of a server that starts at `now`.
    fn new(config: &ServerConfig<Self::Config>, now: Nanos) -> Self;

    /// The server has started at `now`; it may set timers.
    fn on_start(_server: &mut Server<Self>, _now: Nanos) {}

    /// Whether messages with this operation are for every server, whatever their key is.
    fn is_for_all(_op: Op) -> bool {
        false
    }

    /// Handles a frame that is not a request of a client.
    fn on_message(
        server: &mut Server<Self>,
        _now: Nanos,
        frame: &FrameView<'_>,
        out: &mut Actions,
    ) {
        server.reject_message(frame, out);
    }

    /// Whether a client's request can have come through the switch. Others are rejected.
    fn accepts(_frame: &FrameView<'_>) -> bool {
        true
    }

    /// The stamp of an answer to a request that has no effect.
    fn refusal(_frame: &FrameView<'_>) -> Option<Stamp> {
        None
    }

    /// Serves a read, at once, whatever is under way for its key.
    fn on_get(server: &mut Server<Self>, now: Nanos, frame: &FrameView<'_>, out: &mut Actions);

    /// Whether the effect of a write is unknown; then it is not carried out. With `is_new`, the
    /// server has no state of it.
    fn is_unknown(_server: &mut Server<Self>, _frame: &FrameView<'_>, _is_new: bool) -> bool {
        false
    }

    /// The fields of the frame of a write that arrived at `arrived`.
    fn tag(&self, frame: &FrameView<'_>, arrived: Nanos) -> Self::Tag;

    /// The next work to start for a key without work under way.
    fn next(state: &mut KeyState<Self>, _now: Nanos) -> Next<Self> {
        state.next_write()
    }

    /// Starts a write of a key without work under way.
    fn start_write(
        server: &mut Server<Self>,
        now: Nanos,
        key: &Key,
        write: Write<Self::Tag>,
        out: &mut Actions,
    );

    /// Starts other work of a key without work under way.
    fn start_control(
        _server: &mut Server<Self>,
        _now: Nanos,
        _key: &Key,
        _control: Self::Control,
        _out: &mut Actions,
    ) {
    }

    /// A copy of a write has arrived; `ended` is the result of the original, if it has ended.
    fn on_copy(
        server: &mut Server<Self>,
        _now: Nanos,
        frame: &FrameView<'_>,
        ended: Option<Status>,
        out: &mut Actions,
    ) {
        if let Some(status) = ended {
            server.refuse(frame, status, out);
        }
    }

    /// The store has answered a query.
    fn on_queried(
        server: &mut Server<Self>,
        now: Nanos,
        query: Self::Query,
        result: StoreResult<'_>,
        out: &mut Actions,
    );

    /// The store has ended its call for the step of a key; the step was taken before.
    fn on_step_stored(
        server: &mut Server<Self>,
        now: Nanos,
        key: &Key,
        step: Self::Step,
        result: StoreResult<'_>,
        out: &mut Actions,
    );

    /// A timer is due.
    fn on_timer(_server: &mut Server<Self>, _now: Nanos, _timer: Self::Timer, _out: &mut Actions) {}

    /// Appends counts and gauges of its own.
    fn add_counts(&self, _into: &mut Counts) {}
}
