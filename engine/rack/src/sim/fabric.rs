//! The cables of a rack: their ends, and the frames that cross them.

use std::ops::AddAssign;

use netkv_roles::Nanos;

use super::cards::Cards;
use super::config::{End, RackConfig};
use super::coordinators::Coordinators;
use super::division::Division;
use super::engines::Engines;
use super::event::Event;
use super::frames::{FrameId, Frames};
use super::hosts::Hosts;
use super::journal::{Journal, Outcome};
use super::link::{Link, LinkCounts};
use super::part::Part;
use super::servers::Servers;
use super::switches::{PORTS, Switches};
use crate::impair::{Arrival, Impairer, Impairment};

/// The number of no link, for a node without a cable.
pub(super) const NO_LINK: u32 = u32::MAX;

/// One direction of a cable: what every frame accesses, in one cache line.
#[repr(align(64))]
struct Cable {
    link: Link,
    to: End,
    /// Whether its impairer changes something.
    impaired: bool,
    /// The part of the rack at its end, or [`HERE`].
    outside: u8,
}

/// The end of a cable is in the same part as its sender.
const HERE: u8 = u8::MAX;

const _: () = assert!(size_of::<Cable>() == 64);

/// Frames that impairments of links have changed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ImpairedFrames {
    /// Frames that never arrived.
    pub lost: u64,
    /// Copies that arrived beside their frames.
    pub duplicated: u64,
    /// Copies that arrived with flipped bits.
    pub corrupted: u64,
}

impl AddAssign for ImpairedFrames {
    fn add_assign(&mut self, other: Self) {
        self.lost += other.lost;
        self.duplicated += other.duplicated;
        self.corrupted += other.corrupted;
    }
}

/// The rest of a direction of a cable.
struct Details {
    from: End,
    impairer: Impairer,
    impaired: ImpairedFrames,
    /// Index of its kind.
    kind: usize,
}

/// The nodes of a part.
pub(super) struct Nodes<'a> {
    pub switches: &'a mut Switches,
    pub servers: &'a mut Servers,
    pub hosts: &'a mut Hosts,
    pub coordinators: &'a mut Coordinators,
    pub cards: &'a mut Cards,
}

impl Nodes<'_> {
    /// The field for the number of the link from this end, if it exists.
    fn plug(&mut self, end: End) -> Option<&mut u32> {
        match end {
            End::Switch(switch, port) => self.switches.plug(switch, port),
            End::Client(client) => self.hosts.plug(client),
            End::Server(server) => self.servers.plug(server),
            End::Coordinator => self.coordinators.plug(),
            End::Card(card, port) => self.cards.plug(card, port),
        }
    }
}

/// All cables. Cable `i` of the configuration is link `2 i` from `a` to `b`, and `2 i + 1` back.
pub(super) struct Fabric {
    cables: Vec<Cable>,
    /// One for each in `cables`.
    details: Vec<Details>,
    /// The kinds of links, in the order of the configuration.
    kinds: Vec<String>,
    pub(super) journal: Option<Journal>,
}

impl Fabric {
    /// Creates all cables, and stores the number of its link at each sending end in the part `here`.
    /// Only the links from these ends are used.
    pub(super) fn new(
        config: &RackConfig,
        division: &Division,
        here: usize,
        nodes: &mut Nodes<'_>,
    ) -> Result<Self, String> {
        let mut cables = Vec::with_capacity(2 * config.links.len());
        let mut details = Vec::with_capacity(2 * config.links.len());
        let mut kinds: Vec<String> = Vec::new();
        for spec in &config.links {
            let kind = kinds.iter().position(|kind| *kind == spec.kind).unwrap_or_else(|| {
                kinds.push(spec.kind.clone());
                kinds.len() - 1
            });
            for (from, to) in [(spec.a, spec.b), (spec.b, spec.a)] {
                let number = cables.len() as u32;
                let in_part = division.of(from) == here;
                match if in_part { nodes.plug(from) } else { None } {
                    None if !in_part && exists(config, from) => {}
                    None => {
                        let end = name(from);
                        return Err(format!("A cable ends at {end}, which does not exist."));
                    }
                    Some(plug) if *plug != NO_LINK => {
                        return Err(format!("Two cables end at {}.", name(from)));
                    }
                    Some(plug) => *plug = number,
                }
                let impairer = Impairer::new(config.seed, 1_000_000 + u64::from(number));
                // The MAC of a card's port has sent the frame already.
                let sent =
                    matches!(from, End::Card(card, port) if nodes.cards.has_rate(card, port));
                let link = Link::new(&spec.model);
                let link = if sent { link.without_bandwidth() } else { link };
                let there = division.of(to);
                let outside = if there == here { HERE } else { there as u8 };
                cables.push(Cable { link, to, impaired: false, outside });
                details.push(Details { from, impairer, impaired: ImpairedFrames::default(), kind });
            }
        }
        for (what, missing) in
            [("client", nodes.hosts.unplugged()), ("server", nodes.servers.unplugged())]
        {
            if let Some(number) = missing {
                return Err(format!("No cable leads to {what} {number}."));
            }
        }
        if nodes.coordinators.is_unplugged() {
            return Err("No cable leads to the coordinator.".to_owned());
        }
        Ok(Self { cables, details, kinds, journal: None })
    }

