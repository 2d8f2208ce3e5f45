//! One client of the gateway: requests in, replies out in the same order.
//!
//! Each request has a weight until its reply is in the output. At [`MAX_WEIGHT`], or if the output
//! is full because the client does not read, no more requests begin and no more bytes are read.
//! This bounds the memory for long pipelines and slow clients.

use std::collections::VecDeque;

use crate::client::Client;
use crate::order::KeyOrder;
use crate::request::Requests;

/// Limit of the total weight. A request weighs its keys plus its KiB, or the KiB of its reply if
/// that is more.
const MAX_WEIGHT: usize = 1024;
/// Bytes of output at which no more replies are added.
const MAX_OUTPUT: usize = 256 << 10;
/// Memory that an empty output keeps.
const MAX_KEPT: usize = 64 << 10;

/// A pending reply; `data` is `None` until the command has ended.
#[derive(Debug)]
struct Slot {
    weight: usize,
    data: Option<Vec<u8>>,
}

/// One client.
#[derive(Debug, Default)]
pub struct Connection {
    /// Its state that commands read and change.
    pub client: Client,
    /// Its received bytes.
    pub requests: Requests,
    /// Its pending commands by key.
    pub order: KeyOrder,
    /// Pending replies in order.
    slots: VecDeque<Slot>,
    /// The number of the first of them.
    first: u64,
    weight: usize,
    output: Vec<u8>,
    /// Bytes of the output that were sent.
    sent: usize,
    /// The client has closed its side of the connection; it may still read replies.
    pub input_ended: bool,
    /// No more requests begin; the connection closes after the pending replies.
    pub leaving: bool,
}

impl Connection {
    /// Whether another request may begin.
    pub fn may_begin(&self) -> bool {
        !self.leaving && self.weight < MAX_WEIGHT && self.has_room()
    }

    /// Whether to read from the client. Input after the last request is discarded; if it were not
    /// read, the close would be a reset.
    pub fn wants_input(&self) -> bool {
        self.leaving || (self.may_begin() && !self.input_ended)
    }

    /// Whether all replies were sent, and none will follow.
    pub fn is_finished(&self) -> bool {
        self.leaving && self.slots.is_empty() && self.output().is_empty()
    }

    /// Adds a pending reply; returns its number.
    pub fn add_slot(&mut self, weight: usize) -> u64 {
        self.weight += weight;
        self.slots.push_back(Slot { weight, data: None });
        self.first + self.slots.len() as u64 - 1
    }

    /// Adds the reply of a pending command. It enters the output with its turn.
    pub fn fill(&mut self, slot: u64, write: impl FnOnce(&mut Vec<u8>)) {
        let index = (slot - self.first) as usize;
        if index == 0 && self.has_room() {
            write(&mut self.output);
            self.pop();
            self.collect();
            return;
        }
        let mut data = Vec::new();
        write(&mut data);
        let slot = &mut self.slots[index];
        let more = (data.len() / 1024).saturating_sub(slot.weight);
        slot.weight += more;
        slot.data = Some(data);
        self.weight += more;
    }

    /// Replies to send.
    pub fn output(&self) -> &[u8] {
        &self.output[self.sent..]
    }

    /// Some bytes of the output were sent.
    pub fn on_sent(&mut self, bytes: usize) {
        self.sent += bytes;
        if self.sent == self.output.len() {
            self.output.clear();
            self.output.shrink_to(MAX_KEPT);
            self.sent = 0;
        } else if self.sent >= MAX_OUTPUT {
            self.output.drain(..self.sent);
            self.sent = 0;
        }
        self.collect();
    }

    fn has_room(&self) -> bool {
        self.output().len() < MAX_OUTPUT
    }

    /// Moves replies to the output whose turn it is.
    fn collect(&mut self) {
        while self.has_room()
            && let Some(Slot { data: Some(data), .. }) = self.slots.front()
        {
            self.output.extend_from_slice(data);
            self.pop();
        }
    }

    fn pop(&mut self) {
        if let Some(slot) = self.slots.pop_front() {
            self.weight -= slot.weight;
            self.first += 1;
        }
    }
}
