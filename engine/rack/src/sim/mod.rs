//! The simulated driver: a discrete-event simulation of a rack in one process. The same seed gives
//! the same result.
//!
//! Hosts, links, processors and control channels are models. The rest is the code that runs live:
//! each packet runs through the switch's program, and each request through the roles. Time advances
//! from event to event, and a fault can happen at any nanosecond.
//!
//! A rack has parts ([`division`]), which advance in turns or in several threads, each as far as no
//! other part can send it anything ([`parts`]). In each part, events of one time are handled in the
//! order of [`queue`]. A message of a control channel arrives when all switches have handled what
//! was before it, and comes before other events of its time. So no result depends on how far the
//! parts advance at a time, nor on the number of threads.
//!
//! From below: the configuration, the events and the models of links, processors and channels; the
//! nodes with their roles ([`nodes`]) and the control channels ([`control`]); the cables between
//! the nodes ([`network`]); a part with all of these ([`part`]); what it does at its events
//! ([`handlers`], [`advance`]); all parts.
//!
//! The caller runs the controllers, and executes table writes that come without a [`TableUpdate`]:
//! [`Simulation::run`] returns whenever a message for them has arrived (a [`Notice`]). The caller
//! then answers at that virtual time, by [`Simulation::write`] and similar functions.

mod across;
mod advance;
mod channel;
mod config;
mod control;
mod costs;
mod cpu;
mod division;
mod engines;
mod event;
mod frames;
mod handlers;
mod journal;
mod link;
mod network;
mod nodes;
mod pace;
mod part;
mod parts;
mod pipes;
mod prefetch;
mod queue;
mod table_update;
mod timeline;
mod warmth;
mod worker;

use std::collections::BTreeMap;
use std::sync::Arc;

use netkv_dataplane::SharedSwitch;
use netkv_roles::Nanos;
use netkv_wire::Key;
use serde_json::{Value, json};

use crate::command::Command;
use crate::generator::Generator;
use crate::impair::Impairment;
pub use config::{End, RackConfig};
use control::Controls;
pub use control::Notice;
use division::Division;
use journal::Journal;
use link::LinkCounts;
use network::ImpairedFrames;
use part::Part;
use parts::{Parts, lock_all};
pub use table_update::TableUpdate;

