//! A rack whose frames a script delivers one by one: clients, switch, servers with their stores,
//! and a coordinator. The script holds, drops, duplicates or reorders frames on their way to a
//! host, or lets them run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::Architecture;
use netkv_roles::coordimc::{Coordinator, CoordinatorConfig};
use netkv_roles::kits::multiget::{Client, ClientConfig, Layout, Server, ServerConfig, Users};
use netkv_roles::mutation::{Chosen, choose};
use netkv_roles::{
    Actions, Backoff, Completion, MILLISECOND, MemoryStore, Mutation, Nanos, Outcome, SECOND,
    StoreOp, StoreResult, UserOp,
};
use netkv_roles::{Client as _, Coordinator as _, Server as _, UserClient as _};
use netkv_wire::multiget::owner;
use netkv_workload::{Arrivals, ValueSize, key_of_wire};

use crate::common::OwnedCall;
use crate::splitter::Host;
use crate::traps::switch::{Kind, Switch};

/// Harm to users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Harm {
    /// A value differs from the stored one, or is missing.
    WrongValue,
    /// No answer, although all receivers work.
    NoAnswer,
    /// The reported missing servers are wrong.
    WrongMissing,
    /// A write took effect twice, not at all, or too early.
    WrongEffect,
    /// A wrong answer.
    WrongOutcome,
    /// Servers receive more requests than necessary.
    Flood,
    /// The number of requests under way is not limited.
    Unlimited,
}

/// How long a user waits.
pub const DEADLINE: Nanos = SECOND;
const RETRY: Backoff = Backoff { initial: 10 * MILLISECOND, cap: 40 * MILLISECOND };

pub struct Rack {
    pub now: Nanos,
    pub architecture: Architecture,
    pub layout: Layout,
    client: Client<Users>,
    switch: Switch,
    coordinator: Coordinator,
    pub servers: Vec<Server>,
    stores: Vec<MemoryStore>,
    /// Whether stores finish nothing, and the waiting calls.
    pub hangs: bool,
    calls: VecDeque<(u16, OwnedCall)>,
    /// A server whose store fails every call.
    pub fails: Option<u16>,
    /// A server that is down.
    pub down: Option<u16>,
    /// Frames on their way to a host.
    pub wire: VecDeque<(Host, Vec<u8>)>,
    tokens: u64,
    ended: BTreeMap<u64, Outcome>,
    _chosen: Chosen,
    pub harm: BTreeSet<Harm>,
    /// Whether servers restart without the numbers of applied writes.
    pub restarts_without_memory: bool,
    /// Number of requests that reached servers.
    pub server_requests: u64,
}

/// The initial configuration of a rack.
#[derive(Clone, Copy)]
pub struct Setup {
    pub servers: u16,
    pub first_request: u32,
    pub max_requests: usize,
    pub coordinator_deadline: Nanos,
}

impl Default for Setup {
    fn default() -> Self {
        let coordinator_deadline = 200 * MILLISECOND;
        Self { servers: 3, first_request: 1, max_requests: 100, coordinator_deadline }
    }
}

impl Rack {
    pub fn new(
        architecture: Architecture,
        setup: Setup,
        mutation: Option<Mutation>,
        kind: Kind,
    ) -> Self {
        let layout = Layout::one_rack(setup.servers, 16);
        let servers: Vec<Server> =
            (0..setup.servers).map(|i| Server::new(ServerConfig::new(i, layout), 0)).collect();
        let client = client_of(architecture, layout, setup.first_request);
        let coordinator = coordinator_of(layout, setup);
        Self {
            now: SECOND,
            architecture,
            layout,
            client,
            switch: Switch::new(kind, architecture, layout.fields.srv),
            coordinator,
            servers,
            stores: (0..setup.servers).map(|_| MemoryStore::new(0, ValueSize::Fixed(64))).collect(),
            hangs: false,
            calls: VecDeque::new(),
            fails: None,
            down: None,
            wire: VecDeque::new(),
            tokens: 0,
            ended: BTreeMap::new(),
            _chosen: choose(mutation),
            harm: BTreeSet::new(),
            restarts_without_memory: false,
            server_requests: 0,
        }
    }

    // -------------------------------------------------------------------------- stores

