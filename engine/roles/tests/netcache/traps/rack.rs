//! A rack whose frames are handed over one by one: a client process, the real switch program, a
//! server with its store, and the control plane's messages as a script.
//!
//! A frame is on its way to the switch, or from the switch to a host. What a role sends is put on
//! the wire; a script takes it off to hold, drop, double or reorder it, or lets it run.

use std::collections::{BTreeSet, VecDeque};

use netkv_roles::netcache::{self, Server};
use netkv_roles::plain::Client;
use netkv_roles::single_key::ServerConfig;
use netkv_roles::{
    Actions, Backoff, Client as _, ClientConfig, MILLISECOND, MemoryStore, Mutation, Nanos, SECOND,
    Server as _, StoreOp, StoreResult, WriteId, read_writer,
};
use netkv_wire::{FrameView, Key, Op, Status};
use netkv_workload::{Arrivals, Mix, ValueSize, Workload, WorkloadConfig, key_of};

use crate::common::OwnedCall;
use crate::common::frame::{Frame, has_good_udp_checksum};
use crate::common::register::Register;
use crate::common::switch::{Node, Switch};
use crate::traps::control::Slip;
use crate::traps::judge::Harm;

/// Bytes of a value, unless a script says otherwise; they fill [`BITMAP`].
pub const SIZE: usize = 64;
pub const BITMAP: u8 = 0b1111;

const READS: Mix = Mix::YCSB_C;
const WRITES: Mix = Mix::writes(1.0, 0.0);
const DELETES: Mix = Mix::writes(1.0, 1.0);

pub struct Rack {
    pub now: Nanos,
    pub key: Key,
    pub other: Key,
    pub client: Client,
    pub switch: Switch,
    server: Server,
    config: ServerConfig<netcache::Config>,
    store: MemoryStore,
    /// The store finishes nothing.
    pub store_hangs: bool,
    /// The store refuses the next write.
    pub store_refuses: bool,
    calls: VecDeque<OwnedCall>,
    pub wire: VecDeque<Frame>,
    losing: Option<Op>,
    holding: Option<Op>,
    held: Vec<Frame>,
    /// Frames that arrived at the controller.
    pub controller: Vec<Vec<u8>>,
    /// The last generation, and the last request number of the controller.
    pub generation: u32,
    pub control_request: u32,
    pub register: Register,
    pub harm: BTreeSet<Harm>,
    /// What the script waited for in vain.
    pub missing: Vec<String>,
    mutation: Option<Mutation>,
    slip: Option<Slip>,
}

impl Rack {
    pub fn new(switch: Switch, mutation: Option<Mutation>, slip: Option<Slip>) -> Self {
        let protocol = netcache::Config {
            guard: 0,
            lease: 50 * MILLISECOND,
            retry: Backoff { initial: MILLISECOND, cap: 8 * MILLISECOND },
        };
        let config = ServerConfig { protocol, ..ServerConfig::new(0, 1) };
        let mut rack = Self {
            now: SECOND,
            key: key_of(0),
            other: key_of(1),
            client: client(2, mutation),
            switch,
            server: Server::new(config, SECOND),
            config,
            store: MemoryStore::new(2, ValueSize::Fixed(SIZE)),
            store_hangs: false,
            store_refuses: false,
            calls: VecDeque::new(),
            wire: VecDeque::new(),
            losing: None,
            holding: None,
            held: Vec::new(),
            controller: Vec::new(),
            generation: 0,
            control_request: 0,
            register: Register::default(),
            harm: BTreeSet::new(),
            missing: Vec::new(),
            mutation,
            slip,
        };
        rack.start_server();
        rack
    }

    pub fn slips(&self, slip: Slip) -> bool {
        self.slip == Some(slip)
    }

    // ---------------------------------------------------------------------------- roles

    /// Emulates so many clients instead of two. Before the first request.
    pub fn clients(&mut self, clients: u16) {
        self.client = client(clients, self.mutation);
    }

    /// The server is another from the start. Before anything happens.
    pub fn configure(&mut self, change: impl FnOnce(&mut netcache::Config)) {
        change(&mut self.config.protocol);
        self.start_server();
    }

