//! Control channels: the messages between switches and controllers.
//!
//! Rules
//! -----
//! 1. Each direction of a channel is a [`Channel`] with bounded queues.
//! 2. Table writes and their answers are not dropped: at most [`MAX_WRITES`] are pending, and a
//!    further one is refused. A write that comes with its [`TableUpdate`] is carried out and
//!    answered here; any other by the caller, who gets a notice.
//! 3. While a channel is cut, frames and digests are lost; table writes and their answers wait.
//! 4. When a switch stops, all messages to and from it are discarded.
//! 5. When a controller stops, messages to it are discarded. Messages from it still arrive, except
//!    those that have not left when the next controller connects.
//! 6. While no controller is connected, messages to it are lost.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use netkv_dataplane::DigestMessage;
use netkv_roles::Nanos;
use serde_json::{Value, json};

use super::channel::{Channel, Sent, Way};
use super::config::{RackConfig, SwitchConfig};
use super::engines::Engines;
use super::event::Event;
use super::frames::{FrameId, Frames};
use super::queue::Queue;
use super::table_update::TableUpdate;
use super::timeline::Timeline;
use crate::backlog::Class;

/// A message that has reached the other end of a control channel.
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
        /// The digest.
        digest: DigestMessage,
    },
    /// A table write is at a pipeline of the switch, and the caller executes it there now. After
    /// the last pipeline, or when a pipeline refuses the write, call [`Simulation::answer`].
    Write {
        /// The switch.
        switch: u16,
        /// The writer's token for this write.
        token: u64,
        /// The pipeline; the write reaches all of them, from 0 on.
        pipeline: usize,
    },
    /// The answer to a table write is at the controller.
    Answered {
        /// The switch that it comes from.
        switch: u16,
        /// The writer's token for this write.
        token: u64,
        /// Why the switch has refused the update of the write; empty if it has not, and if the
        /// caller carried the write out.
        error: String,
    },
}

impl Notice {
    /// The switch at one end of the channel.
    pub fn switch(&self) -> u16 {
        match self {
            Self::PacketIn { switch, .. }
            | Self::Digest { switch, .. }
            | Self::Write { switch, .. }
            | Self::Answered { switch, .. } => *switch,
        }
    }

    /// Table writes and their answers use a reliable connection, which stalls during a cut.
    fn is_reliable(&self) -> bool {
        matches!(self, Self::Write { .. } | Self::Answered { .. })
    }
}

/// Digests in a message: netkv's controller configures lists of this length live.
const DIGESTS_IN_LIST: u64 = 64;
/// Maximum number of pending table writes of a switch: more than its tables have entries.
pub const MAX_WRITES: usize = 65_536;

/// A message in a channel.
#[derive(Debug)]
enum Message {
    Notice(Notice),
    /// A frame to one incarnation of the switch.
    PacketOut {
        switch: u16,
        incarnation: u16,
        frame: FrameId,
    },
}

