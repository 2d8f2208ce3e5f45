//! Control channels: what goes between switches and controllers, and when it arrives.

use netkv_dataplane::DigestMessage;
use netkv_roles::Nanos;

use super::channel::Channel;
use super::config::{RackConfig, SwitchConfig};
use super::queue::Queue;
use super::{Event, Simulation};
use crate::switch::DIGEST_QUEUE;

/// Something has reached the other end of a control channel.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// A frame is at the controller, packet-in header in front.
    PacketIn {
        /// The switch that it comes from.
        switch: u16,
        /// Its bytes.
        frame: Vec<u8>,
    },
    /// A digest is at the controller.
    Digest {
        /// The switch that it comes from.
        switch: u16,
        /// What it says.
        digest: DigestMessage,
    },
    /// A table write is at a pipeline of the switch: carry it out there now. After the last one,
    /// or when one refuses it: [`Simulation::answer`].
    Write {
        /// The switch.
        switch: u16,
        /// What the writer called it.
        token: u64,
        /// The pipeline; it comes to all of them, from 0 on.
        pipeline: usize,
    },
    /// The answer to a table write is at the controller.
    Answered {
        /// The switch that it comes from.
        switch: u16,
        /// What the writer called it.
        token: u64,
    },
}

impl Notice {
    fn switch(&self) -> u16 {
        match self {
            Self::PacketIn { switch, .. }
            | Self::Digest { switch, .. }
            | Self::Write { switch, .. }
            | Self::Answered { switch, .. } => *switch,
        }
    }

    /// Table writes and their answers go over a connection that loses nothing; it stalls.
    fn is_reliable(&self) -> bool {
        matches!(self, Self::Write { .. } | Self::Answered { .. })
    }
}

/// Digests in a message, as live: netkv's controller asks for lists of so many.
const DIGESTS_IN_LIST: u64 = 64;

/// The channels of one switch.
struct Pair {
    up: Channel,
    down: Channel,
    /// Nothing passes.
    cut: bool,
    /// Pipelines of the switch, and the time from one to the next for a table write.
    pipelines: usize,
    write_gap: Nanos,
    /// Digests on their way up.
    digests: usize,
    /// What stalls until the channel is whole again.
    stalled: Vec<Notice>,
}

pub(super) struct Controls {
    pairs: Vec<Pair>,
    /// Messages under way.
    messages: Vec<Option<Notice>>,
    free: Vec<u32>,
    /// What has arrived at this moment.
    pub(super) notices: Vec<Notice>,
    /// Frames and digests that met a cut channel, and digests that met too many others.
    pub(super) lost: u64,
    /// Bytes of frames, both ways.
    pub(super) frame_bytes: u64,
}

impl Controls {
    pub(super) fn new(config: &RackConfig) -> Self {
        let pair = |switch: &SwitchConfig| Pair {
            pipelines: switch.pipelines,
            write_gap: (switch.table_write_gap_s * 1e9).round() as Nanos,
            up: Channel::new(&config.control),
            down: Channel::new(&config.control),
            cut: false,
            digests: 0,
            stalled: Vec::new(),
        };
        Self {
            pairs: config.switches.iter().map(pair).collect(),
            messages: Vec::new(),
            free: Vec::new(),
            notices: Vec::new(),
            lost: 0,
            frame_bytes: 0,
        }
    }

    fn send(&mut self, queue: &mut Queue<Event>, now: Nanos, notice: Notice) {
        let pair = &mut self.pairs[usize::from(notice.switch())];
        if pair.cut {
            if notice.is_reliable() {
                pair.stalled.push(notice);
            } else {
                self.lost += 1;
            }
            return;
        }
        let at = match notice {
            Notice::Write { .. } => pair.down.send(now),
            Notice::Digest { .. } if pair.digests >= DIGEST_QUEUE => {
                self.lost += 1;
                return;
            }
            Notice::Digest { .. } => {
                pair.digests += 1;
                pair.up.send_share(now, DIGESTS_IN_LIST)
            }
            Notice::PacketIn { .. } | Notice::Answered { .. } => pair.up.send(now),
        };
        self.deliver(queue, at, notice);
    }

