//! One server and a switch. A test delivers the frames one by one, to create races.

use std::collections::VecDeque;

use netkv_roles::kits::single_key::server::Protocol;
use netkv_roles::kits::single_key::{Server, ServerConfig};
use netkv_roles::netcache::NetCache;
use netkv_roles::{
    Actions, MemoryStore, Nanos, Server as _, StoreResult, WriteId, fill_value, read_writer,
};
use netkv_wire::{
    CONTROLLER_IP, CONTROLLER_SENDER, CacheMetadata, FrameView, Key, Message, Op, SERVICE_IP,
    Status, client_ip, server_ip,
};
use netkv_workload::{ValueSize, key_of};

use crate::common::frame::Node;
use crate::common::switch::Entry;
use crate::common::{OwnedCall, frame_of};
use crate::switch::Switch;
use crate::world::{Behind, server_config};

pub const GENERATION: u32 = 5;

pub struct Bench<P: Protocol> {
    pub now: Nanos,
    pub key: Key,
    pub server: Server<P>,
    pub store: MemoryStore,
    pub switch: Switch,
    /// Frames that the server has sent and that have not reached the switch.
    pub sent: VecDeque<Vec<u8>>,
    /// Frames that arrived at clients and the controller.
    pub arrived: Vec<Vec<u8>>,
    /// The next storage call fails.
    pub fail: bool,
    next_control: u32,
}

impl<P: Behind> Bench<P> {
    pub fn new() -> Self {
        let config = server_config::<P>(0, 1, 0);
        Self {
            now: 1_000_000,
            key: key_of(1),
            server: Server::new(config, 1_000_000),
            store: MemoryStore::new(10, ValueSize::Fixed(64)),
            switch: Switch::of(1),
            sent: VecDeque::new(),
            arrived: Vec::new(),
            fail: false,
            next_control: 1,
        }
    }

    pub fn insert(&mut self, generation: u32, bitmap: u8) {
        self.switch.remove(&self.key);
        self.switch.insert(&self.key, Entry { slot: 0, generation, bitmap });
    }

    /// A request of a client, as the switch forwards it to the server.
    pub fn request(&mut self, op: Op, client: u16, request: u32) -> Vec<u8> {
        self.request_of_size(op, client, request, 64)
    }

    pub fn request_of_size(&mut self, op: Op, client: u16, request: u32, size: usize) -> Vec<u8> {
        let message =
            Message::request(client_ip(client), SERVICE_IP, op, client, request, self.key);
        let mut value = vec![0; size];
        fill_value(&self.key, WriteId { client, request }, &mut value);
        let value = if op == Op::Put { &value[..] } else { &[] };
        let frame = frame_of(&message.with_value(value));
        let (node, bytes) = self.switch.process_one(&frame).expect("the switch drops no request");
        assert_eq!(node, Node::Server(0), "the switch did not answer itself");
        bytes
    }

    /// A message of the controller to the server, with a request number of its own.
    pub fn control(&mut self, op: Op, generation: u32) -> Vec<u8> {
        self.next_control += 1;
        let (sender, request) = (CONTROLLER_SENDER, self.next_control);
        let message = Message::request(CONTROLLER_IP, server_ip(0), op, sender, request, self.key);
        frame_of(&message.with_cache_metadata(CacheMetadata { generation, version: 0, bitmap: 0 }))
    }

    /// Delivers a frame to the server; the store executes its calls at once.
    pub fn arrive(&mut self, bytes: &[u8]) {
        let mut out = Actions::new();
        self.server.on_frame(self.now, bytes, &mut out);
        self.work(out);
    }

    pub fn pass_time(&mut self, time: Nanos) {
        self.now += time;
        let mut out = Actions::new();
        self.server.on_timer(self.now, &mut out);
        self.work(out);
    }

