//! The coordinator: a processor whose cores are its workers, and the role.

use std::sync::Arc;

use netkv_roles::{Actions, Coordinator, Frames, Nanos, first_request};
use netkv_workload::Random;
use serde_json::Value;

use crate::counters::document;
use crate::sim::config::{CoordinatorModel, RackConfig};
use crate::sim::costs::Costs;
use crate::sim::cpu::Cpu;
use crate::sim::event::Event;
use crate::sim::frames::FrameId;
use crate::sim::link::NO_LINK;
use crate::sim::queue::Queue;
use crate::sim::timeline::Timeline;

struct Node {
    role: Box<dyn Coordinator>,
    cpu: Cpu,
    costs: Costs,
    link: u32,
    up: bool,
    /// Incremented at each stop and start; events of an earlier incarnation are ignored.
    incarnation: u16,
    /// Time of the next timer event. If an event comes before this time, it is ignored.
    wake: Nanos,
    random: Random,
    /// Frames dropped because too many waited for a core.
    dropped: u64,
    /// Processor time of all frames.
    busy: Nanos,
}

/// The coordinator of the rack, if there is one.
pub struct Coordinators {
    node: Option<Node>,
    config: RackConfig,
    actions: Actions,
}

fn role(
    config: &RackConfig,
    model: &CoordinatorModel,
    first: u32,
) -> Result<Box<dyn Coordinator>, String> {
    (model.role.new)(&config.load.coordinator(model.limit, first)?)
}

impl Coordinators {
    /// The coordinator, unless it is in another part.
    pub fn new(config: &RackConfig, frames: Arc<dyn Frames>, here: bool) -> Result<Self, String> {
        let node = match config.coordinator.as_ref().filter(|_| here) {
            None => None,
            Some(model) => Some(Node {
                role: role(config, model, 1)?,
                cpu: Cpu::new(model.host.cores, model.host.queue_limit),
                costs: Costs::new(&model.host, frames),
                link: NO_LINK,
                up: true,
                incarnation: 0,
                wake: Nanos::MAX,
                random: Random::new(config.seed, 4_000_000),
                dropped: 0,
                busy: 0,
            }),
        };
        Ok(Self { node, config: config.clone(), actions: Actions::new() })
    }

    /// The field for the number of the link from the coordinator.
    pub fn plug(&mut self) -> Option<&mut u32> {
        self.node.as_mut().map(|node| &mut node.link)
    }

    /// Whether there is a coordinator without a cable.
    pub fn is_unplugged(&self) -> bool {
        self.node.as_ref().is_some_and(|node| node.link == NO_LINK)
    }

    /// Its counts since its last start, which `_engine.pyi` describes; null if there is none.
    pub fn counts(&self) -> Value {
        let Some(node) = &self.node else { return Value::Null };
        let mut counts = document(&node.role.counts());
        counts["dropped"] = node.dropped.into();
        counts["busy_s"] = (node.busy as f64 / 1e9).into();
        counts
    }

    /// Schedules the processing of a frame that reaches the coordinator's host at `arrival`, now or
    /// later.
    #[inline]
    pub fn admit(&mut self, timeline: &mut Timeline, arrival: Nanos, frame: FrameId) {
        let Timeline { queue, frames, .. } = timeline;
        let Some(node) = &mut self.node else { return frames.free(frame) };
        let cost = node.costs.receive(frames.get(frame), &mut node.random);
        if let Some(done) = node.cpu.take(arrival, cost) {
            node.busy += cost;
            queue.push(done, Event::Coordinated { incarnation: node.incarnation, frame });
        } else {
            node.dropped += 1;
            frames.free(frame);
        }
    }

    /// Passes a frame to the role, if a worker of this incarnation has received it.
    pub fn on_frame(&mut self, now: Nanos, incarnation: u16, frame: &[u8]) {
        if let Some(node) = self.node.as_mut().filter(|node| node.is_current(incarnation)) {
            node.role.on_frame(now, frame, &mut self.actions);
        }
    }

    /// Calls the role, if its timer is due.
    pub fn on_timer(&mut self, now: Nanos, incarnation: u16) {
        let is_due = |node: &&mut Node| node.is_current(incarnation) && node.wake <= now;
        if let Some(node) = self.node.as_mut().filter(is_due) {
            node.wake = Nanos::MAX;
            node.role.on_timer(now, &mut self.actions);
        }
    }

    /// Takes the frames of the role, in exchange for the memory of earlier ones.
    pub fn take_actions(&mut self) -> Actions {
        std::mem::take(&mut self.actions)
    }

    /// Keeps the memory of actions for later ones.
    pub fn give_back(&mut self, mut actions: Actions) {
        actions.clear();
        self.actions = actions;
    }

    /// The link that a frame is sent on, and when it leaves if it is sent now. `None` if there is
    /// no coordinator.
    pub fn send(&mut self, now: Nanos, frame: &[u8]) -> Option<(u32, Nanos)> {
        let node = self.node.as_mut()?;
        let cost = node.costs.send(frame, &mut node.random);
        node.busy += cost;
        Some((node.link, node.cpu.hold(now, cost)))
    }

    /// Schedules the next timer, if it is earlier than the one that is scheduled.
    pub fn wake(&mut self, queue: &mut Queue<Event>) {
        let Some(node) = &mut self.node else { return };
        if let Some(due) = node.role.deadline().filter(|due| node.up && *due < node.wake) {
            node.wake = due;
            queue.push(due, Event::CoordinatorTimer { incarnation: node.incarnation });
        }
    }

    /// Stops the coordinator. Its pending requests are lost.
    ///
    /// # Errors
    ///
    /// A sentence, if there is none.
    pub fn stop(&mut self) -> Result<(), String> {
        let node = self.node.as_mut().ok_or_else(none)?;
        node.up = false;
        node.incarnation = node.incarnation.wrapping_add(1);
        Ok(())
    }

    /// Starts the coordinator again, without its former state.
    ///
    /// # Errors
    ///
    /// A sentence, if there is none.
    pub fn start(&mut self, now: Nanos) -> Result<(), String> {
        let Self { node, config, .. } = self;
        let (node, model) = node.as_mut().zip(config.coordinator.as_ref()).ok_or_else(none)?;
        // Greater than the request numbers of its earlier incarnations.
        let first =
            first_request(u128::from(now)).wrapping_add(1 + u32::from(node.incarnation) * 65_536);
        node.role = role(config, model, first)?;
        node.cpu = Cpu::new(node.cpu.cores(), model.host.queue_limit);
        node.wake = Nanos::MAX;
        node.up = true;
        node.incarnation = node.incarnation.wrapping_add(1);
        Ok(())
    }
}

impl Node {
    fn is_current(&self, incarnation: u16) -> bool {
        self.up && self.incarnation == incarnation
    }
}

fn none() -> String {
    "This rack has no coordinator.".to_owned()
}