    /// The `nth` key of a server.
    pub fn key_on(&self, server: u16, nth: usize) -> Vec<u8> {
        let names = (0..).map(|number: u32| format!("key{number:04}").into_bytes());
        let mut own = names.filter(|name| owner(name, self.layout.servers) == server);
        own.nth(nth).expect("servers have keys")
    }

    /// The `nth` key of a server with 64 bytes.
    pub fn long_key_on(&self, server: u16, nth: usize) -> Vec<u8> {
        let names = (0..).map(|number: u32| format!("{number:064}").into_bytes());
        let mut own = names.filter(|name| owner(name, self.layout.servers) == server);
        own.nth(nth).expect("servers have keys")
    }

    /// Stores a value of this size under each key: the key's own bytes, repeated. Returns the keys.
    pub fn filled(&mut self, keys: Vec<Vec<u8>>, size: usize) -> Vec<Vec<u8>> {
        for key in &keys {
            let value = value_of(key, size);
            let at = usize::from(owner(key, self.layout.servers));
            self.stores[at].put(&key_of_wire(key, 16), &value);
        }
        keys
    }

    pub fn stored(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        let at = usize::from(owner(key, self.layout.servers));
        self.stores[at].get(&key_of_wire(key, 16)).map(<[u8]>::to_vec)
    }

    /// Restarts a server process over its store.
    pub fn restart(&mut self, server: u16) {
        let config = *self.servers[usize::from(server)].config();
        let store = &self.stores[usize::from(server)];
        let new = if self.restarts_without_memory {
            Server::new(config, self.now)
        } else {
            Server::restore(config, self.now, store.applied())
        };
        self.servers[usize::from(server)] = new;
        self.calls.retain(|(at, _)| *at != server);
    }

    /// Restarts the coordinator with other request numbers.
    pub fn restart_coordinator(&mut self, first_request: u32) {
        let setup = Setup { first_request, ..Setup::default() };
        self.coordinator = coordinator_of(self.layout, setup);
    }

    pub fn coordinator(&self) -> &Coordinator {
        &self.coordinator
    }

    pub fn client(&self) -> &Client<Users> {
        &self.client
    }

    // --------------------------------------------------------------------------- users

    pub fn submit(&mut self, op: &UserOp<'_>) -> u64 {
        self.tokens += 1;
        let mut out = Actions::new();
        if self.client.submit(self.now, self.tokens, op, &mut out).is_err() {
            self.harm.insert(Harm::NoAnswer);
        }
        self.carry_out(&out);
        self.tokens
    }

    pub fn get(&mut self, keys: &[Vec<u8>]) -> u64 {
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        self.submit(&UserOp::Get(&keys))
    }

    pub fn put(&mut self, key: &[u8], value: &[u8]) -> u64 {
        self.submit(&UserOp::Put(key, value))
    }

    /// The outcome of an operation, if it has ended.
    pub fn outcome(&mut self, token: u64) -> Option<&Outcome> {
        let mut completions = Vec::new();
        self.client.completions(&mut completions);
        for Completion { token, outcome } in completions {
            if self.ended.insert(token, outcome).is_some() {
                self.harm.insert(Harm::WrongOutcome);
            }
        }
        self.ended.get(&token)
    }

    /// Checks that the operation has ended with these values.
    pub fn expect_values(&mut self, token: u64, values: &[Option<Vec<u8>>]) {
        let harm = match self.outcome(token) {
            Some(Outcome::Values(found)) if found == values => return,
            Some(Outcome::Values(_)) => Harm::WrongValue,
            Some(Outcome::TimedOut { .. }) | None => Harm::NoAnswer,
            Some(_) => Harm::WrongOutcome,
        };
        self.harm.insert(harm);
    }

    /// Checks that the operation has ended with the values that [`Rack::filled`] stored.
    pub fn expect_all(&mut self, token: u64, keys: &[Vec<u8>], size: usize) {
        let values: Vec<_> = keys.iter().map(|key| Some(value_of(key, size))).collect();
        self.expect_values(token, &values);
    }

    /// Checks that the write is done.
    pub fn expect_done(&mut self, token: u64) {
        let harm = match self.outcome(token) {
            Some(Outcome::Done) => return,
            Some(Outcome::TimedOut { .. }) | None => Harm::NoAnswer,
            Some(_) => Harm::WrongOutcome,
        };
        self.harm.insert(harm);
    }

