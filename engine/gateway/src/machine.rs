//! The gateway without sockets: bytes of clients and completions of the rack go in; bytes for
//! clients and operations for the rack come out.
//!
//! Rules
//! -----
//! 1. Replies of a connection are in the order of its requests.
//! 2. Commands of one connection are executed concurrently. If two have a key in common and one of
//!    them writes, the later one starts when the earlier one has ended.
//! 3. A command starts when there are permits for all its keys. Waiting commands get them in order,
//!    so a command of many keys is not overtaken for ever.
//! 4. If a client disconnects, commands that have started are completed and waiting ones dropped.
//! 5. When the rack is lost, every command that was not answered is answered with an error.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use netkv_rack::session::OwnedOp;
use netkv_roles::{Completion, Outcome, Slots};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::command::{Action, Command, KeyWords, Stored};
use crate::commands::Commands;
use crate::connection::Connection;
use crate::failure::RackTexts;
use crate::foreign;
use crate::known::Known;
use crate::order::CommandId;
use crate::permits::Permits;
use crate::reply::{Reply, Version, failure};
use crate::request::ProtocolError;
use crate::server::Server;
use crate::words::Words;
use crate::work::{Operating, Work, of_token};

/// A command of the rack that was not answered.
#[derive(Debug)]
struct Pending {
    connection: u64,
    /// The number of its reply.
    slot: u64,
    /// Of the protocol, when the command was sent: a later HELLO may change it before the reply.
    version: Version,
    /// Of its keys; `None`: it concerns all.
    hashes: Option<SmallVec<[u64; 1]>>,
    /// How often it is in the `followers` of other commands.
    waits_for: u32,
    /// The commands that wait for it.
    followers: Vec<CommandId>,
    permits: u32,
    work: Work,
}

/// The gateway without sockets: see the module.
#[derive(Debug)]
pub struct Machine {
    server: Server,
    commands: Commands,
    texts: RackTexts,
    known: Known,
    connections: FxHashMap<u64, Connection>,
    last_connection: u64,
    pending: Slots<Pending>,
    permits: Permits,
    /// Commands that have their permits and were not started.
    ready: VecDeque<CommandId>,
    /// Why the rack is lost.
    lost: Option<String>,
    /// Operations to submit to the rack, with their tokens.
    pub operations: Vec<(u64, OwnedOp)>,
    /// Connections that may have output, or have finished.
    pub touched: Vec<u64>,
}

impl Machine {
    /// A gateway without clients; `under_way` limits its concurrent operations.
    pub fn new(
        server: Server,
        commands: Commands,
        texts: RackTexts,
        known: Known,
        under_way: u32,
    ) -> Self {
        Self {
            server,
            commands,
            texts,
            known,
            connections: FxHashMap::default(),
            last_connection: 0,
            pending: Slots::default(),
            permits: Permits::new(under_way),
            ready: VecDeque::new(),
            lost: None,
            operations: Vec::new(),
            touched: Vec::new(),
        }
    }

    /// Adds a client; returns its number. At the limit of clients it gets an error, and leaves.
    pub fn connect(&mut self) -> u64 {
        self.last_connection += 1;
        let id = self.last_connection;
        let mut connection = Connection::default();
        connection.client.id = id;
        self.connections.insert(id, connection);
        let counters = &mut self.server.counters;
        counters.connections += 1;
        counters.connected = self.connections.len();
        if counters.connected > self.server.max_clients {
            counters.rejected += 1;
            self.reply(id, &failure("ERR max number of clients reached"));
            self.leave(id);
        }
        id
    }

    /// Removes a client that is disconnected.
    pub fn remove(&mut self, id: u64) {
        self.connections.remove(&id);
        self.server.counters.connected = self.connections.len();
    }

    /// No more requests are accepted from anyone.
    pub fn drain(&mut self) {
        let all: Vec<u64> = self.connections.keys().copied().collect();
        all.into_iter().for_each(|id| self.leave(id));
    }

