//! Client hosts: a processor and a cable for each client of the load generator.

use std::sync::Arc;

use netkv_roles::{Frames, Nanos};
use netkv_wire::{ETHERNET_LEN, client_of_ip};
use netkv_workload::Random;

use super::config::RackConfig;
use super::costs::Costs;
use super::cpu::Cpu;
use super::event::Event;
use super::fabric::NO_LINK;
use super::frames::FrameId;
use super::part::Part;

struct Host {
    cpu: Cpu,
    link: u32,
    up: bool,
}

pub(super) struct Hosts {
    hosts: Vec<Host>,
    costs: Costs,
    /// Whether the processor times are 0.
    ideal: bool,
    random: Random,
    /// Frames dropped because too many waited for a core.
    pub(super) dropped: u64,
}

impl Hosts {
    /// The hosts of all clients, or none of them if they are in another part.
    pub(super) fn new(config: &RackConfig, frames: Arc<dyn Frames>, here: bool) -> Self {
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
    pub(super) fn is_ideal(&self) -> bool {
        self.ideal
    }

    /// The field for the number of the link from a client (from 1).
    pub(super) fn plug(&mut self, client: u16) -> Option<&mut u32> {
        self.hosts.get_mut(usize::from(client).checked_sub(1)?).map(|host| &mut host.link)
    }

    /// A client without a cable.
    pub(super) fn unplugged(&self) -> Option<usize> {
        self.hosts.iter().position(|host| host.link == NO_LINK).map(|at| at + 1)
    }
}

impl Part {
    /// Schedules the processing of a frame that reaches a client's host at `arrival`, now or later.
    #[inline]
    pub(super) fn admit_at_client(&mut self, client: u16, arrival: Nanos, frame: FrameId) {
        let host = client - 1;
        let hosts = &mut self.hosts;
        let cost = hosts.costs.receive(self.frames.get(frame), &mut hosts.random);
        if let Some(done) = hosts.hosts[usize::from(host)].cpu.take(arrival, cost) {
            self.queue.push(done, Event::Received { host, frame });
        } else {
            hosts.dropped += 1;
            self.frames.free(frame);
        }
    }

    /// Passes a frame to the load generator.
    pub(super) fn receive(&mut self, host: u16, frame: FrameId) {
        if self.hosts.hosts[usize::from(host)].up {
            if let Some(generator) = &mut self.generator {
                generator.on_frame(self.now, self.frames.get(frame));
            }
            self.frames.free(frame);
            self.after_generator();
        } else {
            self.frames.free(frame);
        }
    }

    /// Sends the frames of the generator, each from the host of its client, and schedules its next
    /// timer.
    pub(super) fn after_generator(&mut self) {
        let Some(generator) = &mut self.generator else { return };
        generator.end_finished_phase();
        self.generator_due = generator.deadline().unwrap_or(Nanos::MAX);
        if generator.actions().is_empty() {
            return;
        }
        let empty = self.actions.take().unwrap_or_default();
        let mut actions = generator.take_actions(empty);
        for bytes in actions.frames() {
            let Some(at) = sender(bytes) else { continue };
            let hosts = &mut self.hosts;
            let Some(host) = hosts.hosts.get_mut(at).filter(|host| host.up) else { continue };
            let leaves = if hosts.ideal {
                self.now
            } else {
                let cost = hosts.costs.send(bytes, &mut hosts.random);
                host.cpu.hold(self.now, cost)
            };
            let link = host.link;
            self.put_bytes(link, leaves, bytes);
        }
        actions.clear();
        self.actions = Some(actions);
    }

    /// Powers the host of a client on or off.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such client.
    pub(super) fn set_client(&mut self, client: u16, up: bool) -> Result<(), String> {
        let count = self.hosts.hosts.len();
        let host = usize::from(client).checked_sub(1).and_then(|at| self.hosts.hosts.get_mut(at));
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
