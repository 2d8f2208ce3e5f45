//! Control channels: what goes between switches and controllers, and when it arrives.
//!
//! Rules
//! -----
//! 1. Each direction of a channel is a [`Channel`], whose queues are limited.
//! 2. Table writes and their answers are not dropped: at most [`WRITES`] are under way, and a
//!    further one is refused.
//! 3. While a channel is cut, frames and digests are lost; table writes and their answers wait.
//! 4. With a switch all ends that is under way to and from it. With a controller ends what is under
//!    way to it; what it had sent arrives, unless the next one is there before it has left. Nothing
//!    is sent to a controller that is not there.

use netkv_dataplane::DigestMessage;
use netkv_roles::Nanos;
use serde_json::{Value, json};

use super::channel::{Channel, Sent};
use super::config::{RackConfig, SwitchConfig};
use super::frames::{FrameId, Frames};
use super::queue::Queue;
use super::{Event, Simulation};
use crate::backlog::Class;

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
/// Table writes of a switch that are under way at most: more than its tables have entries.
pub const WRITES: usize = 65_536;

/// A direction of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// To the controller.
    Up,
    /// To the switch.
    Down,
}

/// What waits to be sent.
#[derive(Debug)]
enum Message {
    Notice(Notice),
    /// A frame for one incarnation of the switch.
    PacketOut {
        switch: u16,
        incarnation: u16,
        frame: FrameId,
    },
}

impl Message {
    fn stalls(&self) -> bool {
        matches!(self, Self::Notice(notice) if notice.is_reliable())
    }
}

/// The channels of one switch.
struct Pair {
    up: Channel<Message>,
    down: Channel<Message>,
    /// Whether there is a controller at the other end.
    connected: bool,
    /// Pipelines of the switch, and the time from one to the next for a table write.
    pipelines: usize,
    write_gap: Nanos,
    /// Table writes that are not answered.
    writes: usize,
}

impl Pair {
    fn channel(&mut self, way: Way) -> &mut Channel<Message> {
        match way {
            Way::Up => &mut self.up,
            Way::Down => &mut self.down,
        }
    }
}

pub(super) struct Controls {
    pairs: Vec<Pair>,
    /// Messages under way.
    messages: Vec<Option<Notice>>,
    free: Vec<u32>,
    /// What has arrived at this moment.
    pub(super) notices: Vec<Notice>,
    /// Frames and digests that met a cut channel, or an end that was not there.
    lost: u64,
    /// Bytes of frames, both ways.
    frame_bytes: u64,
}

