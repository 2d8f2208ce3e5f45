//! Random histories in virtual time: a load of multigets and writes done a lossy network, with slow
//! stores and restarts. No read may be wrong, and no acknowledged write may be lost. Set
//! `NETKV_SEEDS` for more seeds.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::Architecture;
use netkv_roles::coordimc::{Coordinator, CoordinatorConfig};
use netkv_roles::kits::multiget::{Client, ClientConfig, Layout, Server, ServerConfig};
use netkv_roles::mutation::{self, Chosen, choose};
use netkv_roles::{
    Actions, Backoff, CallId, ClientCounts, MILLISECOND, MemoryStore, Mutation, Nanos, SECOND,
    VerifyReport,
};
use netkv_roles::{Client as _, Coordinator as _, LoadClient as _, Server as _};
use netkv_workload::{
    Arrivals, Mix, MultigetSize, Popularity, Random, ValueSize, Workload, WorkloadConfig,
};

use crate::common::{OwnedCall, OwnedResult};
use crate::splitter::{Host, Splitter};

const MICROSECOND: Nanos = 1000;
const KEYS: u64 = 60;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Frame(Host, Vec<u8>),
    Execute(u16, u32, OwnedCall),
    Stored(u16, u32, CallId, OwnedResult),
    RestartServer,
    RestartCoordinator,
}

struct World {
    now: Nanos,
    layout: Layout,
    client: Client,
    coordinator: Coordinator,
    servers: Vec<Server>,
    stores: Vec<MemoryStore>,
    /// Number of restarts of each server.
    restart_counts: Vec<u32>,
    splitter: Splitter,
    random: Random,
    loss: f64,
    restarts: bool,
    events: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    sequence: u64,
    _chosen: Chosen,
}

fn coordinator(layout: Layout, first_request: u32) -> Coordinator {
    let config = CoordinatorConfig {
        first_request,
        retry: Backoff { initial: MILLISECOND / 2, cap: 4 * MILLISECOND },
        deadline: 10 * MILLISECOND,
        max_requests: 8,
        ..CoordinatorConfig::new(layout)
    };
    Coordinator::new(config).unwrap()
}

impl World {
    fn new(seed: u64, architecture: Architecture, mutation: Option<Mutation>) -> Self {
        let mut random = Random::new(seed, 5);
        let key_size = [4, 7, 16, 40, 64][random.below(5) as usize];
        let servers = 1 + random.below(6) as u16;
        let per_rack = 1 + random.below(servers.into()) as u16;
        let layout = Layout { servers, per_rack, fields: (per_rack as u8).into(), key_size };
        let load = netkv_roles::ClientConfig {
            first_request: u32::MAX - random.below(2000) as u32,
            retry: Backoff { initial: MILLISECOND, cap: 4 * MILLISECOND },
            deadline: 40 * MILLISECOND,
            ..netkv_roles::ClientConfig::new(3, Arrivals::Closed { outstanding: 12 })
        };
        let workload = WorkloadConfig {
            key_size,
            multiget: Some(MultigetSize::PRODUCTION),
            value_size: ValueSize::Uniform { min: 16, max: 1024 },
            popularity: Popularity::Zipf { theta: 0.9 },
            ..WorkloadConfig::new(
                KEYS,
                Mix { read: 0.4, update: 0.4, insert: 0.05, read_modify_write: 0.05, delete: 0.1 },
                seed,
            )
        };
        let config = ClientConfig { load, architecture: architecture.role(), layout };
        let client = Client::new(config, Workload::new(workload).unwrap()).unwrap();
        let servers: Vec<u16> = (0..layout.servers).collect();
        let mut world = Self {
            now: SECOND,
            layout,
            client,
            coordinator: coordinator(layout, 1),
            servers: Vec::new(),
            stores: servers.iter().map(|_| MemoryStore::new(KEYS, workload.value_size)).collect(),
            restart_counts: vec![0; servers.len()],
            splitter: Splitter {
                fields: layout.fields.srv,
                racks: layout.servers.div_ceil(per_rack) as u8,
            },
            random,
            loss: 0.05,
            restarts: true,
            events: BinaryHeap::new(),
            sequence: 0,
            _chosen: choose(mutation),
        };
        for server in servers {
            let config = ServerConfig { max_waiting: 2, ..ServerConfig::new(server, layout) };
            let server = world.server(config);
            world.servers.push(server);
        }
        world.schedule(15 * MILLISECOND, Event::RestartServer);
        world.schedule(20 * MILLISECOND, Event::RestartCoordinator);
        world
    }

