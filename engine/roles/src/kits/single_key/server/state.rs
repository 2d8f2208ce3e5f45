//! Requests of clients in a server while they are under way.

use netkv_wire::{FrameView, Ip, Key, Op};

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

/// The purpose of a storage call.
#[derive(Debug)]
pub(crate) enum Call<Q> {
    /// A query that does not wait for other work of its key.
    Query(Q),
    /// The step of this key.
    Key(Key),
}