/// A rack in virtual time. See the module.
pub struct Simulation {
    now: Nanos,
    parts: Parts,
    engines: Arc<[Arc<SharedSwitch>]>,
    /// Why the simulation cannot continue, if that was found while it was asked for something else.
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
        let division = Division::new(config);
        let part = |number| Part::new(config, &division, number);
        let parts = (0..division.parts).map(part).collect::<Result<_, _>>()?;
        let engines: Arc<[_]> = engines.into();
        let parts = Parts::new(parts, division, Arc::clone(&engines));
        Ok(Self { now: 0, parts, engines, failure: None })
    }

    /// Lets up to so many threads simulate parts of the rack at the same time: while there is
    /// enough to do for them, or `always`. No result depends on it.
    pub fn use_threads(&mut self, threads: usize, always: bool) {
        self.parts.use_threads(threads, always);
    }

    /// Waits until no other thread simulates a part, as each function does that concerns clients or
    /// all nodes. Another thread may be in a role of the caller, and needs what that role needs.
    pub fn rest(&mut self) {
        if let Err(failure) = self.parts.rest() {
            self.failure.get_or_insert(failure);
        }
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
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let all = Arc::clone(&self.engines);
        let mut locked = None;
        let parts = &mut self.parts;
        parts.groups_mut().for_each(|part| part.controls.carried_out = None);
        loop {
            let end = parts.control_due().min(until.saturating_add(1));
            let reached = parts.advance(end, &all, &mut locked)?;
            let due = parts.control_due();
            if reached < due.min(until) {
                continue;
            }
            if due > until {
                parts.catch_up()?;
                self.now = self.now.max(until);
                parts.set_time(self.now);
                return Ok(Vec::new());
            }
            self.now = self.now.max(due);
            parts.set_time(self.now);
            let locked = lock_all(&mut locked, &all, parts.division());
            let Some(part) = parts.groups_mut().find(|part| part.controls.due() == due) else {
                continue;
            };
            part.control_arrives(locked);
            let notices = std::mem::take(&mut part.controls.notices);
            // A write that is carried out here ends the turn at `until`, as the notice of another
            // write does: what the caller does at that time comes before later events of the same
            // time.
            if !notices.is_empty() || part.controls.carried_out.is_some_and(|at| at >= until) {
                return Ok(notices);
            }
        }
    }

    /// Executes a command to the load generator and returns the JSON reply.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with the command.
    pub fn command(&mut self, text: &str) -> Result<Value, String> {
        let command = Command::parse(text)?;
        let now = self.now;
        let clients = self.clients();
        let reply = clients.generator.as_mut().map(|it| it.carry_out(now, command)).transpose()?;
        clients.after_generator();
        let number = self.parts.division().of_clients();
        self.parts.deliver(number);
        Ok(reply.unwrap_or_default())
    }

    /// The load generator's counts since the last call.
    pub fn sample(&mut self) -> Value {
        let now = self.now;
        let sample = |generator: &mut Generator| {
            let (document, spare) = generator.take_sample(now).document();
            generator.give_back(spare);
            document
        };
        self.clients().generator.as_mut().map(sample).unwrap_or_default()
    }

    /// Counts since the start; `_engine.pyi` describes them.
    pub fn statistics(&mut self) -> Value {
        self.catch_up();
        let cards = self.parts.get(0).card_counts();
        let coordinator = self.parts.division().of(End::Coordinator);
        let coordinator = self.parts.get(coordinator).nodes.coordinators.counts();
        let parts = || self.parts.each();
        let mut links = BTreeMap::<_, u64>::new();
        let mut sum = LinkCounts::default();
        let mut impaired = ImpairedFrames::default();
        let (mut pipeline_drops, mut unrouted) = (0, 0);
        for part in parts() {
            for (kind, bytes) in part.network.bytes_by_kind() {
                *links.entry(kind).or_default() += bytes;
            }
            let (of_part, impaired_of_part) = part.network.counts();
            sum.frames += of_part.frames;
            sum.bytes += of_part.bytes;
            sum.dropped += of_part.dropped;
            impaired += impaired_of_part;
            let drops = part.nodes.switches.drops();
            pipeline_drops += drops.0;
            unrouted += drops.1;
        }
        let servers: BTreeMap<_, _> =
            parts().flat_map(|part| part.nodes.servers.counts()).collect();
        let pending = |part: &Part| part.timeline.queue.len() + part.controls.under_way();
        let mut counts = json!({
            "events": parts().map(|part| part.events).sum::<u64>(),
            "pending": parts().map(pending).sum::<usize>(),
            "frames_under_way": parts().map(|part| part.timeline.frames.count()).sum::<usize>(),
            "frames": sum.frames,
            "bytes": sum.bytes,
            "link_drops": sum.dropped,
            "lost": impaired.lost,
            "duplicated": impaired.duplicated,
            "corrupted": impaired.corrupted,
            "pipeline_drops": pipeline_drops,
            "unrouted": unrouted,
            "client_drops": parts().map(|part| part.nodes.hosts.dropped).sum::<u64>(),
            "servers": servers.into_values().collect::<Vec<_>>(),
            "coordinator": coordinator,
            "cards": cards,
            "links": links,
        });
        for (name, count) in Controls::counts(parts().map(|part| &part.controls)) {
            counts[name] = count;
        }
        counts
    }

    /// Starts a journal of the frames about these keys (of all frames, if no keys are given). It
    /// keeps the latest `limit` frames.
    pub fn watch(&mut self, keys: &[Key], limit: usize) {
        self.catch_up();
        for part in self.parts.all() {
            let frames = part.nodes.servers.frames();
            part.network.journal = Some(Journal::new(keys.to_vec(), limit, frames));
        }
    }

    /// The journal since [`Simulation::watch`], one line for each frame.
    pub fn journal(&mut self) -> Vec<String> {
        self.catch_up();
        Journal::lines(self.parts.each().filter_map(|part| part.network.journal.as_ref()))
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
        self.catch_up();
        self.parts.all().try_for_each(|part| part.network.impair(end, to, from))
    }

    /// Sends a table write to a switch. Without its update, [`Simulation::run`] returns a notice
    /// for each of its pipelines when the write must be executed there. Returns false if too many
    /// are pending.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub fn write(
        &mut self,
        switch: u16,
        token: u64,
        update: Option<TableUpdate>,
    ) -> Result<bool, String> {
        let part = self.part_of_switch(switch)?;
        if !part.nodes.switches.is_up(switch) {
            return Ok(true);
        }
        Ok(part.controls.write(&mut part.timeline, switch, token, update))
    }

    /// The switch does not carry out the updates that are on their way to it, nor the rest of those
    /// that not all of its pipelines have.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub fn discard_updates(&mut self, switch: u16) -> Result<(), String> {
        self.part_of_switch(switch)?.controls.discard_updates(switch);
        Ok(())
    }

    /// Sends the answer to a table write that the caller has executed.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub fn answer(&mut self, switch: u16, token: u64) -> Result<(), String> {
        let part = self.part_of_switch(switch)?;
        part.controls.answer(&mut part.timeline, switch, token);
        Ok(())
    }

    /// Sends a frame to a switch, packet-out header in front.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub fn packet_out(&mut self, switch: u16, frame: &[u8]) -> Result<(), String> {
        let part = self.part_of_switch(switch)?;
        let switches = &part.nodes.switches;
        let incarnation = switches.is_up(switch).then(|| switches.incarnation(switch));
        part.controls.packet_out(&mut part.timeline, switch, incarnation, frame)
    }

    /// Cuts or restores the control channel of a switch. While it is cut, frames and digests are
    /// lost; table writes and their answers wait.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub fn cut_channel(&mut self, switch: u16, cut: bool) -> Result<(), String> {
        let part = self.part_of_switch(switch)?;
        part.controls.cut(&mut part.timeline, switch, cut);
        Ok(())
    }

    /// Connects a new controller to the channel of a switch, or removes a stopped one: see rules 5
    /// and 6 of [`control`].
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub fn connect(&mut self, switch: u16, connected: bool) -> Result<(), String> {
        let part = self.part_of_switch(switch)?;
        part.controls.connect(&mut part.timeline.frames, switch, connected);
        Ok(())
    }

    /// Powers a switch off. It drops all frames, and messages between it and its controller are
    /// lost.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub fn stop_switch(&mut self, switch: u16) -> Result<(), String> {
        let part = self.part_of_switch(switch)?;
        part.nodes.switches.stop(switch);
        part.controls.discard_messages(&mut part.timeline.frames, switch);
        Ok(())
    }

    /// Powers a switch on, with idle pipelines. The caller resets the state of its program.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub fn start_switch(&mut self, switch: u16) -> Result<(), String> {
        self.part_of_switch(switch)?.nodes.switches.start(switch);
        Ok(())
    }

    /// Stops the server. Only its store is kept.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such server.
    pub fn stop_server(&mut self, server: u16) -> Result<(), String> {
        self.part_of(End::Server(server)).nodes.servers.stop(server)
    }

    /// Starts the server again; without `keep_storage` its store has the initial data set only.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such server.
    pub fn start_server(&mut self, server: u16, keep_storage: bool) -> Result<(), String> {
        let part = self.part_of(End::Server(server));
        part.nodes.servers.start(&mut part.timeline, server, keep_storage)
    }

    /// Multiplies the processor times of a server by `factor`; 1 is as configured.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such server or factor.
    pub fn slow_server(&mut self, server: u16, factor: f64) -> Result<(), String> {
        self.part_of(End::Server(server)).nodes.servers.slow(server, factor)
    }

    /// Stops the coordinator. Its pending requests are lost.
    ///
    /// # Errors
    ///
    /// A sentence, if there is none.
    pub fn stop_coordinator(&mut self) -> Result<(), String> {
        self.part_of(End::Coordinator).nodes.coordinators.stop()
    }

    /// Starts the coordinator again, without its former state.
    ///
    /// # Errors
    ///
    /// A sentence, if there is none.
    pub fn start_coordinator(&mut self) -> Result<(), String> {
        let part = self.part_of(End::Coordinator);
        part.nodes.coordinators.start(part.timeline.now)
    }

    /// Powers the host of a client on or off.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such client.
    pub fn set_client(&mut self, client: u16, up: bool) -> Result<(), String> {
        self.clients().nodes.hosts.set(client, up)
    }

    /// Stops or starts a card: all frames in it are lost, and its design begins with a reset.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such card, or its design has failed.
    pub fn set_card(&mut self, card: u16, up: bool) -> Result<(), String> {
        let part = self.part_of(End::Card(card, 0));
        part.nodes.cards.set(&mut part.timeline, card, up)
    }

    /// The part of a node that is no client.
    fn part_of(&mut self, end: End) -> &mut Part {
        let number = self.parts.division().of(end);
        self.parts.get(number)
    }

    /// The part of a switch.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    fn part_of_switch(&mut self, switch: u16) -> Result<&mut Part, String> {
        let count = self.engines.len();
        if usize::from(switch) < count {
            return Ok(self.part_of(End::Switch(switch, 0)));
        }
        Err(format!("There is no switch {switch}: the rack has {count}, from 0."))
    }

    fn clients(&mut self) -> &mut Part {
        self.catch_up();
        let number = self.parts.division().of_clients();
        let clients = self.parts.get(number);
        clients.timeline.now = self.now;
        clients
    }

    /// Simulates the clients until now.
    fn catch_up(&mut self) {
        if let Err(failure) = self.parts.catch_up() {
            self.failure.get_or_insert(failure);
        }
    }
}
