//! A rack of DistCache: one client process, two layers of switches and a server.

use netkv_roles::distcache::DistCache;
use netkv_roles::kits::plain::Client;
use netkv_roles::kits::single_key::ServerConfig;
use netkv_roles::kits::write_through::Config;
use netkv_roles::{Actions, Backoff, Client as _, LoadClient as _, MILLISECOND};
use netkv_wire::Op;

use super::control::{Control, ScriptFault};
use super::switches::{self, At, Layer, Switches};
use crate::common::frame::Frame;
use crate::common::rack::{self, DELETES, Harm, READS, SIZE, Scheme, Settings, WRITES, process_of};

/// The cells that a value of [`SIZE`] bytes fills.
pub const BITMAP: u8 = 0b1111;

pub type Rack = rack::Rack<Layered>;

pub struct Layered;

impl Scheme for Layered {
    const PROGRAMS: &'static [&'static str] = switches::PROGRAMS;
    const PIPELINES: &'static [usize] = &[1];
    type Client = Client;
    type Protocol = DistCache;
    type Switch = Switches;
    type Control = Control;
    type ScriptFault = ScriptFault;

    fn clients() -> Vec<Client> {
        vec![process_of(2)]
    }

    fn settings(usual: Settings<Self>) -> Settings<Self> {
        let retry = Backoff { initial: MILLISECOND, cap: 8 * MILLISECOND };
        let protocol = Config { lease: 50 * MILLISECOND };
        ServerConfig { retry, guard: 0, protocol, ..usual }
    }

    /// The server reports its start, and the controller, which has no entries, answers.
    fn start(rack: &mut Rack) {
        rack.wait(MILLISECOND / 2);
    }

    fn on_controller(rack: &mut Rack, bytes: &[u8]) {
        rack.on_controller(bytes);
    }

    /// Lets all requests end, reads the key from both copies and from the store, writes it once
    /// more, and reads it back.
    fn finish(rack: &mut Rack) {
        rack.lose_nothing();
        rack.release();
        rack.release_switches();
        rack.store_recovers();
        rack.settle();
        rack.read_from(Layer::Upper);
        rack.read_from(Layer::Lower);
        rack.evict(Layer::Upper);
        rack.evict(Layer::Lower);
        rack.read_from(Layer::Upper);
        rack.write_now();
        rack.read_from(Layer::Lower);
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
    /// Admits the key to both layers.
    pub fn cache(&mut self) {
        self.cache_in(Layer::Lower, BITMAP);
        self.cache_in(Layer::Upper, BITMAP);
    }

    /// Restarts the server process over its store.
    pub fn restart_server(&mut self) {
        if !self.has_fault(ScriptFault::RestartWithOldNumbers) {
            self.config.first_request += 1_000_000;
        }
        self.calls.clear();
        self.start_server();
    }

    /// The server's timers that are due now run, and all frames are delivered.
    pub fn tick(&mut self) {
        self.wait(MILLISECOND / 4);
    }

    /// A client starts a read of this copy.
    pub fn read_of(&mut self, layer: Layer) -> Frame {
        self.switch.prefer(layer);
        self.begin(0, self.key, READS, SIZE)
    }

    /// A client reads this copy, and all frames are delivered.
    pub fn read_from(&mut self, layer: Layer) {
        let read = self.read_of(layer);
        self.now(&read);
    }

    /// A client starts a write.
    pub fn write(&mut self) -> Frame {
        self.write_of(SIZE)
    }

    /// A client starts a write of `size` bytes.
    pub fn write_of(&mut self, size: usize) -> Frame {
        self.begin(0, self.key, WRITES, size)
    }

    /// A client writes the key, and all frames are delivered.
    pub fn write_now(&mut self) {
        let write = self.write();
        self.now(&write);
    }

    /// A client starts a delete.
    pub fn delete(&mut self) -> Frame {
        self.begin(0, self.key, DELETES, SIZE)
    }

    /// A client deletes the key, and all frames are delivered.
    pub fn delete_now(&mut self) {
        let delete = self.delete();
        self.now(&delete);
    }

    /// From now on frames with this operation wait before this switch.
    pub fn hold_before(&mut self, at: At, op: Op) {
        self.switch.hold(at, op);
    }

    /// The frames that wait between switches go on, and all frames are delivered.
    pub fn release_switches(&mut self) {
        for (to, bytes) in self.switch.release() {
            self.wire.push_back(Frame { to, bytes });
        }
        self.run();
    }

    /// Checks that a frame waits between two switches.
    pub fn must_hold(&mut self) {
        if !self.switch.holds_one() {
            self.missing.push("a frame between switches".to_owned());
        }
    }

    /// Checks that the switch with this copy serves reads of the key, except the first, which may
    /// refill the entry.
    pub fn must_be_served_by(&mut self, layer: Layer) {
        self.read_from(layer);
        let hits = self.switch.hits(layer);
        self.read_from(layer);
        if self.switch.hits(layer) == hits {
            self.harm.insert(Harm::NotServed);
        }
    }
}