    pub fn expect_stored(&mut self, key: &[u8], value: Option<&[u8]>) {
        if self.stored(key).as_deref() != value {
            self.harm.insert(Harm::WrongEffect);
        }
    }

    // ---------------------------------------------------------------------------- wire

    fn carry_out(&mut self, out: &Actions) {
        for frame in out.frames() {
            self.wire.extend(self.switch.process(frame));
        }
    }

    /// Takes frames on their way to these hosts off the wire.
    pub fn hold(&mut self, to: impl Fn(Host) -> bool) -> Vec<(Host, Vec<u8>)> {
        let (held, rest): (Vec<_>, Vec<_>) = self.wire.drain(..).partition(|(host, _)| to(*host));
        self.wire = rest.into();
        held
    }

    pub fn deliver(&mut self, (to, bytes): (Host, Vec<u8>)) {
        let mut out = Actions::new();
        match to {
            Host::Clients => self.client.on_frame(self.now, &bytes, &mut out),
            Host::Coordinator => self.coordinator.on_frame(self.now, &bytes, &mut out),
            Host::Server(server) if self.down == Some(server) => return,
            Host::Server(server) => {
                self.server_requests += 1;
                self.servers[usize::from(server)].on_frame(self.now, &bytes, &mut out);
                self.take_calls(server, &out);
            }
        }
        self.carry_out(&out);
        self.work();
    }

    fn take_calls(&mut self, server: u16, out: &Actions) {
        self.calls.extend(out.calls().map(|call| (server, OwnedCall::from(call))));
    }

    /// Stores execute their calls, the last one first.
    pub fn work(&mut self) {
        while !self.hangs
            && let Some((server, call)) = self.calls.pop_back()
        {
            let mut out = Actions::new();
            let call = call.view();
            let result = if self.fails == Some(server) {
                StoreResult::Failed
            } else {
                self.stores[usize::from(server)].execute(&call)
            };
            assert!(call.op == StoreOp::Get || call.origin.is_some(), "no write is anonymous");
            assert_eq!(key_of_wire(call.name, 16), call.key, "the store gets the name");
            self.servers[usize::from(server)].on_stored(self.now, call.id, result, &mut out);
            self.take_calls(server, &out);
            self.carry_out(&out);
        }
    }

    /// Delivers all frames on the wire, and those that result from them.
    pub fn run(&mut self) {
        while let Some(frame) = self.wire.pop_front() {
            self.deliver(frame);
        }
    }

    /// Advances the time and runs timers that are due; their frames are put on the wire.
    pub fn wait(&mut self, time: Nanos) {
        self.now += time;
        let mut out = Actions::new();
        self.client.poll(self.now, &mut out);
        self.coordinator.on_timer(self.now, &mut out);
        self.carry_out(&out);
    }

    /// Advances the time by milliseconds, and delivers all frames.
    pub fn run_for(&mut self, time: Nanos) {
        let end = self.now + time;
        while self.now < end {
            self.wait(MILLISECOND);
            self.run();
        }
    }
}

fn client_of(architecture: Architecture, layout: Layout, first_request: u32) -> Client<Users> {
    let load = netkv_roles::ClientConfig {
        first_request,
        retry: RETRY,
        deadline: DEADLINE,
        ..netkv_roles::ClientConfig::new(2, Arrivals::Closed { outstanding: 0 })
    };
    let config = ClientConfig { load, architecture: architecture.role(), layout };
    Client::of_users(config).unwrap()
}

fn coordinator_of(layout: Layout, setup: Setup) -> Coordinator {
    let Setup { first_request, max_requests, coordinator_deadline: deadline, .. } = setup;
    let config = CoordinatorConfig::new(layout);
    let retry = Backoff { initial: 5 * MILLISECOND, cap: 20 * MILLISECOND };
    let config = CoordinatorConfig { first_request, max_requests, deadline, retry, ..config };
    Coordinator::new(config).unwrap()
}

/// The value that [`Rack::filled`] puts under a key.
pub fn value_of(key: &[u8], size: usize) -> Vec<u8> {
    key.iter().copied().cycle().take(size).collect()
}
