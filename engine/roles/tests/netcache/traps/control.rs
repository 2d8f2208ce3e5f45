//! The control plane's messages, played by a script. `netkv/schemes/netcache/` has the real order
//! and retries, and `tests/schemes/netcache/test_netcache_traps.py` the traps of the control plane.

use netkv_wire::{
    CONTROLLER_IP, CONTROLLER_SENDER, CacheMetadata, FrameView, Key, Message, Op, SERVICE_IP,
    Status,
};

use crate::common::frame::Frame;
use crate::common::frame_of;
use crate::common::switch::Entry;
use crate::traps::rack::{BITMAP, Rack};

/// Errors in the script of the control plane, or in the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptFault {
    /// An insertion gets a generation that was assigned before.
    ReuseGenerations,
    /// The cells of an entry are reused while its lookup entry still exists.
    ReuseCellsEarly,
    /// A restarted server begins with the same request numbers as before.
    RestartWithOldNumbers,
    /// A restarted server does not read which writes were applied.
    RestartWithoutMarks,
}

/// The state of the controller.
#[derive(Debug, Default)]
pub struct Control {
    /// Frames that arrived at the controller.
    arrived: Vec<Vec<u8>>,
    /// The last generation and the last request number that it assigned.
    generation: u32,
    request: u32,
}

impl Rack {
    /// A generation that was never assigned before.
    pub fn next_generation(&mut self) -> u32 {
        if self.control.generation == 0 || !self.has_fault(ScriptFault::ReuseGenerations) {
            self.control.generation += 1;
        }
        self.control.generation
    }

    /// A message of the controller with a number of its own.
    pub fn control(&mut self, op: Op, generation: u32) -> Frame {
        self.control_about(self.key, op, generation)
    }

    fn control_about(&mut self, key: Key, op: Op, generation: u32) -> Frame {
        let metadata = CacheMetadata { generation, version: 0, bitmap: BITMAP };
        self.control_with_metadata(key, op, metadata)
    }

    /// The controller's message that begins a statistics epoch.
    pub fn epoch(&mut self, epoch: u32) -> Frame {
        let metadata = CacheMetadata { generation: 0, version: epoch, bitmap: 0 };
        self.control_with_metadata([0; 16], Op::Epoch, metadata)
    }

    fn control_with_metadata(&mut self, key: Key, op: Op, metadata: CacheMetadata) -> Frame {
        self.control.request += 1;
        let (from, sender) = (CONTROLLER_IP, CONTROLLER_SENDER);
        let message = Message::request(from, SERVICE_IP, op, sender, self.control.request, key);
        Frame::to_switch(frame_of(&message.with_cache_metadata(metadata)))
    }

    /// Sends a message of the controller and delivers all frames.
    pub fn send_and_run(&mut self, op: Op, generation: u32) {
        self.send_and_run_about(self.key, op, generation);
    }

    fn send_and_run_about(&mut self, key: Key, op: Op, generation: u32) {
        let message = self.control_about(key, op, generation);
        self.carry(&message);
        self.run();
    }

    /// Writes the lookup entry of the key.
    pub fn insert(&mut self, generation: u32, slot: usize) {
        self.switch.insert(&self.key, Entry { slot, generation, bitmap: BITMAP });
    }

    /// Admits the key: ADMIT, lookup entry, INSTALL. Returns the generation.
    pub fn cache(&mut self) -> u32 {
        self.cache_at(0)
    }

    pub fn cache_at(&mut self, slot: usize) -> u32 {
        let generation = self.next_generation();
        self.send_and_run(Op::Admit, generation);
        self.insert(generation, slot);
        self.send_and_run(Op::Install, generation);
        if self.status(Op::InstallReply) != Some(Status::Ok) {
            self.missing.push("a successful INSTALL".to_owned());
        }
        generation
    }

    /// Admits the other key, with an entry number of its own, in the row of the first.
    pub fn cache_other_in_row_0(&mut self) {
        let generation = self.next_generation();
        self.send_and_run_about(self.other, Op::Admit, generation);
        let entry = Entry { slot: 1, generation, bitmap: BITMAP };
        self.switch.insert_in_row(&self.other, entry, 0);
        self.send_and_run_about(self.other, Op::Install, generation);
    }

    /// Evicts the key: deletes the lookup entry, then informs the server.
    pub fn evict(&mut self) {
        if let Some(entry) = self.switch.remove(&self.key) {
            self.send_and_run(Op::Evicted, entry.generation);
        }
    }

    /// The status of the last reply with this operation.
    pub fn status(&self, reply: Op) -> Option<Status> {
        let frames =
            self.control.arrived.iter().rev().map(|bytes| FrameView::parse(bytes).unwrap());
        frames.into_iter().find(|frame| frame.op() == reply).map(|frame| frame.status())
    }

    pub fn on_controller(&mut self, bytes: &[u8]) {
        self.control.arrived.push(bytes.to_vec());
        let Ok(frame) = FrameView::parse(bytes) else { return };
        if frame.op() == Op::Outgrown {
            self.wire.push_back(Frame::to_switch(frame_of(&frame.reply(Status::Ok))));
            let key = frame.key();
            let generation = frame.cache_metadata().map(|metadata| metadata.generation);
            if self.switch.entry(&key).is_some_and(|it| Some(it.generation) == generation) {
                self.switch.remove(&key);
                let evicted = self.control_about(key, Op::Evicted, generation.unwrap_or(0));
                self.wire.push_back(evicted);
            }
        }
    }
}