    fn deliver(&mut self, queue: &mut Queue<Event>, at: Nanos, notice: Notice) {
        let message = self.free.pop().unwrap_or_else(|| {
            self.messages.push(None);
            self.messages.len() as u32 - 1
        });
        self.messages[message as usize] = Some(notice);
        queue.push(at, Event::Control { message });
    }

    pub(super) fn packet_in(
        &mut self,
        queue: &mut Queue<Event>,
        switch: u16,
        at: Nanos,
        bytes: &[u8],
    ) {
        self.frame_bytes += bytes.len() as u64;
        self.send(queue, at, Notice::PacketIn { switch, frame: bytes.to_vec() });
    }

    pub(super) fn digest(
        &mut self,
        queue: &mut Queue<Event>,
        switch: u16,
        at: Nanos,
        digest: DigestMessage,
    ) {
        self.send(queue, at, Notice::Digest { switch, digest });
    }

    /// A message has arrived, unless it was forgotten.
    pub(super) fn arrive(&mut self, queue: &mut Queue<Event>, now: Nanos, message: u32) {
        self.free.push(message);
        let Some(notice) = self.messages[message as usize].take() else { return };
        match notice {
            Notice::Digest { switch, .. } => self.pairs[usize::from(switch)].digests -= 1,
            // Writes come to each pipeline in the order in which they came to the first.
            Notice::Write { switch, token, pipeline } => {
                let Pair { pipelines, write_gap, .. } = self.pairs[usize::from(switch)];
                let next = pipeline + 1;
                if next < pipelines {
                    let notice = Notice::Write { switch, token, pipeline: next };
                    self.deliver(queue, now + write_gap, notice);
                }
            }
            _ => {}
        }
        self.notices.push(notice);
    }

    /// Forgets what is under way to and from a switch that has stopped.
    pub(super) fn forget(&mut self, switch: u16) {
        for message in &mut self.messages {
            if message.as_ref().is_some_and(|notice| notice.switch() == switch) {
                *message = None;
            }
        }
        let pair = &mut self.pairs[usize::from(switch)];
        pair.stalled.clear();
        pair.digests = 0;
    }
}

impl Simulation {
    /// Sends a table write to a switch: a notice for each of its pipelines says when to carry it
    /// out there.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub fn write(&mut self, switch: u16, token: u64) -> Result<(), String> {
        self.check_channel(switch)?;
        if self.switches.is_up(switch) {
            self.controls.send(
                &mut self.queue,
                self.now,
                Notice::Write { switch, token, pipeline: 0 },
            );
        }
        Ok(())
    }

    /// Sends the answer to a table write that was carried out.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub fn answer(&mut self, switch: u16, token: u64) -> Result<(), String> {
        self.check_channel(switch)?;
        self.controls.send(&mut self.queue, self.now, Notice::Answered { switch, token });
        Ok(())
    }

    /// Sends a frame to a switch, packet-out header in front.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub fn packet_out(&mut self, switch: u16, frame: &[u8]) -> Result<(), String> {
        self.check_channel(switch)?;
        let pair = &mut self.controls.pairs[usize::from(switch)];
        if pair.cut || !self.switches.is_up(switch) {
            self.controls.lost += 1;
            return Ok(());
        }
        self.controls.frame_bytes += frame.len() as u64;
        let at = pair.down.send(self.now);
        let life = self.switches.life(switch);
        let frame = self.frames.add(frame).ok_or("A frame from the controller is too long.")?;
        self.queue.push(at, Event::PacketOut { switch, life, frame });
        Ok(())
    }

    /// Cuts the control channel of a switch, or makes it whole: frames and digests that are sent
    /// meanwhile are lost, table writes and their answers wait.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub fn cut_channel(&mut self, switch: u16, cut: bool) -> Result<(), String> {
        self.check_channel(switch)?;
        let pair = &mut self.controls.pairs[usize::from(switch)];
        pair.cut = cut;
        if !cut {
            for notice in std::mem::take(&mut pair.stalled) {
                self.controls.send(&mut self.queue, self.now, notice);
            }
        }
        Ok(())
    }

    fn check_channel(&self, switch: u16) -> Result<(), String> {
        let count = self.controls.pairs.len();
        if usize::from(switch) < count {
            return Ok(());
        }
        Err(format!("There is no switch {switch}: the rack has {count}, from 0."))
    }
}
