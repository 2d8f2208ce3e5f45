//! The simulated driver: a discrete-event simulation of a rack in one process. The same seed gives
//! the same result.
//!
//! Hosts, links, processors and control channels are models. The rest is the code that runs live:
//! each packet runs through the switch's program, and each request through the roles. Time advances
//! from event to event, and a fault can happen at any nanosecond.
//!
//! A rack has parts ([`division`]), which advance in turns: each as far as no other part can send it
//! anything, or at the same time in several threads ([`threads`]). In each part events of one time
//! are handled in the order of [`queue`], messages of control channels before all others. A message
//! of a control channel arrives when all parts have come so far. So the results do not depend on
//! how far the parts advance at a time, nor on the number of threads.
//!
//! The caller runs the controllers, and executes table writes that come without a [`TableUpdate`]:
//! [`Simulation::run`] returns whenever a message for them has arrived (a [`Notice`]). The caller
//! then answers at that virtual time, by [`Simulation::write`] and similar functions.

mod across;
mod cards;
mod channel;
mod config;
mod control;
mod coordinators;
mod costs;
mod cpu;
mod division;
mod engines;
mod event;
mod fabric;
mod frames;
mod hosts;
mod journal;
mod link;
mod part;
mod pipes;
mod prefetch;
mod queue;
mod servers;
mod switches;
mod table_update;
mod threads;
mod warmth;

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
use engines::Engines;
use journal::Journal;
use link::LinkCounts;
use part::Part;
pub use table_update::TableUpdate;
use threads::Pace;

/// With several threads, their use is considered after so many events.
const EVENTS_IN_TURN: u64 = 20_000;

