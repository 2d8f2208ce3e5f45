//! The network of a simulated rack: its cables, and the frames that are put on them.

use std::ops::AddAssign;

use netkv_roles::Nanos;

use super::across::Outbox;
use super::config::{End, RackConfig};
use super::division::Division;
use super::event::Event;
use super::frames::{FrameId, Frames};
use super::journal::{Journal, Outcome};
use super::link::{Link, LinkCounts, NO_LINK};
use super::nodes::Nodes;
use super::nodes::hosts::Hosts;
use super::nodes::switches::is_port;
use super::timeline::Timeline;
use crate::impair::{Arrival, Impairer, Impairment};

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

/// All cables. Cable `i` of the configuration is link `2 i` from `a` to `b`, and `2 i + 1` back.
pub(super) struct Network {
    cables: Vec<Cable>,
    /// One for each in `cables`.
    details: Vec<Details>,
    /// The kinds of links, in the order of the configuration.
    kinds: Vec<String>,
    /// Frames to each part of the rack.
    pub(super) outboxes: Vec<Outbox>,
    pub(super) journal: Option<Journal>,
}

impl Network {
    /// Creates all cables, and stores the number of its link at each sending end in the part
    /// `here`. Only the links from these ends are used.
    pub(super) fn new(
        config: &RackConfig,
        division: &Division,
        here: usize,
        nodes: &mut Nodes,
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
                        return Err(format!("A cable ends at {from}, which does not exist."));
                    }
                    Some(plug) if *plug != NO_LINK => {
                        return Err(format!("Two cables end at {from}."));
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
        nodes.check_plugged()?;
        let outboxes = (0..division.parts).map(|_| Outbox::default()).collect();
        Ok(Self { cables, details, kinds, outboxes, journal: None })
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

    /// Puts a frame on a link at `at`, now or later, and schedules its arrival.
    #[inline]
    pub(super) fn put(
        &mut self,
        timeline: &mut Timeline,
        nodes: &mut Nodes,
        link: u32,
        at: Nanos,
        frame: FrameId,
    ) {
        let cable = &mut self.cables[link as usize];
        let sent = cable.link.send(at, timeline.frames.len(frame));
        if let Some(journal) = &mut self.journal {
            let outcome = sent.map_or(Outcome::QueueFull, Outcome::Sent);
            let from = self.details[link as usize].from;
            journal.note(at, from, cable.to, outcome, timeline.frames.get(frame));
        }
        let Some(arrival) = sent else {
            timeline.frames.free(frame);
            return;
        };
        if cable.impaired {
            return self.put_impaired(timeline, nodes, link, arrival, frame);
        }
        if cable.outside != HERE {
            let bytes = timeline.frames.get(frame);
            let announced = is_announced(cable.to, &nodes.hosts);
            let outbox = &mut self.outboxes[usize::from(cable.outside)];
            outbox.push(timeline.now, (link, announced), arrival, bytes);
            return timeline.frames.free(frame);
        }
        // Frames of a link arrive in order, so the processor time of this one can be scheduled now.
        // This needs one event instead of two.
        match cable.to {
            End::Server(server) if !nodes.servers.is_ideal() => {
                nodes.servers.admit(timeline, server, arrival, frame);
            }
            End::Client(client) if !nodes.hosts.is_ideal() => {
                nodes.hosts.admit(timeline, client, arrival, frame);
            }
            End::Coordinator => nodes.coordinators.admit(timeline, arrival, frame),
            End::Card(card, port) => nodes.cards.admit(timeline, card, port, arrival, frame),
            _ => timeline.queue.push(arrival, Event::Arrive { link, frame }),
        }
    }

    /// [`Network::put`] for a frame that is not among the frames of this part yet. Returns false if
    /// it is longer than all frames of netkv.
    #[inline]
    pub(super) fn put_bytes(
        &mut self,
        timeline: &mut Timeline,
        nodes: &mut Nodes,
        link: u32,
        at: Nanos,
        bytes: &[u8],
    ) -> bool {
        let cable = &mut self.cables[link as usize];
        if cable.outside == HERE || cable.impaired || self.journal.is_some() {
            let Some(frame) = timeline.frames.add(bytes) else { return false };
            self.put(timeline, nodes, link, at, frame);
            return true;
        }
        if !Frames::fits(bytes.len()) {
            return false;
        }
        if let Some(arrival) = cable.link.send(at, bytes.len()) {
            let announced = is_announced(cable.to, &nodes.hosts);
            let outbox = &mut self.outboxes[usize::from(cable.outside)];
            outbox.push(timeline.now, (link, announced), arrival, bytes);
        }
        true
    }

    #[cold]
    fn put_impaired(
        &mut self,
        timeline: &mut Timeline,
        nodes: &mut Nodes,
        link: u32,
        arrival: Nanos,
        frame: FrameId,
    ) {
        let Cable { to, outside, .. } = self.cables[link as usize];
        let details = &mut self.details[link as usize];
        let fate = details.impairer.fate();
        if fate.is_lost() {
            details.impaired.lost += 1;
            if let Some(journal) = &mut self.journal {
                let bytes = timeline.frames.get(frame);
                journal.note(arrival, details.from, to, Outcome::Lost, bytes);
            }
        }
        details.impaired.duplicated += fate.duplicates();
        details.impaired.corrupted += fate.corrupted();
        for &Arrival { delay, burst } in fate.arrivals() {
            let arrival = arrival + delay;
            let copy = timeline.frames.copy(frame);
            if let Some(burst) = burst {
                if let Some(journal) = &mut self.journal {
                    let bytes = timeline.frames.get(frame);
                    let from = self.details[link as usize].from;
                    journal.note(arrival, from, to, Outcome::Corrupted, bytes);
                }
                burst.strike(timeline.frames.get_mut(copy));
            }
            if outside != HERE {
                let outbox = &mut self.outboxes[usize::from(outside)];
                outbox.push(timeline.now, (link, false), arrival, timeline.frames.get(copy));
                timeline.frames.free(copy);
                continue;
            }
            match to {
                End::Card(card, port) => nodes.cards.admit(timeline, card, port, arrival, copy),
                _ => timeline.queue.push(arrival, Event::Arrive { link, frame: copy }),
            }
        }
        timeline.frames.free(frame);
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
        for (cable, details) in self.cables.iter_mut().zip(&mut self.details) {
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
        if found { Ok(()) } else { Err(format!("There is no {end} in this rack.")) }
    }
}

/// Whether a rack has this end.
fn exists(config: &RackConfig, end: End) -> bool {
    match end {
        End::Switch(switch, port) => usize::from(switch) < config.switches.len() && is_port(port),
        End::Client(client) => client > 0 && client <= config.load.clients,
        End::Server(server) => server < config.load.keyspace.servers,
        End::Coordinator => config.coordinator.is_some(),
        // A rack with cards has one part, which has the others, too.
        End::Card(..) => false,
    }
}

/// Whether a frame without impairments is announced to its end.
fn is_announced(to: End, hosts: &Hosts) -> bool {
    matches!(to, End::Client(_)) && !hosts.is_ideal()
}