    fn server(&self, config: ServerConfig) -> Server {
        let store = &self.stores[usize::from(config.server)];
        Server::restore(config, self.now, store.applied())
    }

    fn schedule(&mut self, after: Nanos, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((self.now + after, self.sequence, event)));
    }

    /// A delay of the network; some are much longer.
    fn delay(&mut self) -> Nanos {
        let slow = if self.random.unit() < 0.05 { 1 + self.random.below(30) } else { 1 };
        slow * (2 + self.random.below(60)) * MICROSECOND
    }

    fn carry_out(&mut self, out: &Actions) {
        let frames: Vec<_> = out.frames().flat_map(|frame| self.splitter.process(frame)).collect();
        for (to, bytes) in frames {
            if self.random.unit() < self.loss {
                continue;
            }
            for _ in 0..if self.random.unit() < self.loss { 2 } else { 1 } {
                let after = self.delay();
                self.schedule(after, Event::Frame(to, bytes.clone()));
            }
        }
    }

    fn take_calls(&mut self, server: u16, out: &Actions) {
        let restart_count = self.restart_counts[usize::from(server)];
        let calls: Vec<OwnedCall> = out.calls().map(OwnedCall::from).collect();
        for call in calls {
            let after = self.delay();
            self.schedule(after, Event::Execute(server, restart_count, call));
        }
    }

    fn step(&mut self, event: Event) {
        let mut out = Actions::new();
        match event {
            Event::Frame(Host::Clients, bytes) => self.client.on_frame(self.now, &bytes, &mut out),
            Event::Frame(Host::Coordinator, bytes) => {
                self.coordinator.on_frame(self.now, &bytes, &mut out);
            }
            Event::Frame(Host::Server(server), bytes) => {
                self.servers[usize::from(server)].on_frame(self.now, &bytes, &mut out);
                self.take_calls(server, &out);
            }
            // The store executes the call even if the server has restarted since.
            Event::Execute(server, restart_count, call) => {
                let call = call.view();
                let result = self.stores[usize::from(server)].execute(&call).into();
                let after = self.delay();
                self.schedule(after, Event::Stored(server, restart_count, call.id, result));
            }
            Event::Stored(server, restart_count, call, result) => {
                if self.restart_counts[usize::from(server)] == restart_count {
                    let to = &mut self.servers[usize::from(server)];
                    to.on_stored(self.now, call, result.view(), &mut out);
                    self.take_calls(server, &out);
                }
            }
            Event::RestartServer if self.restarts => {
                let at = self.random.below(self.servers.len() as u64) as usize;
                // Pending calls of the server are executed before its restart, or never.
                self.events.retain(|Reverse((.., event))| {
                    !matches!(event, Event::Execute(server, ..) if usize::from(*server) == at)
                });
                self.restart_counts[at] += 1;
                self.servers[at] = self.server(*self.servers[at].config());
                self.schedule(15 * MILLISECOND, Event::RestartServer);
            }
            Event::RestartCoordinator if self.restarts => {
                let (layout, first) = (self.layout, self.random.bits() as u32);
                self.coordinator = coordinator(layout, first);
                self.schedule(20 * MILLISECOND, Event::RestartCoordinator);
            }
            Event::RestartServer | Event::RestartCoordinator => {}
        }
        self.carry_out(&out);
    }

    fn run_until(&mut self, done: impl Fn(&Self) -> bool) {
        for _ in 0..3_000_000 {
            if done(self) {
                return;
            }
            let timers = [self.client.deadline(), self.coordinator.deadline()];
            let timer = timers.into_iter().flatten().min();
            let event = self.events.peek().map(|Reverse((at, ..))| *at);
            let Some(next) = [timer, event].into_iter().flatten().min() else { return };
            self.now = self.now.max(next);
            if timer.is_some_and(|at| at <= self.now) {
                let mut out = Actions::new();
                self.client.poll(self.now, &mut out);
                self.coordinator.on_timer(self.now, &mut out);
                self.carry_out(&out);
            } else if let Some(Reverse((.., event))) = self.events.pop() {
                self.step(event);
            }
        }
        panic!("the run does not end");
    }
}

