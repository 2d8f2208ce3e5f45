//! The state of a request.

use netkv_checker::{ReadTicket, WriteId};
use netkv_wire::{Op, Stamp};
use netkv_workload::{OpKind, Operation};

use super::users::Submitted;
use crate::Nanos;

/// An operation under way, in two cache lines.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Request {
    pub(super) operation: Operation,
    /// Whether the key has an initial value.
    pub(super) exists: bool,
    /// Whether it is a read of the final verification.
    pub(super) verifies: bool,
    /// The operation of a user that it belongs to, if any.
    pub(super) submitted: Option<Box<Submitted>>,
    pub(super) intended: Nanos,
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
    pub(super) ticket: Option<ReadTicket>,
}

const _: () = assert!(size_of::<Option<Request>>() == 128);

impl Request {
    #[inline(always)]
    pub(super) fn new(
        operation: Operation,
        exists: bool,
        intended: Nanos,
        deadline: Nanos,
    ) -> Self {
        let op = match operation.kind {
            OpKind::Read | OpKind::ReadModifyWrite => Op::Get,
            OpKind::Update | OpKind::Insert => Op::Put,
            OpKind::Delete => Op::Delete,
        };
        Self {
            operation,
            exists,
            verifies: false,
            submitted: None,
            intended,
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

    pub(super) fn id(&self) -> WriteId {
        WriteId { client: self.client, request: self.number }
    }

    pub(super) fn verifying(mut self) -> Self {
        self.verifies = true;
        self
    }

    pub(super) fn submitted(mut self, submitted: Box<Submitted>) -> Self {
        self.submitted = Some(submitted);
        self
    }

    /// Whether it is an operation of the load.
    pub(super) fn is_load(&self) -> bool {
        !self.verifies && self.submitted.is_none()
    }
}
