//! The state of a request.

use std::iter::once;

use netkv_checker::{ReadTicket, WriteId};
use netkv_wire::{Key, Op, Stamp};
use netkv_workload::{OpKind, Operation, Workload};

use crate::Nanos;
use crate::common::source::{Asked, Tag, UnderWay};

/// An operation under way, in two cache lines.
#[derive(Debug)]
#[repr(align(64))]
pub struct Request {
    /// Its id is that of the key in a load, or of the user's operation.
    pub(super) operation: Operation,
    /// The index of its key in the user's operation.
    pub(super) index: u32,
    /// Whether the key has an initial value.
    exists: bool,
    /// Whether it is a read of the final verification.
    pub(super) verifies: bool,
    intended: Nanos,
    pub(super) deadline: Nanos,
    /// The operation code of the current frame: a read-modify-write first reads, then writes.
    pub(super) op: Op,
    pub(super) client: u16,
    pub(super) number: u32,
    pub(super) attempts: u32,
    /// When it was last sent.
    pub(super) sent: Nanos,
    /// The stamp of its first frame, which retries keep.
    pub(super) stamp: Option<Stamp>,
    /// Whether it takes effect only if its key is unchanged since it was last read.
    pub(super) conditional: bool,
    /// When the timer of this request is due; its other timers in the queue are ignored.
    pub(super) timer: Nanos,
    ticket: Option<ReadTicket>,
}

const _: () = assert!(size_of::<Option<Request>>() == 128);

impl Request {
    #[inline(always)]
    pub(super) fn new(
        operation: Operation,
        index: u32,
        exists: bool,
        tag: Tag,
        deadline: Nanos,
    ) -> Self {
        let op = match operation.kind {
            OpKind::Read | OpKind::ReadModifyWrite => Op::Get,
            OpKind::Update | OpKind::Insert => Op::Put,
            OpKind::Delete => Op::Delete,
        };
        Self {
            operation,
            index,
            exists,
            verifies: tag.verifies,
            intended: tag.intended,
            deadline,
            op,
            client: 0,
            number: 0,
            attempts: 0,
            sent: 0,
            stamp: None,
            conditional: false,
            timer: 0,
            ticket: None,
        }
    }
}

impl UnderWay for Request {
    #[inline(always)]
    fn draw(workload: &mut Workload, closed: bool, _: &mut Vec<u64>) -> Operation {
        // Arrivals of an open loop take random numbers between the operations.
        if closed { workload.draw_ahead() } else { workload.draw() }
    }

    #[inline]
    fn tag(&self) -> Tag {
        let Operation { kind, id: number, .. } = self.operation;
        Tag { kind, number, verifies: self.verifies, intended: self.intended }
    }

    #[inline]
    fn id(&self) -> WriteId {
        WriteId { client: self.client, request: self.number }
    }

    #[inline]
    fn reads(&self) -> bool {
        self.op == Op::Get
    }

    #[inline]
    fn key(&self) -> &Key {
        &self.operation.key
    }

    #[inline]
    fn keys(&mut self) -> impl Iterator<Item = Asked<'_>> {
        let (key, exists) = (&self.operation.key, self.exists);
        once(Asked { key, exists, ticket: &mut self.ticket })
    }
}
