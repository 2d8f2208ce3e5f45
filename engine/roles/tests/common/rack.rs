//! A rack whose frames a script delivers one by one: client processes, the real switch program, a
//! server with its store, and the controller's messages.
//!
//! A frame is on its way to the switch, or from the switch to a host. Frames of roles are put on
//! the wire. A script takes them off to hold, drop, duplicate or reorder them, or lets them run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;
use std::sync::Arc;

use netkv_compiled::ExecutorKind;
use netkv_ir::Program;
use netkv_roles::kits::plain;
use netkv_roles::kits::single_key::server::Protocol;
use netkv_roles::kits::single_key::{Server, ServerConfig};
use netkv_roles::mutation::{Chosen, choose};
use netkv_roles::{
    Actions, Backoff, Client as _, ClientConfig, LoadClient as _, MILLISECOND, MemoryStore,
    Mutation, Nanos, SECOND, Server as _, StoreOp, StoreResult, WriteId, read_writer,
};
use netkv_wire::{FrameView, Ip, Key, Op, Status, client_of_ip};
use netkv_workload::{Arrivals, Mix, ValueSize, Workload, WorkloadConfig, key_of};

use super::OwnedCall;
use super::frame::{Frame, Node};
use super::program::programs;
use super::register::Register;
use super::traps::{self, Fault, Mutant, Trap};

/// Bytes of a value, unless a script sets another size.
pub const SIZE: usize = 64;

pub const READS: Mix = Mix::YCSB_C;
pub const WRITES: Mix = Mix::writes(1.0, 0.0);
pub const DELETES: Mix = Mix::writes(1.0, 1.0);

/// Harm to users. It is observed from outside the roles: in the answers that clients get, and if
/// they do not show it, in the messages that the controller receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Harm {
    /// A read returned an overwritten value, or the history is not linearizable.
    StaleRead,
    /// A read returned a value that was never written to its key.
    WrongValue,
    /// At the end, an acknowledged write is lost.
    LostWrite,
    /// A request was not answered although the network worked again.
    NoAnswer,
    /// The switch no longer serves reads of a cached key.
    NotServed,
    /// The controller is not informed that an entry is useless.
    NotFreed,
    /// A key that could be cached is refused.
    NotAdmitted,
    /// A hot key is not reported.
    NotReported,
    /// A snapshot has a record that its entry did not hold at the snapshot point.
    TornSnapshot,
}

/// The settings of the server of a scheme.
pub type Settings<S> = ServerConfig<<<S as Scheme>::Protocol as Protocol>::Config>;

/// The racks of a scheme.
pub trait Scheme: Sized + 'static {
    /// The names of the programs of its switches.
    const PROGRAMS: &'static [&'static str];
    /// The numbers of pipelines that a script is played with; without a protection, only the first.
    const PIPELINES: &'static [usize];
    type Client: netkv_roles::LoadClient;
    type Protocol: Protocol;
    type Switch: RackSwitch;
    /// The state of the controller.
    type Control: Default;
    /// Errors of the controller or the driver.
    type ScriptFault: Copy + PartialEq + Debug + 'static;

    /// The client processes.
    fn clients() -> Vec<Self::Client>;

    /// The settings of the server, from the usual ones.
    fn settings(usual: Settings<Self>) -> Settings<Self>;

    /// Prepares the rack for a script.
    fn start(_: &mut Rack<Self>) {}

    /// A frame arrives at the controller.
    fn on_controller(rack: &mut Rack<Self>, bytes: &[u8]);

    /// With a network that works from now on, lets all requests end, and checks for harm.
    fn finish(rack: &mut Rack<Self>);
}

/// The switch of a rack with one server, or its switches.
pub trait RackSwitch {
    /// `programs`: those of the scheme.
    fn new(programs: &[Arc<Program>], executor: ExecutorKind, pipelines: usize) -> Self;

