//! The program `forwarding.p4`, written in Rust.

use netkv_dataplane::Output;
use netkv_wire::{CPU_PORT, crc32};

use crate::handwritten::layout::{DESTINATION, IPV4, KEY, KV_END, OP, UDP};
use crate::handwritten::{
    Counts, DROP_REASONS, Drop, Forwarding, Pipeline, address, copy, enter, has_kv, send,
    set_checksum,
};

/// Upper half of the ops about statistics.
const STATISTICS: u8 = 3;

/// The program, with its tables.
pub(super) struct ForwardingOnly {
    forwarding: Forwarding,
    drops: [u64; DROP_REASONS],
}

impl ForwardingOnly {
    pub(super) fn new(forwarding: Forwarding) -> Self {
        Self { forwarding, drops: [0; DROP_REASONS] }
    }

    #[inline]
    fn process(&self, from: u16, frame: &[u8], out: &mut Output) -> Result<(), Drop> {
        let Some(frame) = enter(from, frame, out)? else { return Ok(()) };
        if !has_kv(frame)? {
            return self.forwarding.route(from, frame, out);
        }
        if frame[OP] >> 4 == STATISTICS && frame[OP] & 1 == 0 && from != CPU_PORT {
            return Err(Drop::Forbidden);
        }
        let mut destination = address(frame, DESTINATION);
        let owner = self.forwarding.owner(destination, || crc32(&frame[KEY..KV_END]))?;
        if let Some(owner) = owner {
            destination = owner.ip;
        }
        let port = self.forwarding.port(&destination)?;
        send(out, from, port, frame.len(), |sent| {
            sent.copy_from_slice(frame);
            if let Some(owner) = owner {
                copy(sent, 0, &owner.mac);
                copy(sent, DESTINATION, &owner.ip);
            }
            set_checksum(&mut sent[IPV4..UDP]);
        });
        Ok(())
    }
}

impl Pipeline for ForwardingOnly {
    fn process_batch(&mut self, port: u16, frames: &[&[u8]], out: &mut Output) {
        for frame in frames {
            if let Err(reason) = self.process(port, frame, out) {
                self.drops[reason as usize] += 1;
            }
        }
    }

    fn counts(&self) -> Counts {
        vec![("NetkvIngress.drop.reasons", self.drops.to_vec())]
    }
}
