//! A rack in virtual time over a network without losses. Its limit is the service time of the
//! servers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::Architecture;
use netkv_roles::coordimc;
use netkv_roles::kits::multiget::{self, Layout};
use netkv_roles::kits::plain;
use netkv_roles::kits::single_key::ServerConfig;
use netkv_roles::{
    Actions, Backoff, ClientCounts, Coordinator as _, LoadClient, MILLISECOND, MemoryStore, Nanos,
    SECOND, Server, VerifyReport,
};
use netkv_wire::{FrameView, KV_OFFSET, partition};
use netkv_workload::{Arrivals, Mix, MultigetSize, ValueSize, Workload, WorkloadConfig};

use crate::splitter::{Host, Splitter};

/// Requests for one key, or multigets of an architecture.
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
    /// Requests that a server serves in a second, and the length of its queue.
    pub service: (f64, usize),
    pub retry: Nanos,
    pub deadline: Nanos,
    pub arrivals: Arrivals,
    /// Time from host to host.
    pub hop: Nanos,
    pub seed: u64,
}

/// The arrival of a frame at a host. Frames that arrive at the same time keep their order.
type Event = (Nanos, u64, Host, Vec<u8>);

pub struct Rack {
    pub now: Nanos,
    hop: Nanos,
    clients: Box<dyn LoadClient>,
    coordinator: coordimc::Coordinator,
    servers: Vec<Box<dyn Server>>,
    stores: Vec<MemoryStore>,
    splitter: Option<Splitter>,
    events: BinaryHeap<Reverse<Event>>,
    sequence: u64,
    /// Number of copies of each request on their way to a server.
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
        let coordinator = coordimc::CoordinatorConfig {
            retry,
            deadline,
            ..coordimc::CoordinatorConfig::new(layout)
        };
        let workload = Workload::new(workload).unwrap();
        let clients: Box<dyn LoadClient> = match kind {
            Kind::Single => Box::new(plain::Client::new(load, workload).unwrap()),
            Kind::Multiget(architecture) => {
                let architecture = architecture.role();
                let config = multiget::ClientConfig { load, architecture, layout };
                Box::new(multiget::Client::new(config, workload).unwrap())
            }
        };
        let (service_rate, service_queue) = (Some(rate), queue);
        let server = |server| -> Box<dyn Server> {
            match kind {
                Kind::Single => {
                    let usual = ServerConfig::new(server, servers);
                    let config = ServerConfig { service_rate, service_queue, ..usual };
                    Box::new(plain::Server::new(config, 0))
                }
                Kind::Multiget(_) => {
                    let usual = multiget::ServerConfig::new(server, layout);
                    let config = multiget::ServerConfig { service_rate, service_queue, ..usual };
                    Box::new(multiget::Server::new(config, 0))
                }
            }
        };
        Self {
            now: SECOND,
            hop,
            clients,
            coordinator: coordimc::Coordinator::new(coordinator).unwrap(),
            servers: (0..servers).map(server).collect(),
            stores: (0..servers).map(|_| MemoryStore::new(KEYS, value_size)).collect(),
            splitter: (kind != Kind::Single)
                .then_some(Splitter { fields: layout.fields.srv, racks: 1 }),
            events: BinaryHeap::new(),
            sequence: 0,
            copies: BTreeMap::new(),
            most_copies: 0,
        }
    }

    pub fn counts(&self) -> ClientCounts {
        *self.clients.counts()
    }

    /// Requests that servers have served.
    pub fn served(&self) -> u64 {
        let served = |it: &(&str, u64)| (it.0 == "served").then_some(it.1);
        self.servers.iter().flat_map(|server| server.counts()).filter_map(|it| served(&it)).sum()
    }

    pub fn start(&mut self) {
        let mut out = Actions::new();
        self.clients.start(self.now, &mut out);
        self.carry_out(&out);
    }

    /// Ends the load, and waits until every operation has ended.
    pub fn end(&mut self) {
        self.clients.load_mut().pause();
        self.run_while(|rack| rack.clients.outstanding() > 0);
    }

    /// Reads everything back that was written.
    pub fn verify(&mut self) -> VerifyReport {
        let mut out = Actions::new();
        self.clients.verify(self.now, &mut out);
        self.carry_out(&out);
        self.run_while(|rack| rack.clients.verified().is_none());
        self.clients.verified().unwrap()
    }

    pub fn run_for(&mut self, time: Nanos) {
        let end = self.now + time;
        self.run_while(|rack| rack.now < end);
    }

    fn run_while(&mut self, continues: impl Fn(&Self) -> bool) {
        while continues(self) {
            let frame = self.events.peek().map(|Reverse((at, ..))| *at);
            // At most a millisecond at a time, so that the condition is checked often.
            let wake_up = [frame, self.timer()].into_iter().flatten().min().unwrap_or(Nanos::MAX);
            self.now = self.now.max(wake_up.min(self.now + MILLISECOND));
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
        let servers = servers.filter_map(|server| server.deadline());
        servers.chain(self.clients.deadline()).chain(self.coordinator.deadline()).min()
    }

    fn on_timers(&mut self) {
        let mut out = Actions::new();
        self.clients.poll(self.now, &mut out);
        self.coordinator.on_timer(self.now, &mut out);
        self.carry_out(&out);
        for at in 0..self.servers.len() {
            out.clear();
            self.servers[at].on_timer(self.now, &mut out);
            self.store(at, &mut out);
            self.carry_out(&out);
        }
    }

    fn deliver(&mut self, to: Host, bytes: &[u8]) {
        let mut out = Actions::new();
        match to {
            Host::Clients => {
                self.clients.on_frame(self.now, bytes, &mut out);
            }
            Host::Coordinator => self.coordinator.on_frame(self.now, bytes, &mut out),
            Host::Server(server) => {
                let at = usize::from(server);
                if let Some(copies) = self.copies.get_mut(&(to, identity(bytes))) {
                    *copies -= 1;
                }
                self.servers[at].on_frame(self.now, bytes, &mut out);
                self.store(at, &mut out);
            }
        }
        self.carry_out(&out);
    }

    /// The store executes its calls at once.
    fn store(&mut self, at: usize, out: &mut Actions) {
        let mut left = Actions::new();
        std::mem::swap(&mut left, out);
        for call in left.calls() {
            let result = self.stores[at].execute(&call);
            self.servers[at].on_stored(self.now, call.id, result, out);
            assert_eq!(out.calls().len(), 0, "no kind makes further storage calls");
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

/// The common bytes of copies of a request: the sender's address, operation and number.
fn identity(frame: &[u8]) -> Vec<u8> {
    [&frame[26..30], &frame[KV_OFFSET..KV_OFFSET + 12]].concat()
}
