//! The coordinator of CoordiMC: it splits requests of clients, sends them to the servers, and
//! answers with all values at once.
//!
//! Rules
//! -----
//! 1. For each request of a client, the coordinator sends one request to each server that has some
//!    of its keys, with a number of its own. Answers are tracked for each key, so duplicated, lost
//!    or reordered replies have no effect. Missing keys are requested again under the same number,
//!    with a back-off whose first wait adapts to the response times.
//! 2. A request is answered when all of its keys are answered, in as few replies as possible.
//! 3. A copy of a request that is under way joins it: only one request of a client and number is
//!    under way at a time. The copy is answered with the keys that are known so far, so that the
//!    client requests only the others again.
//! 4. A request ends with the answers so far when no copy of it has arrived for the time of the
//!    deadline. While the client sends copies, the numbers of rule 1 stay valid: answers of a
//!    server that takes longer than the deadline are accepted.
//! 5. The number of requests under way is limited. Others are answered with "overloaded" at once,
//!    and the client retries later.
//! 6. A write is forwarded with the client and the client's number, by which servers identify it.
//!    So it is applied once, however often the client or the coordinator repeats it, even across a
//!    restart of the coordinator. The coordinator keeps no state about ended requests.
//! 7. Several workers share the load: each has the requests of its clients, and numbers of its own.
//!
//! `task` has the state of a request, this module the rest.

use netkv_wire::multiget::{Addresses, Answer, COORDINATOR_IP, Header, OnBehalf, Op, View};
use netkv_wire::multiget::{write_keys, write_put};
use netkv_wire::{Ip, KV_OFFSET, client_ip, client_of_ip, server_ip};
use rustc_hash::FxHashMap;

use super::config::{CoordinatorConfig, CoordinatorStats};
use super::task::Task;
use crate::common::slots::Slots;
use crate::common::timers::{Timeouts, Timers};
use crate::kits::multiget::results::{send_answer, send_written};
use crate::{Actions, Counts, Nanos};

/// A worker of the coordinator. The module comment has its rules.
#[derive(Debug)]
pub struct Coordinator {
    config: CoordinatorConfig,
    tasks: Slots<Task>,
    spare: Vec<Task>,
    /// The task of a client's request.
    by_request: FxHashMap<(u16, u32), u32>,
    /// The task and part of each request to a server.
    by_number: FxHashMap<u32, (u32, usize)>,
    timers: Timers<u32>,
    timeouts: Timeouts,
    /// How many request numbers were used, modulo their count.
    numbers_used: u32,
    stats: CoordinatorStats,
}

impl Coordinator {
    /// A coordinator with nothing under way.
    ///
    /// # Errors
    ///
    /// A sentence about an invalid setting.
    pub fn new(config: CoordinatorConfig) -> Result<Self, String> {
        config.check()?;
        Ok(Self {
            tasks: Slots::default(),
            spare: Vec::new(),
            by_request: FxHashMap::default(),
            by_number: FxHashMap::default(),
            timers: Timers::new(),
            timeouts: Timeouts::new(config.retry),
            numbers_used: config.first_request % config.number_count(),
            stats: CoordinatorStats::default(),
            config,
        })
    }

    /// Which of `workers` workers handles this frame: requests are assigned by client, replies by
    /// number. Other frames may go to any.
    pub fn worker_of(frame: &[u8], workers: u32) -> u32 {
        let Some(&[op, a, b, c, d]) = frame.get(KV_OFFSET..).and_then(<[u8]>::first_chunk) else {
            return 0;
        };
        // A frame of 42 bytes and more has addresses; a client's number is the end of its address.
        let client = u32::from(u16::from_be_bytes([frame[28], frame[29]]));
        let number = u32::from_be_bytes([a, b, c, d]);
        (if op & Op::REPLY == 0 { client } else { number }) % workers.max(1)
    }

    /// The configuration.
    pub fn config(&self) -> &CoordinatorConfig {
        &self.config
    }

    /// Counts since the start.
    pub fn stats(&self) -> &CoordinatorStats {
        &self.stats
    }

    /// Requests of clients under way.
    pub fn under_way(&self) -> usize {
        self.tasks.len()
    }

    fn on_request(&mut self, now: Nanos, client: u16, view: &View<'_>, out: &mut Actions) {
        let header = *view.header();
        let known = self.by_request.get(&(client, header.id)).copied();
        if let Some(slot) = known {
            self.join(now, slot, &header, out);
            return;
        }
        if self.tasks.len() >= self.config.max_requests {
            self.stats.overloaded += 1;
            self.answer(client_ip(client), &header, Answer::Overloaded, out);
            return;
        }
        let mut task = self.spare.pop().unwrap_or_default();
        task.begin(client, view, self.config.layout.servers);
        task.deadline = now + self.config.deadline;
        self.stats.requests += 1;
        self.stats.keys += u64::from(header.numkey);
        self.stats.writes += u64::from(!header.op.reads());
        self.stats.groups += task.parts.len() as u64;
        for part in &mut task.parts {
            part.number = self.numbers_used * self.config.workers + self.config.worker;
            self.numbers_used = (self.numbers_used + 1) % self.config.number_count();
        }
        let numbers: Vec<u32> = task.parts.iter().map(|part| part.number).collect();
        let slot = self.tasks.add(task);
        for (at, number) in numbers.into_iter().enumerate() {
            self.by_number.insert(number, (slot, at));
        }
        self.by_request.insert((client, header.id), slot);
        self.stats.most_under_way = self.stats.most_under_way.max(self.tasks.len() as u64);
        self.send(now, slot, out);
    }

