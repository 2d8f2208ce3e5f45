//! The simulated driver: a discrete-event simulation of a rack in one process. The same seed gives
//! the same result.
//!
//! Hosts, links, processors and control channels are models. The rest is the code that runs live:
//! each packet runs through the switch's program, and each request through the roles. Time advances
//! from event to event, and a fault can happen at any nanosecond.
//!
//! The caller runs the controllers, and executes table writes that come without a [`TableUpdate`]:
//! [`Simulation::run`] returns whenever a message for them has arrived (a [`Notice`]). The caller
//! then answers at that virtual time, by [`Simulation::write`] and similar functions.

mod cards;
mod channel;
mod config;
mod control;
mod coordinators;
mod costs;
mod cpu;
mod event;
mod fabric;
mod frames;
mod hosts;
mod journal;
mod link;
mod pipes;
mod prefetch;
mod queue;
mod servers;
mod switches;
mod table_update;
mod warmth;

use std::collections::BTreeMap;
use std::sync::Arc;

use netkv_dataplane::{Output, SharedSwitch, SwitchGuard};
use netkv_roles::{Actions, Frames as Protocol, Nanos};
use serde_json::{Value, json};

use crate::command::Command;
use crate::generator::Generator;
use cards::Cards;
pub use config::{End, RackConfig};
use control::Controls;
pub use control::Notice;
use coordinators::Coordinators;
use event::Event;
use fabric::Fabric;
use frames::Frames;
use hosts::Hosts;
use queue::Queue;
use servers::Servers;
use switches::Switches;
pub use table_update::TableUpdate;

type Engines<'a> = [SwitchGuard<'a>];

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
    cards: Cards,
    controls: Controls,
    generator: Generator,
    /// When the generator's next timer is due.
    generator_due: Nanos,
    engines: Vec<Arc<SharedSwitch>>,
    /// Memory for reuse, in boxes: a move of a larger value waits for the stores to its fields.
    output: Option<Box<Output>>,
    actions: Option<Box<Actions>>,
    /// Events since the start.
    events: u64,
    /// Why a server's role has failed.
    failure: Option<String>,
}

impl Simulation {
    /// A rack at time 0 whose switches run these programs, one for each in the configuration.
    ///
    /// # Errors
    ///
    /// A sentence about an invalid configuration.
    pub fn new(config: &RackConfig, engines: Vec<Arc<SharedSwitch>>) -> Result<Self, String> {
        config.check()?;
        if engines.len() != config.switches.len() {
            return Err(format!(
                "The configuration has {} switches, and {} programs were given.",
                config.switches.len(),
                engines.len()
            ));
        }
        for (number, (switch, engine)) in config.switches.iter().zip(&engines).enumerate() {
            let (configured, actual) = (switch.pipelines, engine.pipelines());
            if configured != actual {
                return Err(format!(
                    "The configuration gives switch {number} {configured} pipelines, but its \
                     program runs in {actual}."
                ));
            }
        }
        let mut switches = Switches::new(config);
        let protocol: Arc<dyn Protocol> =
            (config.servers.role.frames)(config.servers.keyspace()).into();
        let mut servers = Servers::new(config, Arc::clone(&protocol))?;
        let mut hosts = Hosts::new(config, Arc::clone(&protocol));
        let mut coordinators = Coordinators::new(config, protocol)?;
        let mut cards = Cards::new(config)?;
        let fabric = Fabric::new(
            config,
            &mut switches,
            &mut servers,
            &mut hosts,
            &mut coordinators,
            &mut cards,
        )?;
        let generator = Generator::new(&config.load, 1, 0)?;
        let mut simulation = Self {
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
            generator_due: generator.deadline().unwrap_or(Nanos::MAX),
            generator,
            engines,
            output: None,
            actions: None,
            events: 0,
            failure: None,
        };
        simulation.wake_servers();
        Ok(simulation)
    }

    /// The virtual time.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Advances the time up to `until`, or until there are notices. Returns the notices of one
    /// point in time; if there are none, the time is `until`.
    ///
    /// # Errors
    ///
    /// A sentence, if the workload cannot continue as configured, or a role has failed.
    pub fn run(&mut self, until: Nanos) -> Result<Vec<Notice>, String> {
        let locks = self.engines.clone();
        let mut engines: Vec<_> = locks.iter().map(|engine| engine.lock()).collect();
        self.controls.carried_out = None;
        // A write that is carried out here ends the turn at `until`, as the notice of another write
        // does: what the caller does at that time comes before later events of the same time.
        while self.controls.notices.is_empty()
            && self.controls.carried_out.is_none_or(|at| at < until)
        {
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
                if self.queue.take_turn() {
                    self.prefetch(&mut engines);
                }
                // An event in the past happens now.
                self.now = self.now.max(at);
                self.handle(event, &mut engines);
                if self.failure.is_some() {
                    return self.failure.take().map_or(Ok(Vec::new()), Err);
                }
            }
            self.events += 1;
        }
        Ok(std::mem::take(&mut self.controls.notices))
    }

    fn handle(&mut self, event: Event, engines: &mut Engines<'_>) {
        match event {
            Event::Arrive { link, frame } => self.arrive(link, frame, engines),
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
            Event::Control { message } => {
                let Self { controls, queue, frames, now, .. } = self;
                controls.arrive(queue, frames, *now, message, engines);
            }
            Event::ChannelFree { switch, way, incarnation } => {
                self.controls.channel_free(&mut self.queue, switch, way, incarnation);
            }
        }
    }

    /// Executes a command to the load generator and returns the JSON reply.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with the command.
    pub fn command(&mut self, text: &str) -> Result<Value, String> {
        let reply = self.generator.carry_out(self.now, Command::parse(text)?)?;
        self.after_generator();
        Ok(reply)
    }

    /// The load generator's counts since the last call.
    pub fn sample(&mut self) -> Value {
        let (document, spare) = self.generator.take_sample(self.now).document();
        self.generator.give_back(spare);
        document
    }

    /// Counts since the start; `_engine.pyi` describes them.
    pub fn statistics(&mut self) -> Value {
        let cards = self.card_counts();
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
            "cards": cards,
            "links": self.fabric.bytes_by_kind().collect::<BTreeMap<_, _>>(),
        });
        for (name, count) in self.controls.counts() {
            counts[name] = count;
        }
        counts
    }
}
