//! The sockets of a gateway, and its thread.
//!
//! Rules
//! -----
//! 1. In a round the thread handles everything that has happened, then submits all operations
//!    together, then sends all replies, each client's together.
//! 2. Sockets report changes only (edge-triggered), so a client that is not read from costs
//!    nothing.
//! 3. A gateway that is stopped accepts no more requests, and ends when all replies are sent, or
//!    after the time-out of an operation and [`DRAIN_MARGIN`]. It also ends when the rack is lost.
//! 4. A connection that the gateway closes is read until the client closes it too, at most
//!    [`LINGER`]: otherwise unread input would make the close a reset, and the last reply be lost.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use netkv_rack::clock;
use netkv_rack::lock::lock;
use netkv_rack::sys::{Poller, Ready, Waker, Watched};
use netkv_rack::worker::{Signals, Worker};
use netkv_roles::{Completion, MILLISECOND, Nanos, SECOND};
use rustc_hash::FxHashMap;
use serde::Deserialize;

use crate::commands::Commands;
use crate::failure::RackTexts;
use crate::keys::{Encoding, Keys};
use crate::known::{Known, MAX_KNOWN};
use crate::machine::Machine;
use crate::rack::Rack;
use crate::server::{Counters, Server};

/// Connections that wait for accept: `redis-benchmark -c 500` opens 500 at once.
const BACKLOG: i32 = 512;
/// Time that clients have to read their last replies when the gateway ends.
const DRAIN_MARGIN: Nanos = 1500 * MILLISECOND;
/// Time that a client has to read its last reply.
const LINGER: Nanos = SECOND;
/// Time after which clients are accepted again that could not be.
const ACCEPT_PAUSE: Nanos = 100 * MILLISECOND;
/// Bytes that are read at once.
const READ: usize = 64 << 10;
/// Operations that are submitted before the round has ended, so that the rack can begin.
const ENOUGH: usize = 64;

/// Tokens in the poller that are not clients.
const LISTENER: u64 = u64::MAX;
const RACK: u64 = u64::MAX - 1;
const WAKER: u64 = u64::MAX - 2;

/// Settings of a gateway.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Address to listen at; port 0 takes a free one.
    pub address: SocketAddr,
    /// Name of the lab.
    pub lab: String,
    /// Name of its scheme.
    pub scheme: String,
    /// Version of netkv.
    pub version: String,
    /// Servers of the rack.
    pub servers: u16,
    /// Whether keys are unchanged on the wire ([`Encoding::Named`]).
    pub named_keys: bool,
    /// Time-out of an operation of the rack, in seconds.
    pub timeout_s: f64,
    /// Whether MSET is served, and writes each key separately.
    pub separate_mset: bool,
    /// Limit of clients.
    pub max_clients: usize,
    /// Limit of concurrent operations on the rack, for all clients together.
    pub under_way: u32,
}

/// A gateway; see the module.
pub struct Gateway {
    address: SocketAddr,
    /// `None` once the thread owns it.
    parts: Mutex<Option<Parts>>,
    drain: Nanos,
    shared: Arc<Shared>,
    foreign: Arc<AtomicU64>,
    worker: Worker,
}

/// What the thread takes over.
struct Parts {
    listener: TcpListener,
    machine: Machine,
    rack: Arc<dyn Rack>,
}

struct Shared {
    /// Why the rack is lost.
    lost: Mutex<Option<String>>,
    /// Signalled when the thread has ended.
    ended: Waker,
}

impl Gateway {
    /// Binds the address; clients can connect from now on, and are served after [`Gateway::start`].
    pub fn new(settings: Settings, rack: Arc<dyn Rack>) -> io::Result<Self> {
        let listener = TcpListener::bind(settings.address)?;
        rustix::net::listen(&listener, BACKLOG)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let encoding = if settings.named_keys { Encoding::Named } else { Encoding::Fixed };
        let keys = Keys { encoding, servers: settings.servers };
        let server = Server {
            version: settings.version,
            lab: settings.lab,
            scheme: settings.scheme,
            port: address.port(),
            max_clients: settings.max_clients,
            started: Instant::now(),
            counters: Counters::default(),
        };
        let texts = RackTexts { keys, timeout: settings.timeout_s };
        let commands = Commands::new(settings.separate_mset);
        let known = Known::new(MAX_KNOWN);
        let machine = Machine::new(server, commands, texts, known, settings.under_way);
        let timeout = Duration::try_from_secs_f64(settings.timeout_s)
            .map_err(|error| io::Error::new(ErrorKind::InvalidInput, error))?;
        Ok(Self {
            address,
            foreign: machine.foreign(),
            parts: Mutex::new(Some(Parts { listener, machine, rack })),
            drain: timeout.as_nanos() as Nanos + DRAIN_MARGIN,
            shared: Arc::new(Shared { lost: Mutex::default(), ended: Waker::new()? }),
            worker: Worker::new()?,
        })
    }

    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts the thread; a second call is an error.
    pub fn start(&self) -> io::Result<()> {
        let Some(parts) = lock(&self.parts).take() else {
            return Err(io::Error::other("The gateway was started before; make a new one."));
        };
        let (shared, at_end, drain) =
            (Arc::clone(&self.shared), Arc::clone(&self.shared), self.drain);
        self.worker.start(
            "gateway",
            move |signals| {
                Service::new(&*parts.rack, signals, parts.listener, parts.machine)?
                    .run(&shared, drain)
            },
            move || at_end.ended.wake(),
        )
    }

