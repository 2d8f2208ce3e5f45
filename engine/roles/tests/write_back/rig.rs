//! A server of FarReach with its store. A script delivers every frame, with the fields that the
//! switch would have written.

use std::collections::VecDeque;

use netkv_roles::kits::single_key::ServerConfig;
use netkv_roles::kits::write_back::Server;
use netkv_roles::mutation::{Chosen, choose};
use netkv_roles::{
    Actions, MemoryStore, Mutation, Nanos, SECOND, Server as _, StoreCall, StoreResult, read_writer,
};
use netkv_wire::{CONTROLLER_IP, Message, Op, Sequence, Status, sender_of_server, server_ip};
use netkv_workload::{ValueSize, key_of};

use crate::common::{OwnedCall, OwnedResult, frame_of};
use crate::frames::{Content, Incoming, Outgoing, SIZE};

pub struct Rig {
    pub now: Nanos,
    pub server: Server,
    pub config: ServerConfig<()>,
    pub store: MemoryStore,
    /// The store finishes nothing by itself.
    pub hangs: bool,
    /// The store refuses everything.
    pub refuses: bool,
    pub calls: VecDeque<OwnedCall>,
    /// Frames that the server has sent and the script has not taken.
    pub outgoing: Vec<Outgoing>,
    _chosen: Chosen,
    /// Failed expectations of users and the controller.
    pub wrong: Vec<String>,
}

impl Rig {
    pub fn new(mutation: Option<Mutation>) -> Self {
        let config = ServerConfig { max_waiting: 8, guard: 0, ..ServerConfig::new(0, 1) };
        let mut rig = Self {
            now: SECOND,
            server: Server::new(config, SECOND),
            config,
            store: MemoryStore::new(10, ValueSize::Fixed(SIZE)),
            hangs: false,
            refuses: false,
            calls: VecDeque::new(),
            outgoing: Vec::new(),
            _chosen: choose(mutation),
            wrong: Vec::new(),
        };
        rig.restart(0);
        rig
    }

    /// Restarts the server over its store. Storage calls that have not begun are lost.
    pub fn restart(&mut self, guard: Nanos) {
        self.config.guard = guard;
        self.config.first_request += 1_000_000;
        self.calls.clear();
        self.outgoing.clear();
        self.server = Server::restore(self.config, self.now, self.store.applied());
    }

    /// Delivers a frame to the server. The store carries calls out at once, unless it hangs.
    pub fn arrive(&mut self, incoming: &Incoming) {
        self.arrive_bytes(&incoming.frame());
    }

    pub fn arrive_bytes(&mut self, bytes: &[u8]) {
        let mut out = Actions::new();
        self.server.on_frame(self.now, bytes, &mut out);
        self.take(&out);
        self.work();
    }

    /// Delivers a frame. Returns the first answer to it.
    pub fn exchange(&mut self, incoming: &Incoming) -> Option<Outgoing> {
        self.outgoing.clear();
        self.arrive(incoming);
        self.answer(incoming)
    }

    /// The first answer to a frame among the frames sent.
    pub fn answer(&self, incoming: &Incoming) -> Option<Outgoing> {
        let of = |it: &&Outgoing| {
            (it.op, it.sender, it.request)
                == (incoming.op.reply(), incoming.sender, incoming.request)
        };
        let outgoing = self.outgoing.iter().find(of).copied()?;
        assert_eq!((outgoing.to, outgoing.key), (incoming.source, incoming.key));
        Some(outgoing)
    }

    /// The controller answers an offer.
    pub fn answer_offer(&mut self, offer: &Outgoing, status: Status) {
        let Outgoing { sender, request, key, .. } = *offer;
        let (source, server) = (CONTROLLER_IP, server_ip(0));
        let message = Message::request(source, server, Op::OfferReply, sender, request, key);
        self.arrive_bytes(&frame_of(&message.with_status(status)));
    }

    /// Takes the offers that the server has sent.
    pub fn offers(&mut self) -> Vec<Outgoing> {
        let is_offer = |it: &Outgoing| it.op == Op::Offer;
        let offers: Vec<Outgoing> = self.outgoing.iter().copied().filter(is_offer).collect();
        self.outgoing.retain(|it| !is_offer(it));
        for offer in &offers {
            assert_eq!((offer.to, offer.sender), (CONTROLLER_IP, sender_of_server(0)));
        }
        offers
    }

    /// Advances the time and runs all timers that are due.
    pub fn wait(&mut self, time: Nanos) {
        let end = self.now + time;
        while let Some(due) = self.server.deadline().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            let mut out = Actions::new();
            self.server.on_timer(self.now, &mut out);
            self.take(&out);
            self.work();
        }
        self.now = end;
    }

    fn take(&mut self, out: &Actions) {
        self.outgoing.extend(out.frames().map(Outgoing::read));
        self.calls.extend(out.calls().map(OwnedCall::from));
    }

    fn work(&mut self) {
        while !self.hangs && !self.calls.is_empty() {
            self.finish_one();
        }
    }

    /// The store carries out the oldest waiting call, and the server gets the result.
    pub fn finish_one(&mut self) {
        let Some((id, result)) = self.carry_out_one() else { return };
        self.report_result(id, &result);
    }

    /// The store carries out the oldest waiting call; the server does not get the result yet.
    pub fn carry_out_one(&mut self) -> Option<(u32, OwnedResult)> {
        let call = self.calls.pop_front()?;
        let call = call.view();
        let result = if self.refuses { StoreResult::Failed } else { self.store.execute(&call) };
        Some((call.id, result.into()))
    }

    pub fn report_result(&mut self, id: u32, result: &OwnedResult) {
        let mut out = Actions::new();
        self.server.on_stored(self.now, id, result.view(), &mut out);
        self.take(&out);
    }

    /// The store works again.
    pub fn resume(&mut self) {
        self.hangs = false;
        self.work();
    }

    /// The stored record of the key: content and sequence.
    pub fn stored(&mut self) -> (Content, Sequence) {
        self.stored_of(1)
    }

    pub fn stored_of(&mut self, id: u64) -> (Content, Sequence) {
        let key = key_of(id);
        match self.store.execute(&StoreCall::get(0, key)) {
            StoreResult::Value(value, sequence) => {
                let writer = read_writer(&key, value).expect("a complete value");
                (Some((writer.client, writer.request)), sequence)
            }
            StoreResult::NotFound(sequence) => (None, sequence),
            other => panic!("a get gives {other:?}"),
        }
    }

    /// Checks an expectation; a failure is recorded.
    pub fn expect<T: PartialEq + std::fmt::Debug>(&mut self, found: T, right: T, what: &str) {
        if found != right {
            self.wrong.push(format!("{what}: {found:?} instead of {right:?}"));
        }
    }

    /// Checks that a write was answered ok, with this sequence.
    pub fn expect_done(&mut self, incoming: &Incoming, sequence: Sequence) {
        let found = self.answer(incoming).map(|it| (it.status, it.sequence()));
        self.expect(found, Some((Status::Ok, sequence)), &format!("answer to {:?}", incoming.op));
    }

    /// Checks the result of a client's read of the key.
    pub fn expect_read(&mut self, content: Content, sequence: Sequence) {
        self.config.first_request += 1; // Any number that was not used.
        let get = Incoming::get(self.config.first_request);
        let outgoing = self.exchange(&get).map(|it| (it.content, it.sequence()));
        self.expect(outgoing, Some((content, sequence)), "read of a client");
    }
}
