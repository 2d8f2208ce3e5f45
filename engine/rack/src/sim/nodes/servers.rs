//! Storage servers: a processor, the role, and its store.

use std::sync::Arc;

use netkv_roles::{
    Actions, Applied, Frames, Keyspace, MemoryStore, Nanos, SECOND, Server, ServerOptions, Work,
    first_request,
};
use netkv_workload::{Distribution, MAX_KEYS, Random};
use serde_json::{Value, json};

use crate::counters::document;
use crate::sim::config::{RackConfig, ServersConfig};
use crate::sim::costs::Costs;
use crate::sim::cpu::Cpu;
use crate::sim::event::Event;
use crate::sim::frames::FrameId;
use crate::sim::link::NO_LINK;
use crate::sim::queue::Queue;
use crate::sim::timeline::Timeline;
use crate::sim::warmth::Warmth;
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
pub struct Servers {
    nodes: Vec<Node>,
    /// For each server of the rack, its index in `nodes`.
    places: Vec<Option<u16>>,
    config: ServersConfig,
    keyspace: Keyspace,
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
    written_get: Option<Distribution>,
    /// Added to a read of a record that was not written, once others were.
    behind_writes: Nanos,
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
        let written_get = store.written_get.map(|time| time.distribution());
        let behind_writes = (store.behind_writes_s * SECOND as f64) as Nanos;
        let host = Costs::new(host, frames);
        Self {
            ideal: free && host.are_none() && written_get.is_none() && behind_writes == 0,
            host,
            get,
            next_get,
            warm_get,
            written_get,
            behind_writes,
            put,
            delete,
        }
    }

    /// The time of a client's request, including one reply (`Ok`), or the time to receive another
    /// frame (`Err`).
    fn of(
        &self,
        frame: &[u8],
        store: &MemoryStore,
        warmth: &mut Warmth,
        random: &mut Random,
    ) -> Result<Nanos, Nanos> {
        let received = self.host.receive(frame, random);
        let Some(work) = self.host.frames.work(frame) else { return Err(received) };
        let worked = match work {
            Work::Get(keys, key) => {
                let warm = key.is_some_and(|key| warmth.touch(key));
                let more = (1..keys).map(|_| self.next_get.draw(random)).sum::<Nanos>();
                let written =
                    self.written_get.filter(|_| key.is_some_and(|it| store.has_written(&it)));
                let first = match written {
                    Some(time) => time.draw(random),
                    None => {
                        let behind = if store.written() > 0 { self.behind_writes } else { 0 };
                        (if warm { &self.warm_get } else { &self.get }).draw(random) + behind
                    }
                };
                first + more
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
        Ok(received + worked + self.host.send_any(random))
    }
}

impl Servers {
    /// The servers that `has` selects.
    pub fn new(
        config: &RackConfig,
        frames: Arc<dyn Frames>,
        has: impl Fn(u16) -> bool,
    ) -> Result<Self, String> {
        let (spec, keyspace) = (&config.servers, config.load.keyspace);
        if spec.keys == 0 || spec.keys > MAX_KEYS {
            return Err(format!("'keys' is {}; it must be from 1 to {MAX_KEYS}.", spec.keys));
        }
        let node = |server: u16| -> Result<Node, String> {
            Ok(Node {
                number: server,
                role: restore(spec, keyspace, server, 1, 0, &Applied::default())?,
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
            places: (0..keyspace.servers).map(place).collect(),
            nodes: (0..keyspace.servers)
                .filter(|it| has(*it))
                .map(node)
                .collect::<Result<_, _>>()?,
            config: spec.clone(),
            keyspace,
            times: Times::new(spec, frames),
            actions: Box::default(),
            calls: Box::default(),
        })
    }

    /// The field for the number of the link from a server.
    pub fn plug(&mut self, server: u16) -> Option<&mut u32> {
        self.places.get(usize::from(server)).copied().flatten()?;
        Some(&mut self.node(server).link)
    }

    /// The frames of the rack's protocol.
    pub fn frames(&self) -> Arc<dyn Frames> {
        Arc::clone(&self.times.host.frames)
    }

    /// Whether processors take no time.
    #[inline]
    pub fn is_ideal(&self) -> bool {
        self.times.ideal
    }

    /// Loads the state of a server into the processor's caches.
    #[inline]
    pub fn prefetch(&self, server: u16) {
        prefetch(&*self.nodes[place(&self.places, server)].role);
    }

    /// A server without a cable.
    pub fn unplugged(&self) -> Option<usize> {
        self.nodes.iter().find(|node| node.link == NO_LINK).map(|node| node.number.into())
    }

    /// A server of this part.
    #[inline]
    fn node(&mut self, server: u16) -> &mut Node {
        &mut self.nodes[place(&self.places, server)]
    }

    /// Counts of each server since its last start, in the form of a live server node, by number.
    pub fn counts(&self) -> impl Iterator<Item = (u16, Value)> {
        let counts = |node: &Node| {
            let mut counts = document(&node.role.counts());
            let dropped = counts["dropped"].as_u64().unwrap_or(0) + node.dropped;
            counts["dropped"] = json!(dropped);
            counts["stored"] = json!(node.store.written());
            (node.number, counts)
        };
        self.nodes.iter().map(counts)
    }

    /// Schedules the processing of a frame that reaches a server at `arrival`, now or later. Frames
    /// from switch or controller do not queue behind clients' requests and are never dropped, as in
    /// the live server.
    #[inline]
    pub fn admit(&mut self, timeline: &mut Timeline, server: u16, arrival: Nanos, frame: FrameId) {
        let Timeline { queue, frames, .. } = timeline;
        let node = &mut self.nodes[place(&self.places, server)];
        let done =
            match self.times.of(frames.get(frame), &node.store, &mut node.warmth, &mut node.random)
            {
                Ok(cost) => node.cpu.take(arrival, cost),
                Err(cost) => {
                    node.cpu.hold(arrival, cost);
                    Some(arrival + cost)
                }
            };
        if let Some(done) = done {
            queue.push(done, Event::Served { server, incarnation: node.incarnation, frame });
        } else {
            node.dropped += 1;
            frames.free(frame);
        }
    }

    /// Whether an event belongs to the current incarnation of a server.
    #[inline]
    pub fn is_current(&self, server: u16, incarnation: u16) -> bool {
        self.nodes[place(&self.places, server)].incarnation == incarnation
    }

    /// Passes a frame to the role of a server. Returns false if the server is down.
    #[inline]
    pub fn on_frame(&mut self, now: Nanos, server: u16, frame: &[u8]) -> bool {
        let node = &mut self.nodes[place(&self.places, server)];
        if node.up {
            node.role.on_frame(now, frame, &mut self.actions);
        }
        node.up
    }

    /// Calls the role of a server, if its timer is due. Returns false if it is not.
    pub fn on_timer(&mut self, now: Nanos, server: u16, incarnation: u16) -> bool {
        let node = &mut self.nodes[place(&self.places, server)];
        if node.incarnation != incarnation || node.wake > now {
            return false;
        }
        node.wake = Nanos::MAX;
        node.role.on_timer(now, &mut self.actions);
        true
    }

    /// Executes the storage calls of the role. Returns the number of frames that it sends, which
    /// [`Servers::send`] returns; `None` if the role has no more actions. Frames are
    /// valid until the next call.
    #[inline]
    pub fn execute(&mut self, now: Nanos, server: u16) -> Option<usize> {
        self.calls.clear();
        if self.actions.is_empty() {
            return None;
        }
        std::mem::swap(&mut self.actions, &mut self.calls);
        let node = &mut self.nodes[place(&self.places, server)];
        for call in self.calls.calls() {
            let result = node.store.execute(&call);
            node.role.on_stored(now, call.id, result, &mut self.actions);
        }
        Some(self.calls.ranges().len())
    }

    /// Takes the processor time to send a frame of the role, and returns its link and its bytes. If
    /// it is `paid`, its fixed time was taken with that of the request.
    #[inline]
    pub fn send(&mut self, now: Nanos, server: u16, index: usize, paid: bool) -> (u32, &[u8]) {
        let node = &mut self.nodes[place(&self.places, server)];
        let (start, end) = self.calls.ranges()[index];
        let bytes = &self.calls.bytes()[start..end];
        if !self.times.ideal {
            let host = &self.times.host;
            let fixed = if paid { 0 } else { host.send_any(&mut node.random) };
            let cost = fixed + host.size(bytes);
            if cost > 0 {
                node.cpu.hold(now, cost);
            }
        }
        (node.link, bytes)
    }

    /// Why a role has failed since the last call.
    #[inline]
    pub fn take_failure(&mut self) -> Option<String> {
        let failure = self.actions.take_failure();
        failure.or(self.calls.take_failure())
    }

    /// Schedules the next timer of a server, if it is earlier than the one that is scheduled.
    #[inline]
    pub fn wake(&mut self, queue: &mut Queue<Event>, server: u16) {
        self.nodes[place(&self.places, server)].wake(queue);
    }

    /// Schedules the first timers of all servers, which start with the rack.
    pub fn wake_all(&mut self, queue: &mut Queue<Event>) {
        self.nodes.iter_mut().for_each(|node| node.wake(queue));
    }

    /// Stops the server. Only its store is kept.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such server.
    pub fn stop(&mut self, server: u16) -> Result<(), String> {
        let node = self.existing(server)?;
        node.up = false;
        node.incarnation = node.incarnation.wrapping_add(1);
        Ok(())
    }

    /// Starts the server again; without `keep_storage` its store has the initial data set only.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such server.
    pub fn start(
        &mut self,
        timeline: &mut Timeline,
        server: u16,
        keep_storage: bool,
    ) -> Result<(), String> {
        let now = timeline.now;
        let (spec, keyspace) = (self.config.clone(), self.keyspace);
        let node = self.existing(server)?;
        // Greater than the request numbers of its earlier incarnations.
        let first =
            first_request(u128::from(now)).wrapping_add(1 + u32::from(node.incarnation) * 65_536);
        if !keep_storage {
            node.store = MemoryStore::new(spec.keys, spec.value_size.into());
        }
        node.role = restore(&spec, keyspace, server, first, now, node.store.applied())?;
        // A slowed server stays slow after a restart.
        let slow = node.cpu.slow;
        node.cpu = Cpu::new(spec.host.cores, spec.host.queue_limit);
        node.cpu.slow = slow;
        node.role.slow(slow);
        node.wake = Nanos::MAX;
        node.up = true;
        // Invalidates the pending events of the earlier incarnation.
        node.incarnation = node.incarnation.wrapping_add(1);
        node.wake(&mut timeline.queue);
        Ok(())
    }

    /// Multiplies the processor times of a server by `factor`; 1 is as configured.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such server or factor.
    pub fn slow(&mut self, server: u16, factor: f64) -> Result<(), String> {
        if !(0.001..=1e6).contains(&factor) {
            return Err(format!("A server cannot be slower by {factor}; it is 0.001 to 1e6."));
        }
        let node = self.existing(server)?;
        node.cpu.slow = factor;
        node.role.slow(factor);
        Ok(())
    }

    fn existing(&mut self, server: u16) -> Result<&mut Node, String> {
        let count = self.places.len();
        if usize::from(server) >= count {
            return Err(format!("There is no server {server}: the rack has {count}, from 0."));
        }
        Ok(self.node(server))
    }
}

impl Node {
    /// Schedules the next timer, if it is earlier than the one that is scheduled.
    #[inline]
    fn wake(&mut self, queue: &mut Queue<Event>) {
        if let Some(due) = self.role.deadline().filter(|due| *due < self.wake) {
            self.wake = due;
            let (server, incarnation) = (self.number, self.incarnation);
            queue.push(due, Event::ServerTimer { server, incarnation });
        }
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
    keyspace: Keyspace,
    server: u16,
    first_request: u32,
    now: Nanos,
    applied: &Applied,
) -> Result<Box<dyn Server>, String> {
    let options = ServerOptions {
        server,
        keyspace,
        first_request,
        epoch: 0,
        service_rate: spec.service_rate,
        service_queue: spec.queue_limit,
    };
    (spec.role.restore)(&options, now, applied)
}
