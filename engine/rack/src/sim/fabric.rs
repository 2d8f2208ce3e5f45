//! The cables: where each end is, and what crosses them.

use netkv_roles::Nanos;

use super::config::{End, RackConfig};
use super::coordinators::Coordinators;
use super::frames::FrameId;
use super::hosts::Hosts;
use super::journal::{Journal, Outcome};
use super::link::{Link, LinkCounts};
use super::servers::Servers;
use super::switches::{PORTS, Switches};
use super::{Engines, Event, Simulation};
use crate::impair::{Impairer, Impairment};

/// No link.
pub(super) const NOWHERE: u32 = u32::MAX;

/// One direction of a cable.
struct Cable {
    link: Link,
    from: End,
    to: End,
    impairer: Impairer,
    lost: u64,
}

/// All of them; cable `i` of the configuration is `2 i` from `a` to `b`, and `2 i + 1` back.
pub(super) struct Fabric {
    cables: Vec<Cable>,
    pub(super) journal: Option<Journal>,
}

impl Fabric {
    /// Plugs all cables in.
    pub(super) fn new(
        config: &RackConfig,
        switches: &mut Switches,
        servers: &mut Servers,
        hosts: &mut Hosts,
        coordinators: &mut Coordinators,
    ) -> Result<Self, String> {
        let mut cables = Vec::with_capacity(2 * config.links.len());
        for spec in &config.links {
            for (from, to) in [(spec.a, spec.b), (spec.b, spec.a)] {
                let number = cables.len() as u32;
                let plug = match from {
                    End::Switch(switch, port) => switches.plug(switch, port),
                    End::Client(client) => hosts.plug(client),
                    End::Server(server) => servers.plug(server),
                    End::Coordinator => coordinators.plug(),
                };
                match plug {
                    None => {
                        return Err(format!("A cable ends at {}, which is not there.", name(from)));
                    }
                    Some(plug) if *plug != NOWHERE => {
                        return Err(format!("Two cables end at {}.", name(from)));
                    }
                    Some(plug) => *plug = number,
                }
                let impairer = Impairer::new(config.seed, 1_000_000 + u64::from(number));
                cables.push(Cable { link: Link::new(&spec.model), from, to, impairer, lost: 0 });
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
        Ok(Self { cables, journal: None })
    }

    /// What has crossed the cables between switches and hosts, added up, and frames lost on them.
    pub(super) fn counts(&self) -> (LinkCounts, u64) {
        let mut sum = LinkCounts::default();
        let mut lost = 0;
        for cable in &self.cables {
            sum.frames += cable.link.counts.frames;
            sum.bytes += cable.link.counts.bytes;
            sum.dropped += cable.link.counts.dropped;
            lost += cable.lost;
        }
        (sum, lost)
    }
}

/// An end as people call it.
pub(super) fn name(end: End) -> String {
    match end {
        End::Switch(switch, port) => format!("switch {switch} port {port}"),
        End::Client(client) => format!("client {client}"),
        End::Server(server) => format!("server {server}"),
        End::Coordinator => "the coordinator".to_owned(),
    }
}

impl Simulation {
    /// Puts a frame on a link at `at` (not before now); it is gone if the link drops it.
    #[inline]
    pub(super) fn put(&mut self, link: u32, at: Nanos, frame: FrameId) {
        let cable = &mut self.fabric.cables[link as usize];
        let sent = cable.link.send(at, self.frames.len(frame));
        if let Some(journal) = &mut self.fabric.journal {
            let outcome = sent.map_or(Outcome::QueueFull, Outcome::Sent);
            journal.note(at, cable.from, cable.to, outcome, self.frames.get(frame));
        }
        let Some(arrival) = sent else {
            self.frames.free(frame);
            return;
        };
        if !cable.impairer.is_idle() {
            return self.put_impaired(link, arrival, frame);
        }
        // Frames of a link arrive in order, so what a host's processor will do with this one is
        // known now: one event instead of two.
        match cable.to {
            End::Server(server) if !self.servers.is_ideal() => {
                self.admit_at_server(server, arrival, frame);
            }
            End::Client(client) if !self.hosts.is_ideal() => {
                self.admit_at_client(client, arrival, frame);
            }
            End::Coordinator => self.admit_at_coordinator(arrival, frame),
            _ => self.queue.push(arrival, Event::Arrive { link, frame }),
        }
    }

    #[cold]
    fn put_impaired(&mut self, link: u32, arrival: Nanos, frame: FrameId) {
        let cable = &mut self.fabric.cables[link as usize];
        let fate = cable.impairer.fate();
        if fate.is_lost() {
            cable.lost += 1;
            if let Some(journal) = &mut self.fabric.journal {
                let bytes = self.frames.get(frame);
                journal.note(arrival, cable.from, cable.to, Outcome::Lost, bytes);
            }
        }
        for &late in fate.delays() {
            let copy = self.frames.copy(frame);
            self.queue.push(arrival + late, Event::Arrive { link, frame: copy });
        }
        self.frames.free(frame);
    }

    /// A frame has reached the end of its link.
    #[inline]
    pub(super) fn arrive(&mut self, link: u32, frame: FrameId, engines: &mut Engines<'_>) {
        match self.fabric.cables[link as usize].to {
            End::Switch(switch, port) => self.at_switch(switch, port, frame, engines),
            End::Server(server) if self.servers.is_ideal() => self.serve(server, frame),
            End::Server(server) => self.admit_at_server(server, self.now, frame),
            End::Client(client) if self.hosts.is_ideal() => self.receive(client - 1, frame),
            End::Client(client) => self.admit_at_client(client, self.now, frame),
            End::Coordinator => self.admit_at_coordinator(self.now, frame),
        }
    }

    /// From now on the link at a host treats frames like that: those to it, those from it.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such host.
    pub fn impair(
        &mut self,
        host: End,
        to: Option<Impairment>,
        from: Option<Impairment>,
    ) -> Result<(), String> {
        let mut found = false;
        for cable in &mut self.fabric.cables {
            if cable.to == host
                && let Some(impairment) = to
            {
                cable.impairer.set(impairment);
            }
            if cable.from == host
                && let Some(impairment) = from
            {
                cable.impairer.set(impairment);
            }
            found |= cable.to == host;
        }
        if found { Ok(()) } else { Err(format!("There is no {} in this rack.", name(host))) }
    }

    /// Writes down what becomes of frames about these keys (all, if there are none), at most
    /// `limit` of them, the latest.
    pub fn watch(&mut self, keys: Vec<netkv_wire::Key>, limit: usize) {
        let frames = self.servers.frames();
        self.fabric.journal = Some(Journal::new(keys, limit, frames));
    }

    /// What was written down since [`Simulation::watch`], a line each.
    pub fn journal(&self) -> Vec<String> {
        self.fabric.journal.as_ref().map_or_else(Vec::new, Journal::lines)
    }
}

/// Whether a port number can be.
pub(super) fn is_port(port: u16) -> bool {
    usize::from(port) < PORTS
}
