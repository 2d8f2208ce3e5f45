//! The simulated driver: virtual time, one process, the same result from the same seed.
//!
//! Hosts, links, processors and control channels are models; what happens to a packet is not: each
//! runs through the switch's program, and each request through the same roles as live. Time only
//! passes between events, so a run is as fast as the work in it, and a fault may happen at any
//! nanosecond.
//!
//! The controllers are not part of it: [`Simulation::run`] comes back whenever something has
//! reached one (a [`Notice`]), and its owner answers by [`Simulation::write`] and the like at the
//! time that it is then.

mod channel;
mod config;
mod control;
mod coordinators;
mod costs;
mod cpu;
mod fabric;
mod frames;
mod hosts;
mod journal;
mod link;
mod pipes;
mod queue;
mod servers;
mod switches;
mod warmth;

use std::sync::{Arc, Mutex, MutexGuard};

use netkv_dataplane::{Output, Switch};
use netkv_roles::{Actions, Frames as Protocol, Nanos};
use serde_json::{Value, json};

use crate::command::Command;
use crate::generator::Generator;
use crate::worker::lock;
pub use config::{End, RackConfig};
pub use control::Notice;
use control::{Controls, Way};
use coordinators::Coordinators;
use fabric::Fabric;
use frames::{FrameId, Frames};
use hosts::Hosts;
use queue::Queue;
use servers::Servers;
use switches::Switches;

/// Something that is going to happen.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// A frame has reached the end of a link.
    Arrive { link: u32, frame: FrameId },
    /// A frame that went round again leaves a switch.
    Leave { switch: u16, port: u16, frame: FrameId },
    /// A server's processor is done with a frame.
    Served { server: u16, incarnation: u16, frame: FrameId },
    /// A server has something due.
    ServerTimer { server: u16, incarnation: u16 },
    /// A client's processor is done with a frame.
    Received { host: u16, frame: FrameId },
    /// The coordinator's processor is done with a frame.
    Coordinated { incarnation: u16, frame: FrameId },
    /// The coordinator has something due.
    CoordinatorTimer { incarnation: u16 },
    /// A frame from the controller has reached a switch.
    PacketOut { switch: u16, incarnation: u16, frame: FrameId },
    /// A message has reached the other end of a control channel.
    Control { message: u32 },
    /// A control channel may send the next message.
    ChannelFree { switch: u16, way: Way, incarnation: u16 },
}

impl Event {
    /// The frame that it is about.
    fn frame(&self) -> Option<FrameId> {
        match *self {
            Self::Arrive { frame, .. }
            | Self::Leave { frame, .. }
            | Self::Served { frame, .. }
            | Self::Received { frame, .. }
            | Self::Coordinated { frame, .. }
            | Self::PacketOut { frame, .. } => Some(frame),
            Self::ServerTimer { .. }
            | Self::CoordinatorTimer { .. }
            | Self::Control { .. }
            | Self::ChannelFree { .. } => None,
        }
    }
}

/// So many events before its turn a frame is fetched into the caches: tens of thousands are under
/// way, and each is touched only when it arrives somewhere.
const LOOK_AHEAD: usize = 3;

type Engines<'a> = [MutexGuard<'a, Switch>];

/// A rack in virtual time. See the module.
pub struct Simulation {
    now: Nanos,
    queue: Queue<Event>,
    frames: Frames,
    fabric: Fabric,
    switches: Switches,
    servers: Servers,
    hosts: Hosts,
    coordinators: Coordinators,
    controls: Controls,
    generator: Generator,
    /// When the generator has something due.
    generator_due: Nanos,
    engines: Vec<Arc<Mutex<Switch>>>,
    output: Output,
    actions: Actions,
    /// Events since the start.
    events: u64,
    /// Why a server cannot go on.
    failure: Option<String>,
}

