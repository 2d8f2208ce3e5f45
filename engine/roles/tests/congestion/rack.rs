//! A rack in virtual time over a network that loses nothing: what limits it are servers that take
//! their time for each request.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use netkv_roles::multiget::{self, Architecture, Layout};
use netkv_roles::{
    Actions, Backoff, ClientCounts, MILLISECOND, MemoryStore, Nanos, SECOND, Scheme, VerifyReport,
};
use netkv_wire::{FrameView, KV_OFFSET, partition};
use netkv_workload::{Arrivals, Mix, MultigetSize, ValueSize, Workload, WorkloadConfig};

use crate::splitter::{Host, Splitter};

/// Who sends requests for one key, or who splits those for several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Single,
    Multiget(Architecture),
}

pub const KINDS: [Kind; 4] = [
    Kind::Single,
    Kind::Multiget(Architecture::NetMc),
    Kind::Multiget(Architecture::CliMc),
    Kind::Multiget(Architecture::CoordiMc),
];

#[derive(Debug, Clone, Copy)]
pub struct Setup {
    pub servers: u16,
    /// Requests that a server serves in a second, and how many may wait.
    pub service: (f64, usize),
    pub retry: Nanos,
    pub deadline: Nanos,
    pub arrivals: Arrivals,
    /// Time from host to host.
    pub hop: Nanos,
    pub seed: u64,
}

enum Clients {
    Single(netkv_roles::Client),
    Multiget(multiget::Client),
}

enum Server {
    Single(Box<netkv_roles::Server>),
    Multiget(Box<multiget::Server>),
}

macro_rules! either {
    ($of:ident, $it:expr, $role:ident => $do:expr) => {
        match $it {
            $of::Single($role) => $do,
            $of::Multiget($role) => $do,
        }
    };
}

/// A frame that reaches a host, in the order in which it was sent.
type Event = (Nanos, u64, Host, Vec<u8>);

pub struct Rack {
    pub now: Nanos,
    hop: Nanos,
    clients: Clients,
    coordinator: multiget::Coordinator,
    servers: Vec<Server>,
    stores: Vec<MemoryStore>,
    splitter: Option<Splitter>,
    events: BinaryHeap<Reverse<Event>>,
    sequence: u64,
    /// Copies of each request on their way to a server: the most at a time.
    copies: BTreeMap<(Host, Vec<u8>), usize>,
    pub most_copies: usize,
}

const KEYS: u64 = 40;

impl Rack {
    pub fn new(kind: Kind, setup: Setup) -> Self {
        let Setup { servers, service: (rate, queue), retry, deadline, arrivals, hop, seed } = setup;
        let retry = Backoff { initial: retry, cap: 8 * retry };
        let load = netkv_roles::ClientConfig {
            retry,
            deadline,
            ..netkv_roles::ClientConfig::new(4, arrivals)
        };
        let multigets = (kind != Kind::Single).then_some(MultigetSize::Fixed(8));
        let value_size = ValueSize::Fixed(32);
        let workload = WorkloadConfig {
            multiget: multigets,
            value_size,
            ..WorkloadConfig::new(KEYS, Mix::writes(0.3, 0.0), seed)
        };
        let layout = Layout::one_rack(servers, workload.key_size);
        let coordinator = multiget::CoordinatorConfig {
            retry,
            deadline,
            ..multiget::CoordinatorConfig::new(layout)
        };
        let workload = Workload::new(workload).unwrap();
        let clients = match kind {
            Kind::Single => Clients::Single(netkv_roles::Client::new(load, workload).unwrap()),
            Kind::Multiget(architecture) => {
                let config = multiget::ClientConfig { load, architecture, layout };
                Clients::Multiget(multiget::Client::new(config, workload).unwrap())
            }
        };
        let server = |server| match kind {
            Kind::Single => {
                let config = netkv_roles::ServerConfig::new(server, servers, Scheme::Plain);
                let (service_rate, service_queue) = (Some(rate), queue);
                let config = netkv_roles::ServerConfig { service_rate, service_queue, ..config };
                Server::Single(Box::new(netkv_roles::Server::new(config, 0)))
            }
            Kind::Multiget(_) => {
                let config = multiget::ServerConfig::new(server, layout);
                let (service_rate, service_queue) = (Some(rate), queue);
                let config = multiget::ServerConfig { service_rate, service_queue, ..config };
                Server::Multiget(Box::new(multiget::Server::new(config, 0)))
            }
        };
        Self {
            now: SECOND,
            hop,
            clients,
            coordinator: multiget::Coordinator::new(coordinator).unwrap(),
            servers: (0..servers).map(server).collect(),
            stores: (0..servers).map(|_| MemoryStore::new(KEYS, value_size)).collect(),
            splitter: (kind != Kind::Single)
                .then_some(Splitter { fields: layout.fields, racks: 1 }),
            events: BinaryHeap::new(),
            sequence: 0,
            copies: BTreeMap::new(),
            most_copies: 0,
        }
    }

    pub fn counts(&self) -> ClientCounts {
        either!(Clients, &self.clients, client => client.stats().counts)
    }