    fn start_server(&mut self) {
        self.server = if self.slips(Slip::RestartWithoutMemory) {
            Server::new(self.config, self.now)
        } else {
            Server::restore(self.config, self.now, self.store.applied())
        };
        if let Some(mutation) = self.mutation {
            self.server.mutate(mutation);
        }
    }

    /// The server process dies with what it knew and what its store had not begun, and comes back
    /// with this guard time. The store stays.
    pub fn restart_server(&mut self, guard: Nanos) {
        self.config.protocol.guard = guard;
        if !self.slips(Slip::RestartWithOldNumbers) {
            self.config.first_request += 1_000_000;
        }
        self.calls.clear();
        self.start_server();
    }

    /// A client starts a read; gives the frame as it leaves.
    pub fn read(&mut self) -> Frame {
        self.begin(READS, SIZE)
    }

    /// A client starts a write.
    pub fn write(&mut self) -> Frame {
        self.begin(WRITES, SIZE)
    }

    /// A client starts a write of so many bytes.
    pub fn write_of(&mut self, size: usize) -> Frame {
        self.begin(WRITES, size)
    }

    /// A client starts a delete.
    pub fn delete(&mut self) -> Frame {
        self.begin(DELETES, SIZE)
    }

    fn begin(&mut self, mix: Mix, size: usize) -> Frame {
        let workload = self.client.workload_mut();
        workload.set_mix(mix).unwrap();
        workload.set_value_size(ValueSize::Fixed(size)).unwrap();
        let one_more = self.client.outstanding() as u32 + 1;
        let mut out = Actions::new();
        self.client.set_arrivals(self.now, Arrivals::Closed { outstanding: one_more }, &mut out);
        self.client.set_arrivals(
            self.now,
            Arrivals::Closed { outstanding: 0 },
            &mut Actions::new(),
        );
        let Some(frame) = out.frames().next() else {
            self.missing.push("a client that may start a request".to_owned());
            return Frame::NONE;
        };
        self.note_request(frame);
        Frame::to_switch(frame.to_vec())
    }

    fn note_request(&mut self, bytes: &[u8]) {
        let frame = FrameView::parse(bytes).unwrap();
        let id = WriteId { client: frame.sender(), request: frame.request() };
        let content = match frame.op() {
            Op::Get => None,
            Op::Put => Some(read_writer(&self.key, frame.value())),
            _ => Some(None),
        };
        self.register.ask(id, content);
    }

    fn note_reply(&mut self, bytes: &[u8]) {
        let Ok(frame) = FrameView::parse(bytes) else { return };
        let id = WriteId { client: frame.sender(), request: frame.request() };
        match (frame.op(), frame.status()) {
            (Op::GetReply, Status::Ok) => {
                // A value of nobody is counted by the client.
                if let Some(writer) = read_writer(&self.key, frame.value()) {
                    self.register.read(id, Some(writer));
                }
            }
            (Op::GetReply, Status::NotFound) => self.register.read(id, None),
            (Op::PutReply | Op::DeleteReply, Status::Ok) => self.register.written(id),
            _ => {}
        }
    }

    // --------------------------------------------------------------------------- frames

    /// One frame passes the switch; gives what leaves.
    pub fn pass(&mut self, frame: &Frame) -> Frame {
        if frame.bytes.is_empty() {
            return Frame::NONE;
        }
        assert_eq!(frame.to, Node::Switch, "the frame has passed the switch already");
        match self.switch.process(&frame.bytes) {
            Some((to, bytes)) => Frame { to, bytes },
            None => Frame::NONE,
        }
    }

    /// A frame that has passed the switch arrives at its host. What the host sends is put on the
    /// wire.
    pub fn arrive(&mut self, frame: &Frame) {
        if frame.bytes.is_empty() || !has_good_udp_checksum(&frame.bytes) {
            return;
        }
        let mut out = Actions::new();
        match frame.to {
            Node::Client => {
                self.note_reply(&frame.bytes);
                self.client.on_frame(self.now, &frame.bytes, &mut out);
                self.put_on_wire(&out);
            }
            Node::Server(_) => {
                self.server.on_frame(self.now, &frame.bytes, &mut out);
                self.carry_out(out);
            }
            Node::Controller => self.on_controller(&frame.bytes),
            Node::Switch => panic!("the frame has not passed the switch yet"),
        }
    }