impl Simulation {
    /// A rack at time 0 whose switches run these programs, one for each in the configuration.
    ///
    /// # Errors
    ///
    /// A sentence about what cannot be.
    pub fn new(config: &RackConfig, engines: Vec<Arc<Mutex<Switch>>>) -> Result<Self, String> {
        config.check()?;
        if engines.len() != config.switches.len() {
            return Err(format!(
                "The configuration has {} switches, and {} programs were given.",
                config.switches.len(),
                engines.len()
            ));
        }
        for (number, (switch, engine)) in config.switches.iter().zip(&engines).enumerate() {
            let (modelled, there) = (switch.pipelines, lock(engine).pipelines());
            if modelled != there {
                return Err(format!(
                    "The configuration gives switch {number} {modelled} pipelines, and its program \
                     runs in {there}."
                ));
            }
        }
        let mut switches = Switches::new(config);
        let protocol: Arc<dyn Protocol> =
            (config.servers.role.frames)(config.servers.keyspace()).into();
        let mut servers = Servers::new(config, Arc::clone(&protocol))?;
        let mut hosts = Hosts::new(config, Arc::clone(&protocol));
        let mut coordinators = Coordinators::new(config, protocol)?;
        let fabric =
            Fabric::new(config, &mut switches, &mut servers, &mut hosts, &mut coordinators)?;
        let generator = Generator::new(&config.load, 1, 0)?;
        Ok(Self {
            now: 0,
            queue: Queue::default(),
            frames: Frames::default(),
            fabric,
            switches,
            servers,
            hosts,
            coordinators,
            controls: Controls::new(config),
            // Clients of some schemes have something to say before any load.
            generator_due: generator.deadline().unwrap_or(Nanos::MAX),
            generator,
            engines,
            output: Output::new(),
            actions: Actions::new(),
            events: 0,
            failure: None,
        })
    }

    /// The time.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Lets time pass up to `until`, or until something has reached a controller: the notices of
    /// one moment. It is `until` exactly if there are none.
    ///
    /// # Errors
    ///
    /// A sentence, if the workload cannot go on as configured, or a role cannot.
    pub fn run(&mut self, until: Nanos) -> Result<Vec<Notice>, String> {
        let locks = self.engines.clone();
        let mut engines: Vec<_> = locks.iter().map(|engine| lock(engine)).collect();
        while self.controls.notices.is_empty() {
            let next = self.queue.next(until.min(self.generator_due)).unwrap_or(Nanos::MAX);
            if next.min(self.generator_due) > until {
                self.now = self.now.max(until);
                break;
            }
            if self.generator_due <= next {
                self.now = self.now.max(self.generator_due);
                self.generator.poll(self.now)?;
                self.after_generator();
            } else if let Some((at, event)) = self.queue.pop() {
                if let Some(frame) = self.queue.peek(LOOK_AHEAD).and_then(Event::frame) {
                    self.frames.prefetch(frame);
                }
                // What was made for a moment that is over happens now.
                self.now = self.now.max(at);
                self.happen(event, &mut engines);
                self.failure.take().map_or(Ok(()), Err)?;
            }
            self.events += 1;
        }
        Ok(std::mem::take(&mut self.controls.notices))
    }

    fn happen(&mut self, event: Event, engines: &mut Engines<'_>) {
        match event {
            Event::Arrive { link, frame } => self.arrive(link, frame, engines),
            Event::Leave { switch, port, frame } => self.leave(switch, port, frame),
            Event::Served { server, incarnation, frame } => self.served(server, incarnation, frame),
            Event::ServerTimer { server, incarnation } => self.server_timer(server, incarnation),
            Event::Received { host, frame } => self.receive(host, frame),
            Event::Coordinated { incarnation, frame } => self.coordinated(incarnation, frame),
            Event::CoordinatorTimer { incarnation } => self.coordinator_timer(incarnation),
            Event::PacketOut { switch, incarnation, frame } => {
                self.packet_out_arrived(switch, incarnation, frame, engines);
            }
            Event::Control { message } => {
                self.controls.arrive(&mut self.queue, self.now, message);
            }
            Event::ChannelFree { switch, way, incarnation } => {
                self.controls.channel_free(&mut self.queue, switch, way, incarnation);
            }
        }
    }

    /// Carries out a command to the load generator; the reply as JSON.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with the command.
    pub fn command(&mut self, text: &str) -> Result<Value, String> {
        let reply = self.generator.carry_out(self.now, Command::parse(text)?)?;
        self.after_generator();
        Ok(reply)
    }

    /// What the load generator has seen since the last call.
    pub fn sample(&mut self) -> Value {
        let (document, spare) = self.generator.take_sample(self.now).document();
        self.generator.give_back(spare);
        document
    }

    /// Counts since the start, as `_engine.pyi` describes them.
    pub fn statistics(&self) -> Value {
        let (links, lost) = self.fabric.counts();
        let (pipeline_drops, unrouted) = self.switches.drops();
        let mut counts = json!({
            "events": self.events,
            "pending": self.queue.len(),
            "frames_under_way": self.frames.count(),
            "frames": links.frames,
            "bytes": links.bytes,
            "link_drops": links.dropped,
            "lost": lost,
            "pipeline_drops": pipeline_drops,
            "unrouted": unrouted,
            "client_drops": self.hosts.dropped,
            "servers": self.servers.counts(),
            "coordinator": self.coordinators.counts(),
        });
        for (name, count) in self.controls.counts() {
            counts[name] = count;
        }
        counts
    }
}

#[cfg(test)]
mod tests;