    /// Begins to end; does not wait for it.
    pub fn stop(&self) {
        self.worker.request_stop();
    }

    /// A descriptor that is readable when the gateway has ended.
    pub fn ended_descriptor(&self) -> RawFd {
        self.shared.ended.descriptor()
    }

    /// Connections that were closed because they spoke another protocol.
    pub fn foreign(&self) -> u64 {
        self.foreign.load(Ordering::Relaxed)
    }

    /// Why the gateway has ended by itself, as a sentence.
    pub fn failure(&self) -> Option<String> {
        lock(&self.shared.lost).clone().or_else(|| self.worker.signals().failure())
    }
}

/// The socket of a client.
struct Peer {
    stream: TcpStream,
    readable: bool,
    writable: bool,
    /// The client has closed its side: there is an end of the input to be read.
    hung_up: bool,
    /// Whether it is in `unread`.
    unread: bool,
    /// The gateway has closed its side.
    closed: bool,
}

impl Peer {
    fn new(stream: TcpStream) -> Self {
        let (readable, writable, hung_up) = (false, true, false);
        Self { stream, readable, writable, hung_up, unread: false, closed: false }
    }
}

/// The state of the thread.
struct Service<'a> {
    rack: &'a dyn Rack,
    signals: &'a Signals,
    poller: Poller,
    /// `None` once it accepts no more clients.
    listener: Option<TcpListener>,
    machine: Machine,
    peers: FxHashMap<u64, Peer>,
    events: Vec<Ready>,
    completions: Vec<Completion>,
    input: Box<[u8; READ]>,
    /// Clients with more to read.
    unread: Vec<u64>,
    /// Connections that the gateway has closed, and when they are aborted.
    lingering: VecDeque<(Nanos, u64)>,
    /// When to accept clients again, after an error.
    accept_again: Option<Nanos>,
    /// When the gateway ends at the latest.
    end: Option<Nanos>,
    lost: Option<String>,
}

impl<'a> Service<'a> {
    fn new(
        rack: &'a dyn Rack,
        signals: &'a Signals,
        listener: TcpListener,
        machine: Machine,
    ) -> io::Result<Self> {
        let poller = Poller::new()?;
        poller.watch(&signals.waker, WAKER)?;
        poller.watch(rack.event(), RACK)?;
        poller.watch_changes(&listener, LISTENER)?;
        Ok(Self {
            rack,
            signals,
            poller,
            listener: Some(listener),
            machine,
            peers: FxHashMap::default(),
            events: Vec::new(),
            completions: Vec::new(),
            input: Box::new([0; READ]),
            unread: Vec::new(),
            lingering: VecDeque::new(),
            accept_again: None,
            end: None,
            lost: None,
        })
    }

    fn run(mut self, shared: &Shared, drain: Nanos) -> io::Result<()> {
        while self.end.is_none_or(|end| !self.peers.is_empty() && clock::now() < end) {
            self.wait()?;
            self.handle();
            self.submit();
            self.send();
            // Replies that were sent have made room for more requests.
            self.submit();
            self.abort_lingering();
            if self.end.is_none() && (self.signals.stopping() || self.lost.is_some()) {
                self.end = Some(clock::now() + drain);
                self.listener = None;
                self.machine.drain();
                self.send();
            }
        }
        *lock(&shared.lost) = self.lost;
        Ok(())
    }

    fn wait(&mut self) -> io::Result<()> {
        let lingering = self.lingering.front().map(|(due, _)| *due);
        let due = lingering.into_iter().chain(self.accept_again).chain(self.end).min();
        let timeout = if self.unread.is_empty() { clock::until(due) } else { Some(Duration::ZERO) };
        self.events.clear();
        self.events.extend(self.poller.wait_for_changes(timeout)?);
        Ok(())
    }

