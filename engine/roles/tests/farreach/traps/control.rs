//! The controller's messages, played by a script. `netkv/schemes/farreach/` has the real order and
//! retries, and `tests/schemes/farreach/` the tests of the control plane.

use netkv_wire::{
    CONTROLLER_IP, CONTROLLER_SENDER, FrameView, Key, Message, Op, SERVICE_IP, Sequence, Slot,
    Stamp, Status, bits, client_ip,
};

use crate::client::play::{CollectedRecord, records};
use crate::common::frame::Frame;
use crate::common::frame_of;
use crate::common::rack::Harm;
use crate::traps::rack::Rack;
use crate::traps::switch::Row;

/// Errors in the script of the controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptFault {
    /// VALIDATE is sent before all ingress pipelines have the lookup entry.
    ValidateEarly,
    /// Lookup entries are deleted before RETIRE.
    RetireLate,
    /// A dirty record is not restored when its entry is evicted.
    RestoreNothing,
    /// No pipeline is redirected before the snapshot point.
    PointWithoutRedirection,
    /// A recovery takes the record of the snapshot, if there is one.
    SnapshotWins,
    /// A recovery collects from one client process only.
    CollectFromOneClient,
}

/// A record in the replies to EVICT, LOAD, FETCH and COLLECT, and in ORIGINAL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub key: Key,
    pub sequence: Sequence,
    pub value: Option<Vec<u8>>,
    pub bits: u8,
}

impl Record {
    fn read(bytes: &[u8]) -> Self {
        let frame = FrameView::parse(bytes).unwrap();
        let stamp = frame.stamp().expect("a stamped message");
        let deleted = stamp.has(bits::DELETED) || frame.status() == Status::NotFound;
        let value = (!deleted).then(|| frame.value().to_vec());
        Self { key: frame.key(), sequence: stamp.sequence, value, bits: stamp.bits }
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.key, self.sequence, &self.value) == (other.key, other.sequence, &other.value)
    }
}

/// The state of the controller.
#[derive(Debug)]
pub struct Control {
    pub incarnation: u32,
    /// Key, entry and generation of each cached key.
    entries: Vec<(Key, u16, u32)>,
    generation: u32,
    request: u32,
    /// Messages that arrived at the controller.
    received: Vec<Vec<u8>>,
    /// ORIGINALs in the order of their arrival.
    originals: Vec<Record>,
    number: u32,
    /// The records of the entries at the snapshot point.
    at_the_point: Vec<Record>,
    /// The last complete snapshot.
    pub snapshot: Vec<Record>,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            incarnation: 5,
            entries: Vec::new(),
            generation: 0,
            request: 0,
            received: Vec::new(),
            originals: Vec::new(),
            number: 6,
            at_the_point: Vec::new(),
            snapshot: Vec::new(),
        }
    }
}

impl Rack {
    // ------------------------------------------------------------------------- messages

    fn message(
        &mut self,
        to: [u8; 4],
        op: Op,
        key: Key,
        stamp: Stamp,
        tail: (Slot, &[u8]),
    ) -> Frame {
        self.control.request += 1;
        let (sender, request) = (CONTROLLER_SENDER, self.control.request);
        let message = Message::request(CONTROLLER_IP, to, op, sender, request, key);
        let message = message.with_stamp(stamp).with_value(tail.1);
        let placed = if op.has_slot() { message.with_slot(tail.0) } else { message };
        Frame::to_switch(frame_of(&placed))
    }

    /// A message about an entry.
    pub fn about(&mut self, op: Op, key: Key, entry: u16, generation: u32) -> Frame {
        let stamp = Stamp { generation, ..Stamp::default() };
        let number = if op == Op::Load || op == Op::Evict { self.control.number } else { 0 };
        self.message(SERVICE_IP, op, key, stamp, (Slot { entry, number }, &[]))
    }

    /// Sends a message and delivers all frames. Returns the answer.
    fn send_and_run(&mut self, frame: &Frame) -> Option<Vec<u8>> {
        let number = FrameView::parse(&frame.bytes).unwrap().request();
        self.now(frame);
        let is = |bytes: &&Vec<u8>| {
            let received = FrameView::parse(bytes).unwrap();
            (received.sender(), received.request()) == (CONTROLLER_SENDER, number)
        };
        self.control.received.iter().find(is).cloned()
    }

    pub fn on_controller(&mut self, bytes: &[u8]) {
        let frame = FrameView::parse(bytes).unwrap();
        match frame.op() {
            Op::Hello => {
                let sequence = Sequence { incarnation: self.control.incarnation, number: 0 };
                let stamp = Stamp { sequence, ..Stamp::default() };
                let reply = frame_of(&frame.reply(Status::Ok).with_stamp(stamp));
                self.wire.push_back(Frame::to_switch(reply));
            }
            Op::Original => self.control.originals.push(Record::read(bytes)),
            _ => self.control.received.push(bytes.to_vec()),
        }
    }

    // ------------------------------------------------------------------------ admission