impl Controls {
    pub(super) fn new(config: &RackConfig) -> Self {
        let pair = |switch: &SwitchConfig| Pair {
            pipelines: switch.pipelines,
            write_gap: (switch.table_write_gap_s * 1e9).round() as Nanos,
            up: Channel::new(&config.control),
            down: Channel::new(&config.control),
            connected: true,
            writes: 0,
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

    /// Counts since the start, and what waits now.
    pub(super) fn counts(&self) -> Vec<(&'static str, Value)> {
        let channels = || self.pairs.iter().flat_map(|pair| [&pair.up, &pair.down]);
        let dropped = |class| channels().map(|channel| channel.dropped(class)).sum::<u64>();
        vec![
            ("control_lost", json!(self.lost)),
            ("control_dropped", json!(dropped(Class::Answer))),
            ("reports_dropped", json!(dropped(Class::Report) + dropped(Class::Digest))),
            ("control_waiting", json!(channels().map(|it| it.backlog().0).sum::<usize>())),
            ("control_waiting_peak", json!(channels().map(|it| it.backlog().1).max())),
            ("control_frame_bytes", json!(self.frame_bytes)),
        ]
    }

    fn send(
        &mut self,
        queue: &mut Queue<Event>,
        frames: &mut Frames,
        now: Nanos,
        (switch, way): (u16, Way),
        (class, message): (Class, Message),
    ) {
        let pair = &mut self.pairs[usize::from(switch)];
        let stalls = message.stalls();
        let channel = pair.channel(way);
        if channel.is_cut() && !stalls {
            self.lose(frames, message);
            return;
        }
        let parts = if class == Class::Digest { DIGESTS_IN_LIST } else { 1 };
        match channel.send(now, class, parts, stalls, message) {
            Sent::Leaves(at, message) => self.deliver(queue, at, message),
            Sent::Waits => self.wake(queue, switch, way),
            Sent::Dropped(message) => discard(frames, message),
        }
    }

    fn wake(&mut self, queue: &mut Queue<Event>, switch: u16, way: Way) {
        if let Some((at, incarnation)) = self.pairs[usize::from(switch)].channel(way).wake() {
            queue.push(at, Event::ChannelFree { switch, way, incarnation });
        }
    }

    /// A channel has sent a message.
    pub(super) fn channel_free(
        &mut self,
        queue: &mut Queue<Event>,
        switch: u16,
        way: Way,
        incarnation: u16,
    ) {
        let next = self.pairs[usize::from(switch)].channel(way).next(incarnation);
        if let Some((at, message)) = next {
            self.deliver(queue, at, message);
        }
        self.wake(queue, switch, way);
    }

    fn deliver(&mut self, queue: &mut Queue<Event>, at: Nanos, message: Message) {
        match message {
            Message::Notice(notice) => self.deliver_notice(queue, at, notice),
            Message::PacketOut { switch, incarnation, frame } => {
                queue.push(at, Event::PacketOut { switch, incarnation, frame });
            }
        }
    }

    fn deliver_notice(&mut self, queue: &mut Queue<Event>, at: Nanos, notice: Notice) {
        let message = self.free.pop().unwrap_or_else(|| {
            self.messages.push(None);
            self.messages.len() as u32 - 1
        });
        self.messages[message as usize] = Some(notice);
        queue.push(at, Event::Control { message });
    }

    fn lose(&mut self, frames: &mut Frames, message: Message) {
        self.lost += u64::from(!message.stalls());
        discard(frames, message);
    }

    fn send_up(
        &mut self,
        queue: &mut Queue<Event>,
        frames: &mut Frames,
        at: Nanos,
        class: Class,
        notice: Notice,
    ) {
        let switch = notice.switch();
        let message = Message::Notice(notice);
        if self.pairs[usize::from(switch)].connected {
            self.send(queue, frames, at, (switch, Way::Up), (class, message));
        } else {
            self.lose(frames, message);
        }
    }

    pub(super) fn packet_in(
        &mut self,
        queue: &mut Queue<Event>,
        frames: &mut Frames,
        switch: u16,
        at: Nanos,
        bytes: &[u8],
    ) {
        self.frame_bytes += bytes.len() as u64;
        let notice = Notice::PacketIn { switch, frame: bytes.to_vec() };
        self.send_up(queue, frames, at, Class::of(bytes), notice);
    }

    pub(super) fn digest(
        &mut self,
        queue: &mut Queue<Event>,
        frames: &mut Frames,
        switch: u16,
        at: Nanos,
        digest: DigestMessage,
    ) {
        self.send_up(queue, frames, at, Class::Digest, Notice::Digest { switch, digest });
    }

    /// A message has arrived, unless it was forgotten.
    pub(super) fn arrive(&mut self, queue: &mut Queue<Event>, now: Nanos, message: u32) {
        self.free.push(message);
        let Some(notice) = self.messages[message as usize].take() else { return };
        match notice {
            // Writes come to each pipeline in the order in which they came to the first.
            Notice::Write { switch, token, pipeline } => {
                let Pair { pipelines, write_gap, .. } = self.pairs[usize::from(switch)];
                let next = pipeline + 1;
                if next < pipelines {
                    let notice = Notice::Write { switch, token, pipeline: next };
                    self.deliver_notice(queue, now + write_gap, notice);
                }
            }
            Notice::Answered { switch, .. } => {
                let writes = &mut self.pairs[usize::from(switch)].writes;
                *writes = writes.saturating_sub(1);
            }
            _ => {}
        }
        self.notices.push(notice);
    }

    /// Forgets what is under way to and from a switch that has stopped.
    pub(super) fn forget(&mut self, frames: &mut Frames, switch: u16) {
        self.forget_notices(|notice| notice.switch() == switch);
        self.clear(frames, switch, Way::Up);
        self.clear(frames, switch, Way::Down);
    }

    fn forget_notices(&mut self, forgotten: impl Fn(&Notice) -> bool) {
        for message in &mut self.messages {
            if message.as_ref().is_some_and(&forgotten) {
                *message = None;
            }
        }
    }

    /// Nothing waits in a channel any more.
    fn clear(&mut self, frames: &mut Frames, switch: u16, way: Way) {
        let pair = &mut self.pairs[usize::from(switch)];
        pair.writes = 0;
        for message in pair.channel(way).clear() {
            discard(frames, message);
        }
    }
}

fn discard(frames: &mut Frames, message: Message) {
    if let Message::PacketOut { frame, .. } = message {
        frames.free(frame);
    }
}

impl Simulation {
    /// Sends a table write to a switch: a notice for each of its pipelines says when to carry it
    /// out there. False if too many are under way.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub fn write(&mut self, switch: u16, token: u64) -> Result<bool, String> {
        self.check_channel(switch)?;
        if !self.switches.is_up(switch) {
            return Ok(true);
        }
        let pair = &mut self.controls.pairs[usize::from(switch)];
        if pair.writes >= WRITES {
            return Ok(false);
        }
        pair.writes += 1;
        let message = Message::Notice(Notice::Write { switch, token, pipeline: 0 });
        let Self { controls, queue, frames, now, .. } = self;
        controls.send(queue, frames, *now, (switch, Way::Down), (Class::Answer, message));
        Ok(true)
    }

    /// Sends the answer to a table write that was carried out.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub fn answer(&mut self, switch: u16, token: u64) -> Result<(), String> {
        self.check_channel(switch)?;
        let Self { controls, queue, frames, now, .. } = self;
        controls.send_up(queue, frames, *now, Class::Answer, Notice::Answered { switch, token });
        Ok(())
    }

