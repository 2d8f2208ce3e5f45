//! A machine, and a rack in memory that a test controls.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use netkv_rack::session::{OwnedKey, OwnedOp};
use netkv_roles::{Completion, Outcome};

use crate::commands::Commands;
use crate::failure::RackTexts;
use crate::keys::{Encoding, Keys};
use crate::known::{Known, MAX_KNOWN};
use crate::machine::Machine;
use crate::request::tests::{Random, request};
use crate::server::{Counters, Server};

pub const KEYS: Keys = Keys { encoding: Encoding::Fixed, servers: 4 };

/// What a test may change of a machine.
pub struct Options {
    pub separate_mset: bool,
    pub max_clients: usize,
    pub under_way: u32,
    pub max_known: usize,
    pub keys: Keys,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            separate_mset: false,
            max_clients: 1000,
            under_way: 1024,
            max_known: MAX_KNOWN,
            keys: KEYS,
        }
    }
}

pub struct World {
    pub machine: Machine,
    /// What the rack has, by keys on the wire.
    pub stored: HashMap<OwnedKey, Vec<u8>>,
    /// Keys on the wire whose operations are not answered: reads time out, and the switch has
    /// failed during writes.
    pub lost: HashSet<OwnedKey>,
    /// Operations that the test has not completed.
    pub under_way: Vec<(u64, OwnedOp)>,
    pub max_under_way: usize,
    /// All operations since the start.
    pub calls: Vec<OwnedOp>,
}

impl World {
    pub fn new() -> Self {
        Self::with(Options::default())
    }

    pub fn with(options: Options) -> Self {
        let server = Server {
            version: "1.2".to_owned(),
            lab: "lab".to_owned(),
            scheme: "a scheme".to_owned(),
            port: 6380,
            max_clients: options.max_clients,
            started: Instant::now(),
            counters: Counters::default(),
        };
        let texts = RackTexts { keys: options.keys, timeout: 2.0 };
        let commands = Commands::new(options.separate_mset);
        let known = Known::new(options.max_known);
        Self {
            machine: Machine::new(server, commands, texts, known, options.under_way),
            stored: HashMap::new(),
            lost: HashSet::new(),
            under_way: Vec::new(),
            max_under_way: 0,
            calls: Vec::new(),
        }
    }

    pub fn wire(key: &str) -> OwnedKey {
        KEYS.name(key.as_bytes()).unwrap().wire
    }

    pub fn store(&mut self, key: &str, value: &str) {
        self.stored.insert(Self::wire(key), value.as_bytes().to_vec());
    }

    pub fn lose(&mut self, key: &str) {
        self.lost.insert(Self::wire(key));
    }

    /// Sends requests of words that blanks separate.
    pub fn send(&mut self, client: u64, lines: &[&str]) {
        let words = |line: &&str| request(&line.split(' ').collect::<Vec<_>>());
        let bytes: Vec<u8> = lines.iter().flat_map(words).collect();
        self.send_bytes(client, &bytes);
    }

    pub fn send_bytes(&mut self, client: u64, bytes: &[u8]) {
        self.machine.on_input(client, bytes);
        self.take();
    }

    fn take(&mut self) {
        self.calls.extend(self.machine.operations.iter().map(|(_, op)| op.clone()));
        self.under_way.append(&mut self.machine.operations);
        self.max_under_way = self.max_under_way.max(self.under_way.len());
    }

    /// Completes one operation under way, which takes effect now.
    pub fn complete(&mut self, index: usize) {
        let (token, op) = self.under_way.swap_remove(index);
        let outcome = self.execute(&op);
        self.machine.on_completion(Completion { token, outcome });
        self.take();
    }

    fn execute(&mut self, op: &OwnedOp) -> Outcome {
        match op {
            OwnedOp::Get(keys) => match keys.iter().find(|key| self.lost.contains(*key)) {
                Some(key) => {
                    let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
                    Outcome::TimedOut { missing: format!("0x{hex}") }
                }
                None => {
                    Outcome::Values(keys.iter().map(|key| self.stored.get(key).cloned()).collect())
                }
            },
            OwnedOp::Put(key, _) | OwnedOp::Delete(key) if self.lost.contains(key) => {
                Outcome::Unknown
            }
            OwnedOp::Put(key, value) => {
                self.stored.insert(key.clone(), value.clone());
                Outcome::Done
            }
            OwnedOp::Delete(key) => {
                self.stored.remove(key);
                Outcome::Done
            }
        }
    }

    /// Completes all operations, the oldest first.
    pub fn settle(&mut self) {
        while !self.under_way.is_empty() {
            self.complete(0);
        }
    }

    /// Completes all operations in a random order.
    pub fn settle_at_random(&mut self, random: &mut Random) {
        while !self.under_way.is_empty() {
            self.complete(random.below(self.under_way.len()));
        }
    }

    /// Takes the replies that are ready.
    pub fn output(&mut self, client: u64) -> String {
        let mut all = Vec::new();
        while let Some(connection) = self.machine.connection(client) {
            let output = connection.output().to_vec();
            if output.is_empty() {
                break;
            }
            self.machine.on_sent(client, output.len());
            self.take();
            all.extend(output);
        }
        self.machine.touched.clear();
        String::from_utf8_lossy(&all).into_owned()
    }

    /// Sends one request and completes it; returns the reply.
    pub fn call(&mut self, client: u64, line: &str) -> String {
        self.send(client, &[line]);
        self.settle();
        self.output(client)
    }

    /// The reply, which must be an error.
    pub fn error(&mut self, client: u64, line: &str) -> String {
        let reply = self.call(client, line);
        let text = reply.strip_prefix('-').and_then(|it| it.strip_suffix("\r\n"));
        text.unwrap_or_else(|| panic!("{reply:?} is not an error")).to_owned()
    }
}