    /// Processes a frame, from the port of its sender. Returns the frames that leave, with their
    /// receivers.
    fn process(&mut self, bytes: &[u8]) -> Vec<(Node, Vec<u8>)>;
}

pub struct Rack<S: Scheme> {
    pub now: Nanos,
    pub key: Key,
    pub other: Key,
    pub clients: Vec<S::Client>,
    pub switch: S::Switch,
    pub server: Server<S::Protocol>,
    pub config: Settings<S>,
    pub store: MemoryStore,
    /// The store finishes nothing.
    pub store_hangs: bool,
    /// The store refuses the next write.
    pub store_refuses: bool,
    pub calls: VecDeque<OwnedCall>,
    pub wire: VecDeque<Frame>,
    losing: Option<Op>,
    holding: Option<Op>,
    held: Vec<Frame>,
    pub control: S::Control,
    registers: BTreeMap<Key, Register>,
    pub harm: BTreeSet<Harm>,
    /// Frames and calls that the script expected and that did not occur.
    pub missing: Vec<String>,
    _chosen: Chosen,
    script_fault: Option<S::ScriptFault>,
}

impl<S: Scheme> Rack<S> {
    fn new(
        switch: S::Switch,
        mutation: Option<Mutation>,
        script_fault: Option<S::ScriptFault>,
    ) -> Self {
        let chosen = choose(mutation);
        let config = S::settings(ServerConfig::new(0, 1));
        let (key, other) = (key_of(0), key_of(1));
        let mut rack = Self {
            now: SECOND,
            key,
            other,
            clients: S::clients(),
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
            control: S::Control::default(),
            registers: [(key, Register::default()), (other, Register::default())].into(),
            harm: BTreeSet::new(),
            missing: Vec::new(),
            _chosen: chosen,
            script_fault,
        };
        rack.start_server();
        S::start(&mut rack);
        rack
    }

    /// Whether the controller or the driver makes this error.
    pub fn has_fault(&self, script_fault: S::ScriptFault) -> bool {
        self.script_fault == Some(script_fault)
    }

    /// Starts a server process over the store, without the state of the former one.
    pub fn start_server(&mut self) {
        self.server = Server::restore(self.config, self.now, self.store.applied());
    }

    // ------------------------------------------------------------------------- requests

