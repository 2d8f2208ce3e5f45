//! A client process of FarReach against a switch, servers and a controller, which the script plays.
//!
//! A script checks its expectations with [`Play::expect`]; it continues after a failed one.

use netkv_roles::farreach::Client;
use netkv_roles::kits::write_back::clients::WINDOW;
use netkv_roles::mutation::{Chosen, choose};
use netkv_roles::{
    Actions, Backoff, Client as _, ClientConfig, ClientCounts, ClientStats, LoadClient as _,
    MILLISECOND, Mutation, Nanos, SECOND, initial_value,
};
use netkv_wire::{
    CONTROLLER_IP, CONTROLLER_SENDER, FrameView, Key, Message, Op, Sequence, Stamp, Status, bits,
    client_ip, write_frame,
};
use netkv_workload::{
    Arrivals, Mix, Popularity, ValueSize, Workload, WorkloadConfig, key_id, key_of,
};

/// Incarnation of the switch when a script begins.
pub const INCARNATION: u32 = 5;
/// Bytes of a value.
pub const SIZE: usize = 32;
pub const KEYS: u64 = 64;

/// A record in a reply to COLLECT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectedRecord {
    pub key: Key,
    pub sequence: Sequence,
    pub value: Option<Vec<u8>>,
}

pub struct Play {
    _chosen: Chosen,
    pub now: Nanos,
    pub client: Client,
    /// Failed expectations.
    pub failures: Vec<String>,
    pub out: Actions,
    /// The records that a script expects to collect.
    pub newest: Vec<CollectedRecord>,
    /// HELLOs and BYEs that were sent.
    pub registrations: Vec<Vec<u8>>,
    control_request: u32,
}

pub const fn at(incarnation: u32, number: u32) -> Sequence {
    Sequence { incarnation, number }
}

pub fn stamp(sequence: Sequence, bits: u8) -> Stamp {
    Stamp { sequence, generation: 0, bits }
}

impl Play {
    /// With the HELLO answered.
    pub fn new(mutation: Option<Mutation>) -> Self {
        let mut play = Self::unknown_to_the_controller(mutation);
        play.answer_hello(INCARNATION);
        play
    }

    /// With a HELLO under way.
    pub fn unknown_to_the_controller(mutation: Option<Mutation>) -> Self {
        let config = ClientConfig {
            window: WINDOW,
            retry: Backoff { initial: 10 * MILLISECOND, cap: 40 * MILLISECOND },
            deadline: 5 * SECOND,
            ..ClientConfig::new(2, Arrivals::Closed { outstanding: 0 })
        };
        let workload = WorkloadConfig {
            popularity: Popularity::Uniform,
            value_size: ValueSize::Fixed(SIZE),
            ..WorkloadConfig::new(KEYS, Mix::YCSB_C, 1)
        };
        let workload = Workload::new(workload).unwrap();
        let client = Client::new(config, workload).unwrap();
        let mut play = Self {
            _chosen: choose(mutation),
            now: SECOND,
            client,
            failures: Vec::new(),
            out: Actions::new(),
            newest: Vec::new(),
            registrations: Vec::new(),
            control_request: 0,
        };
        play.client.start(play.now, &mut play.out);
        play.poll();
        play
    }

    pub fn expect(&mut self, fine: bool, failure: &str) {
        if !fine {
            self.failures.push(failure.to_owned());
        }
    }

    /// The frames that the client sends. HELLO and BYE go to `registrations` instead.
    fn sent(&mut self) -> Vec<Vec<u8>> {
        let frames: Vec<Vec<u8>> = self.out.frames().map(<[u8]>::to_vec).collect();
        self.out.clear();
        let ops = |bytes: &Vec<u8>| matches!(op_of(bytes), Op::Hello | Op::Bye);
        let (registrations, sent) = frames.into_iter().partition(ops);
        self.registrations.extend::<Vec<Vec<u8>>>(registrations);
        sent
    }

    pub fn poll(&mut self) -> Vec<Vec<u8>> {
        self.client.poll(self.now, &mut self.out);
        self.sent()
    }

