//! Shared parts of the protocol tests: switch programs, racks whose frames a script delivers,
//! traps.
#![allow(dead_code)] // Each test binary uses its own part.

pub mod frame;
pub mod program;
pub mod rack;
pub mod register;
pub mod switch;
pub mod traps;

use netkv_roles::{CallId, Origin, StoreCall, StoreOp, StoreResult};
use netkv_wire::{Key, Message, Sequence, write_frame};

/// The seeds of a search, as many as a user asks for.
pub fn seeds(default: u64) -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    match number("NETKV_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("NETKV_SEEDS").unwrap_or(default),
    }
}

pub fn frame_of(message: &Message<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_frame(&mut bytes, message);
    bytes
}

/// A storage call that waits to be carried out.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnedCall {
    id: CallId,
    op: u8,
    key: Key,
    name: Vec<u8>,
    value: Vec<u8>,
    origin: Option<(u16, u32, u32)>,
    sequence: Option<(u32, u32)>,
}

impl From<StoreCall<'_>> for OwnedCall {
    fn from(call: StoreCall<'_>) -> Self {
        let origin = call.origin.map(|it| (it.sender, it.request, it.second));
        let sequence = call.sequence.map(|it| (it.incarnation, it.number));
        let (op, name, value) = (call.op as u8, call.name.to_vec(), call.value.to_vec());
        Self { id: call.id, op, key: call.key, name, value, origin, sequence }
    }
}

impl OwnedCall {
    pub fn view(&self) -> StoreCall<'_> {
        let op = [StoreOp::Get, StoreOp::Put, StoreOp::Delete][usize::from(self.op)];
        let origin = |(sender, request, second)| Origin { sender, request, second };
        let origin = self.origin.map(origin);
        let sequence = self.sequence.map(sequence_of);
        let Self { id, key, ref name, ref value, .. } = *self;
        StoreCall { id, op, key, name, value, origin, sequence }
    }
}

/// The result of a storage call that the server has not received yet.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OwnedResult {
    Value(Vec<u8>, (u32, u32)),
    NotFound((u32, u32)),
    Done,
    Failed,
}

impl From<StoreResult<'_>> for OwnedResult {
    fn from(result: StoreResult<'_>) -> Self {
        match result {
            StoreResult::Value(value, it) => {
                Self::Value(value.to_vec(), (it.incarnation, it.number))
            }
            StoreResult::NotFound(it) => Self::NotFound((it.incarnation, it.number)),
            StoreResult::Done => Self::Done,
            StoreResult::Failed => Self::Failed,
        }
    }
}

impl OwnedResult {
    pub fn view(&self) -> StoreResult<'_> {
        match self {
            Self::Value(value, sequence) => StoreResult::Value(value, sequence_of(*sequence)),
            Self::NotFound(sequence) => StoreResult::NotFound(sequence_of(*sequence)),
            Self::Done => StoreResult::Done,
            Self::Failed => StoreResult::Failed,
        }
    }
}

fn sequence_of((incarnation, number): (u32, u32)) -> Sequence {
    Sequence { incarnation, number }
}
