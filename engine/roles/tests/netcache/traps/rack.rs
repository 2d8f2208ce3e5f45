//! A rack of NetCache: one client process, which also judges its reads.

use netkv_roles::kits::plain::Client;
use netkv_roles::kits::single_key::{Server, ServerConfig};
use netkv_roles::kits::write_through::Config;
use netkv_roles::netcache::NetCache;
use netkv_roles::{Actions, Backoff, Client as _, LoadClient as _, MILLISECOND, Nanos};

use crate::common::frame::Frame;
use crate::common::rack::{self, DELETES, Harm, READS, SIZE, Scheme, Settings, WRITES, process_of};
use crate::switch::Switch;
use crate::traps::control::{Control, ScriptFault};

/// The cells that a value of [`SIZE`] bytes fills.
pub const BITMAP: u8 = 0b1111;

pub type Rack = rack::Rack<Cached>;

pub struct Cached;

impl Scheme for Cached {
    const PROGRAMS: &'static [&'static str] = &["netcache"];
    const PIPELINES: &'static [usize] = &[1];
    type Client = Client;
    type Protocol = NetCache;
    type Switch = Switch;
    type Control = Control;
    type ScriptFault = ScriptFault;

    fn clients() -> Vec<Client> {
        vec![process_of(2)]
    }

    fn settings(usual: Settings<Self>) -> Settings<Self> {
        let retry = Backoff { initial: MILLISECOND, cap: 8 * MILLISECOND };
        ServerConfig { retry, guard: 0, protocol: Config { lease: 50 * MILLISECOND }, ..usual }
    }

    fn on_controller(rack: &mut Rack, bytes: &[u8]) {
        rack.on_controller(bytes);
    }

    /// Lets all requests end, reads the key from the switch and from the store, writes it once
    /// more, and reads it back.
    fn finish(rack: &mut Rack) {
        rack.lose_nothing();
        rack.release();
        rack.store_recovers();
        rack.settle();
        rack.read_now();
        rack.evict();
        rack.read_now();
        rack.write_now();
        rack.read_now();
        rack.settle();
        let mut out = Actions::new();
        rack.clients[0].verify(rack.now, &mut out);
        rack.send(&out);
        while rack.clients[0].verified().is_none() {
            rack.wait(10 * MILLISECOND);
        }
        let report = rack.clients[0].verified().unwrap_or_default();
        let counts = *rack.clients[0].counts();
        let harms = [
            (Harm::StaleRead, counts.stale_reads > 0 || !rack.is_linearizable()),
            (Harm::WrongValue, counts.phantom_reads > 0),
            (Harm::LostWrite, report.acked_writes_lost > 0),
            (Harm::NoAnswer, counts.lost > 0 || report.unread > 0),
        ];
        rack.harm.extend(harms.into_iter().filter(|(_, occurred)| *occurred).map(|(it, _)| it));
    }
}

impl Rack {
    /// Emulates `clients` clients instead of two. Call it before the first request.
    pub fn clients(&mut self, clients: u16) {
        self.clients = vec![process_of(clients)];
    }

    /// Changes the settings of the server. Call it before the first request.
    pub fn configure(&mut self, change: impl FnOnce(&mut Settings<Cached>)) {
        change(&mut self.config);
        self.start_server();
    }

    /// Restarts the server process over its store, with this guard time. Storage calls that have
    /// not begun are lost.
    pub fn restart_server(&mut self, guard: Nanos) {
        self.config.guard = guard;
        if !self.has_fault(ScriptFault::RestartWithOldNumbers) {
            self.config.first_request += 1_000_000;
        }
        self.calls.clear();
        self.start_server();
        if self.has_fault(ScriptFault::RestartWithoutMarks) {
            self.server = Server::new(self.config, self.now);
        }
    }

    /// A client starts a read. Returns the frame.
    pub fn read(&mut self) -> Frame {
        self.begin(0, self.key, READS, SIZE)
    }

    /// A client starts a write.
    pub fn write(&mut self) -> Frame {
        self.write_of(SIZE)
    }

    /// A client starts a write of `size` bytes.
    pub fn write_of(&mut self, size: usize) -> Frame {
        self.begin(0, self.key, WRITES, size)
    }

    /// A client starts a delete.
    pub fn delete(&mut self) -> Frame {
        self.begin(0, self.key, DELETES, SIZE)
    }

    /// A client reads the key, and all frames are delivered.
    pub fn read_now(&mut self) {
        let read = self.read();
        self.now(&read);
    }

    /// A client writes the key, and all frames are delivered.
    pub fn write_now(&mut self) {
        let write = self.write();
        self.now(&write);
    }

    /// Checks that the switch serves reads of the key, except the first, which may refill the
    /// entry.
    pub fn must_be_served(&mut self) {
        self.read_now();
        let hits = self.switch.hits;
        self.read_now();
        if self.switch.hits == hits {
            self.harm.insert(Harm::NotServed);
        }
    }
}
