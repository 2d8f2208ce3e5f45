//! Storage servers: a processor, the role, and its store.

use std::sync::Arc;

use netkv_roles::{
    Actions, Applied, Frames, MemoryStore, Nanos, Server, ServerOptions, Work, first_request,
};
use netkv_workload::{Distribution, MAX_KEYS, Random};
use serde_json::{Value, json};

use super::config::{RackConfig, ServersConfig};
use super::costs::Costs;
use super::cpu::Cpu;
use super::event::Event;
use super::fabric::NO_LINK;
use super::frames::FrameId;
use super::part::Part;
use super::warmth::Warmth;
use crate::counters::document;
use crate::sys::prefetch;

struct Node {
    number: u16,
    role: Box<dyn Server>,
    store: MemoryStore,
    cpu: Cpu,
    warmth: Warmth,
    link: u32,
    up: bool,
    /// Incremented at each stop and start; events of an earlier incarnation are ignored.
    incarnation: u16,
    /// Time of the next timer event. If an event comes before this time, it is ignored.
    wake: Nanos,
    random: Random,
    /// Frames dropped because too many waited for a core.
    dropped: u64,
}

/// The servers of a part.
pub(super) struct Servers {
    nodes: Vec<Node>,
    /// For each server of the rack, its index in `nodes`.
    places: Vec<Option<u16>>,
    config: ServersConfig,
    times: Times,
    actions: Box<Actions>,
    /// Actions that are being carried out, while `actions` collects new ones.
    calls: Box<Actions>,
}

/// Processor times of frames and storage calls.
struct Times {
    host: Costs,
    get: Distribution,
    next_get: Distribution,
    warm_get: Distribution,
    put: Distribution,
    delete: Distribution,
    /// Whether all times are 0.
    ideal: bool,
}

impl Times {
    fn new(config: &ServersConfig, frames: Arc<dyn Frames>) -> Self {
        let (host, store) = (&config.host, &config.store);
        let warm_get = store.warm_get.unwrap_or(store.get);
        let next_get = store.next_get.unwrap_or(store.get);
        let times = [store.get, next_get, warm_get, store.put, store.delete]
            .map(|time| time.distribution());
        let free = times.iter().all(|time| time.mean() == 0.0);
        let [get, next_get, warm_get, put, delete] = times;
        let host = Costs::new(host, frames);
        Self { ideal: free && host.are_none(), host, get, next_get, warm_get, put, delete }
    }

    /// The time of a client's request, including one reply (`Ok`), or the time to receive another
    /// frame (`Err`).
    fn of(&self, frame: &[u8], warmth: &mut Warmth, random: &mut Random) -> Result<Nanos, Nanos> {
        let received = self.host.receive(frame, random);
        let Some(work) = self.host.frames.work(frame) else { return Err(received) };
        let store = match work {
            Work::Get(keys, key) => {
                let warm = key.is_some_and(|key| warmth.touch(key));
                let more = (1..keys).map(|_| self.next_get.draw(random)).sum::<Nanos>();
                (if warm { &self.warm_get } else { &self.get }).draw(random) + more
            }
            Work::Put(key) => {
                key.map(|key| warmth.touch(key));
                self.put.draw(random)
            }
            Work::Delete(key) => {
                key.map(|key| warmth.touch(key));
                self.delete.draw(random)
            }
        };
        Ok(received + store + self.host.send_any(random))
    }
}

impl Servers {
    /// The servers that `has` selects.
    pub(super) fn new(
        config: &RackConfig,
        frames: Arc<dyn Frames>,
        has: impl Fn(u16) -> bool,
    ) -> Result<Self, String> {
        let spec = &config.servers;
        if spec.keys == 0 || spec.keys > MAX_KEYS {
            return Err(format!("'keys' is {}; it must be from 1 to {MAX_KEYS}.", spec.keys));
        }
        let node = |server: u16| -> Result<Node, String> {
            Ok(Node {
                number: server,
                role: restore(spec, server, 1, 0, &Applied::default())?,
                store: MemoryStore::new(spec.keys, spec.value_size.into()),
                cpu: Cpu::new(spec.host.cores, spec.host.queue_limit),
                warmth: Warmth::new(spec.store.warm_records),
                link: NO_LINK,
                up: true,
                incarnation: 0,
                wake: Nanos::MAX,
                random: Random::new(config.seed, 3_000_000 + u64::from(server)),
                dropped: 0,
            })
        };
        let mut count = 0..;
        let place = |server| if has(server) { count.next() } else { None };
        Ok(Self {
            places: (0..spec.count).map(place).collect(),
            nodes: (0..spec.count).filter(|it| has(*it)).map(node).collect::<Result<_, _>>()?,
            config: spec.clone(),
            times: Times::new(spec, frames),
            actions: Box::default(),
            calls: Box::default(),
        })
    }