    /// Advances the time. Returns the frames that are sent meanwhile.
    pub fn wait(&mut self, time: Nanos) -> Vec<Vec<u8>> {
        let end = self.now + time;
        let mut sent = Vec::new();
        while let Some(due) = self.client.deadline().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            sent.extend(self.poll());
        }
        self.now = end;
        sent
    }

    pub fn arrive(&mut self, message: &Message<'_>) -> Vec<Vec<u8>> {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, message);
        self.client.on_frame(self.now, &bytes, &mut self.out);
        self.sent()
    }

    pub fn counts(&self) -> ClientCounts {
        *self.client.counts()
    }

    pub fn take_stats(&mut self) -> ClientStats {
        let mut stats = ClientStats::default();
        self.client.take_stats(&mut stats);
        stats
    }

    /// Number of preserved records.
    pub fn kept(&self) -> usize {
        self.client.preserved().records
    }

    // ------------------------------------------------------------------------- requests

    pub fn read(&mut self, key: Key) -> Vec<u8> {
        self.begin(Mix::YCSB_C, SIZE, key)
    }

    pub fn write(&mut self, key: Key) -> Vec<u8> {
        self.write_of(SIZE, key)
    }

    pub fn write_of(&mut self, size: usize, key: Key) -> Vec<u8> {
        self.begin(Mix::writes(1.0, 0.0), size, key)
    }

    pub fn delete(&mut self, key: Key) -> Vec<u8> {
        self.begin(Mix::writes(1.0, 1.0), SIZE, key)
    }

    pub fn read_modify_write(&mut self, key: Key) -> Vec<u8> {
        let mix = Mix { read: 0.0, read_modify_write: 1.0, ..Mix::YCSB_C };
        self.begin(mix, SIZE, key)
    }

    fn begin(&mut self, mix: Mix, size: usize, key: Key) -> Vec<u8> {
        let workload = &mut self.client.load_mut().workload;
        workload.set_mix(mix).unwrap();
        workload.set_value_size(ValueSize::Fixed(size)).unwrap();
        // The next draw must have the key.
        while workload.clone().draw().key != key {
            workload.draw();
        }
        let outstanding = self.client.outstanding() as u32 + 1;
        self.client.set_arrivals(self.now, Arrivals::Closed { outstanding }, &mut self.out);
        let mut sent = self.sent();
        let none = Arrivals::Closed { outstanding: 0 };
        self.client.set_arrivals(self.now, none, &mut self.out);
        assert_eq!(sent.len(), 1, "the client may start a request");
        sent.remove(0)
    }

    // -------------------------------------------------------------------------- answers

    /// The switch answers a request: a write that it has applied, or a read, with this record.
    pub fn hit(&mut self, request: &[u8], sequence: Sequence, value: Option<&[u8]>) {
        self.answer(request, stamp(sequence, bits::DIRTY), value, true);
    }

    /// A server answers.
    pub fn miss(&mut self, request: &[u8], sequence: Sequence, value: Option<&[u8]>) {
        self.answer(request, stamp(sequence, 0), value, false);
    }

    pub fn answer(&mut self, request: &[u8], stamp: Stamp, value: Option<&[u8]>, cache_hit: bool) {
        let frame = FrameView::parse(request).unwrap();
        let found = frame.op() != Op::Get || value.is_some();
        let reply = frame.reply(if found { Status::Ok } else { Status::NotFound });
        let value = value.filter(|_| frame.op() == Op::Get).unwrap_or_default();
        let reply = reply.with_stamp(stamp).with_value(value);
        self.arrive(&Message { cache_hit, ..reply });
    }

    /// Writes a key, and the switch applies the write. Returns the value.
    pub fn write_hit(&mut self, key: Key, sequence: Sequence) -> Vec<u8> {
        let request = self.write(key);
        self.hit(&request, sequence, None);
        value_of(&request)
    }

    // ----------------------------------------------------------------------- controller

    pub fn answer_hello(&mut self, incarnation: u32) {
        let hello = self.registrations.last().cloned().expect("HELLO comes first");
        self.answer_registration(&hello, incarnation);
    }

    pub fn answer_registration(&mut self, request: &[u8], incarnation: u32) {
        let frame = FrameView::parse(request).unwrap();
        let reply = frame.reply(Status::Ok);
        let sequence = at(incarnation, 0);
        self.arrive(&reply.with_stamp(Stamp { sequence, ..Stamp::default() }));
    }

    /// Delivers a message of the controller. Returns the answer, if there is one.
    pub fn control(&mut self, op: Op, sequence: Sequence, value: &[u8]) -> Option<Vec<u8>> {
        self.control_request += 1;
        let (from, to, request) = (CONTROLLER_IP, client_ip(1), self.control_request);
        let message = Message::request(from, to, op, CONTROLLER_SENDER, request, [0; 16]);
        let stamp = Stamp { sequence, ..Stamp::default() };
        let mut sent = self.arrive(&message.with_stamp(stamp).with_value(value));
        assert!(sent.len() <= 1, "one message, one answer");
        let answer = sent.pop()?;
        let frame = FrameView::parse(&answer).unwrap();
        assert_eq!((frame.op(), frame.source()), (op.reply(), to));
        assert_eq!((frame.destination(), frame.sender()), (from, CONTROLLER_SENDER));
        assert_eq!(frame.request(), request);
        Some(answer)
    }

    /// Delivers part `part` of the `parts` of a RELEASE. Returns whether it is answered.
    pub fn part(&mut self, snapshot: u32, part: u16, parts: u16, list: &[(Key, Sequence)]) -> bool {
        let number = u32::from(part) << 16 | u32::from(parts);
        self.control(Op::Release, at(snapshot, number), &pairs(list)).is_some()
    }

    /// A RELEASE in one part.
    pub fn release(&mut self, snapshot: u32, list: &[(Key, Sequence)]) {
        self.part(snapshot, 0, 1, list);
    }

    /// One page of a COLLECT: the records from `from` on, and the total number; none without an
    /// answer.
    pub fn page(&mut self, incarnation: u32, from: u32) -> Option<(Vec<CollectedRecord>, u32)> {
        let answer = self.control(Op::Collect, at(incarnation, from), &[])?;
        let frame = FrameView::parse(&answer).unwrap();
        let Sequence { incarnation: echoed, number } = frame.stamp().unwrap().sequence;
        assert_eq!(echoed, incarnation);
        Some((records(frame.value()), number))
    }

    /// All records of a COLLECT.
    pub fn collect(&mut self, incarnation: u32) -> Vec<CollectedRecord> {
        let mut collected = Vec::new();
        loop {
            let Some((page, count)) = self.page(incarnation, collected.len() as u32) else {
                return collected;
            };
            collected.extend(page);
            if collected.len() >= count as usize {
                assert_eq!(collected.len(), count as usize);
                return collected;
            }
        }
    }

    pub fn recovered(&mut self, incarnation: u32) -> bool {
        self.control(Op::Recovered, at(incarnation, 0), &[]).is_some()
    }
}

