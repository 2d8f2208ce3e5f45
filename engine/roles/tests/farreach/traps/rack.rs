//! A rack of FarReach whose frames are handed over one by one: two client processes of one client
//! each, the real switch program, a server with its store, and the controller's messages as a script
//! (`control`).
//!
//! A frame is on its way to the switch, or from the switch to a host. What a role sends is put on
//! the wire; a script takes it off to hold, drop, double or reorder it, or lets it run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use netkv_roles::farreach::client::{Client, WINDOW};
use netkv_roles::farreach::server::{self, Server};
use netkv_roles::single_key::ServerConfig;
use netkv_roles::{
    Actions, Backoff, Client as _, ClientConfig, MILLISECOND, MemoryStore, Mutation, Nanos, SECOND,
    Server as _, WriteId, read_writer,
};
use netkv_wire::{FrameView, Key, Op, Status, client_of_ip};
use netkv_workload::{Arrivals, Mix, Popularity, ValueSize, Workload, WorkloadConfig, key_of};

use crate::common::OwnedCall;
use crate::common::frame::{Frame, has_good_udp_checksum};
use crate::common::register::Register;
use crate::common::switch::Node;
use crate::traps::control::{Control, Slip};
use crate::traps::judge::Harm;
use crate::traps::switch::Switch;

/// Bytes of a value, unless a script says otherwise.
pub const SIZE: usize = 64;
/// Longer than a client waits before it sends a request again.
pub const RETRY: Nanos = 20 * MILLISECOND;

const READS: Mix = Mix::YCSB_C;
const WRITES: Mix = Mix::writes(1.0, 0.0);
const DELETES: Mix = Mix::writes(1.0, 1.0);

pub struct Rack {
    pub now: Nanos,
    pub key: Key,
    pub other: Key,
    pub switch: Switch,
    pub clients: [Client; 2],
    server: Server,
    config: ServerConfig<server::Config>,
    store: MemoryStore,
    pub wire: VecDeque<Frame>,
    losing: Option<Op>,
    pub control: Control,
    pub registers: BTreeMap<Key, Register>,
    /// Of which key each request under way is.
    asked: BTreeMap<(u16, u32), Key>,
    /// Answers of the switch itself to clients.
    pub hits: u64,
    pub harm: BTreeSet<Harm>,
    /// What the script waited for in vain.
    pub missing: Vec<String>,
    mutation: Option<Mutation>,
    slip: Option<Slip>,
}

impl Rack {
    /// With a switch that lives and is open, and clients that the controller knows.
    pub fn new(switch: Switch, mutation: Option<Mutation>, slip: Option<Slip>) -> Self {
        let protocol = server::Config { guard: 0, ..server::Config::default() };
        let config = ServerConfig { protocol, ..ServerConfig::new(0, 1) };
        let mut server = Server::new(config, SECOND);
        if let Some(mutation) = mutation {
            server.mutate(mutation);
        }
        let (key, other) = (key_of(0), key_of(1));
        let mut rack = Self {
            now: SECOND,
            key,
            other,
            switch,
            clients: [client(1, mutation), client(2, mutation)],
            server,
            config,
            store: MemoryStore::new(2, ValueSize::Fixed(SIZE)),
            wire: VecDeque::new(),
            losing: None,
            control: Control::default(),
            registers: [(key, Register::default()), (other, Register::default())].into(),
            asked: BTreeMap::new(),
            hits: 0,
            harm: BTreeSet::new(),
            missing: Vec::new(),
            mutation,
            slip,
        };
        rack.switch.live(rack.control.life);
        rack.switch.open();
        rack.wait(0); // HELLO and its answer
        rack
    }

    /// The server dies with what it knew, and starts again over its store.
    pub fn restart_server(&mut self) {
        self.config.first_request += 1_000_000;
        self.server = Server::restore(self.config, self.now, self.store.applied());
        if let Some(mutation) = self.mutation {
            self.server.mutate(mutation);
        }
    }

    pub fn slips(&self, slip: Slip) -> bool {
        self.slip == Some(slip)
    }

    // ------------------------------------------------------------------------- requests

    /// A client (1 or 2) starts a read of the key; gives the frame as it leaves.
    pub fn read(&mut self, client: u16) -> Frame {
        self.begin(client, self.key, READS, SIZE)
    }

    pub fn write(&mut self, client: u16) -> Frame {
        self.write_of(client, SIZE)
    }

    pub fn write_of(&mut self, client: u16, size: usize) -> Frame {
        self.begin(client, self.key, WRITES, size)
    }

    pub fn delete(&mut self, client: u16) -> Frame {
        self.begin(client, self.key, DELETES, SIZE)
    }

    pub fn read_other(&mut self, client: u16) -> Frame {
        self.begin(client, self.other, READS, SIZE)
    }

    pub fn write_other(&mut self, client: u16) -> Frame {
        self.begin(client, self.other, WRITES, SIZE)
    }

    /// What a client starts now passes and arrives, and all that it leads to.
    pub fn now(&mut self, frame: &Frame) {
        self.carry(frame);
        self.run();
    }

    pub fn read_now(&mut self, client: u16) {
        let read = self.read(client);
        self.now(&read);
    }

    pub fn write_now(&mut self, client: u16) {
        let write = self.write(client);
        self.now(&write);
    }

