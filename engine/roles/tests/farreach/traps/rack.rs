//! A rack of FarReach: two client processes of one client each.

use netkv_roles::farreach::Client;
use netkv_roles::kits::single_key::ServerConfig;
use netkv_roles::kits::write_back;
use netkv_roles::kits::write_back::clients::WINDOW;
use netkv_roles::{
    Actions, Backoff, Client as _, ClientConfig, LoadClient as _, MILLISECOND, Nanos, SECOND,
};
use netkv_workload::{Arrivals, Popularity, Workload, WorkloadConfig};

use crate::common::frame::Frame;
use crate::common::rack::{self, DELETES, Harm, READS, SIZE, Scheme, Settings, WRITES};
use crate::traps::control::{Control, ScriptFault};
use crate::traps::switch::Switch;

/// Longer than a client waits before it sends a request again.
pub const RETRY: Nanos = 20 * MILLISECOND;

pub type Rack = rack::Rack<WriteBack>;

pub struct WriteBack;

impl Scheme for WriteBack {
    const PROGRAMS: &'static [&'static str] = &["farreach"];
    /// Scripts are played with two ingress pipelines, and with all protections also with one.
    const PIPELINES: &'static [usize] = &[2, 1];
    type Client = Client;
    type Protocol = write_back::WriteBack;
    type Switch = Switch;
    type Control = Control;
    type ScriptFault = ScriptFault;

    fn clients() -> Vec<Client> {
        vec![process_of(1), process_of(2)]
    }

    fn settings(usual: Settings<Self>) -> Settings<Self> {
        ServerConfig { guard: 0, ..usual }
    }

    /// The switch has an incarnation and is open, and the controller knows the clients.
    fn start(rack: &mut Rack) {
        rack.switch.set_incarnation(rack.control.incarnation);
        rack.switch.open();
        rack.wait(0); // HELLO and its answer
    }

    fn on_controller(rack: &mut Rack, bytes: &[u8]) {
        rack.on_controller(bytes);
    }

    /// Lets all requests end, reads both keys from the switch and from the store, writes once more,
    /// and reads both keys again.
    fn finish(rack: &mut Rack) {
        rack.lose_nothing();
        rack.settle();
        if !rack.is_linearizable() {
            rack.harm.insert(Harm::StaleRead);
            return;
        }
        rack.read_all();
        for key in [rack.key, rack.other] {
            rack.evict_correctly(key);
        }
        rack.read_all();
        rack.write_now(1);
        rack.read_all();
        rack.settle();
        if !rack.is_linearizable() {
            rack.harm.insert(Harm::LostWrite);
        }
        let lost = |client: &Client| client.counts().lost;
        if rack.clients.iter().map(lost).sum::<u64>() > 0 {
            rack.harm.insert(Harm::NoAnswer);
        }
    }
}

impl Rack {
    /// The server restarts over its store, without its former state.
    pub fn restart_server(&mut self) {
        self.config.first_request += 1_000_000;
        self.start_server();
    }

    /// A client (1 or 2) starts a read of the key. Returns the frame.
    pub fn read(&mut self, client: usize) -> Frame {
        self.begin(client - 1, self.key, READS, SIZE)
    }

    pub fn write(&mut self, client: usize) -> Frame {
        self.write_of(client, SIZE)
    }

    pub fn write_of(&mut self, client: usize, size: usize) -> Frame {
        self.begin(client - 1, self.key, WRITES, size)
    }

    pub fn delete(&mut self, client: usize) -> Frame {
        self.begin(client - 1, self.key, DELETES, SIZE)
    }

    pub fn read_other(&mut self, client: usize) -> Frame {
        self.begin(client - 1, self.other, READS, SIZE)
    }

    pub fn write_other(&mut self, client: usize) -> Frame {
        self.begin(client - 1, self.other, WRITES, SIZE)
    }

    pub fn read_now(&mut self, client: usize) {
        let read = self.read(client);
        self.now(&read);
    }

    pub fn write_now(&mut self, client: usize) {
        let write = self.write(client);
        self.now(&write);
    }

    fn read_all(&mut self) {
        for client in [1, 2] {
            self.read_now(client);
            let other = self.read_other(client);
            self.now(&other);
        }
    }
}

/// A process of one client, which starts operations only on request.
fn process_of(number: u16) -> Client {
    let config = ClientConfig {
        first_client: number,
        window: WINDOW,
        retry: Backoff { initial: 10 * MILLISECOND, cap: 100 * MILLISECOND },
        deadline: SECOND,
        check: false, // The registers judge reads, since they have the writes of all clients.
        ..ClientConfig::new(1, Arrivals::Closed { outstanding: 0 })
    };
    let workload = WorkloadConfig {
        popularity: Popularity::Uniform,
        ..WorkloadConfig::new(2, READS, u64::from(number))
    };
    let workload = Workload::new(workload).unwrap();
    let mut client = Client::new(config, workload).unwrap();
    client.start(SECOND, &mut Actions::new());
    client
}