    /// The field for the number of the link from a server.
    pub(super) fn plug(&mut self, server: u16) -> Option<&mut u32> {
        self.places.get(usize::from(server)).copied().flatten()?;
        Some(&mut self.node(server).link)
    }

    /// The frames of the rack's protocol.
    pub(super) fn frames(&self) -> Arc<dyn Frames> {
        Arc::clone(&self.times.host.frames)
    }

    /// Whether processors take no time.
    #[inline]
    pub(super) fn is_ideal(&self) -> bool {
        self.times.ideal
    }

    /// Loads the state of a server into the processor's caches.
    #[inline]
    pub(super) fn prefetch(&self, server: u16) {
        prefetch(&*self.nodes[place(&self.places, server)].role);
    }

    /// A server without a cable.
    pub(super) fn unplugged(&self) -> Option<usize> {
        self.nodes.iter().find(|node| node.link == NO_LINK).map(|node| node.number.into())
    }

    /// A server of this part.
    #[inline]
    fn node(&mut self, server: u16) -> &mut Node {
        &mut self.nodes[place(&self.places, server)]
    }

    /// Counts of each server since its last start, in the form of a live server node, by number.
    pub(super) fn counts(&self) -> impl Iterator<Item = (u16, Value)> {
        let counts = |node: &Node| {
            let mut counts = document(&node.role.counts());
            let dropped = counts["dropped"].as_u64().unwrap_or(0) + node.dropped;
            counts["dropped"] = json!(dropped);
            counts["stored"] = json!(node.store.written());
            (node.number, counts)
        };
        self.nodes.iter().map(counts)
    }
}

/// The index of a server of this part.
#[inline]
fn place(places: &[Option<u16>], server: u16) -> usize {
    match places[usize::from(server)] {
        Some(place) => place.into(),
        None => unreachable!("an event is handled in the part of its server"),
    }
}

/// Creates the role of a server that starts.
fn restore(
    spec: &ServersConfig,
    server: u16,
    first_request: u32,
    now: Nanos,
    applied: &Applied,
) -> Result<Box<dyn Server>, String> {
    let options = ServerOptions {
        server,
        keyspace: spec.keyspace(),
        first_request,
        epoch: 0,
        service_rate: spec.service_rate,
        service_queue: spec.queue_limit,
    };
    (spec.role.restore)(&options, now, applied)
}

impl Part {
    /// Schedules the processing of a frame that reaches a server at `arrival`, now or later. Frames
    /// from switch or controller do not queue behind clients' requests and are never dropped, as in
    /// the live server.
    #[inline]
    pub(super) fn admit_at_server(&mut self, server: u16, arrival: Nanos, frame: FrameId) {
        let node = &mut self.servers.nodes[place(&self.servers.places, server)];
        let times = &self.servers.times;
        let done = match times.of(self.frames.get(frame), &mut node.warmth, &mut node.random) {
            Ok(cost) => node.cpu.take(arrival, cost),
            Err(cost) => {
                node.cpu.hold(arrival, cost);
                Some(arrival + cost)
            }
        };
        if let Some(done) = done {
            self.queue.push(done, Event::Served { server, incarnation: node.incarnation, frame });
        } else {
            node.dropped += 1;
            self.frames.free(frame);
        }
    }

    /// Handles a frame when a server's processor is done with it.
    pub(super) fn served(&mut self, server: u16, incarnation: u16, frame: FrameId) {
        if self.servers.node(server).incarnation == incarnation {
            self.serve(server, frame);
        } else {
            self.frames.free(frame);
        }
    }

    /// Passes a frame to the role of a server.
    pub(super) fn serve(&mut self, server: u16, frame: FrameId) {
        let node = &mut self.servers.nodes[place(&self.servers.places, server)];
        if !node.up {
            self.frames.free(frame);
            return;
        }
        node.role.on_frame(self.now, self.frames.get(frame), &mut self.servers.actions);
        self.frames.free(frame);
        // The time of the request includes one reply.
        self.after_role(server, 1);
    }

    /// Handles a timer event of a server.
    pub(super) fn server_timer(&mut self, server: u16, incarnation: u16) {
        let node = &mut self.servers.nodes[place(&self.servers.places, server)];
        if node.incarnation != incarnation || node.wake > self.now {
            return;
        }
        node.wake = Nanos::MAX;
        node.role.on_timer(self.now, &mut self.servers.actions);
        self.after_role(server, 0);
    }

