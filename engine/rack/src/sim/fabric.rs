//! The cables of a rack: their ends, and the frames that cross them.

use netkv_roles::Nanos;

use super::cards::Cards;
use super::config::{End, RackConfig};
use super::coordinators::Coordinators;
use super::event::Event;
use super::frames::FrameId;
use super::hosts::Hosts;
use super::journal::{Journal, Outcome};
use super::link::{Link, LinkCounts};
use super::servers::Servers;
use super::switches::{PORTS, Switches};
use super::{Engines, Simulation};
use crate::impair::{Impairer, Impairment};

/// The number of no link, for a node without a cable.
pub(super) const NO_LINK: u32 = u32::MAX;

/// One direction of a cable: what every frame accesses, in one cache line.
#[repr(align(64))]
struct Cable {
    link: Link,
    to: End,
    /// Whether its impairer changes something.
    impaired: bool,
}

const _: () = assert!(size_of::<Cable>() == 64);

/// The rest of a direction of a cable.
struct Details {
    from: End,
    impairer: Impairer,
    lost: u64,
    /// Index of its kind.
    kind: usize,
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
    /// Creates all cables, and stores the number of its link at each sending end.
    pub(super) fn new(
        config: &RackConfig,
        switches: &mut Switches,
        servers: &mut Servers,
        hosts: &mut Hosts,
        coordinators: &mut Coordinators,
        cards: &mut Cards,
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
                let plug = match from {
                    End::Switch(switch, port) => switches.plug(switch, port),
                    End::Client(client) => hosts.plug(client),
                    End::Server(server) => servers.plug(server),
                    End::Coordinator => coordinators.plug(),
                    End::Card(card, port) => cards.plug(card, port),
                };
                match plug {
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
                let sent = matches!(from, End::Card(card, port) if cards.has_rate(card, port));
                let link = Link::new(&spec.model);
                let link = if sent { link.without_bandwidth() } else { link };
                cables.push(Cable { link, to, impaired: false });
                details.push(Details { from, impairer, lost: 0, kind });
            }
        }
        for (what, missing) in [("client", hosts.unplugged()), ("server", servers.unplugged())] {
            if let Some(number) = missing {
                return Err(format!("No cable leads to {what} {number}."));
            }
        }
        if coordinators.is_unplugged() {
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

    /// The sum of all links' counts, and the number of frames that impairments have lost.
    pub(super) fn counts(&self) -> (LinkCounts, u64) {
        let mut sum = LinkCounts::default();
        for cable in &self.cables {
            sum.frames += cable.link.counts.frames;
            sum.bytes += cable.link.counts.bytes;
            sum.dropped += cable.link.counts.dropped;
        }
        (sum, self.details.iter().map(|details| details.lost).sum())
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

impl Simulation {
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

    #[cold]
    fn put_impaired(&mut self, link: u32, arrival: Nanos, frame: FrameId) {
        let to = self.fabric.end(link);
        let details = &mut self.fabric.details[link as usize];
        let fate = details.impairer.fate();
        if fate.is_lost() {
            details.lost += 1;
            if let Some(journal) = &mut self.fabric.journal {
                let bytes = self.frames.get(frame);
                journal.note(arrival, details.from, to, Outcome::Lost, bytes);
            }
        }
        for &late in fate.delays() {
            let copy = self.frames.copy(frame);
            let arrival = arrival + late;
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
    pub fn impair(
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

    /// Starts a journal of the frames about these keys (of all frames, if no keys are given). It
    /// keeps the latest `limit` frames.
    pub fn watch(&mut self, keys: Vec<netkv_wire::Key>, limit: usize) {
        let frames = self.servers.frames();
        self.fabric.journal = Some(Journal::new(keys, limit, frames));
    }

    /// The journal since [`Simulation::watch`], one line for each frame.
    pub fn journal(&self) -> Vec<String> {
        self.fabric.journal.as_ref().map_or_else(Vec::new, Journal::lines)
    }
}

/// Whether a port number is valid.
pub(super) fn is_port(port: u16) -> bool {
    usize::from(port) < PORTS
}