    fn handle(&mut self) {
        for id in mem::take(&mut self.unread) {
            if let Some(peer) = self.peers.get_mut(&id) {
                peer.unread = false;
                self.read(id);
            }
        }
        if self.accept_again.take_if(|due| *due <= clock::now()).is_some() {
            self.accept();
        }
        let events = mem::take(&mut self.events);
        for event in &events {
            match event.token {
                WAKER => self.signals.waker.clear(),
                LISTENER => self.accept(),
                RACK => self.complete(),
                id => self.on_change(id, event),
            }
            if self.machine.operations.len() >= ENOUGH {
                self.submit();
            }
        }
        self.events = events;
    }

    fn on_change(&mut self, id: u64, event: &Ready) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        if event.failed {
            self.close(id);
            return;
        }
        peer.readable |= event.readable;
        peer.hung_up |= event.hung_up;
        if event.writable && !peer.writable {
            peer.writable = true;
            self.machine.touched.push(id);
        }
        self.read(id);
    }

    fn accept(&mut self) {
        while let Some(listener) = &self.listener {
            match listener.accept() {
                Ok((stream, _)) => self.enter(stream),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return,
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                    // For example, the process has no free descriptor.
                    _ => {
                        self.accept_again = Some(clock::now() + ACCEPT_PAUSE);
                        return;
                    }
                },
            }
        }
    }

    fn enter(&mut self, stream: TcpStream) {
        let id = self.machine.connect();
        // If an option cannot be set, the client is gone.
        let prepared = stream
            .set_nonblocking(true)
            .and_then(|()| stream.set_nodelay(true))
            .and_then(|()| self.poller.watch_changes(&stream, id));
        match prepared {
            Ok(()) => drop(self.peers.insert(id, Peer::new(stream))),
            Err(_) => self.machine.remove(id),
        }
    }

    fn complete(&mut self) {
        self.rack.completions(&mut self.completions);
        for completion in self.completions.drain(..) {
            self.machine.on_completion(completion);
        }
        if let Some(why) = self.rack.failure() {
            self.lose(why);
        }
    }

    fn submit(&mut self) {
        if !self.machine.operations.is_empty()
            && let Err(why) = self.rack.submit(&mut self.machine.operations)
        {
            self.lose(why);
        }
    }

    fn lose(&mut self, why: String) {
        if self.lost.is_none() {
            self.machine.on_rack_lost(&why);
            self.lost = Some(why);
        }
    }

    fn read(&mut self, id: u64) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        let wanted = self.machine.connection(id).is_some_and(|it| it.wants_input());
        if !peer.readable || !wanted {
            return;
        }
        match peer.stream.read(&mut self.input[..]) {
            Ok(0) => {
                peer.readable = false;
                if peer.closed {
                    self.close(id);
                } else {
                    self.machine.on_end_of_input(id);
                }
            }
            Ok(length) => {
                // After less than was asked for, a new event reports more.
                peer.readable = length == READ || peer.hung_up;
                self.machine.on_input(id, &self.input[..length]);
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => peer.readable = false,
                ErrorKind::Interrupted => {}
                _ => self.close(id),
            },
        }
        self.machine.touched.push(id);
    }

    /// Sends the replies that are ready, and closes finished connections.
    fn send(&mut self) {
        while let Some(id) = self.machine.touched.pop() {
            self.send_to(id);
        }
    }

    fn send_to(&mut self, id: u64) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        while let Some(connection) = self.machine.connection(id) {
            let output = connection.output();
            if output.is_empty() || !peer.writable {
                break;
            }
            match peer.stream.write(output) {
                Ok(length) => self.machine.on_sent(id, length),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => peer.writable = false,
                    ErrorKind::Interrupted => {}
                    _ => return self.close(id),
                },
            }
        }
        let Some(connection) = self.machine.connection(id) else { return };
        if connection.is_finished() && !peer.closed {
            if connection.input_ended || peer.stream.shutdown(Shutdown::Write).is_err() {
                return self.close(id);
            }
            peer.closed = true;
            self.lingering.push_back((clock::now() + LINGER, id));
        }
        if peer.readable && connection.wants_input() && !peer.unread {
            peer.unread = true;
            self.unread.push(id);
        }
    }

    fn abort_lingering(&mut self) {
        while let Some(&(due, id)) = self.lingering.front() {
            if clock::now() < due {
                break;
            }
            self.lingering.pop_front();
            self.close(id);
        }
    }

    fn close(&mut self, id: u64) {
        if self.peers.remove(&id).is_some() {
            self.machine.remove(id);
        }
    }
}

#[cfg(test)]
mod tests;
