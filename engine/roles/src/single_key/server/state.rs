//! What a server remembers while something is under way.

use std::collections::VecDeque;

use netkv_wire::{Ip, Key, Op};

use super::Protocol;

/// A write from its arrival to its reply; `T` is what the protocol reads from its frame.
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

/// A key for which something is under way, waits, or is held. Others take no memory.
#[derive(Debug)]
pub struct KeyState<P: Protocol> {
    /// What is under way. At most one thing is.
    pub(crate) step: Option<P::Step>,
    pub(crate) writes: VecDeque<Write<P::Tag>>,
    /// What else waits, by the protocol.
    pub(crate) own: P::KeyState,
}

impl<P: Protocol> Default for KeyState<P> {
    fn default() -> Self {
        Self { step: None, writes: VecDeque::new(), own: P::KeyState::default() }
    }
}

/// What is to be started for a key when nothing is under way.
#[derive(Debug)]
pub enum Next<P: Protocol> {
    /// Work of the protocol.
    Control(P::Control),
    /// A write.
    Write(Write<P::Tag>),
    /// Nothing yet: writes are held.
    Hold,
    /// Nothing: the key can be forgotten.
    Nothing,
}

impl<P: Protocol> KeyState<P> {
    /// The first write that waits.
    pub(crate) fn next_write(&mut self) -> Next<P> {
        self.writes.pop_front().map_or(Next::Nothing, Next::Write)
    }
}

/// What a storage call is for.
#[derive(Debug)]
pub(crate) enum Call<Q> {
    /// A query that does not wait for other work of its key.
    Query(Q),
    /// The step of this key.
    Key(Key),
}