    /// Requests that servers have served.
    pub fn served(&self) -> u64 {
        let served = |server: &Server| either!(Server, server, role => role.stats().served);
        self.servers.iter().map(served).sum()
    }

    pub fn start(&mut self) {
        let mut out = Actions::new();
        either!(Clients, &mut self.clients, client => client.start(self.now, &mut out));
        self.carry_out(&out);
    }

    /// Ends the load, and waits until every operation has ended.
    pub fn end(&mut self) {
        either!(Clients, &mut self.clients, client => client.pause());
        self.run_while(|rack| either!(Clients, &rack.clients, client => client.outstanding()) > 0);
    }

    /// Reads everything back that was written.
    pub fn verify(&mut self) -> VerifyReport {
        let mut out = Actions::new();
        either!(Clients, &mut self.clients, client => client.verify(self.now, &mut out));
        self.carry_out(&out);
        self.run_while(|rack| {
            either!(Clients, &rack.clients, client => client.verified()).is_none()
        });
        either!(Clients, &self.clients, client => client.verified()).unwrap()
    }

    pub fn run_for(&mut self, time: Nanos) {
        let end = self.now + time;
        self.run_while(|rack| rack.now < end);
    }

    fn run_while(&mut self, goes_on: impl Fn(&Self) -> bool) {
        while goes_on(self) {
            let frame = self.events.peek().map(|Reverse((at, ..))| *at);
            // Looked at every millisecond at least, so that nothing is waited for in vain.
            let wake = [frame, self.timer()].into_iter().flatten().min().unwrap_or(Nanos::MAX);
            self.now = self.now.max(wake.min(self.now + MILLISECOND));
            self.on_timers();
            while let Some(Reverse((at, ..))) = self.events.peek()
                && *at <= self.now
            {
                let Some(Reverse((_, _, to, bytes))) = self.events.pop() else { return };
                self.deliver(to, &bytes);
            }
        }
    }

    fn timer(&self) -> Option<Nanos> {
        let servers = self.servers.iter();
        let servers = servers.filter_map(|it| either!(Server, it, server => server.deadline()));
        let clients = either!(Clients, &self.clients, client => client.deadline());
        servers.chain(clients).chain(self.coordinator.deadline()).min()
    }

    fn on_timers(&mut self) {
        let mut out = Actions::new();
        either!(Clients, &mut self.clients, client => client.poll(self.now, &mut out));
        self.coordinator.on_timer(self.now, &mut out);
        self.carry_out(&out);
        for at in 0..self.servers.len() {
            out.clear();
            either!(Server, &mut self.servers[at], it => it.on_timer(self.now, &mut out));
            self.store(at, &mut out);
            self.carry_out(&out);
        }
    }

    fn deliver(&mut self, to: Host, bytes: &[u8]) {
        let mut out = Actions::new();
        match to {
            Host::Clients => {
                either!(Clients, &mut self.clients, it => it.on_frame(self.now, bytes, &mut out));
            }
            Host::Coordinator => self.coordinator.on_frame(self.now, bytes, &mut out),
            Host::Server(server) => {
                let at = usize::from(server);
                if let Some(copies) = self.copies.get_mut(&(to, identity(bytes))) {
                    *copies -= 1;
                }
                let server = &mut self.servers[at];
                either!(Server, server, it => it.on_frame(self.now, bytes, &mut out));
                self.store(at, &mut out);
            }
        }
        self.carry_out(&out);
    }

    /// The store does what it is asked for at once.
    fn store(&mut self, at: usize, out: &mut Actions) {
        let mut left = Actions::new();
        std::mem::swap(&mut left, out);
        for call in left.calls() {
            let result = self.stores[at].execute(&call);
            let server = &mut self.servers[at];
            either!(Server, server, it => it.on_stored(self.now, call.id, result, out));
            assert_eq!(out.calls().len(), 0, "neither kind asks the store again");
        }
        left.clear_calls();
        self.carry_out(&left);
    }

    fn carry_out(&mut self, out: &Actions) {
        for frame in out.frames() {
            for (to, bytes) in self.route(frame) {
                if matches!(to, Host::Server(_)) {
                    let copies = self.copies.entry((to, identity(&bytes))).or_default();
                    *copies += 1;
                    self.most_copies = self.most_copies.max(*copies);
                }
                self.sequence += 1;
                self.events.push(Reverse((self.now + self.hop, self.sequence, to, bytes)));
            }
        }
    }

    fn route(&self, frame: &[u8]) -> Vec<(Host, Vec<u8>)> {
        if let Some(splitter) = &self.splitter {
            return splitter.process(frame);
        }
        let view = FrameView::parse(frame).unwrap();
        let owner = Host::Server(partition(&view.key(), self.servers.len() as u16));
        let to = if view.op().is_reply() { Host::Clients } else { owner };
        vec![(to, frame.to_vec())]
    }
}

/// What copies of a request have in common: its sender's address, operation and number.
fn identity(frame: &[u8]) -> Vec<u8> {
    [&frame[26..30], &frame[KV_OFFSET..KV_OFFSET + 12]].concat()
}