    /// A client process (from 0) starts an operation. Returns its frame.
    pub fn begin(&mut self, process: usize, key: Key, mix: Mix, size: usize) -> Frame {
        let client = &mut self.clients[process];
        let workload = &mut client.load_mut().workload;
        workload.set_mix(mix).unwrap();
        workload.set_value_size(ValueSize::Fixed(size)).unwrap();
        while workload.clone().draw().key != key {
            workload.draw(); // The next draw must have the key.
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
        let key = frame.key();
        let content = match frame.op() {
            Op::Get => None,
            Op::Put => Some(read_writer(&key, frame.value())),
            Op::Delete => Some(None),
            _ => return, // A message to the controller.
        };
        self.registers.get_mut(&key).expect("a key of the rack").begin(id_of(&frame), content);
    }

    /// A client has accepted this frame as an answer.
    fn note_reply(&mut self, bytes: &[u8]) {
        let Ok(frame) = FrameView::parse(bytes) else { return };
        let (key, id) = (frame.key(), id_of(&frame));
        let Some(register) = self.registers.get_mut(&key) else { return };
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

    /// Whether the history that clients observed is linearizable.
    pub fn is_linearizable(&self) -> bool {
        self.registers.values().all(Register::is_linearizable)
    }

    /// Checks that all requests have been answered, except for `number` of them.
    pub fn must_be_answered_but(&mut self, number: usize) {
        if self.outstanding() > number {
            self.harm.insert(Harm::NoAnswer);
        }
    }

    /// Checks that all requests of clients have been answered.
    pub fn must_be_answered(&mut self) {
        self.must_be_answered_but(0);
    }

    /// Number of requests without an answer.
    pub fn outstanding(&self) -> usize {
        self.clients.iter().map(netkv_roles::Client::outstanding).sum()
    }

    /// Waits until every request is answered or given up.
    pub fn settle(&mut self) {
        for _ in 0..1000 {
            if self.outstanding() == 0 {
                return;
            }
            self.wait(10 * MILLISECOND);
        }
        panic!("a client gives up at its deadline");
    }

    // --------------------------------------------------------------------------- frames

    /// Passes a frame through the switch. Returns the frame that leaves; ORIGINALs beside it are
    /// put on the wire.
    pub fn pass(&mut self, frame: &Frame) -> Frame {
        if frame.bytes.is_empty() {
            return Frame::NONE;
        }
        assert_eq!(frame.to, Node::Switch, "the frame has passed the switch already");
        let mut left = Frame::NONE;
        for (to, bytes) in self.switch.process(&frame.bytes) {
            let frame = Frame { to, bytes };
            if frame.is(Op::Original) {
                self.put_on_wire(frame);
            } else {
                assert!(left.bytes.is_empty(), "one answer to one frame");
                left = frame;
            }
        }
        left
    }

    /// Delivers a frame that has passed the switch to its host. Frames that the host sends are put
    /// on the wire.
    pub fn arrive(&mut self, frame: &Frame) {
        if frame.bytes.is_empty() {
            return;
        }
        let mut out = Actions::new();
        match frame.to {
            Node::Client => {
                let process = self.process_of(&frame.bytes);
                let client = &mut self.clients[process];
                let before = client.outstanding();
                client.on_frame(self.now, &frame.bytes, &mut out);
                if client.outstanding() < before {
                    self.note_reply(&frame.bytes);
                }
                self.send(&out);
            }
            Node::Server(_) => {
                self.server.on_frame(self.now, &frame.bytes, &mut out);
                self.carry_out(&out);
            }
            Node::Controller => S::on_controller(self, &frame.bytes),
            Node::Switch => panic!("the frame has not passed the switch yet"),
        }
    }

    /// The process of the client to which a frame is addressed. Each process has one client, the
    /// last one all others.
    fn process_of(&self, bytes: &[u8]) -> usize {
        let to: Ip = bytes[30..34].try_into().expect("an IPv4 address");
        let client = client_of_ip(to).expect("a client's address");
        usize::from(client - 1).min(self.clients.len() - 1)
    }

    /// Passes a frame through the switch and delivers it.
    pub fn carry(&mut self, frame: &Frame) {
        let passed = self.pass(frame);
        self.arrive(&passed);
    }

    /// Passes and delivers a frame, and all frames that result from it.
    pub fn now(&mut self, frame: &Frame) {
        self.carry(frame);
        self.run();
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

    /// From now on the network holds frames with this operation.
    pub fn hold(&mut self, op: Op) {
        self.holding = Some(op);
    }

    /// Delivers the held frames.
    pub fn release(&mut self) {
        self.holding = None;
        self.wire.extend(self.held.drain(..));
        self.run();
    }

    /// From now on the network loses frames with this operation.
    pub fn lose(&mut self, op: Op) {
        self.losing = Some(op);
    }

    /// From now on the network loses nothing.
    pub fn lose_nothing(&mut self) {
        self.losing = None;
    }

    /// Delivers all frames on the wire, and those that result from them, in order.
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

    /// Advances the time, runs all timers that are due, and delivers all frames.
    pub fn wait(&mut self, time: Nanos) {
        let end = self.now + time;
        self.run();
        while let Some(due) = self.deadline().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            self.run_timers();
            self.run();
        }
        self.now = end;
    }

    /// Runs all timers that are due now. Frames are put on the wire.
    pub fn run_timers(&mut self) {
        for process in 0..self.clients.len() {
            let mut out = Actions::new();
            self.clients[process].poll(self.now, &mut out);
            out.frames().for_each(|frame| self.note_request(frame));
            self.send(&out);
        }
        let mut out = Actions::new();
        self.server.on_timer(self.now, &mut out);
        self.carry_out(&out);
    }

    /// When the next timer is due.
    fn deadline(&self) -> Option<Nanos> {
        let clients = self.clients.iter().map(netkv_roles::Client::deadline);
        clients.chain([self.server.deadline()]).flatten().min()
    }

    /// Puts the frames of a role on the wire.
    pub fn send(&mut self, out: &Actions) {
        for bytes in out.frames() {
            self.put_on_wire(Frame::to_switch(bytes.to_vec()));
        }
    }

    /// Puts a frame on the wire, unless the network loses or holds it.
    pub fn put_on_wire(&mut self, frame: Frame) {
        let is = |op: Option<Op>| op.is_some_and(|op| frame.is(op));
        match (is(self.losing), is(self.holding)) {
            (true, _) => {}
            (_, true) => self.held.push(frame),
            _ => self.wire.push_back(frame),
        }
    }

    // ---------------------------------------------------------------------------- store

    fn carry_out(&mut self, out: &Actions) {
        self.send(out);
        self.calls.extend(out.calls().map(OwnedCall::from));
        while !self.store_hangs && !self.calls.is_empty() {
            self.store_one();
        }
    }

    /// The store carries out the oldest waiting call.
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
        self.carry_out(&out);
    }

    /// The store works again.
    pub fn store_recovers(&mut self) {
        self.store_hangs = false;
        self.carry_out(&Actions::new());
    }
}

fn id_of(frame: &FrameView<'_>) -> WriteId {
    WriteId { client: frame.sender(), request: frame.request() }
}

impl<S: Scheme> traps::Rack for Rack<S> {
    type Mutant = Mutant<S::ScriptFault>;
    type Harm = Harm;
    /// Numbers of pipelines.
    type Setup = &'static [usize];
    type Kind = (ExecutorKind, usize);

