//! The coordinator: a processor whose cores are its workers, and the role.

use std::sync::Arc;

use netkv_roles::{Actions, Coordinator, Frames, Nanos, first_request};
use netkv_workload::Random;
use serde_json::Value;

use super::config::{CoordinatorModel, RackConfig};
use super::costs::Costs;
use super::cpu::Cpu;
use super::event::Event;
use super::fabric::NO_LINK;
use super::frames::FrameId;
use super::part::Part;
use crate::counters::document;

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
pub(super) struct Coordinators {
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
    pub(super) fn new(
        config: &RackConfig,
        frames: Arc<dyn Frames>,
        here: bool,
    ) -> Result<Self, String> {
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
    pub(super) fn plug(&mut self) -> Option<&mut u32> {
        self.node.as_mut().map(|node| &mut node.link)
    }

    /// Whether there is a coordinator without a cable.
    pub(super) fn is_unplugged(&self) -> bool {
        self.node.as_ref().is_some_and(|node| node.link == NO_LINK)
    }

    /// Its counts since its last start, which `_engine.pyi` describes; null if there is none.
    pub(super) fn counts(&self) -> Value {
        let Some(node) = &self.node else { return Value::Null };
        let mut counts = document(&node.role.counts());
        counts["dropped"] = node.dropped.into();
        counts["busy_s"] = (node.busy as f64 / 1e9).into();
        counts
    }
}

impl Part {
    /// Schedules the processing of a frame that reaches the coordinator's host at `arrival`, now or
    /// later.
    #[inline]
    pub(super) fn admit_at_coordinator(&mut self, arrival: Nanos, frame: FrameId) {
        let Some(node) = &mut self.coordinators.node else { return self.frames.free(frame) };
        let cost = node.costs.receive(self.frames.get(frame), &mut node.random);
        if let Some(done) = node.cpu.take(arrival, cost) {
            node.busy += cost;
            self.queue.push(done, Event::Coordinated { incarnation: node.incarnation, frame });
        } else {
            node.dropped += 1;
            self.frames.free(frame);
        }
    }

    /// Handles a frame when a worker of the coordinator has received it.
    pub(super) fn coordinated(&mut self, incarnation: u16, frame: FrameId) {
        let Coordinators { node, actions, .. } = &mut self.coordinators;
        if let Some(node) = node.as_mut().filter(|node| node.up && node.incarnation == incarnation)
        {
            node.role.on_frame(self.now, self.frames.get(frame), actions);
        }
        self.frames.free(frame);
        self.after_coordinator();
    }

    /// Handles a timer event of the coordinator.
    pub(super) fn coordinator_timer(&mut self, incarnation: u16) {
        let Coordinators { node, actions, .. } = &mut self.coordinators;
        let current =
            |node: &&mut Node| node.up && node.incarnation == incarnation && node.wake <= self.now;
        if let Some(node) = node.as_mut().filter(current) {
            node.wake = Nanos::MAX;
            node.role.on_timer(self.now, actions);
        }
        self.after_coordinator();
    }

    /// Sends the frames of the role and schedules its next timer event.
    fn after_coordinator(&mut self) {
        let mut actions = std::mem::take(&mut self.coordinators.actions);
        for &(start, end) in actions.ranges() {
            let Some(node) = &mut self.coordinators.node else { break };
            let bytes = &actions.bytes()[start..end];
            let cost = node.costs.send(bytes, &mut node.random);
            node.busy += cost;
            let leaves = node.cpu.hold(self.now, cost);
            let link = node.link;
            if let Some(frame) = self.frames.add(bytes) {
                self.put(link, leaves, frame);
            }
        }
        actions.clear();
        self.coordinators.actions = actions;
        let Some(node) = &mut self.coordinators.node else { return };
        if let Some(due) = node.role.deadline().filter(|due| node.up && *due < node.wake) {
            node.wake = due;
            self.queue.push(due, Event::CoordinatorTimer { incarnation: node.incarnation });
        }
    }

    /// Stops the coordinator. Its pending requests are lost.
    ///
    /// # Errors
    ///
    /// A sentence, if there is none.
    pub(super) fn stop_coordinator(&mut self) -> Result<(), String> {
        let node = self.coordinators.node.as_mut().ok_or_else(none)?;
        node.up = false;
        node.incarnation = node.incarnation.wrapping_add(1);
        Ok(())
    }

    /// Starts the coordinator again, without its former state.
    ///
    /// # Errors
    ///
    /// A sentence, if there is none.
    pub(super) fn start_coordinator(&mut self) -> Result<(), String> {
        let Coordinators { node, config, .. } = &mut self.coordinators;
        let (node, model) = node.as_mut().zip(config.coordinator.as_ref()).ok_or_else(none)?;
        // Greater than the request numbers of its earlier incarnations.
        let first = first_request(u128::from(self.now))
            .wrapping_add(1 + u32::from(node.incarnation) * 65_536);
        node.role = role(config, model, first)?;
        node.cpu = Cpu::new(node.cpu.cores(), model.host.queue_limit);
        node.wake = Nanos::MAX;
        node.up = true;
        node.incarnation = node.incarnation.wrapping_add(1);
        Ok(())
    }
}

fn none() -> String {
    "This rack has no coordinator.".to_owned()
}