    /// Fetches the record of a key from its server.
    pub fn fetch(&mut self, key: Key) -> Record {
        let fetch =
            self.message(SERVICE_IP, Op::Fetch, key, Stamp::default(), (Slot::default(), &[]));
        Record::read(&self.send_and_run(&fetch).expect("an answer to FETCH"))
    }

    /// A FILL with a new generation, and the generation.
    pub fn fill_with(&mut self, record: &Record, entry: u16) -> (Frame, u32) {
        self.control.generation += 1;
        let generation = self.control.generation;
        let bits = if record.value.is_none() { bits::DELETED } else { 0 };
        let stamp = Stamp { sequence: record.sequence, generation, bits };
        let tail = (Slot { entry, number: 0 }, record.value.as_deref().unwrap_or_default());
        (self.message(SERVICE_IP, Op::Fill, record.key, stamp, tail), generation)
    }

    /// Writes the lookup entry in one pipeline.
    pub fn insert(&mut self, pipeline: usize, key: Key, entry: u16, generation: u32) {
        self.switch.insert(pipeline, &key, entry, generation);
        let known = (key, entry, generation);
        if !self.control.entries.contains(&known) {
            self.control.entries.push(known);
        }
    }

    pub fn insert_everywhere(&mut self, key: Key, entry: u16, generation: u32) {
        for pipeline in 0..self.switch.pipelines() {
            self.insert(pipeline, key, entry, generation);
        }
    }

    pub fn validate(&mut self, key: Key, entry: u16, generation: u32) {
        let validate = self.about(Op::Validate, key, entry, generation);
        self.send_and_run(&validate);
    }

    /// Admits a record: FILL, lookup entries, VALIDATE. Returns the FILL and its generation.
    pub fn admit(&mut self, record: &Record, entry: u16) -> (Frame, u32) {
        let (fill, generation) = self.fill_with(record, entry);
        self.send_and_run(&fill);
        self.insert_everywhere(record.key, entry, generation);
        self.validate(record.key, entry, generation);
        (fill, generation)
    }

    /// Admits the key with its server's record to entry 0. Returns the generation.
    pub fn cache(&mut self) -> u32 {
        let record = self.fetch(self.key);
        self.admit(&record, 0).1
    }

    // ------------------------------------------------------------------------- eviction

    /// Sends EVICT. Returns the current record.
    pub fn freeze(&mut self, key: Key) -> Option<Record> {
        let (_, entry, generation) = *self.entry(key)?;
        let evict = self.about(Op::Evict, key, entry, generation);
        let answer = self.send_and_run(&evict)?;
        let status = FrameView::parse(&answer).unwrap().status();
        (status == Status::Ok).then(|| Record::read(&answer))
    }

    /// A RESTORE of a record to its server.
    pub fn restoring(&mut self, record: &Record) -> Frame {
        let bits = if record.value.is_none() { bits::DELETED } else { 0 };
        let stamp = Stamp { sequence: record.sequence, generation: 0, bits };
        let value = record.value.as_deref().unwrap_or_default();
        self.message(SERVICE_IP, Op::Restore, record.key, stamp, (Slot::default(), value))
    }

    pub fn restore(&mut self, record: &Record) {
        let restore = self.restoring(record);
        self.send_and_run(&restore);
    }

    pub fn retire(&mut self, key: Key) {
        if let Some((_, entry, generation)) = self.entry(key).copied() {
            let retire = self.about(Op::Retire, key, entry, generation);
            self.send_and_run(&retire);
        }
    }

    /// Deletes the lookup entry in these pipelines.
    pub fn remove(&mut self, key: Key, pipelines: &[usize]) {
        for pipeline in pipelines {
            self.switch.remove(*pipeline, &key);
        }
        self.control.entries.retain(|(cached, ..)| *cached != key);
    }

    pub fn remove_everywhere(&mut self, key: Key) {
        let all: Vec<usize> = (0..self.switch.pipelines()).collect();
        self.remove(key, &all);
    }

    /// Evicts a key, with the controller's error, if it has one.
    pub fn evict(&mut self, key: Key) {
        self.evict_entry(key, self.has_fault(ScriptFault::RestoreNothing));
    }

    /// Evicts a key correctly.
    pub fn evict_correctly(&mut self, key: Key) {
        self.evict_entry(key, false);
    }

    fn evict_entry(&mut self, key: Key, restores_nothing: bool) {
        let Some(record) = self.freeze(key) else { return };
        if record.bits & bits::DIRTY != 0 && !restores_nothing {
            self.restore(&record);
        }
        self.retire(key);
        self.remove_everywhere(key);
    }

    fn entry(&self, key: Key) -> Option<&(Key, u16, u32)> {
        self.control.entries.iter().find(|(cached, ..)| *cached == key)
    }

    // ------------------------------------------------------------------------- snapshot