    fn begin(&mut self, number: u16, key: Key, mix: Mix, size: usize) -> Frame {
        let client = &mut self.clients[usize::from(number) - 1];
        let workload = client.workload_mut();
        workload.set_mix(mix).unwrap();
        workload.set_value_size(ValueSize::Fixed(size)).unwrap();
        while workload.clone().draw().key != key {
            workload.draw(); // What is drawn next must be about the key.
        }
        let outstanding = client.outstanding() as u32 + 1;
        let mut out = Actions::new();
        client.set_arrivals(self.now, Arrivals::Closed { outstanding }, &mut out);
        let none = Arrivals::Closed { outstanding: 0 };
        client.set_arrivals(self.now, none, &mut Actions::new());
        let Some(frame) = out.frames().next() else {
            self.missing.push("a client that may start a request".to_owned());
            return Frame::NONE;
        };
        self.note_request(frame);
        Frame::to_switch(frame.to_vec())
    }

    fn note_request(&mut self, bytes: &[u8]) {
        let frame = FrameView::parse(bytes).unwrap();
        let (key, id) = (frame.key(), id_of(&frame));
        let content = match frame.op() {
            Op::Get => None,
            Op::Put => Some(read_writer(&key, frame.value())),
            Op::Delete => Some(None),
            _ => return, // HELLO, or an answer to the controller
        };
        self.asked.insert((id.client, id.request), key);
        self.registers.get_mut(&key).expect("a key of the rack").ask(id, content);
    }

    /// A client has taken this frame for an answer.
    fn note_reply(&mut self, bytes: &[u8]) {
        let Ok(frame) = FrameView::parse(bytes) else { return };
        let (key, id) = (frame.key(), id_of(&frame));
        let Some(register) = self.registers.get_mut(&key) else { return };
        self.hits += u64::from(frame.cache_hit());
        match (frame.op(), frame.status()) {
            (Op::GetReply, Status::Ok) => match read_writer(&key, frame.value()) {
                Some(writer) => register.read(id, Some(writer)),
                None => _ = self.harm.insert(Harm::WrongValue),
            },
            (Op::GetReply, Status::NotFound) => register.read(id, None),
            (Op::PutReply | Op::DeleteReply, Status::Ok) => register.written(id),
            _ => {}
        }
    }

    // --------------------------------------------------------------------------- frames

    /// One frame passes the switch; gives what leaves. ORIGINALs that leave beside it are put on the
    /// wire.
    pub fn pass(&mut self, frame: &Frame) -> Frame {
        if frame.bytes.is_empty() {
            return Frame::NONE;
        }
        assert_eq!(frame.to, Node::Switch, "the frame has passed the switch already");
        let mut left = Frame::NONE;
        for (to, bytes) in self.switch.process(&frame.bytes) {
            let frame = Frame { to, bytes };
            if !frame.is(Op::Original) {
                assert!(left.bytes.is_empty(), "one answer to one frame");
                left = frame;
            } else if self.losing != Some(Op::Original) {
                self.wire.push_back(frame);
            }
        }
        left
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
                let to = FrameView::parse(&frame.bytes).unwrap().destination();
                let number = client_of_ip(to).expect("a client's address");
                let client = &mut self.clients[usize::from(number) - 1];
                let before = client.outstanding();
                client.on_frame(self.now, &frame.bytes, &mut out);
                if client.outstanding() < before {
                    self.note_reply(&frame.bytes);
                }
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
            if frame.to == Node::Switch {
                let passed = self.pass(&frame);
                if !passed.bytes.is_empty() {
                    self.wire.push_back(passed);
                }
            } else {
                self.arrive(&frame);
            }
        }
    }

    /// Time passes, and what is due happens; all frames arrive.
    pub fn wait(&mut self, time: Nanos) {
        let end = self.now + time;
        self.run();
        while let Some(due) = self.deadline().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            for client in 0..self.clients.len() {
                let mut out = Actions::new();
                self.clients[client].poll(self.now, &mut out);
                out.frames().for_each(|frame| self.note_request(frame));
                self.put_on_wire(&out);
            }
            let mut out = Actions::new();
            self.server.on_timer(self.now, &mut out);
            self.carry_out(out);
            self.run();
        }
        self.now = end;
    }

    /// When something is due.
    fn deadline(&self) -> Option<Nanos> {
        let clients = self.clients.iter().map(Client::deadline);
        clients.chain([self.server.deadline()]).flatten().min()
    }

    fn put_on_wire(&mut self, out: &Actions) {
        for bytes in out.frames() {
            let frame = Frame::to_switch(bytes.to_vec());
            if !self.losing.is_some_and(|op| frame.is(op)) {
                self.wire.push_back(frame);
            }
        }
    }

    /// The server's frames are put on the wire; its store works at once.
    fn carry_out(&mut self, mut out: Actions) {
        loop {
            self.put_on_wire(&out);
            let calls: Vec<OwnedCall> = out.calls().map(OwnedCall::from).collect();
            if calls.is_empty() {
                return;
            }
            out.clear();
            for call in &calls {
                let call = call.view();
                let result = self.store.execute(&call);
                self.server.on_stored(self.now, call.id, result, &mut out);
            }
        }
    }
}

fn id_of(frame: &FrameView<'_>) -> WriteId {
    WriteId { client: frame.sender(), request: frame.request() }
}

/// A process of one client that starts what it is told to.
fn client(number: u16, mutation: Option<Mutation>) -> Client {
    let config = ClientConfig {
        first_client: number,
        window: WINDOW,
        retry: Backoff { initial: 10 * MILLISECOND, cap: 100 * MILLISECOND },
        deadline: SECOND,
        check: false, // The registers judge, which know of all writers.
        ..ClientConfig::new(1, Arrivals::Closed { outstanding: 0 })
    };
    let workload = WorkloadConfig {
        popularity: Popularity::Uniform,
        ..WorkloadConfig::new(2, READS, u64::from(number))
    };
    let workload = Workload::new(workload).unwrap();
    let mut client = Client::new(config, workload).unwrap();
    if let Some(mutation) = mutation {
        client.mutate(mutation);
    }
    client.start(SECOND, &mut Actions::new());
    client
}