struct Played {
    keys_read: u64,
    counts: ClientCounts,
    report: VerifyReport,
    wrong: u64,
    judged: u64,
}

fn play(seed: u64, architecture: Architecture, mutation: Option<Mutation>) -> Played {
    let mut world = World::new(seed, architecture, mutation);
    let mut out = Actions::new();
    world.client.start(world.now, &mut out);
    world.carry_out(&out);
    let end = world.now + 120 * MILLISECOND;
    world.run_until(|world| world.now >= end);
    world.client.load_mut().pause();
    world.run_until(|world| world.client.outstanding() == 0);
    // Frames under way are delivered; then the network has no faults.
    (world.loss, world.restarts) = (0.0, false);
    let end = world.now + 5 * MILLISECOND;
    world.run_until(|world| world.now >= end || world.events.is_empty());
    out.clear();
    world.client.verify(world.now, &mut out);
    world.carry_out(&out);
    world.run_until(|world| world.client.verified().is_some());
    let history = world.client.load().judge.history().unwrap();
    Played {
        counts: *world.client.counts(),
        keys_read: world.client.multiget_counts().keys_read,
        report: world.client.verified().unwrap(),
        wrong: history.violations,
        judged: history.checked_ops,
    }
}

const ARCHITECTURES: [Architecture; 3] =
    [Architecture::NetMc, Architecture::CliMc, Architecture::CoordiMc];

fn seeds() -> u64 {
    std::env::var("NETKV_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(12)
}

#[test]
fn histories_over_a_bad_network_are_correct() {
    for architecture in ARCHITECTURES {
        let (mut sum, mut keys) = (ClientCounts::default(), 0);
        for seed in 0..seeds() {
            let Played { counts, keys_read, report, wrong, judged } =
                play(seed, architecture, None);
            let what = format!("{architecture:?}, seed {seed}: {counts:?} {report:?}");
            assert_eq!((wrong, report.acked_writes_lost, report.unread), (0, 0, 0), "{what}");
            assert_eq!((counts.errors, counts.malformed), (0, 0), "{what}");
            assert!(judged > 500 && report.checked > 20, "{what}");
            sum.completed += counts.completed;
            sum.retries += counts.retries;
            sum.late_replies += counts.late_replies;
            keys += keys_read;
            sum.overloaded += counts.overloaded;
        }
        let what = format!("{architecture:?}: {sum:?}");
        assert!(sum.retries > 50 && sum.late_replies > 50 && sum.overloaded > 0, "{what}");
        assert!(keys > 3 * sum.completed, "{what}");
    }
}

#[test]
fn random_histories_detect_missing_protections() {
    let mut detected: HashMap<String, u64> = HashMap::new();
    let mutants = [
        (mutation::RepeatWrites, &ARCHITECTURES[..]),
        (mutation::AnswerBeforeStored, &ARCHITECTURES[..]),
        (mutation::ServerNumbersByCoordinator, &ARCHITECTURES[2..]),
    ];
    for (mutation, architectures) in mutants {
        for architecture in architectures {
            let wrong = detected.entry(format!("{mutation:?}, {architecture:?}")).or_default();
            for seed in 0..30 {
                let played = play(seed, *architecture, Some(mutation));
                *wrong += played.wrong + played.report.acked_writes_lost;
                if *wrong > 0 {
                    break;
                }
            }
        }
    }
    assert!(detected.values().all(|wrong| *wrong > 0), "{detected:?}");
}