    /// The end of a link.
    #[inline]
    pub(super) fn end(&self, link: u32) -> End {
        self.cables[link as usize].to
    }

    /// Bytes on the links of each kind, in both directions.
    pub(super) fn bytes_by_kind(&self) -> impl Iterator<Item = (&str, u64)> {
        self.kinds.iter().enumerate().map(|(kind, name)| {
            let cables = self.cables.iter().zip(&self.details).filter(|it| it.1.kind == kind);
            (&name[..], cables.map(|(cable, _)| cable.link.counts.bytes).sum())
        })
    }

    /// The sum of all links' counts, and of the frames that impairments have changed.
    pub(super) fn counts(&self) -> (LinkCounts, ImpairedFrames) {
        let mut sum = LinkCounts::default();
        for cable in &self.cables {
            sum.frames += cable.link.counts.frames;
            sum.bytes += cable.link.counts.bytes;
            sum.dropped += cable.link.counts.dropped;
        }
        let mut impaired = ImpairedFrames::default();
        for details in &self.details {
            impaired += details.impaired;
        }
        (sum, impaired)
    }
}

/// Whether a rack has this end.
fn exists(config: &RackConfig, end: End) -> bool {
    match end {
        End::Switch(switch, port) => usize::from(switch) < config.switches.len() && is_port(port),
        End::Client(client) => client > 0 && client <= config.load.clients,
        End::Server(server) => server < config.servers.count,
        End::Coordinator => config.coordinator.is_some(),
        // A rack with cards has one part, which has the others, too.
        End::Card(..) => false,
    }
}

/// The name of an end in messages to users.
pub(super) fn name(end: End) -> String {
    match end {
        End::Switch(switch, port) => format!("switch {switch} port {port}"),
        End::Client(client) => format!("client {client}"),
        End::Server(server) => format!("server {server}"),
        End::Coordinator => "the coordinator".to_owned(),
        End::Card(card, port) => format!("card {card} port {port}"),
    }
}

impl Part {
    /// Puts a frame on a link at `at`, now or later, and schedules its arrival.
    #[inline]
    pub(super) fn put(&mut self, link: u32, at: Nanos, frame: FrameId) {
        let cable = &mut self.fabric.cables[link as usize];
        let sent = cable.link.send(at, self.frames.len(frame));
        if let Some(journal) = &mut self.fabric.journal {
            let outcome = sent.map_or(Outcome::QueueFull, Outcome::Sent);
            let from = self.fabric.details[link as usize].from;
            journal.note(at, from, cable.to, outcome, self.frames.get(frame));
        }
        let Some(arrival) = sent else {
            self.frames.free(frame);
            return;
        };
        if cable.impaired {
            return self.put_impaired(link, arrival, frame);
        }
        if cable.outside != HERE {
            let bytes = self.frames.get(frame);
            let announced = is_announced(cable.to, &self.hosts);
            let outbox = &mut self.outboxes[usize::from(cable.outside)];
            outbox.push(self.now, (link, announced), arrival, bytes);
            return self.frames.free(frame);
        }
        // Frames of a link arrive in order, so the processor time of this one can be scheduled now.
        // This needs one event instead of two.
        match cable.to {
            End::Server(server) if !self.servers.is_ideal() => {
                self.admit_at_server(server, arrival, frame);
            }
            End::Client(client) if !self.hosts.is_ideal() => {
                self.admit_at_client(client, arrival, frame);
            }
            End::Coordinator => self.admit_at_coordinator(arrival, frame),
            End::Card(card, port) => self.send_to_card(card, port, arrival, frame),
            _ => self.queue.push(arrival, Event::Arrive { link, frame }),
        }
    }

