//! Handles answers to reads, and has the checker judge them.

use netkv_wire::{FrameView, Status};

use super::protocol::Protocol;
use super::request::Request;
use super::state::Client;
use crate::Nanos;
use crate::common::load::Read;

impl<P: Protocol> Client<P> {
    pub(super) fn on_read(
        &mut self,
        now: Nanos,
        request: &mut Request,
        frame: &FrameView<'_>,
        refused: bool,
    ) {
        if !refused {
            self.protocol.on_read(&request.operation.key, frame);
        }
        let counts = &mut self.stats.counts;
        if !request.verifies {
            counts.reads += 1;
            counts.hits += u64::from(frame.cache_hit());
            counts.not_found += u64::from(frame.status() == Status::NotFound);
        }
        let Some(ticket) = request.ticket else { return };
        let key = &request.operation.key;
        if refused {
            // The ticket stays: it tells a verification that the key was not read.
            self.judge.give_up_read(key, ticket);
            return;
        }
        request.ticket = None;
        let value = (frame.status() != Status::NotFound).then(|| frame.value());
        let (reader, exists, verifies) = (request.id(), request.exists, request.verifies);
        let read = Read { key, ticket, reader, value, exists, verifies };
        let lost = self.judge.end_read(now, &read, &self.senders, counts);
        if let Some(verification) = self.verification.as_mut().filter(|_| lost) {
            verification.lost();
        }
    }
}
