//! Client hosts: a processor and a cable for each client of the load generator.

use std::sync::Arc;

use netkv_roles::{Frames, Nanos};
use netkv_wire::{ETHERNET_LEN, client_of_ip};
use netkv_workload::Random;

use crate::sim::config::RackConfig;
use crate::sim::costs::Costs;
use crate::sim::cpu::Cpu;
use crate::sim::event::Event;
use crate::sim::frames::FrameId;
use crate::sim::link::NO_LINK;
use crate::sim::timeline::Timeline;

struct Host {
    cpu: Cpu,
    link: u32,
    up: bool,
}

pub struct Hosts {
    hosts: Vec<Host>,
    costs: Costs,
    /// Whether the processor times are 0.
    ideal: bool,
    random: Random,
    /// Frames dropped because too many waited for a core.
    pub dropped: u64,
}

impl Hosts {
    /// The hosts of all clients, or none of them if they are in another part.
    pub fn new(config: &RackConfig, frames: Arc<dyn Frames>, here: bool) -> Self {
        let model = &config.client;
        let costs = Costs::new(model, frames);
        let host =
            || Host { cpu: Cpu::new(model.cores, model.queue_limit), link: NO_LINK, up: true };
        let count = if here { config.load.clients } else { 0 };
        Self {
            hosts: (0..count).map(|_| host()).collect(),
            ideal: costs.are_none(),
            costs,
            random: Random::new(config.seed, 2_000_000),
            dropped: 0,
        }
    }

    /// Whether processors take no time.
    #[inline]
    pub fn is_ideal(&self) -> bool {
        self.ideal
    }

    /// The field for the number of the link from a client (from 1).
    pub fn plug(&mut self, client: u16) -> Option<&mut u32> {
        self.hosts.get_mut(usize::from(client).checked_sub(1)?).map(|host| &mut host.link)
    }

    /// A client without a cable.
    pub fn unplugged(&self) -> Option<usize> {
        self.hosts.iter().position(|host| host.link == NO_LINK).map(|at| at + 1)
    }

    /// Schedules the processing of a frame that reaches a client's host at `arrival`, now or later.
    #[inline]
    pub fn admit(&mut self, timeline: &mut Timeline, client: u16, arrival: Nanos, frame: FrameId) {
        let Timeline { queue, frames, .. } = timeline;
        let host = client - 1;
        let cost = self.costs.receive(frames.get(frame), &mut self.random);
        if let Some(done) = self.hosts[usize::from(host)].cpu.take(arrival, cost) {
            queue.push(done, Event::Received { host, frame });
        } else {
            self.dropped += 1;
            frames.free(frame);
        }
    }

    /// Whether a host (from 0) is powered on.
    #[inline]
    pub fn is_up(&self, host: u16) -> bool {
        self.hosts[usize::from(host)].up
    }

    /// The link that a frame is sent on, and when it leaves if it is sent now. `None` if no host
    /// that is powered on sends it.
    #[inline]
    pub fn send(&mut self, now: Nanos, frame: &[u8]) -> Option<(u32, Nanos)> {
        let host = self.hosts.get_mut(sender(frame)?).filter(|host| host.up)?;
        let leaves = if self.ideal {
            now
        } else {
            host.cpu.hold(now, self.costs.send(frame, &mut self.random))
        };
        Some((host.link, leaves))
    }

    /// Powers the host of a client on or off.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such client.
    pub fn set(&mut self, client: u16, up: bool) -> Result<(), String> {
        let count = self.hosts.len();
        let host = usize::from(client).checked_sub(1).and_then(|at| self.hosts.get_mut(at));
        let Some(host) = host else {
            return Err(format!("There is no client {client}: the rack has {count}, from 1."));
        };
        host.up = up;
        Ok(())
    }
}

/// Index of the host that sends a frame, by its IPv4 source.
fn sender(frame: &[u8]) -> Option<usize> {
    let address = frame.get(ETHERNET_LEN + 12..ETHERNET_LEN + 16)?.try_into().ok()?;
    client_of_ip(address).map(|client| usize::from(client) - 1)
}