    /// Carries out the actions of the role and schedules its next timer event. The processor time
    /// of the first `paid` frames is already counted.
    #[inline]
    fn after_role(&mut self, server: u16, paid: usize) {
        let mut paid = paid;
        while !self.servers.actions.is_empty() {
            std::mem::swap(&mut self.servers.actions, &mut self.servers.calls);
            let node = &mut self.servers.nodes[place(&self.servers.places, server)];
            for call in self.servers.calls.calls() {
                let result = node.store.execute(&call);
                node.role.on_stored(self.now, call.id, result, &mut self.servers.actions);
            }
            for index in 0..self.servers.calls.ranges().len() {
                let (start, end) = self.servers.calls.ranges()[index];
                let node = &mut self.servers.nodes[place(&self.servers.places, server)];
                let bytes = &self.servers.calls.bytes()[start..end];
                let host = &self.servers.times.host;
                if !self.servers.times.ideal {
                    let fixed = if paid > 0 { 0 } else { host.send_any(&mut node.random) };
                    let cost = fixed + host.size(bytes);
                    if cost > 0 {
                        node.cpu.hold(self.now, cost);
                    }
                }
                paid = paid.saturating_sub(1);
                let link = node.link;
                if let Some(frame) = self.frames.add(bytes) {
                    self.put(link, self.now, frame);
                }
            }
            self.servers.calls.clear();
        }
        for actions in [&mut self.servers.actions, &mut self.servers.calls] {
            if let Some(text) = actions.take_failure() {
                self.failure.get_or_insert(text);
            }
        }
        self.wake_server(server);
    }

    /// Schedules the next timer of a server, if it is earlier than the one that is scheduled.
    fn wake_server(&mut self, server: u16) {
        let node = &mut self.servers.nodes[place(&self.servers.places, server)];
        if let Some(due) = node.role.deadline().filter(|due| *due < node.wake) {
            node.wake = due;
            let incarnation = node.incarnation;
            self.queue.push(due, Event::ServerTimer { server, incarnation });
        }
    }

    /// The servers start with the rack.
    pub(super) fn wake_servers(&mut self) {
        for at in 0..self.servers.nodes.len() {
            self.wake_server(self.servers.nodes[at].number);
        }
    }

    /// Stops the server. Only its store is kept.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such server.
    pub(super) fn stop_server(&mut self, server: u16) -> Result<(), String> {
        let node = self.server_node(server)?;
        node.up = false;
        node.incarnation = node.incarnation.wrapping_add(1);
        Ok(())
    }

    /// Starts the server again; without `keep_storage` its store has the initial data set only.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such server.
    pub(super) fn start_server(&mut self, server: u16, keep_storage: bool) -> Result<(), String> {
        let now = self.now;
        let spec = self.servers.config.clone();
        let node = self.server_node(server)?;
        // Greater than the request numbers of its earlier incarnations.
        let first =
            first_request(u128::from(now)).wrapping_add(1 + u32::from(node.incarnation) * 65_536);
        if !keep_storage {
            node.store = MemoryStore::new(spec.keys, spec.value_size.into());
        }
        node.role = restore(&spec, server, first, now, node.store.applied())?;
        // A slowed server stays slow after a restart.
        let slow = node.cpu.slow;
        node.cpu = Cpu::new(spec.host.cores, spec.host.queue_limit);
        node.cpu.slow = slow;
        node.role.slow(slow);
        node.wake = Nanos::MAX;
        node.up = true;
        // Invalidates the pending events of the earlier incarnation.
        node.incarnation = node.incarnation.wrapping_add(1);
        self.wake_server(server);
        Ok(())
    }

    /// Multiplies the processor times of a server by `factor`; 1 is as configured.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such server or factor.
    pub(super) fn slow_server(&mut self, server: u16, factor: f64) -> Result<(), String> {
        if !(0.001..=1e6).contains(&factor) {
            return Err(format!("A server cannot be slower by {factor}; it is 0.001 to 1e6."));
        }
        let node = self.server_node(server)?;
        node.cpu.slow = factor;
        node.role.slow(factor);
        Ok(())
    }

    fn server_node(&mut self, server: u16) -> Result<&mut Node, String> {
        let count = self.servers.places.len();
        if usize::from(server) >= count {
            return Err(format!("There is no server {server}: the rack has {count}, from 0."));
        }
        Ok(self.servers.node(server))
    }
}