    const USUAL: &'static [usize] = S::PIPELINES;

    fn kinds(setup: &'static [usize]) -> Vec<(ExecutorKind, usize)> {
        let of = |executor| setup.iter().map(move |pipelines| (executor, *pipelines));
        of(ExecutorKind::Interpreter).chain(of(ExecutorKind::Compiled)).collect()
    }

    fn kinds_of_mutants(setup: &'static [usize]) -> Vec<(ExecutorKind, usize)> {
        vec![(ExecutorKind::Interpreter, setup[0])]
    }

    fn play(
        trap: &Trap<Self>,
        (executor, pipelines): (ExecutorKind, usize),
        mutant: Option<Mutant<S::ScriptFault>>,
    ) -> Vec<Harm> {
        let (edit, mutation, script_fault) = match mutant.map(|it| it.fault) {
            Some(Fault::Program(edit)) => (Some(edit), None, None),
            Some(Fault::Role(mutation)) => (None, Some(mutation), None),
            Some(Fault::Script(script_fault)) => (None, None, Some(script_fault)),
            None => (None, None, None),
        };
        let switch = S::Switch::new(&programs(S::PROGRAMS, edit), executor, pipelines);
        let mut rack = Self::new(switch, mutation, script_fault);
        (trap.script)(&mut rack);
        S::finish(&mut rack);
        let missing = &rack.missing;
        // Without a protection, it plays to its end even if expected frames are missing.
        assert!(
            mutant.is_some() || missing.is_empty(),
            "the script is out of date, no {missing:?}"
        );
        rack.harm.into_iter().collect()
    }
}

/// A client process, which starts operations only on request.
pub fn process_of(clients: u16) -> plain::Client {
    let config = ClientConfig {
        retry: Backoff { initial: 10 * MILLISECOND, cap: 100 * MILLISECOND },
        deadline: SECOND,
        ..ClientConfig::new(clients, Arrivals::Closed { outstanding: 0 })
    };
    let workload = Workload::new(WorkloadConfig::new(1, READS, 1)).unwrap();
    let mut client = plain::Client::new(config, workload).unwrap();
    client.start(0, &mut Actions::new());
    client
}
