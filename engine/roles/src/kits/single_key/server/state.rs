//! The state of requests and keys in a server while work is under way.

use std::collections::VecDeque;

use netkv_wire::{FrameView, Ip, Key, Op};

use super::Protocol;

/// A write from its arrival to its reply; `T` has the fields that the protocol reads from its
/// frame.
#[derive(Debug)]
pub struct Write<T> {
    pub(crate) op: Op,
    pub(crate) sender: u16,
    pub(crate) request: u32,
    pub(crate) client: Ip,
    pub(crate) tag: T,
    pub(crate) value: Vec<u8>,
}

/// A read from its arrival to its reply.
#[derive(Debug)]
pub struct Read {
    pub(crate) client: Ip,
    pub(crate) sender: u16,
    pub(crate) request: u32,
    pub(crate) key: Key,
}

impl Read {
    /// The read of a frame.
    #[inline(always)]
    pub(crate) fn of(frame: &FrameView<'_>) -> Self {
        Self {
            client: frame.source(),
            sender: frame.sender(),
            request: frame.request(),
            key: frame.key(),
        }
    }
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

/// The purpose of a storage call.
#[derive(Debug)]
pub(crate) enum Call<Q> {
    /// A query that does not wait for other work of its key.
    Query(Q),
    /// The step of this key.
    Key(Key),
}
