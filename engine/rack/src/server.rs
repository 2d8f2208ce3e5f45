//! The server node: one or more storage servers behind one socket, and their store.
//!
//! A round receives the waiting frames, passes each to the server that it is addressed to, executes
//! the resulting storage calls as one batch (so that durable writes share their cost), and sends
//! all replies together, always after the batch.

use std::io;
use std::sync::{Arc, Mutex};

use netkv_roles::{Actions, MILLISECOND, Nanos, Server};
use netkv_wire::{ETHERNET_LEN, IPV4_LEN};
use netkv_workload::MAX_KEYS;
use serde_json::{Map, Value, json};

use crate::clock;
use crate::config::ServerConfig;
use crate::counters::{counters, document};
use crate::endpoint::Endpoint;
use crate::lock::lock;
use crate::store::{Batch, DataSet, Format, MemoryStore, Store};
use crate::sys::Link;
use crate::worker::Worker;

counters! {
    /// Counts since the node was started, over all its servers.
    pub struct Counters {
        received, sent, malformed, misrouted, send_drops, batches, store_calls,
    }
}

/// Interval of checks for pending results of the store.
const PENDING_INTERVAL: Nanos = 20 * MILLISECOND;

/// The largest factor of [`ServerNode::slow`].
pub const MAX_SLOW: f64 = 1e6;

struct Shared {
    /// Locked by the loop during a round.
    servers: Mutex<Vec<Box<dyn Server>>>,
    counters: Counters,
}

/// Running storage servers: see the module.
pub struct ServerNode {
    config: ServerConfig,
    shared: Arc<Shared>,
    /// Shared with the thread; `None` (and closed) once the node is stopped.
    socket: Mutex<Option<Arc<Link>>>,
    worker: Worker,
}

fn check(config: &ServerConfig) -> Result<(), String> {
    if config.keys == 0 || config.keys > MAX_KEYS {
        return Err(format!("'keys' is {}; it must be from 1 to {MAX_KEYS}.", config.keys));
    }
    config.value_size().check().map_err(|text| format!("'value_size' is wrong: {text}."))?;
    if config.partitions.is_empty() {
        return Err("'partitions' is empty; it names the servers of this process.".to_owned());
    }
    for (at, server) in config.partitions.iter().enumerate() {
        if *server >= config.keyspace.servers {
            return Err(format!(
                "'partitions' names server {server}, but there are {} ('servers'), from 0.",
                config.keyspace.servers
            ));
        }
        if config.partitions[..at].contains(server) {
            return Err(format!("'partitions' names server {server} twice."));
        }
    }
    match config.service_rate {
        Some(rate) if !(rate > 0.0 && rate <= 1e9) => Err(format!(
            "'service_rate' is {rate}; it must be above 0 and at most 1e9 a second, or null."
        )),
        _ => Ok(()),
    }
}

impl ServerNode {
    /// Checks the configuration and binds the socket. Errors are sentences.
    pub fn new(config: ServerConfig) -> io::Result<Self> {
        check(&config).map_err(|text| io::Error::new(io::ErrorKind::InvalidInput, text))?;
        let socket = Link::described("the server node", &config.bind, &config.peer)?;
        let shared = Shared { servers: Mutex::default(), counters: Counters::default() };
        Ok(Self {
            config,
            shared: Arc::new(shared),
            socket: Mutex::new(Some(Arc::new(socket))),
            worker: Worker::new()?,
        })
    }

    /// A memory store with this node's data set.
    pub fn memory_store(&self) -> MemoryStore {
        MemoryStore::new(self.config.keys, self.config.value_size())
    }