    /// A frame passes the switch and arrives.
    pub fn carry(&mut self, frame: &Frame) {
        let passed = self.pass(frame);
        self.arrive(&passed);
    }

    /// Takes the first frame with this operation off the wire.
    pub fn take(&mut self, op: Op) -> Frame {
        match self.wire.iter().position(|frame| frame.is(op)) {
            Some(at) => self.wire.remove(at).unwrap_or(Frame::NONE),
            None => {
                self.missing.push(format!("a frame {op:?}"));
                Frame::NONE
            }
        }
    }

    /// From now on the network keeps back what has this operation.
    pub fn hold(&mut self, op: Op) {
        self.holding = Some(op);
    }

    /// What was kept back arrives.
    pub fn release(&mut self) {
        self.holding = None;
        self.wire.extend(self.held.drain(..));
        self.run();
    }

    /// From now on the network loses what has this operation.
    pub fn lose(&mut self, op: Op) {
        self.losing = Some(op);
    }

    /// From now on the network loses nothing.
    pub fn lose_nothing(&mut self) {
        self.losing = None;
    }

    /// Everything on the wire, and what it leads to, arrives in order.
    pub fn run(&mut self) {
        while let Some(frame) = self.wire.pop_front() {
            match frame.to {
                Node::Switch => {
                    let passed = self.pass(&frame);
                    if !passed.bytes.is_empty() {
                        self.wire.push_back(passed);
                    }
                }
                _ => self.arrive(&frame),
            }
        }
    }

    /// Time passes, and what is due happens; all frames arrive.
    pub fn wait(&mut self, time: Nanos) {
        let end = self.now + time;
        self.run();
        while let Some(due) = self.deadline().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            let mut out = Actions::new();
            self.client.poll(self.now, &mut out);
            out.frames().for_each(|frame| self.note_request(frame));
            self.put_on_wire(&out);
            let mut out = Actions::new();
            self.server.on_timer(self.now, &mut out);
            self.carry_out(out);
            self.run();
        }
        self.now = end;
    }

    /// When something is due.
    pub fn deadline(&self) -> Option<Nanos> {
        [self.client.deadline(), self.server.deadline()].into_iter().flatten().min()
    }

    pub fn put_on_wire(&mut self, out: &Actions) {
        for bytes in out.frames() {
            let frame = Frame::to_switch(bytes.to_vec());
            let is = |op: Option<Op>| op.is_some_and(|op| frame.is(op));
            match (is(self.losing), is(self.holding)) {
                (true, _) => {}
                (_, true) => self.held.push(frame),
                _ => self.wire.push_back(frame),
            }
        }
    }

    // ---------------------------------------------------------------------------- store

    fn carry_out(&mut self, out: Actions) {
        self.put_on_wire(&out);
        self.calls.extend(out.calls().map(OwnedCall::from));
        while !self.store_hangs && !self.calls.is_empty() {
            self.store_one();
        }
    }

    /// The store carries out the oldest call that hangs.
    pub fn store_one(&mut self) {
        let Some(call) = self.calls.pop_front() else {
            self.missing.push("a storage call".to_owned());
            return;
        };
        let call = call.view();
        let result = if call.op != StoreOp::Get && std::mem::take(&mut self.store_refuses) {
            StoreResult::Failed
        } else {
            self.store.execute(&call)
        };
        let mut out = Actions::new();
        self.server.on_stored(self.now, call.id, result, &mut out);
        self.carry_out(out);
    }

    /// The store works again.
    pub fn store_recovers(&mut self) {
        self.store_hangs = false;
        self.carry_out(Actions::new());
    }
}

/// A client process that starts what it is told to.
fn client(clients: u16, mutation: Option<Mutation>) -> Client {
    let config = ClientConfig {
        retry: Backoff { initial: 10 * MILLISECOND, cap: 100 * MILLISECOND },
        deadline: SECOND,
        ..ClientConfig::new(clients, Arrivals::Closed { outstanding: 0 })
    };
    let workload = Workload::new(WorkloadConfig::new(1, READS, 1)).unwrap();
    let mut client = Client::new(config, workload).unwrap();
    if let Some(mutation) = mutation {
        client.mutate(mutation);
    }
    client.start(0, &mut Actions::new());
    client
}