    /// [`Part::put`] for a frame that is not among the frames of this part yet. Returns false if it
    /// is longer than all frames of netkv.
    #[inline]
    pub(super) fn put_bytes(&mut self, link: u32, at: Nanos, bytes: &[u8]) -> bool {
        let cable = &mut self.fabric.cables[link as usize];
        if cable.outside == HERE || cable.impaired || self.fabric.journal.is_some() {
            let Some(frame) = self.frames.add(bytes) else { return false };
            self.put(link, at, frame);
            return true;
        }
        if !Frames::fits(bytes.len()) {
            return false;
        }
        if let Some(arrival) = cable.link.send(at, bytes.len()) {
            let announced = is_announced(cable.to, &self.hosts);
            let outbox = &mut self.outboxes[usize::from(cable.outside)];
            outbox.push(self.now, (link, announced), arrival, bytes);
        }
        true
    }

    #[cold]
    fn put_impaired(&mut self, link: u32, arrival: Nanos, frame: FrameId) {
        let Cable { to, outside, .. } = self.fabric.cables[link as usize];
        let details = &mut self.fabric.details[link as usize];
        let fate = details.impairer.fate();
        if fate.is_lost() {
            details.impaired.lost += 1;
            if let Some(journal) = &mut self.fabric.journal {
                let bytes = self.frames.get(frame);
                journal.note(arrival, details.from, to, Outcome::Lost, bytes);
            }
        }
        details.impaired.duplicated += fate.duplicates();
        details.impaired.corrupted += fate.corrupted();
        for &Arrival { delay, burst } in fate.arrivals() {
            let arrival = arrival + delay;
            let copy = self.frames.copy(frame);
            if let Some(burst) = burst {
                if let Some(journal) = &mut self.fabric.journal {
                    let bytes = self.frames.get(frame);
                    let from = self.fabric.details[link as usize].from;
                    journal.note(arrival, from, to, Outcome::Corrupted, bytes);
                }
                burst.strike(self.frames.get_mut(copy));
            }
            if outside != HERE {
                let outbox = &mut self.outboxes[usize::from(outside)];
                outbox.push(self.now, (link, false), arrival, self.frames.get(copy));
                self.frames.free(copy);
                continue;
            }
            match to {
                End::Card(card, port) => self.send_to_card(card, port, arrival, copy),
                _ => self.queue.push(arrival, Event::Arrive { link, frame: copy }),
            }
        }
        self.frames.free(frame);
    }

    /// Handles a frame that has reached the end of its link.
    #[inline]
    pub(super) fn arrive(&mut self, link: u32, frame: FrameId, engines: &mut Engines<'_>) {
        match self.fabric.cables[link as usize].to {
            End::Switch(switch, port) => self.at_switch(switch, port, frame, engines),
            End::Server(server) if self.servers.is_ideal() => self.serve(server, frame),
            End::Server(server) => self.admit_at_server(server, self.now, frame),
            End::Client(client) if self.hosts.is_ideal() => self.receive(client - 1, frame),
            End::Client(client) => self.admit_at_client(client, self.now, frame),
            End::Coordinator => self.admit_at_coordinator(self.now, frame),
            End::Card(card, port) => self.send_to_card(card, port, self.now, frame),
        }
    }

    /// Sets the impairments of the link at this end: of frames to it, of frames from it. `None`
    /// leaves a direction as it is.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no link with this end.
    pub(super) fn impair(
        &mut self,
        end: End,
        to: Option<Impairment>,
        from: Option<Impairment>,
    ) -> Result<(), String> {
        let mut found = false;
        for (cable, details) in self.fabric.cables.iter_mut().zip(&mut self.fabric.details) {
            if cable.to == end
                && let Some(impairment) = to
            {
                details.impairer.set(impairment);
            }
            if details.from == end
                && let Some(impairment) = from
            {
                details.impairer.set(impairment);
            }
            cable.impaired = !details.impairer.is_idle();
            found |= cable.to == end;
        }
        if found { Ok(()) } else { Err(format!("There is no {} in this rack.", name(end))) }
    }
}

/// Whether a frame without impairments is announced to its end.
fn is_announced(to: End, hosts: &Hosts) -> bool {
    matches!(to, End::Client(_)) && !hosts.is_ideal()
}

/// Whether a port number is valid.
pub(super) fn is_port(port: u16) -> bool {
    usize::from(port) < PORTS
}