impl Message {
    fn is_reliable(&self) -> bool {
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
    /// Number of pending table writes.
    writes: usize,
    /// Updates that not all pipelines have, by the token of their write.
    updates: HashMap<u64, TableUpdate>,
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
    /// Messages that have left and not arrived.
    messages: Vec<Option<Notice>>,
    free: Vec<u32>,
    /// When they arrive, in the order of their arrival and then of their departure: index of the
    /// message.
    arrivals: BinaryHeap<Reverse<(Nanos, u64, u32)>>,
    /// Number of messages that have left.
    left: u64,
    /// Messages that have arrived now.
    pub(super) notices: Vec<Notice>,
    /// When the last update was carried out in this turn of [`Simulation::run`].
    pub(super) carried_out: Option<Nanos>,
    /// Frames and digests lost because of a cut channel or a stopped end.
    lost: u64,
    /// Bytes of frames in both directions.
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
            updates: HashMap::new(),
        };
        Self {
            pairs: config.switches.iter().map(pair).collect(),
            messages: Vec::new(),
            free: Vec::new(),
            arrivals: BinaryHeap::new(),
            left: 0,
            notices: Vec::new(),
            carried_out: None,
            lost: 0,
            frame_bytes: 0,
        }
    }

    /// When the next message arrives.
    #[inline]
    pub(super) fn due(&self) -> Nanos {
        self.arrivals.peek().map_or(Nanos::MAX, |Reverse((at, ..))| *at)
    }

    /// Number of messages that have left and not arrived.
    pub(super) fn under_way(&self) -> usize {
        self.arrivals.len()
    }

    /// Counts of all parts since the start, and the number of waiting messages.
    pub(super) fn counts<'a>(
        parts: impl Iterator<Item = &'a Self> + Clone,
    ) -> [(&'static str, Value); 6] {
        let pairs = || parts.clone().flat_map(|controls| &controls.pairs);
        let channels = || pairs().flat_map(|pair| [&pair.up, &pair.down]);
        let dropped = |class| channels().map(|channel| channel.dropped(class)).sum::<u64>();
        let frame_bytes: u64 = parts.clone().map(|controls| controls.frame_bytes).sum();
        [
            ("control_lost", json!(parts.clone().map(|controls| controls.lost).sum::<u64>())),
            ("control_dropped", json!(dropped(Class::Answer))),
            ("reports_dropped", json!(dropped(Class::Report) + dropped(Class::Digest))),
            ("control_waiting", json!(channels().map(|it| it.backlog().0).sum::<usize>())),
            ("control_waiting_peak", json!(channels().map(|it| it.backlog().1).max())),
            ("control_frame_bytes", json!(frame_bytes)),
        ]
    }

    fn send(
        &mut self,
        timeline: &mut Timeline,
        at: Nanos,
        (switch, way): (u16, Way),
        (class, message): (Class, Message),
    ) {
        let Timeline { queue, frames, .. } = timeline;
        let pair = &mut self.pairs[usize::from(switch)];
        let reliable = message.is_reliable();
        let channel = pair.channel(way);
        if channel.is_cut() && !reliable {
            self.lose(frames, message);
            return;
        }
        let parts = if class == Class::Digest { DIGESTS_IN_LIST } else { 1 };
        match channel.send(at, class, parts, reliable, message) {
            Sent::Leaves(at, message) => self.deliver(queue, at, message),
            Sent::Waits => self.schedule_wake_up(queue, switch, way),
            Sent::Dropped(message) => discard(frames, message),
        }
    }

    fn schedule_wake_up(&mut self, queue: &mut Queue<Event>, switch: u16, way: Way) {
        let channel = self.pairs[usize::from(switch)].channel(way);
        if let Some((at, incarnation)) = channel.schedule_wake_up() {
            queue.push(at, Event::ChannelFree { switch, way, incarnation });
        }
    }

    /// Sends the next message of a channel that has become free.
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
        self.schedule_wake_up(queue, switch, way);
    }

    fn deliver(&mut self, queue: &mut Queue<Event>, at: Nanos, message: Message) {
        match message {
            Message::Notice(notice) => self.deliver_notice(at, notice),
            Message::PacketOut { switch, incarnation, frame } => {
                queue.push(at, Event::PacketOut { switch, incarnation, frame });
            }
        }
    }

    fn deliver_notice(&mut self, at: Nanos, notice: Notice) {
        let message = self.free.pop().unwrap_or_else(|| {
            self.messages.push(None);
            self.messages.len() as u32 - 1
        });
        self.messages[message as usize] = Some(notice);
        self.left += 1;
        self.arrivals.push(Reverse((at, self.left, message)));
    }

    fn lose(&mut self, frames: &mut Frames, message: Message) {
        self.lost += u64::from(!message.is_reliable());
        discard(frames, message);
    }

    fn send_up(&mut self, timeline: &mut Timeline, at: Nanos, class: Class, notice: Notice) {
        let switch = notice.switch();
        let message = Message::Notice(notice);
        if self.pairs[usize::from(switch)].connected {
            self.send(timeline, at, (switch, Way::Up), (class, message));
        } else {
            self.lose(&mut timeline.frames, message);
        }
    }

    /// Sends a frame of a switch's program to the controller at `at`, now or later.
    pub(super) fn packet_in(
        &mut self,
        timeline: &mut Timeline,
        switch: u16,
        at: Nanos,
        bytes: &[u8],
    ) {
        self.frame_bytes += bytes.len() as u64;
        let notice = Notice::PacketIn { switch, frame: bytes.to_vec() };
        self.send_up(timeline, at, Class::of(bytes), notice);
    }

    /// Sends a digest to the controller at `at`, now or later.
    pub(super) fn digest(
        &mut self,
        timeline: &mut Timeline,
        switch: u16,
        at: Nanos,
        digest: DigestMessage,
    ) {
        self.send_up(timeline, at, Class::Digest, Notice::Digest { switch, digest });
    }

    /// Handles the arrival of the next message, unless it was discarded.
    pub(super) fn arrive(&mut self, timeline: &mut Timeline, engines: &mut Engines<'_>) {
        let now = timeline.now;
        let Some(Reverse((_, _, message))) = self.arrivals.pop() else { return };
        self.free.push(message);
        let Some(notice) = self.messages[message as usize].take() else { return };
        match notice {
            // Schedules the write in the next pipeline. All pipelines get writes in the same order.
            Notice::Write { switch, token, pipeline } => {
                let Pair { pipelines, write_gap, .. } = self.pairs[usize::from(switch)];
                let next = pipeline + 1;
                if next < pipelines {
                    let notice = Notice::Write { switch, token, pipeline: next };
                    self.deliver_notice(now + write_gap, notice);
                }
                let updates = &mut self.pairs[usize::from(switch)].updates;
                if let Some(update) = updates.get(&token) {
                    let engine = engines.of(switch);
                    let refused = update.carry_out(engine, pipeline, now).err();
                    self.carried_out = Some(now);
                    if next == pipelines || refused.is_some() {
                        updates.remove(&token);
                        let error = refused.map(|error| error.message).unwrap_or_default();
                        let answer = Notice::Answered { switch, token, error };
                        self.send_up(timeline, now, Class::Answer, answer);
                    }
                    return;
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

    /// Discards all messages to and from a switch that has stopped.
    pub(super) fn discard_messages(&mut self, frames: &mut Frames, switch: u16) {
        self.discard_notices(|notice| notice.switch() == switch);
        self.pairs[usize::from(switch)].updates.clear();
        self.clear(frames, switch, Way::Up);
        self.clear(frames, switch, Way::Down);
    }

    fn discard_notices(&mut self, discarded: impl Fn(&Notice) -> bool) {
        for message in &mut self.messages {
            if message.as_ref().is_some_and(&discarded) {
                *message = None;
            }
        }
    }

    /// Discards the messages that wait in a channel.
    fn clear(&mut self, frames: &mut Frames, switch: u16, way: Way) {
        let pair = &mut self.pairs[usize::from(switch)];
        pair.writes = 0;
        for message in pair.channel(way).clear() {
            discard(frames, message);
        }
    }

    /// Sends a table write to a switch: see [`super::Simulation::write`].
    pub(super) fn write(
        &mut self,
        timeline: &mut Timeline,
        switch: u16,
        token: u64,
        update: Option<TableUpdate>,
    ) -> bool {
        let pair = &mut self.pairs[usize::from(switch)];
        if pair.writes >= MAX_WRITES {
            return false;
        }
        pair.writes += 1;
        pair.updates.extend(update.map(|update| (token, update)));
        let message = Message::Notice(Notice::Write { switch, token, pipeline: 0 });
        let at = timeline.now;
        self.send(timeline, at, (switch, Way::Down), (Class::Answer, message));
        true
    }

    /// Forgets the updates that not all pipelines of a switch have.
    pub(super) fn discard_updates(&mut self, switch: u16) {
        self.pairs[usize::from(switch)].updates.clear();
    }

    /// Sends the answer to a table write that the caller has executed.
    pub(super) fn answer(&mut self, timeline: &mut Timeline, switch: u16, token: u64) {
        let notice = Notice::Answered { switch, token, error: String::new() };
        let at = timeline.now;
        self.send_up(timeline, at, Class::Answer, notice);
    }

    /// Sends a frame to this incarnation of a switch, packet-out header in front; `None`: the
    /// switch is down, and the frame is lost.
    ///
    /// # Errors
    ///
    /// A sentence, if the frame is longer than all frames of netkv.
    pub(super) fn packet_out(
        &mut self,
        timeline: &mut Timeline,
        switch: u16,
        incarnation: Option<u16>,
        frame: &[u8],
    ) -> Result<(), String> {
        let Some(incarnation) = incarnation else {
            self.lost += 1;
            return Ok(());
        };
        let class = Class::of(frame);
        self.frame_bytes += frame.len() as u64;
        let frame = timeline.frames.add(frame).ok_or("A frame from the controller is too long.")?;
        let message = Message::PacketOut { switch, incarnation, frame };
        let at = timeline.now;
        self.send(timeline, at, (switch, Way::Down), (class, message));
        Ok(())
    }

    /// Cuts or restores the channel of a switch (rule 3).
    pub(super) fn cut(&mut self, timeline: &mut Timeline, switch: u16, cut: bool) {
        let Timeline { queue, frames, now } = timeline;
        for way in [Way::Up, Way::Down] {
            let channel = self.pairs[usize::from(switch)].channel(way);
            if cut {
                for message in channel.cut(Message::is_reliable) {
                    self.lose(frames, message);
                }
            } else if channel.is_cut() {
                channel.restore(*now);
                self.schedule_wake_up(queue, switch, way);
            }
        }
    }

    /// Connects a new controller to the channel of a switch, or removes a stopped one (rules 5 and
    /// 6).
    pub(super) fn connect(&mut self, frames: &mut Frames, switch: u16, connected: bool) {
        self.pairs[usize::from(switch)].connected = connected;
        if connected {
            self.clear(frames, switch, Way::Down);
        } else {
            self.clear(frames, switch, Way::Up);
            self.discard_notices(|notice| {
                notice.switch() == switch && !matches!(notice, Notice::Write { .. })
            });
        }
    }
}

fn discard(frames: &mut Frames, message: Message) {
    if let Message::PacketOut { frame, .. } = message {
        frames.free(frame);
    }
}
