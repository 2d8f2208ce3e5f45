//! The messages of DistCache's control plane, played by a script. `netkv/schemes/distcache/` has
//! the real order and retries, and `tests/schemes/distcache/` the traps of the control plane.

use netkv_wire::{
    CONTROLLER_IP, CONTROLLER_SENDER, CacheMetadata, FrameView, Message, Op, SERVICE_IP, Status,
};

use super::rack::Rack;
use super::switches::Layer;
use crate::common::frame::Frame;
use crate::common::frame_of;
use crate::common::switch::Entry;

/// Errors in the script of the control plane, or in the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptFault {
    /// RESTARTED is answered before the entries are installed again.
    AnswerRestartedEarly,
    /// An answer to an INSTALL from before RESTARTED counts, too.
    AnyInstallAnswer,
    /// The server is not notified that the upper switch is gone.
    KeepLostCopies,
    /// The server is notified that the upper switch is gone while reads are sent there.
    EvictBeforeExclusion,
    /// A restarted server begins with the same request numbers as before.
    RestartWithOldNumbers,
    /// An insertion gets a generation that was assigned before.
    ReuseGenerations,
}

/// The state of the controller.
#[derive(Debug, Default)]
pub struct Control {
    arrived: Vec<Vec<u8>>,
    /// The generations of the entries.
    entries: [Option<u32>; 2],
    /// RESTARTED, until the entry is installed again, and the INSTALL for that.
    restarted: Option<(Vec<u8>, Frame)>,
    generation: u32,
    request: u32,
}

impl Rack {
    pub fn next_generation(&mut self) -> u32 {
        if self.control.generation == 0 || !self.has_fault(ScriptFault::ReuseGenerations) {
            self.control.generation += 1;
        }
        self.control.generation
    }

    /// A message of the controller with a number of its own.
    pub fn control(&mut self, layer: Layer, op: Op, generation: u32) -> Frame {
        self.control.request += 1;
        let cache_metadata = Some(CacheMetadata { generation, version: 0, bitmap: 0 });
        let request = self.control.request;
        let (from, sender) = (CONTROLLER_IP, CONTROLLER_SENDER);
        let message = Message::request(from, SERVICE_IP, op, sender, request, self.key);
        let upper = layer == Layer::Upper;
        Frame::to_switch(frame_of(&Message { upper, cache_metadata, ..message }))
    }

    /// Sends a message of the controller and delivers all frames.
    pub fn send_and_run(&mut self, layer: Layer, op: Op, generation: u32) {
        let message = self.control(layer, op, generation);
        self.now(&message);
    }

    /// Writes the lookup entry of the key.
    pub fn insert(&mut self, layer: Layer, generation: u32, bitmap: u8) {
        let key = self.key;
        self.switch.insert(layer, &key, Entry { slot: 0, generation, bitmap });
        self.control.entries[layer as usize] = Some(generation);
    }

    /// Admits the key to the cache of a layer: ADMIT, lookup entry, INSTALL. Returns the
    /// generation.
    pub fn cache_in(&mut self, layer: Layer, bitmap: u8) -> u32 {
        let generation = self.next_generation();
        self.send_and_run(layer, Op::Admit, generation);
        self.insert(layer, generation, bitmap);
        self.send_and_run(layer, Op::Install, generation);
        if self.status(Op::InstallReply) != Some(Status::Ok) {
            self.missing.push("a successful INSTALL".to_owned());
        }
        generation
    }

    /// Deletes the lookup entry, if there is one. Returns its generation.
    pub fn remove(&mut self, layer: Layer) -> Option<u32> {
        let generation = self.control.entries[layer as usize].take()?;
        let key = self.key;
        self.switch.remove(layer, &key);
        Some(generation)
    }

    /// Evicts the key: deletes the lookup entry, then informs the server.
    pub fn evict(&mut self, layer: Layer) {
        if let Some(generation) = self.remove(layer) {
            self.send_and_run(layer, Op::Evicted, generation);
        }
    }

    /// The controller takes the upper switch for lost: its entry is gone.
    pub fn lose_upper(&mut self) {
        let generation = self.control.entries[Layer::Upper as usize].take();
        if !self.has_fault(ScriptFault::EvictBeforeExclusion) {
            self.switch.exclude_upper();
        }
        if let Some(generation) =
            generation.filter(|_| !self.has_fault(ScriptFault::KeepLostCopies))
        {
            self.send_and_run(Layer::Upper, Op::Evicted, generation);
        }
    }

    /// The next controller begins without entries.
    pub fn forget_upper_entry(&mut self) {
        self.control.entries[Layer::Upper as usize] = None;
    }

    /// Forgets the frames that have arrived at the controller.
    pub fn forget_replies(&mut self) {
        self.control.arrived.clear();
    }

    /// The status of the last reply with this operation.
    pub fn status(&self, reply: Op) -> Option<Status> {
        let mut frames =
            self.control.arrived.iter().rev().map(|bytes| FrameView::parse(bytes).unwrap());
        frames.find(|frame| frame.op() == reply).map(|frame| frame.status())
    }

    pub fn on_controller(&mut self, bytes: &[u8]) {
        self.control.arrived.push(bytes.to_vec());
        let Ok(frame) = FrameView::parse(bytes) else { return };
        match frame.op() {
            Op::Outgrown => {
                self.put_on_wire(Frame::to_switch(frame_of(&frame.reply(Status::Ok))));
                let layer = if frame.upper() { Layer::Upper } else { Layer::Lower };
                let generation = frame.cache_metadata().map(|metadata| metadata.generation);
                if self.control.entries[layer as usize] == generation {
                    let generation = self.remove(layer).unwrap_or_default();
                    let evicted = self.control(layer, Op::Evicted, generation);
                    self.put_on_wire(evicted);
                }
            }
            Op::Restarted => self.on_restarted(bytes),
            Op::InstallReply => {
                // INSTALL has a new number for each start of the server. A late answer of a failed
                // one ends nothing.
                let number = |frame: &Frame| FrameView::parse(&frame.bytes).map(|it| it.request());
                let any = self.has_fault(ScriptFault::AnyInstallAnswer);
                let restarted = self.control.restarted.take_if(|(_, install)| {
                    any || number(install).is_ok_and(|request| request == frame.request())
                });
                if let Some((bytes, _)) = restarted {
                    self.answer_restarted(&bytes);
                }
            }
            _ => {}
        }
    }

    fn on_restarted(&mut self, bytes: &[u8]) {
        let early = self.has_fault(ScriptFault::AnswerRestartedEarly);
        let Some(generation) = self.control.entries[Layer::Upper as usize].filter(|_| !early)
        else {
            self.control.restarted = None;
            self.answer_restarted(bytes);
            return;
        };
        let known = self.control.restarted.take().filter(|(known, _)| known == bytes);
        let install = match known {
            Some((_, install)) => install, // Either may have been lost.
            None => self.control(Layer::Upper, Op::Install, generation),
        };
        self.control.restarted = Some((bytes.to_vec(), install.clone()));
        self.put_on_wire(install);
    }

    fn answer_restarted(&mut self, bytes: &[u8]) {
        let Ok(frame) = FrameView::parse(bytes) else { return };
        self.put_on_wire(Frame::to_switch(frame_of(&frame.reply(Status::Ok))));
    }
}