    /// Loads the data set into the store, then starts the thread.
    pub fn start(&self, mut store: Box<dyn Store>) -> io::Result<()> {
        let Some(socket) = lock(&self.socket).clone() else {
            return Err(io::Error::other("The server node was stopped; make a new one."));
        };
        let data = DataSet {
            keys: self.config.keys,
            placement: self.config.keyspace.placement,
            value_size: self.config.value_size(),
            servers: self.config.keyspace.servers,
            partitions: self.config.partitions.clone(),
            format: Format::of(&self.config.role),
            keying: (self.config.role.keying)(self.config.keyspace.key_size),
        };
        store.load(&data).map_err(io::Error::other)?;
        let now = clock::now();
        let options = self.config.options(clock::first_request(), clock::epoch());
        *lock(&self.shared.servers) = options
            .enumerate()
            .map(|(at, options)| (self.config.role.restore)(&options, now, store.applied(at)))
            .collect::<Result<_, _>>()
            .map_err(io::Error::other)?;
        let shared = Arc::clone(&self.shared);
        self.worker.start(
            "server node",
            move |signals| {
                let endpoint = Endpoint::new(&*socket, signals)?;
                Loop { shared: &shared, endpoint, store, batch: Batch::default() }.run()
            },
            || {},
        )
    }

    /// Ends the thread and closes the socket; a second call does nothing.
    pub fn stop(&self) {
        self.worker.stop();
        lock(&self.socket).take();
    }

    /// Divides the service rate of all servers of the node by `factor`; 1 restores the configured
    /// rate. This has no effect before the node is started.
    ///
    /// # Errors
    ///
    /// A sentence: the factor is out of range, or the servers have no service rate.
    pub fn slow(&self, factor: f64) -> Result<(), String> {
        if !(1.0..=MAX_SLOW).contains(&factor) {
            return Err(format!("A factor of {factor} is not possible; it is 1 to {MAX_SLOW}."));
        }
        if self.config.service_rate.is_none() {
            return Err(
                "Only servers with a service rate can be slowed down ('service_rate').".to_owned()
            );
        }
        lock(&self.shared.servers).iter_mut().for_each(|server| {
            server.slow(factor);
        });
        Ok(())
    }

    /// Why the node has stopped by itself, as a sentence.
    pub fn failure(&self) -> Option<String> {
        self.worker.signals().failure()
    }

    /// Counts; `_engine.pyi` describes them.
    pub fn statistics(&self) -> Value {
        let servers: Map<String, Value> = lock(&self.shared.servers)
            .iter()
            .map(|server| (server.index().to_string(), document(&server.counts())))
            .collect();
        let mut document = Map::new();
        for (name, count) in self.shared.counters.read() {
            document.insert(name.to_owned(), json!(count));
        }
        let drops = lock(&self.socket).as_ref().map_or(0, |socket| socket.receive_drops());
        document.insert("receive_drops".to_owned(), json!(drops));
        document.insert("failed".to_owned(), json!(self.failure()));
        document.insert("servers".to_owned(), Value::Object(servers));
        Value::Object(document)
    }
}

/// When the first timer of the servers is due.
fn deadline_of(servers: &[Box<dyn Server>]) -> Option<Nanos> {
    servers.iter().filter_map(|server| server.deadline()).min()
}

/// The state of the thread.
struct Loop<'a> {
    shared: &'a Shared,
    endpoint: Endpoint<'a, Link>,
    store: Box<dyn Store>,
    batch: Batch,
}