pub fn op_of(bytes: &[u8]) -> Op {
    FrameView::parse(bytes).unwrap().op()
}

pub fn value_of(bytes: &[u8]) -> Vec<u8> {
    FrameView::parse(bytes).unwrap().value().to_vec()
}

pub fn stamp_of(bytes: &[u8]) -> Option<Stamp> {
    FrameView::parse(bytes).unwrap().stamp()
}

/// The initial value of a key.
pub fn initial_value_of(key: Key) -> Vec<u8> {
    let mut value = vec![0; SIZE];
    initial_value(&key, &mut value);
    value
}

pub fn key(id: u64) -> Key {
    assert!(id < KEYS);
    let key = key_of(id);
    assert_eq!(key_id(&key), Some(id));
    key
}

fn pairs(list: &[(Key, Sequence)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (key, sequence) in list {
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(&sequence.incarnation.to_be_bytes());
        bytes.extend_from_slice(&sequence.number.to_be_bytes());
    }
    bytes
}

/// The records of a reply to COLLECT.
pub fn records(mut bytes: &[u8]) -> Vec<CollectedRecord> {
    let mut collected = Vec::new();
    while !bytes.is_empty() {
        let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        let length = usize::from(u16::from_be_bytes([bytes[25], bytes[26]]));
        let value = bytes[27..27 + length].to_vec();
        let deleted = bytes[24] == bits::DELETED;
        assert!(!deleted || length == 0, "a deleted key has no value");
        collected.push(CollectedRecord {
            key: bytes[..16].try_into().unwrap(),
            sequence: at(word(16), word(20)),
            value: (!deleted).then_some(value),
        });
        bytes = &bytes[27 + length..];
    }
    collected
}
