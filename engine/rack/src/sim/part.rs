//! A part of a rack ([`Division`]): its nodes, its links to all nodes, and its events.

use std::sync::Arc;

use netkv_dataplane::Output;
use netkv_roles::{Actions, Frames as Protocol, Nanos};

use super::across::{Crossing, Inbox, Outbox};
use super::cards::Cards;
use super::config::{End, RackConfig};
use super::control::Controls;
use super::coordinators::Coordinators;
use super::division::Division;
use super::engines::Engines;
use super::event::Event;
use super::fabric::{Fabric, Nodes};
use super::frames::Frames;
use super::hosts::Hosts;
use super::queue::Queue;
use super::servers::Servers;
use super::switches::Switches;
use crate::generator::Generator;

/// See the module. It has a place for all nodes of the rack; only its own are used.
pub(super) struct Part {
    pub(super) now: Nanos,
    pub(super) queue: Queue<Event>,
    pub(super) frames: Frames,
    pub(super) fabric: Fabric,
    pub(super) switches: Switches,
    pub(super) servers: Servers,
    pub(super) hosts: Hosts,
    pub(super) coordinators: Coordinators,
    pub(super) cards: Cards,
    pub(super) controls: Controls,
    /// In the part of the clients.
    pub(super) generator: Option<Generator>,
    /// When the generator's next timer is due.
    pub(super) generator_due: Nanos,
    /// Frames to each part.
    pub(super) outboxes: Vec<Outbox>,
    /// In the part of the clients: frames from each part.
    inboxes: Vec<Inbox>,
    /// When the first frame in them was sent.
    inbox_due: Nanos,
    /// Memory for reuse, in boxes: a move of a larger value waits for the stores to its fields.
    pub(super) output: Option<Box<Output>>,
    pub(super) actions: Option<Box<Actions>>,
    /// Events since the start.
    pub(super) events: u64,
    /// Why a role has failed.
    pub(super) failure: Option<String>,
}

impl Part {
    /// A part of a rack at time 0.
    ///
    /// # Errors
    ///
    /// A sentence about an invalid configuration.
    pub(super) fn new(
        config: &RackConfig,
        division: &Division,
        number: usize,
    ) -> Result<Self, String> {
        let mut switches = Switches::new(config);
        let protocol: Arc<dyn Protocol> =
            (config.servers.role.frames)(config.servers.keyspace()).into();
        let of_clients = division.of_clients() == number;
        let has_server = |server| division.of(End::Server(server)) == number;
        let mut servers = Servers::new(config, Arc::clone(&protocol), has_server)?;
        let mut hosts = Hosts::new(config, Arc::clone(&protocol), of_clients);
        let has_coordinator = division.of(End::Coordinator) == number;
        let mut coordinators = Coordinators::new(config, protocol, has_coordinator)?;
        let mut cards = Cards::new(config)?;
        let mut nodes = Nodes {
            switches: &mut switches,
            servers: &mut servers,
            hosts: &mut hosts,
            coordinators: &mut coordinators,
            cards: &mut cards,
        };
        let fabric = Fabric::new(config, division, number, &mut nodes)?;
        let generator = of_clients.then(|| Generator::new(&config.load, 1, 0)).transpose()?;
        let mut part = Self {
            now: 0,
            queue: Queue::default(),
            frames: Frames::default(),
            fabric,
            switches,
            servers,
            hosts,
            coordinators,
            cards,
            controls: Controls::new(config),
            // Clients of some schemes register before any load.
            generator_due: generator.as_ref().and_then(Generator::deadline).unwrap_or(Nanos::MAX),
            generator,
            outboxes: (0..division.parts).map(|_| Outbox::default()).collect(),
            inboxes: (0..division.parts).map(|_| Inbox::default()).collect(),
            inbox_due: Nanos::MAX,
            output: None,
            actions: None,
            events: 0,
            failure: None,
        };
        part.wake_servers();
        Ok(part)
    }

    /// Time of the next event that is not a message of a control channel, if it is before `end`.
    pub(super) fn next(&mut self, end: Nanos) -> Option<Nanos> {
        let other = self.inbox_due.min(self.generator_due);
        let next =
            self.queue.next(end.saturating_sub(1).min(other)).unwrap_or(Nanos::MAX).min(other);
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
            if let Some((at, event)) = self.queue.pop_before(end.min(other)) {
                if self.queue.take_turn() {
                    self.prefetch(engines);
                }
                // An event in the past happens now.
                self.now = self.now.max(at);
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
                self.now = self.now.max(other);
                if let Some(generator) = &mut self.generator {
                    generator.poll(self.now)?;
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
                self.controls.channel_free(&mut self.queue, switch, way, incarnation);
            }
        }
    }

    /// Handles the message of a control channel that arrives now.
    pub(super) fn control_arrives(&mut self, engines: &mut Engines<'_>) {
        let Self { controls, queue, frames, now, .. } = self;
        controls.arrive(queue, frames, *now, engines);
        self.events += 1;
    }

    /// Takes the frames that another part has sent here, and clears its outbox.
    pub(super) fn receive_from(&mut self, part: usize, outbox: &mut Outbox) {
        if self.generator.is_some() {
            self.inboxes[part].add(outbox);
            self.inbox_due = self.inbox_due.min(self.inboxes[part].due());
            return;
        }
        let Self { frames, queue, .. } = self;
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
        let Self { inboxes, frames, fabric, .. } = self;
        if let Some((crossing, bytes)) =
            inboxes.iter_mut().find(|inbox| inbox.due() == due).and_then(Inbox::take)
            && let Some(frame) = frames.add(bytes)
        {
            let Crossing { link, arrival, announced, .. } = crossing;
            match fabric.end(link) {
                End::Client(client) if announced => self.admit_at_client(client, arrival, frame),
                _ => self.queue.push(arrival, Event::ArriveFromOutside { link, frame }),
            }
        }
        self.inbox_due = self.inboxes.iter().map(Inbox::due).min().unwrap_or(Nanos::MAX);
    }
}