impl Loop<'_> {
    fn run(mut self) -> io::Result<()> {
        let mut deadline = deadline_of(&lock(&self.shared.servers));
        loop {
            let ready = self.endpoint.wait(deadline)?;
            if self.endpoint.stopping() {
                return Ok(());
            }
            let shared = self.shared;
            let mut servers = lock(&shared.servers);
            self.resolve_pending(&mut servers)?;
            self.timers(&mut servers);
            if ready {
                self.frames(&mut servers)?;
            }
            self.execute_calls(&mut servers)?;
            self.endpoint
                .actions
                .take_failure()
                .map_or(Ok(()), |text| Err(io::Error::other(text)))?;
            let check = self.store.has_pending().then(|| clock::now() + PENDING_INTERVAL);
            deadline = deadline_of(&servers).into_iter().chain(check).min();
            drop(servers);
            self.send();
        }
    }

    /// Passes the results that were pending and are now known to their servers.
    fn resolve_pending(&mut self, servers: &mut [Box<dyn Server>]) -> io::Result<()> {
        if !self.store.has_pending() {
            return Ok(());
        }
        let (actions, batch) = (&mut self.endpoint.actions, &mut self.batch);
        self.store
            .resolve_pending(&mut |at, call, result| {
                servers[at].on_stored(clock::now(), call, result, actions);
                move_calls(at, actions, batch);
            })
            .map_err(io::Error::other)
    }

    fn timers(&mut self, servers: &mut [Box<dyn Server>]) {
        let now = clock::now();
        for (at, server) in servers.iter_mut().enumerate() {
            if server.deadline().is_some_and(|deadline| deadline <= now) {
                server.on_timer(now, &mut self.endpoint.actions);
                move_calls(at, &mut self.endpoint.actions, &mut self.batch);
            }
        }
    }

    fn frames(&mut self, servers: &mut [Box<dyn Server>]) -> io::Result<()> {
        let counters = &self.shared.counters;
        counters.received.add(self.endpoint.receive()?);
        let now = clock::now();
        for frame in self.endpoint.received.frames() {
            let Some(frame) = frame else {
                counters.malformed.add(1);
                continue;
            };
            let addressed = server_of(frame)
                .and_then(|index| servers.iter().position(|it| it.index() == index));
            if let Some(at) = addressed {
                servers[at].on_frame(now, frame, &mut self.endpoint.actions);
                move_calls(at, &mut self.endpoint.actions, &mut self.batch);
            } else if is_ipv4(frame) {
                counters.misrouted.add(1);
            } else {
                counters.malformed.add(1);
            }
        }
        Ok(())
    }

    /// Executes the storage calls, and further calls that servers make for their results.
    fn execute_calls(&mut self, servers: &mut [Box<dyn Server>]) -> io::Result<()> {
        let mut next = Batch::default();
        while !self.batch.is_empty() {
            self.shared.counters.batches.add(1);
            self.shared.counters.store_calls.add(self.batch.len() as u64);
            let (batch, actions) = (&self.batch, &mut self.endpoint.actions);
            // A store reports all results of a batch at its end, so one time serves for all.
            let mut stored_at = None;
            self.store
                .execute(batch, &mut |index, result| {
                    let (at, call) = batch.get(index);
                    let now = *stored_at.get_or_insert_with(clock::now);
                    servers[at].on_stored(now, call.id, result, actions);
                    move_calls(at, actions, &mut next);
                })
                .map_err(io::Error::other)?;
            self.batch.clear();
            std::mem::swap(&mut self.batch, &mut next);
        }
        Ok(())
    }

    fn send(&mut self) {
        let sent = self.endpoint.send();
        self.shared.counters.sent.add(sent.frames);
        self.shared.counters.send_drops.add(sent.dropped);
    }
}

/// Moves the storage calls of a server into the batch.
fn move_calls(at: usize, actions: &mut Actions, batch: &mut Batch) {
    actions.calls().for_each(|call| batch.push(at, &call));
    actions.clear_calls();
}

/// Whether a frame is long enough for its headers and has an IPv4 header without options.
fn is_ipv4(frame: &[u8]) -> bool {
    frame.len() > ETHERNET_LEN + IPV4_LEN && frame[ETHERNET_LEN] == 0x45
}

/// Index of the server that a frame is addressed to, by its IPv4 destination.
fn server_of(frame: &[u8]) -> Option<u16> {
    match frame.get(ETHERNET_LEN + 16..ETHERNET_LEN + 20)? {
        [10, 2, high, low] => Some(u16::from_be_bytes([*high, *low])),
        _ => None,
    }
}