/// A rack in virtual time. See the module.
pub struct Simulation {
    now: Nanos,
    division: Division,
    parts: Vec<Part>,
    engines: Vec<Arc<SharedSwitch>>,
    /// Maximum number of threads.
    threads: usize,
    /// Whether they are used even if they do not save time.
    always_threads: bool,
    /// How many events there have been.
    pace: Pace,
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
        let parts = (0..division.parts).map(|number| Part::new(config, &division, number));
        let parts = parts.collect::<Result<_, _>>()?;
        Ok(Self {
            now: 0,
            division,
            parts,
            engines,
            threads: 1,
            always_threads: false,
            pace: Pace::default(),
        })
    }

    /// Lets up to so many threads simulate parts of the rack at the same time: while there is enough
    /// to do for them, or `always`. No result depends on it.
    pub fn use_threads(&mut self, threads: usize, always: bool) {
        self.threads = threads.max(1);
        self.always_threads = always;
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
        let all = self.engines.clone();
        let mut locked = None;
        for part in &mut self.parts {
            part.controls.carried_out = None;
        }
        loop {
            let end = self.control_due().min(until.saturating_add(1));
            let reached = if self.is_worth_threads(end) {
                locked = None;
                self.in_threads(end, &all)?
            } else {
                self.in_turns(end, engines(&mut locked, &all, &self.division))?
            };
            let due = self.control_due();
            if reached < due.min(until) {
                self.set_time(reached);
                continue;
            }
            if due > until {
                self.set_time(until);
                return Ok(Vec::new());
            }
            self.set_time(due);
            let first = self.parts.iter_mut().find(|part| part.controls.due() == due);
            if let Some(part) = first {
                part.control_arrives(engines(&mut locked, &all, &self.division));
                let notices = std::mem::take(&mut part.controls.notices);
                // A write that is carried out here ends the turn at `until`, as the notice of another
                // write does: what the caller does at that time comes before later events of the
                // same time.
                if !notices.is_empty() || part.controls.carried_out.is_some_and(|at| at >= until) {
                    return Ok(notices);
                }
            }
        }
    }

    fn is_worth_threads(&self, end: Nanos) -> bool {
        let Self { division, parts, threads, pace, now, .. } = self;
        let worth = || self.always_threads || pace.is_worth_threads(*now, end, division);
        *threads > 1 && parts.len() > 1 && worth()
    }

    /// Advances all parts at the same time up to `end`, or up to the next message of a control
    /// channel. Returns how far.
    fn in_threads(&mut self, end: Nanos, engines: &[Arc<SharedSwitch>]) -> Result<Nanos, String> {
        let Self { division, parts, threads, pace, now, .. } = self;
        let before = events(parts);
        let reached = threads::advance(parts, division, engines, *threads, pace, (*now, end))?;
        pace.note(events(parts) - before, reached.saturating_sub(*now));
        Ok(reached)
    }

    /// Advances one part after the other, up to `end` or up to the next message of a control channel.
    /// Returns how far: less if threads may have become worth it.
    fn in_turns(&mut self, end: Nanos, engines: &mut Engines<'_>) -> Result<Nanos, String> {
        let Self { division, parts, threads, pace, now, .. } = self;
        let stride = pace.stride(division.from_clients.min(division.between_switches));
        let before = events(parts);
        let limit = if *threads > 1 { before + EVENTS_IN_TURN } else { u64::MAX };
        let mut end = end;
        while let Some(next) = parts.iter_mut().filter_map(|part| part.next(end)).min() {
            let mut until = next.saturating_add(stride).min(end);
            for number in 0..parts.len() {
                parts[number].advance(until, engines)?;
                until = until.min(parts[number].controls.due());
                deliver(parts, number);
            }
            end = end.min(control_due(parts));
            if events(parts) > limit {
                end = until;
            }
        }
        pace.note(events(parts) - before, end.saturating_sub(*now));
        Ok(end)
    }

    /// When the next message of a control channel arrives.
    fn control_due(&self) -> Nanos {
        control_due(&self.parts)
    }

    fn set_time(&mut self, now: Nanos) {
        self.now = self.now.max(now);
        for part in &mut self.parts {
            part.now = self.now;
        }
    }

    /// Executes a command to the load generator and returns the JSON reply.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with the command.
    pub fn command(&mut self, text: &str) -> Result<Value, String> {
        let now = self.now;
        let clients = self.clients();
        let command = Command::parse(text)?;
        let reply = clients.generator.as_mut().map(|it| it.carry_out(now, command)).transpose()?;
        clients.after_generator();
        self.deliver_all();
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
        let cards = self.parts[0].card_counts();
        let coordinator = self.division.of(End::Coordinator);
        let parts = &self.parts;
        let mut links = BTreeMap::<_, u64>::new();
        let mut sum = LinkCounts::default();
        let (mut lost, mut pipeline_drops, mut unrouted) = (0, 0, 0);
        for part in parts {
            for (kind, bytes) in part.fabric.bytes_by_kind() {
                *links.entry(kind).or_default() += bytes;
            }
            let (of_part, lost_in_part) = part.fabric.counts();
            sum.frames += of_part.frames;
            sum.bytes += of_part.bytes;
            sum.dropped += of_part.dropped;
            lost += lost_in_part;
            let drops = part.switches.drops();
            pipeline_drops += drops.0;
            unrouted += drops.1;
        }
        let servers: BTreeMap<_, _> = parts.iter().flat_map(|part| part.servers.counts()).collect();
        let pending = |part: &Part| part.queue.len() + part.controls.under_way();
        let mut counts = json!({
            "events": events(parts),
            "pending": parts.iter().map(pending).sum::<usize>(),
            "frames_under_way": parts.iter().map(|part| part.frames.count()).sum::<usize>(),
            "frames": sum.frames,
            "bytes": sum.bytes,
            "link_drops": sum.dropped,
            "lost": lost,
            "pipeline_drops": pipeline_drops,
            "unrouted": unrouted,
            "client_drops": parts.iter().map(|part| part.hosts.dropped).sum::<u64>(),
            "servers": servers.into_values().collect::<Vec<_>>(),
            "coordinator": parts[coordinator].coordinators.counts(),
            "cards": cards,
            "links": links,
        });
        for (name, count) in Controls::counts(parts.iter().map(|part| &part.controls)) {
            counts[name] = count;
        }
        counts
    }

    /// Starts a journal of the frames about these keys (of all frames, if no keys are given). It
    /// keeps the latest `limit` frames.
    pub fn watch(&mut self, keys: &[Key], limit: usize) {
        for part in &mut self.parts {
            let frames = part.servers.frames();
            part.fabric.journal = Some(Journal::new(keys.to_vec(), limit, frames));
        }
    }

    /// The journal since [`Simulation::watch`], one line for each frame.
    pub fn journal(&self) -> Vec<String> {
        Journal::lines(self.parts.iter().filter_map(|part| part.fabric.journal.as_ref()))
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
        self.parts.iter_mut().try_for_each(|part| part.impair(end, to, from))
    }

    /// Sends a table write to a switch. Without its update, [`Simulation::run`] returns a notice for
    /// each of its pipelines when the write must be executed there. Returns false if too many are
    /// pending.
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
        self.part_of(End::Switch(switch, 0)).write(switch, token, update)
    }

    /// The switch does not carry out the updates that are on their way to it, nor the rest of those
    /// that not all of its pipelines have.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub fn discard_updates(&mut self, switch: u16) -> Result<(), String> {
        self.part_of(End::Switch(switch, 0)).discard_updates(switch)
    }

    /// Sends the answer to a table write that the caller has executed.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub fn answer(&mut self, switch: u16, token: u64) -> Result<(), String> {
        self.part_of(End::Switch(switch, 0)).answer(switch, token)
    }

    /// Sends a frame to a switch, packet-out header in front.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub fn packet_out(&mut self, switch: u16, frame: &[u8]) -> Result<(), String> {
        self.part_of(End::Switch(switch, 0)).packet_out(switch, frame)
    }

    /// Cuts or restores the control channel of a switch. While it is cut, frames and digests are
    /// lost; table writes and their answers wait.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub fn cut_channel(&mut self, switch: u16, cut: bool) -> Result<(), String> {
        self.part_of(End::Switch(switch, 0)).cut_channel(switch, cut)
    }

    /// Connects a new controller to the channel of a switch, or removes a stopped one: see rules 5
    /// and 6 of [`control`].
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub fn connect(&mut self, switch: u16, connected: bool) -> Result<(), String> {
        self.part_of(End::Switch(switch, 0)).connect(switch, connected)
    }

    /// Powers a switch off. It drops all frames, and messages between it and its controller are
    /// lost.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub fn stop_switch(&mut self, switch: u16) -> Result<(), String> {
        self.part_of(End::Switch(switch, 0)).stop_switch(switch)
    }

    /// Powers a switch on, with idle pipelines. The caller resets the state of its program.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub fn start_switch(&mut self, switch: u16) -> Result<(), String> {
        self.part_of(End::Switch(switch, 0)).start_switch(switch)
    }

    /// Stops the server. Only its store is kept.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such server.
    pub fn stop_server(&mut self, server: u16) -> Result<(), String> {
        self.part_of(End::Server(server)).stop_server(server)
    }

    /// Starts the server again; without `keep_storage` its store has the initial data set only.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such server.
    pub fn start_server(&mut self, server: u16, keep_storage: bool) -> Result<(), String> {
        self.part_of(End::Server(server)).start_server(server, keep_storage)
    }

    /// Multiplies the processor times of a server by `factor`; 1 is as configured.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such server or factor.
    pub fn slow_server(&mut self, server: u16, factor: f64) -> Result<(), String> {
        self.part_of(End::Server(server)).slow_server(server, factor)
    }

    /// Stops the coordinator. Its pending requests are lost.
    ///
    /// # Errors
    ///
    /// A sentence, if there is none.
    pub fn stop_coordinator(&mut self) -> Result<(), String> {
        self.part_of(End::Coordinator).stop_coordinator()
    }

    /// Starts the coordinator again, without its former state.
    ///
    /// # Errors
    ///
    /// A sentence, if there is none.
    pub fn start_coordinator(&mut self) -> Result<(), String> {
        self.part_of(End::Coordinator).start_coordinator()
    }

    /// Powers the host of a client on or off.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such client.
    pub fn set_client(&mut self, client: u16, up: bool) -> Result<(), String> {
        self.clients().set_client(client, up)
    }

    /// Stops or starts a card: all frames in it are lost, and its design begins with a reset.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such card, or its design has failed.
    pub fn set_card(&mut self, card: u16, up: bool) -> Result<(), String> {
        self.part_of(End::Card(card, 0)).set_card(card, up)
    }

    fn part_of(&mut self, end: End) -> &mut Part {
        &mut self.parts[self.division.of(end)]
    }

    fn clients(&mut self) -> &mut Part {
        &mut self.parts[self.division.of_clients()]
    }

    fn deliver_all(&mut self) {
        for number in 0..self.parts.len() {
            deliver(&mut self.parts, number);
        }
    }
}

/// Events since the start.
fn events(parts: &[Part]) -> u64 {
    parts.iter().map(|part| part.events).sum()
}

/// When the next message of a control channel arrives.
fn control_due(parts: &[Part]) -> Nanos {
    parts.iter().map(|part| part.controls.due()).min().unwrap_or(Nanos::MAX)
}

/// Delivers what a part has sent to others.
fn deliver(parts: &mut [Part], from: usize) {
    for to in 0..parts.len() {
        if !parts[from].outboxes[to].is_empty() {
            let mut outbox = std::mem::take(&mut parts[from].outboxes[to]);
            parts[to].receive_from(from, &mut outbox);
            parts[from].outboxes[to] = outbox;
        }
    }
}

/// Locks the programs of all switches, if they are not.
fn engines<'a, 'b>(
    locked: &'b mut Option<Engines<'a>>,
    all: &'a [Arc<SharedSwitch>],
    division: &Division,
) -> &'b mut Engines<'a> {
    locked.get_or_insert_with(|| Engines::lock(all, division, |_| true))
}
