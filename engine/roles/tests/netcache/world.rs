//! A rack in virtual time, with seeded loss, duplication, reordering, slow stores and cache churn.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use netkv_roles::kits::plain::{Client, Plain};
use netkv_roles::kits::single_key::server::Protocol;
use netkv_roles::kits::single_key::{Server, ServerConfig};
use netkv_roles::kits::write_through::{Config, Layers, WriteThrough};
use netkv_roles::{
    Actions, Backoff, Client as _, ClientConfig, LoadClient as _, MILLISECOND, MemoryStore, Nanos,
    Server as _,
};
use netkv_wire::{Key, Message, Op, SERVICE_IP, client_ip};
use netkv_workload::{Random, Workload, WorkloadConfig, key_of};

use crate::common::frame::Node;
use crate::common::{OwnedCall, OwnedResult, frame_of};
use crate::controller::Controller;
use crate::switch::Switch;

pub const MICROSECOND: Nanos = 1000;

#[derive(Debug, Clone, Copy)]
pub struct Network {
    pub loss: f64,
    pub duplicate: f64,
    pub delay: (Nanos, Nanos),
    /// Share of frames that take up to 20 times as long.
    pub slow_share: f64,
}

impl Network {
    pub const RELIABLE: Network = Network {
        loss: 0.0,
        duplicate: 0.0,
        delay: (5 * MICROSECOND, 6 * MICROSECOND),
        slow_share: 0.0,
    };
    pub const LOSSY: Network = Network {
        loss: 0.05,
        duplicate: 0.05,
        delay: (2 * MICROSECOND, 60 * MICROSECOND),
        slow_share: 0.05,
    };
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Frame(Node, Vec<u8>),
    /// The store executes a call.
    Execute(u16, OwnedCall),
    /// The server gets the result.
    Stored(u16, u32, OwnedResult),
    Churn,
}

pub struct World<P: Protocol> {
    pub now: Nanos,
    pub network: Network,
    pub client: Client,
    pub servers: Vec<Server<P>>,
    pub stores: Vec<MemoryStore>,
    pub switch: Switch,
    pub controller: Controller,
    pub churn: Option<Nanos>,
    keys: u64,
    random: Random,
    events: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    sequence: u64,
}

/// The protocols of servers behind the switch program of NetCache.
pub trait Behind: Protocol {
    /// Whether the controller inserts and evicts keys.
    const CACHES: bool;

    fn settings(usual: ServerConfig<Self::Config>) -> ServerConfig<Self::Config>;
}

impl Behind for Plain {
    const CACHES: bool = false;

    fn settings(usual: ServerConfig<()>) -> ServerConfig<()> {
        usual
    }
}

impl<L: Layers> Behind for WriteThrough<L> {
    const CACHES: bool = true;

    fn settings(usual: ServerConfig<Config>) -> ServerConfig<Config> {
        let retry = Backoff { initial: MILLISECOND / 2, cap: 8 * MILLISECOND };
        ServerConfig { retry, protocol: Config { lease: 5 * MILLISECOND }, ..usual }
    }
}

pub fn server_config<P: Behind>(
    server: u16,
    servers: u16,
    guard: Nanos,
) -> ServerConfig<P::Config> {
    ServerConfig { max_waiting: 8, guard, ..P::settings(ServerConfig::new(server, servers)) }
}

pub fn client_config(config: ClientConfig) -> ClientConfig {
    ClientConfig { retry: Backoff { initial: MILLISECOND, cap: 4 * MILLISECOND }, ..config }
}

impl<P: Behind> World<P> {
    pub fn new(
        seed: u64,
        servers: u16,
        client: ClientConfig,
        workload: WorkloadConfig,
        network: Network,
    ) -> Self {
        let slots = 8;
        let mut world = Self {
            now: 0,
            network,
            client: Client::new(client_config(client), Workload::new(workload).unwrap()).unwrap(),
            servers: (0..servers)
                .map(|i| Server::new(server_config::<P>(i, servers, 4 * MILLISECOND), 0))
                .collect(),
            stores: (0..servers)
                .map(|_| MemoryStore::new(workload.keys, workload.value_size))
                .collect(),
            switch: Switch::of(servers),
            controller: Controller::new(slots),
            churn: P::CACHES.then_some(300 * MICROSECOND),
            keys: workload.keys,
            random: Random::new(seed, 0xbad),
            events: BinaryHeap::new(),
            sequence: 0,
        };
        world.schedule(0, Event::Churn);
        world
    }

