//! How a part advances: it handles its events in the order of their time.

use netkv_roles::Nanos;

use super::across::{Crossing, Inbox, Outbox};
use super::config::End;
use super::engines::Engines;
use super::event::Event;
use super::frames::FrameId;
use super::part::Part;
use super::timeline::Timeline;

impl Part {
    /// Time of the next event that is not a message of a control channel, if it is before `end`.
    pub(super) fn next(&mut self, end: Nanos) -> Option<Nanos> {
        let other = self.inbox_due.min(self.generator_due);
        let next = self
            .timeline
            .queue
            .next(end.saturating_sub(1).min(other))
            .unwrap_or(Nanos::MAX)
            .min(other);
        (next < end).then_some(next)
    }

    /// Handles all events before `end`, and before the next message of a control channel.
    ///
    /// # Errors
    ///
    /// A sentence, if the workload cannot continue as configured, or a role has failed.
    pub(super) fn advance(&mut self, end: Nanos, engines: &mut Engines<'_>) -> Result<(), String> {
        loop {
            let end = end.min(self.controls.due());
            let other = self.inbox_due.min(self.generator_due);
            if let Some((at, event)) = self.timeline.queue.pop_before(end.min(other)) {
                if self.timeline.queue.take_turn() {
                    self.prefetch(engines);
                }
                // An event in the past happens now.
                self.timeline.now = self.timeline.now.max(at);
                self.handle(event, engines);
                if self.failure.is_some() {
                    return self.failure.take().map_or(Ok(()), Err);
                }
            } else if other >= end {
                return Ok(());
            } else if self.inbox_due == other {
                self.take_from_inbox();
                continue;
            } else {
                self.timeline.now = self.timeline.now.max(other);
                if let Some(generator) = &mut self.generator {
                    generator.poll(self.timeline.now)?;
                }
                self.after_generator();
            }
            self.events += 1;
        }
    }

    fn handle(&mut self, event: Event, engines: &mut Engines<'_>) {
        match event {
            Event::Arrive { link, frame } | Event::ArriveFromOutside { link, frame } => {
                self.arrive(link, frame, engines);
            }
            Event::Leave { switch, port, frame } => self.leave(switch, port, frame),
            Event::Served { server, incarnation, frame } => self.served(server, incarnation, frame),
            Event::ServerTimer { server, incarnation } => self.server_timer(server, incarnation),
            Event::Received { host, frame } => self.receive(host, frame),
            Event::Coordinated { incarnation, frame } => self.coordinated(incarnation, frame),
            Event::CoordinatorTimer { incarnation } => self.coordinator_timer(incarnation),
            Event::Card { card, turn } => self.card_event(card, turn),
            Event::PacketOut { switch, incarnation, frame } => {
                self.packet_out_arrived(switch, incarnation, frame, engines);
            }
            Event::ChannelFree { switch, way, incarnation } => {
                self.controls.channel_free(&mut self.timeline.queue, switch, way, incarnation);
            }
        }
    }

    /// Handles a frame that has reached the end of its link.
    #[inline]
    fn arrive(&mut self, link: u32, frame: FrameId, engines: &mut Engines<'_>) {
        let Self { nodes, timeline, .. } = self;
        let now = timeline.now;
        match self.network.end(link) {
            End::Switch(switch, port) => self.at_switch(switch, port, frame, engines),
            End::Server(server) if nodes.servers.is_ideal() => self.serve(server, frame),
            End::Server(server) => nodes.servers.admit(timeline, server, now, frame),
            End::Client(client) if nodes.hosts.is_ideal() => self.receive(client - 1, frame),
            End::Client(client) => nodes.hosts.admit(timeline, client, now, frame),
            End::Coordinator => nodes.coordinators.admit(timeline, now, frame),
            End::Card(card, port) => nodes.cards.admit(timeline, card, port, now, frame),
        }
    }

    /// Handles the message of a control channel that arrives now.
    pub(super) fn control_arrives(&mut self, engines: &mut Engines<'_>) {
        self.controls.arrive(&mut self.timeline, engines);
        self.events += 1;
    }

    /// Takes the frames that another part has sent here, and clears its outbox.
    pub(super) fn receive_from(&mut self, part: usize, outbox: &mut Outbox) {
        if self.generator.is_some() {
            self.inboxes[part].add(outbox);
            self.inbox_due = self.inbox_due.min(self.inboxes[part].due());
            return;
        }
        let Timeline { frames, queue, .. } = &mut self.timeline;
        outbox.drain(|Crossing { link, arrival, .. }, bytes| {
            // The sender has checked its length.
            if let Some(frame) = frames.add(bytes) {
                queue.push(arrival, Event::ArriveFromOutside { link, frame });
            }
        });
    }

    /// Takes a frame that has been sent by now.
    fn take_from_inbox(&mut self) {
        let due = self.inbox_due;
        let Self { inboxes, timeline, network, nodes, .. } = self;
        if let Some((crossing, bytes)) =
            inboxes.iter_mut().find(|inbox| inbox.due() == due).and_then(Inbox::take)
            && let Some(frame) = timeline.frames.add(bytes)
        {
            let Crossing { link, arrival, announced, .. } = crossing;
            match network.end(link) {
                End::Client(client) if announced => {
                    nodes.hosts.admit(timeline, client, arrival, frame);
                }
                _ => timeline.queue.push(arrival, Event::ArriveFromOutside { link, frame }),
            }
        }
        self.inbox_due = self.inboxes.iter().map(Inbox::due).min().unwrap_or(Nanos::MAX);
    }
}