    /// Sends a frame to a switch, packet-out header in front.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub fn packet_out(&mut self, switch: u16, frame: &[u8]) -> Result<(), String> {
        self.check_channel(switch)?;
        if !self.switches.is_up(switch) {
            self.controls.lost += 1;
            return Ok(());
        }
        let class = Class::of(frame);
        let Self { controls, queue, frames, now, .. } = self;
        controls.frame_bytes += frame.len() as u64;
        let incarnation = self.switches.incarnation(switch);
        let frame = frames.add(frame).ok_or("A frame from the controller is too long.")?;
        let message = Message::PacketOut { switch, incarnation, frame };
        controls.send(queue, frames, *now, (switch, Way::Down), (class, message));
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
        let Self { controls, queue, frames, now, .. } = self;
        for way in [Way::Up, Way::Down] {
            let channel = controls.pairs[usize::from(switch)].channel(way);
            if cut {
                for message in channel.cut(Message::stalls) {
                    controls.lose(frames, message);
                }
            } else if channel.is_cut() {
                channel.heal(*now);
                controls.wake(queue, switch, way);
            }
        }
        Ok(())
    }

    /// Says whether there is a controller at the channel of a switch. When one has died, what is
    /// under way to it is for nobody; when the next one is there, what is left of the former is
    /// void.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub fn connect(&mut self, switch: u16, connected: bool) -> Result<(), String> {
        self.check_channel(switch)?;
        self.controls.pairs[usize::from(switch)].connected = connected;
        if connected {
            self.controls.clear(&mut self.frames, switch, Way::Down);
        } else {
            self.controls.clear(&mut self.frames, switch, Way::Up);
            self.controls.forget_notices(|notice| {
                notice.switch() == switch && !matches!(notice, Notice::Write { .. })
            });
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