    fn schedule(&mut self, at: Nanos, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((at, self.sequence, event)));
    }

    fn between(&mut self, low: Nanos, high: Nanos) -> Nanos {
        low + self.random.below(high - low)
    }

    /// One hop of the network.
    fn send(&mut self, to: Node, bytes: Vec<u8>) {
        let Network { loss, duplicate, delay, slow_share } = self.network;
        if self.random.unit() < loss {
            return;
        }
        let copies = if self.random.unit() < duplicate { 2 } else { 1 };
        for _ in 0..copies {
            let slow = if self.random.unit() < slow_share { self.random.below(20) + 1 } else { 1 };
            let at = self.now + slow * self.between(delay.0, delay.1);
            self.schedule(at, Event::Frame(to, bytes.clone()));
        }
    }

    fn send_all(&mut self, out: &Actions) {
        let frames: Vec<Vec<u8>> = out.frames().map(<[u8]>::to_vec).collect();
        for bytes in frames {
            self.send(Node::Switch, bytes);
        }
    }

    fn carry_out(&mut self, server: u16, out: &Actions) {
        self.send_all(out);
        let calls: Vec<Event> =
            out.calls().map(|call| Event::Execute(server, call.into())).collect();
        for call in calls {
            let at = self.now + self.between(MICROSECOND, 30 * MICROSECOND);
            self.schedule(at, call);
        }
    }

    fn step(&mut self, event: Event) {
        let now = self.now;
        let mut out = Actions::new();
        match event {
            Event::Frame(Node::Switch, bytes) => {
                if let Some((to, bytes)) = self.switch.process_one(&bytes) {
                    self.send(to, bytes);
                }
            }
            Event::Frame(Node::Client, bytes) => {
                self.client.on_frame(now, &bytes, &mut out);
                self.send_all(&out);
            }
            Event::Frame(Node::Server(server), bytes) => {
                self.servers[usize::from(server)].on_frame(now, &bytes, &mut out);
                self.carry_out(server, &out);
            }
            Event::Frame(Node::Controller, bytes) => {
                let mut frames = Vec::new();
                let Self { controller, random, switch, .. } = self;
                controller.on_frame(now, &bytes, random, switch, &mut frames);
                frames.into_iter().for_each(|bytes| self.send(Node::Switch, bytes));
            }
            Event::Execute(server, call) => {
                let result = self.stores[usize::from(server)].execute(&call.view()).into();
                let at = now + self.between(MICROSECOND, 30 * MICROSECOND);
                self.schedule(at, Event::Stored(server, call.view().id, result));
            }
            Event::Stored(server, id, result) => {
                self.servers[usize::from(server)].on_stored(now, id, result.view(), &mut out);
                self.carry_out(server, &out);
            }
            Event::Churn => {
                let Some(interval) = self.churn else { return };
                let key = key_of(self.random.below(self.keys));
                let mut frames = Vec::new();
                self.controller.toggle(now, &key, &mut self.switch, &mut frames);
                frames.into_iter().for_each(|bytes| self.send(Node::Switch, bytes));
                let at = now + self.between(interval / 2, interval * 2);
                self.schedule(at, Event::Churn);
            }
        }
    }

    /// Runs until `end` or until `done` returns true.
    pub fn run_until(&mut self, end: Nanos, mut done: impl FnMut(&Self) -> bool) {
        loop {
            let event = self.events.peek().map(|Reverse((at, ..))| *at);
            let roles = [self.client.deadline(), self.controller.deadline()];
            let servers = self.servers.iter().map(|server| server.deadline());
            let timer = roles.into_iter().chain(servers).flatten().min();
            let next = [event, timer].into_iter().flatten().min().unwrap_or(end);
            if next >= end || done(self) {
                self.now = self.now.max(next.min(end));
                return;
            }
            self.now = self.now.max(next);
            if event.is_some_and(|at| at <= self.now) {
                let Reverse((_, _, event)) = self.events.pop().unwrap();
                self.step(event);
            } else {
                self.fire_timers();
            }
        }
    }

    fn fire_timers(&mut self) {
        let now = self.now;
        let mut out = Actions::new();
        self.client.poll(now, &mut out);
        self.send_all(&out);
        for server in 0..self.servers.len() {
            out.clear();
            self.servers[server].on_timer(now, &mut out);
            self.carry_out(server as u16, &out);
        }
        let mut frames = Vec::new();
        self.controller.on_timer(now, &mut frames);
        frames.into_iter().for_each(|bytes| self.send(Node::Switch, bytes));
    }

    pub fn start(&mut self) {
        let mut out = Actions::new();
        self.client.start(self.now, &mut out);
        self.send_all(&out);
    }

    pub fn verify(&mut self) {
        let mut out = Actions::new();
        self.client.verify(self.now, &mut out);
        self.send_all(&out);
    }

    /// A read of a client that does not exist in the rack.
    pub fn stray_read(&mut self, key: Key) {
        let get = Message::request(client_ip(9), SERVICE_IP, Op::Get, 9, 1, key);
        self.send(Node::Switch, frame_of(&get));
    }

    pub fn restart_switch(&mut self) {
        self.switch.restart();
        let mut frames = Vec::new();
        self.controller.reinstall(self.now, &mut frames);
        frames.into_iter().for_each(|bytes| self.send(Node::Switch, bytes));
    }

    /// Restarts a server process over its store. Storage calls under way are lost.
    pub fn restart_server(&mut self, server: u16) {
        let config = *self.servers[usize::from(server)].config();
        let first_request = config.first_request + 1_000_000;
        let config = ServerConfig { first_request, ..config };
        let store = &self.stores[usize::from(server)];
        self.servers[usize::from(server)] = Server::restore(config, self.now, store.applied());
        let events = std::mem::take(&mut self.events);
        self.events = events
            .into_iter()
            .filter(|Reverse((_, _, event))| {
                !matches!(event, Event::Execute(it, ..) | Event::Stored(it, ..) if *it == server)
            })
            .collect();
    }
}