    /// A copy of a request under way: the client is still waiting.
    fn join(&mut self, now: Nanos, slot: u32, copy: &Header, out: &mut Actions) {
        self.stats.joined += 1;
        let Some(task) = self.tasks.get_mut(slot) else { return };
        task.deadline = now + self.config.deadline;
        self.stats.replies += task.answer(copy, self.config.layout.fields, out);
    }

    /// Sends the requests for missing keys, for the first time or again, and sets the timer.
    fn send(&mut self, now: Nanos, slot: u32, out: &mut Actions) {
        let Some(task) = self.tasks.get_mut(slot) else { return };
        task.attempts += 1;
        task.sent = now;
        task.timer = (now + self.timeouts.wait(task.attempts)).min(task.deadline);
        self.timers.set(task.timer, slot);
        let (client, request) = (task.client, task.header.id);
        let on_behalf = (!task.header.op.reads()).then_some(OnBehalf { client, request });
        let fields = self.config.layout.fields;
        for part in task.parts.iter().filter(|part| part.missing != 0) {
            self.stats.retries += u64::from(task.attempts > 1);
            let destination = server_ip(part.server);
            let addresses = Addresses { source: COORDINATOR_IP, destination, fields };
            let header = task.request_for(part);
            out.send_written(|bytes| {
                let mut names = task.names(part);
                match (header.op, names.clone().next()) {
                    (Op::Put, Some(name)) => {
                        write_put(bytes, &addresses, &header, name, &task.value, on_behalf);
                    }
                    _ => write_keys(bytes, &addresses, &header, names.by_ref(), on_behalf),
                }
            });
        }
    }

    /// A server has answered.
    fn on_reply(&mut self, now: Nanos, view: &View<'_>, out: &mut Actions) {
        let Some(&(slot, at)) = self.by_number.get(&view.header().id) else {
            self.stats.late_replies += 1;
            return;
        };
        let Some(task) = self.tasks.get_mut(slot) else { return };
        if view.source() != server_ip(task.parts[at].server) || view.header().op != task.header.op {
            self.stats.unexpected += 1;
            return;
        }
        match view.answer() {
            Answer::Ok => {
                match task.take(at, view) {
                    None => self.stats.unexpected += 1,
                    Some(new) => self.stats.late_replies += u64::from(!new),
                }
                if task.open > 0 {
                    return;
                }
                let Some(task) = self.end(slot) else { return };
                self.timeouts.answered(task.attempts, now.saturating_sub(task.sent));
                if task.header.op.reads() {
                    let fields = self.config.layout.fields;
                    self.stats.replies += task.answer(&task.header, fields, out);
                } else {
                    self.stats.replies += 1;
                    let addresses = self.addresses_to(client_ip(task.client));
                    let name = task.results.name(0).as_bytes();
                    send_written(&addresses, &task.header, name, Answer::Ok, out);
                }
                self.recycle(task);
            }
            // The server did nothing; the retry timer keeps running.
            Answer::Overloaded => self.stats.busy_servers += 1,
            answer => {
                self.stats.refused += 1;
                let Some(task) = self.end(slot) else { return };
                self.answer(client_ip(task.client), &task.header, answer, out);
                self.recycle(task);
            }
        }
    }

    /// Answers a request with a status only.
    fn answer(&mut self, to: Ip, header: &Header, answer: Answer, out: &mut Actions) {
        self.stats.replies += 1;
        send_answer(&self.addresses_to(to), header, answer, out);
    }

    fn addresses_to(&self, destination: Ip) -> Addresses {
        Addresses { source: COORDINATOR_IP, destination, fields: self.config.layout.fields }
    }

    /// Removes an ended task.
    fn end(&mut self, slot: u32) -> Option<Task> {
        let task = self.tasks.take(slot)?;
        for part in &task.parts {
            self.by_number.remove(&part.number);
        }
        self.by_request.remove(&(task.client, task.header.id));
        Some(task)
    }

    fn recycle(&mut self, task: Task) {
        if self.spare.len() < 1024 {
            self.spare.push(task);
        }
    }
}

impl crate::Coordinator for Coordinator {
    fn on_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions) {
        let Ok(view) = View::parse(bytes, self.config.layout.fields) else {
            self.stats.malformed += 1;
            return;
        };
        match (view.header().reply, client_of_ip(view.source())) {
            _ if view.destination() != COORDINATOR_IP => self.stats.unexpected += 1,
            (true, _) => self.on_reply(now, &view, out),
            (false, Some(client)) => self.on_request(now, client, &view, out),
            (false, None) => self.stats.unexpected += 1,
        }
    }

    fn deadline(&self) -> Option<Nanos> {
        self.timers.next()
    }

    fn on_timer(&mut self, now: Nanos, out: &mut Actions) {
        while let Some((at, slot)) = self.timers.take(now) {
            let Some(task) = self.tasks.get(slot).filter(|task| task.timer == at) else { continue };
            if now < task.deadline {
                self.send(now, slot, out);
                continue;
            }
            self.stats.expired += 1;
            let Some(task) = self.end(slot) else { continue };
            self.stats.replies += task.answer(&task.header, self.config.layout.fields, out);
            self.recycle(task);
        }
    }

    fn counts(&self) -> Counts {
        let mut counts: Counts = self.stats.list().collect();
        counts.push(("under_way", self.tasks.len() as u64));
        counts
    }
}