    fn load_all(&mut self) -> Vec<Record> {
        let entries = self.control.entries.clone();
        let load = |(key, entry, generation): (Key, u16, u32)| {
            let load = self.about(Op::Load, key, entry, generation);
            Record::read(&self.send_and_run(&load).expect("an answer to LOAD"))
        };
        let loaded: Vec<Record> = entries.into_iter().map(load).collect();
        loaded.into_iter().filter(|record| record.bits & bits::VALID != 0).collect()
    }

    /// Redirects writes in all pipelines but 0, then pipeline 0 takes the snapshot.
    pub fn pass_the_point(&mut self) {
        self.control.number += 1;
        if !self.has_fault(ScriptFault::PointWithoutRedirection) {
            for pipeline in 1..self.switch.pipelines() {
                self.switch.take(pipeline, Row::Redirect);
            }
        }
        self.control.originals.clear();
        self.switch.take(0, Row::Taking(self.control.number));
        self.control.at_the_point = self.load_all();
    }

    /// The other pipelines take the snapshot, too; its records are loaded, and it ends.
    pub fn finish_the_snapshot(&mut self) {
        for pipeline in 1..self.switch.pipelines() {
            self.switch.take(pipeline, Row::Taking(self.control.number));
        }
        self.run();
        let mut snapshot = Vec::new();
        for loaded in self.load_all() {
            if loaded.bits & bits::OVERWRITTEN == 0 {
                snapshot.push(loaded);
                continue;
            }
            let mut originals = self.control.originals.iter();
            match originals.find(|original| original.key == loaded.key) {
                Some(original) => snapshot.push(original.clone()),
                None => return self.end_the_snapshot(), // Incomplete: it is discarded.
            }
        }
        let points = &self.control.at_the_point;
        let torn = |record: &Record| !points.iter().any(|point| point.is_same(record));
        if snapshot.iter().any(torn) {
            self.harm.insert(Harm::TornSnapshot);
        }
        self.control.snapshot = snapshot;
        self.end_the_snapshot();
    }

    fn end_the_snapshot(&mut self) {
        for pipeline in 0..self.switch.pipelines() {
            self.switch.take(pipeline, Row::Idle);
        }
    }

    // ------------------------------------------------------------------------- recovery

    /// The switch loses all its state, and waits for its next incarnation.
    pub fn crash(&mut self) {
        self.switch.restart();
        self.control.entries.clear();
        self.control.incarnation = self.control.incarnation.wrapping_add(2);
    }

    /// Collects the preserved records of a client process.
    pub fn collect(&mut self, client: u16) -> Vec<Record> {
        let sequence = Sequence { incarnation: self.control.incarnation, number: 0 };
        let stamp = Stamp { sequence, ..Stamp::default() };
        let to = client_ip(client);
        let collect = self.message(to, Op::Collect, [0; 16], stamp, (Slot::default(), &[]));
        let answer = self.send_and_run(&collect).expect("an answer to COLLECT");
        let records = records(FrameView::parse(&answer).unwrap().value()).into_iter();
        let record =
            |CollectedRecord { key, sequence, value }| Record { key, sequence, value, bits: 0 };
        records.map(record).collect()
    }

    /// Restores the newest of these records and of the last snapshot, informs the clients, and
    /// opens the switch.
    pub fn recover_with(&mut self, mut records: Vec<Record>) {
        records.extend(self.control.snapshot.clone());
        let mut newest: Vec<Record> = Vec::new();
        for record in records {
            match newest.iter_mut().find(|known| known.key == record.key) {
                Some(known) => {
                    let wins = self.has_fault(ScriptFault::SnapshotWins);
                    if wins || record.sequence.is_newer(known.sequence) {
                        *known = record;
                    }
                }
                None => newest.push(record),
            }
        }
        for record in &newest {
            self.restore(record);
        }
        self.switch.set_incarnation(self.control.incarnation);
        let sequence = Sequence { incarnation: self.control.incarnation, number: 0 };
        let stamp = Stamp { sequence, ..Stamp::default() };
        for client in [1, 2] {
            let to = client_ip(client);
            let recovered = self.message(to, Op::Recovered, [0; 16], stamp, (Slot::default(), &[]));
            self.send_and_run(&recovered);
        }
        self.switch.open();
    }

    pub fn recover(&mut self) {
        let mut records = self.collect(1);
        if !self.has_fault(ScriptFault::CollectFromOneClient) {
            records.extend(self.collect(2));
        }
        self.recover_with(records);
    }

    // ---------------------------------------------------------------------------- other

    /// Sends `count` WATERMARKs to the server, 200 seconds apart.
    pub fn watermarks(&mut self, count: u32) {
        for _ in 0..count {
            self.control.number += 1;
            let sequence = Sequence { incarnation: 0, number: self.control.number };
            let stamp = Stamp { sequence, ..Stamp::default() };
            let to = netkv_wire::server_ip(0);
            let watermark = self.message(to, Op::Watermark, [0; 16], stamp, (Slot::default(), &[]));
            self.send_and_run(&watermark);
            self.wait(200 * netkv_roles::SECOND);
        }
    }
}