    fn work(&mut self, mut out: Actions) {
        loop {
            self.sent.extend(out.frames().map(<[u8]>::to_vec));
            let calls: Vec<OwnedCall> = out.calls().map(OwnedCall::from).collect();
            if calls.is_empty() {
                return;
            }
            out.clear();
            for call in &calls {
                let call = call.view();
                let result = if std::mem::take(&mut self.fail) {
                    StoreResult::Failed
                } else {
                    self.store.execute(&call)
                };
                self.server.on_stored(self.now, call.id, result, &mut out);
            }
        }
    }

    /// Takes the first frame with this operation that the server has sent.
    pub fn take(&mut self, op: Op) -> Vec<u8> {
        let is = |bytes: &Vec<u8>| FrameView::parse(bytes).unwrap().op() == op;
        let at = self.sent.iter().position(is);
        self.sent.remove(at.unwrap_or_else(|| panic!("the server has sent no {op:?}"))).unwrap()
    }

    /// Whether a frame with this operation is on its way from the server to the switch.
    pub fn has_sent(&self, op: Op) -> bool {
        self.sent.iter().any(|bytes| FrameView::parse(bytes).unwrap().op() == op)
    }

    /// Passes a frame through the switch. Returns the frame that leaves.
    pub fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.switch.process_one(bytes).expect("the switch drops no frame of a role").1
    }

    /// Delivers all sent frames, and those that result from them, in order.
    pub fn run(&mut self) {
        while self.run_one() {}
    }

    /// Delivers the first sent frame; false if there is none.
    pub fn run_one(&mut self) -> bool {
        let Some(bytes) = self.sent.pop_front() else { return false };
        match self.switch.process_one(&bytes) {
            Some((Node::Server(_), bytes)) => self.arrive(&bytes),
            Some((_, bytes)) => self.arrived.push(bytes),
            None => panic!("the switch drops no frame of a role"),
        }
        true
    }

    /// Status of the last frame with this operation that has arrived.
    pub fn status(&self, op: Op) -> Option<Status> {
        let frames = self.arrived.iter().rev().map(|bytes| FrameView::parse(bytes).unwrap());
        frames.into_iter().find(|frame| frame.op() == op).map(|frame| frame.status())
    }

    /// Whether client's request has been answered with this status.
    pub fn answered(&self, client: u16, request: u32, status: Status) -> bool {
        self.arrived.iter().any(|bytes| {
            let frame = FrameView::parse(bytes).unwrap();
            (frame.sender(), frame.request(), frame.status()) == (client, request, status)
        })
    }

    /// The writer of the stored value: client and request number.
    pub fn stored(&mut self) -> Option<(u16, u32)> {
        let key = self.key;
        let writer = read_writer(&key, self.store.get(&key)?).expect("a complete value");
        Some((writer.client, writer.request))
    }

    /// The writer of the value that the switch would return.
    pub fn hit(&mut self) -> Option<(u16, u32)> {
        let value = self.switch.cached(&self.key)?;
        let writer = read_writer(&self.key, &value).expect("a complete value");
        Some((writer.client, writer.request))
    }

    /// Restarts the server process over its store.
    pub fn restart(&mut self, guard: Nanos) {
        let old = *self.server.config();
        let first_request = old.first_request + 1000;
        let config = ServerConfig { guard, first_request, ..old };
        self.server = Server::restore(config, self.now, self.store.applied());
        self.sent.clear();
    }
}

impl Bench<NetCache> {
    /// A bench with the key cached and valid.
    pub fn cached() -> Self {
        Self::cached_behind()
    }
}

impl<P: Behind> Bench<P> {
    /// The same with another server.
    pub fn cached_behind() -> Self {
        let mut bench = Self::new();
        bench.insert(GENERATION, 0b1111);
        let install = bench.control(Op::Install, GENERATION);
        bench.arrive(&install);
        bench.run();
        assert_eq!(bench.status(Op::InstallReply), Some(Status::Ok));
        assert!(bench.switch.cached(&bench.key).is_some());
        bench.arrived.clear();
        bench
    }
}