    fn leave(&mut self, id: u64) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.leaving = true;
            self.touch(id);
        }
    }

    fn touch(&mut self, id: u64) {
        // Most replies that become ready together are of one client.
        if self.touched.last() != Some(&id) {
            self.touched.push(id);
        }
    }

    /// Counts the connections that were closed because they spoke another protocol.
    pub fn foreign(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.server.counters.foreign)
    }

    /// A client; `None` if it was removed.
    pub fn connection(&self, id: u64) -> Option<&Connection> {
        self.connections.get(&id)
    }

    /// Bytes have arrived.
    pub fn on_input(&mut self, id: u64, data: &[u8]) {
        self.server.counters.bytes_in += data.len() as u64;
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if !connection.leaving {
            connection.requests.feed(data);
            self.advance(id);
        }
    }

    /// A client has closed its side.
    pub fn on_end_of_input(&mut self, id: u64) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.input_ended = true;
            self.advance(id);
        }
    }

    /// Some bytes of a client's output were sent, so further requests may begin.
    pub fn on_sent(&mut self, id: u64, bytes: usize) {
        self.server.counters.bytes_out += bytes as u64;
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.on_sent(bytes);
            self.advance(id);
        }
    }

    /// An operation has ended.
    pub fn on_completion(&mut self, completion: Completion) {
        let (id, part) = of_token(completion.token);
        if self.on_outcome(id, part, completion.outcome) {
            self.end(id);
            self.start_ready();
        }
    }

    /// The rack is lost for good.
    pub fn on_rack_lost(&mut self, why: &str) {
        for pending in mem::take(&mut self.pending).into_values() {
            if let Some(connection) = self.connections.get_mut(&pending.connection) {
                let reply = not_connected(why);
                connection.fill(pending.slot, |out| reply.write(pending.version, out));
                connection.order = Default::default();
                self.server.counters.errors += 1;
            }
        }
        self.permits.reset();
        self.ready.clear();
        self.operations.clear();
        self.lost = Some(why.to_owned());
        self.drain();
    }

    /// Begins received requests as far as the limits of the connection allow.
    fn advance(&mut self, id: u64) {
        self.touch(id);
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let mut requests = mem::take(&mut connection.requests);
        while let Some(connection) = self.connections.get_mut(&id)
            && connection.may_begin()
        {
            match requests.next_request() {
                Ok(Some(request)) => self.begin(id, &request),
                Ok(None) => {
                    connection.leaving = connection.input_ended;
                    break;
                }
                Err(ProtocolError::Malformed(text)) => {
                    connection.leaving = true;
                    self.reply(id, &failure(format!("ERR Protocol error: {text}")));
                }
                Err(ProtocolError::Foreign) => self.refuse_foreign(id),
            }
        }
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.requests = requests;
        }
    }

    /// Closes the connection of a client that speaks another protocol, without a reply.
    fn refuse_foreign(&mut self, id: u64) {
        self.server.counters.foreign.fetch_add(1, Ordering::Relaxed);
        self.leave(id);
    }

    fn begin(&mut self, id: u64, request: &Words<'_>) {
        if foreign::is_foreign(request, |name| self.commands.named(name).is_some()) {
            return self.refuse_foreign(id);
        }
        self.server.counters.commands += 1;
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let client = &mut connection.client;
        let reply = match self.commands.find(client, request) {
            Err(error) => error,
            Ok(command) => match command.action {
                Action::Local(run) => run(client, &self.server, request),
                Action::Catalogue(run) => run(self.commands.list(), request),
                Action::Container => crate::command::wrong_number(command.name),
                Action::Stored(stored) => match &self.lost {
                    Some(why) => not_connected(why),
                    None => return self.begin_stored(id, command, stored, request),
                },
            },
        };
        connection.leaving |= connection.client.quits;
        self.reply(id, &reply);
    }

    /// Adds the reply to a command that the gateway has executed itself.
    fn reply(&mut self, id: u64, reply: &Reply) {
        self.server.counters.errors += u64::from(matches!(reply, Reply::Failure(_)));
        if let Some(connection) = self.connections.get_mut(&id) {
            let (slot, version) = (connection.add_slot(1), connection.client.version);
            connection.fill(slot, |out| reply.write(version, out));
        }
    }

    fn begin_stored(
        &mut self,
        connection_id: u64,
        command: &Command,
        stored: Stored,
        request: &Words<'_>,
    ) {
        let Some(connection) = self.connections.get_mut(&connection_id) else { return };
        let known = &self.known;
        let hashes: Option<SmallVec<[u64; 1]>> = (command.keys != KeyWords::None)
            .then(|| command.keys(request).map(|key| known.hash(key)).collect());
        let operations = hashes.as_ref().map_or(1, SmallVec::len);
        let id = self.pending.add(Pending {
            connection: connection_id,
            slot: connection.add_slot(operations + request.size() / 1024),
            version: connection.client.version,
            hashes: hashes.clone(),
            waits_for: 0,
            followers: Vec::new(),
            permits: self.permits.most(operations),
            work: Work::new(stored, command, request, &self.texts.keys, known),
        });
        let (pending, mut waits_for) = (&mut self.pending, 0);
        connection.order.enter(id, hashes.as_deref(), command.writes(), |other| {
            if let Some(other) = pending.get_mut(other) {
                other.followers.push(id);
                waits_for += 1;
            }
        });
        if waits_for == 0 {
            self.take_permits(id);
            self.start_ready();
        } else if let Some(it) = pending.get_mut(id) {
            it.waits_for = waits_for;
        }
    }

    fn take_permits(&mut self, id: CommandId) {
        let Some(pending) = self.pending.get_mut(id) else { return };
        if self.permits.take(pending.permits, id) {
            self.ready.push_back(id);
        }
    }

    fn start_ready(&mut self) {
        while let Some(id) = self.ready.pop_front() {
            let Some(pending) = self.pending.get_mut(id) else { continue };
            let wanted = self.connections.contains_key(&pending.connection);
            let mut rack = Operating {
                texts: &self.texts,
                known: &mut self.known,
                counters: &mut self.server.counters,
                operations: &mut self.operations,
                command: id,
            };
            if !wanted || pending.work.start(&mut rack) {
                self.end(id);
            }
        }
    }

    /// Returns whether the command has ended.
    fn on_outcome(&mut self, id: CommandId, part: u32, outcome: Outcome) -> bool {
        let Some(pending) = self.pending.get_mut(id) else { return false };
        let mut rack = Operating {
            texts: &self.texts,
            known: &mut self.known,
            counters: &mut self.server.counters,
            operations: &mut self.operations,
            command: id,
        };
        pending.work.on_outcome(part, outcome, &mut rack)
    }

    /// Replies to a command that has ended, and lets those start that have waited for it.
    fn end(&mut self, id: CommandId) {
        let Some(pending) = self.pending.take(id) else { return };
        if let Some(connection) = self.connections.get_mut(&pending.connection) {
            connection.order.leave(id, pending.hashes.as_deref());
            let mut is_error = false;
            connection.fill(pending.slot, |out| {
                is_error = pending.work.write_reply(&self.known, pending.version, out);
            });
            self.server.counters.errors += u64::from(is_error);
            self.touch(pending.connection);
        }
        self.permits.give_back(pending.permits);
        for follower in pending.followers {
            let Some(it) = self.pending.get_mut(follower) else { continue };
            it.waits_for -= 1;
            if it.waits_for == 0 {
                self.take_permits(follower);
            }
        }
        while let Some(next) = self.permits.next() {
            self.ready.push_back(next);
        }
    }
}

fn not_connected(why: &str) -> Reply {
    failure(format!("NOTCONNECTED {why}"))
}

#[cfg(test)]
mod tests;
