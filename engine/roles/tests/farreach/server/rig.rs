//! One server of FarReach with its store, and every frame in the hands of a script. What the switch
//! would have written into a frame, the script says.

use std::collections::VecDeque;

use netkv_roles::farreach::server::Server;
use netkv_roles::single_key::ServerConfig;
use netkv_roles::{
    Actions, MemoryStore, Mutation, Nanos, SECOND, Server as _, StoreCall, StoreResult, read_writer,
};
use netkv_wire::{CONTROLLER_IP, Message, Op, Sequence, Status, sender_of_server, server_ip};
use netkv_workload::{ValueSize, key_of};

use crate::common::{OwnedCall, OwnedResult, frame_of};
use crate::server::ask::{Ask, Content, SIZE, Said};

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
    /// What the server has said and nobody has taken.
    pub said: Vec<Said>,
    mutation: Option<Mutation>,
    /// What is not as users and the controller may expect.
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
            said: Vec::new(),
            mutation,
            wrong: Vec::new(),
        };
        rig.restart(0);
        rig
    }

    /// The server dies, with what its store has not begun, and starts again over its store.
    pub fn restart(&mut self, guard: Nanos) {
        self.config.guard = guard;
        self.config.first_request += 1_000_000;
        self.calls.clear();
        self.said.clear();
        self.server = Server::restore(self.config, self.now, self.store.applied());
        if let Some(mutation) = self.mutation {
            self.server.mutate(mutation);
        }
    }

    /// A frame arrives at the server; the store works at once, unless it hangs.
    pub fn arrive(&mut self, ask: &Ask) {
        self.arrive_bytes(&ask.frame());
    }

    pub fn arrive_bytes(&mut self, bytes: &[u8]) {
        let mut out = Actions::new();
        self.server.on_frame(self.now, bytes, &mut out);
        self.take(&out);
        self.work();
    }

    /// A frame arrives, and this is the first answer to it.
    pub fn ask(&mut self, ask: &Ask) -> Option<Said> {
        self.said.clear();
        self.arrive(ask);
        self.answer(ask)
    }

    /// The first answer to a frame that the server has given since.
    pub fn answer(&self, ask: &Ask) -> Option<Said> {
        let of = |it: &&Said| {
            (it.op, it.sender, it.request) == (ask.op.reply(), ask.sender, ask.request)
        };
        let said = self.said.iter().find(of).copied()?;
        assert_eq!((said.to, said.key), (ask.source, ask.key));
        Some(said)
    }

    /// The controller answers an offer.
    pub fn answer_offer(&mut self, offer: &Said, status: Status) {
        let Said { sender, request, key, .. } = *offer;
        let (source, server) = (CONTROLLER_IP, server_ip(0));
        let message = Message::request(source, server, Op::OfferReply, sender, request, key);
        self.arrive_bytes(&frame_of(&message.with_status(status)));
    }

    /// Takes what the server has offered.
    pub fn offers(&mut self) -> Vec<Said> {
        let is_offer = |it: &Said| it.op == Op::Offer;
        let offers: Vec<Said> = self.said.iter().copied().filter(is_offer).collect();
        self.said.retain(|it| !is_offer(it));
        for offer in &offers {
            assert_eq!((offer.to, offer.sender), (CONTROLLER_IP, sender_of_server(0)));
        }
        offers
    }

    /// Time passes, and what is due happens.
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
        self.said.extend(out.frames().map(Said::read));
        self.calls.extend(out.calls().map(OwnedCall::from));
    }

    fn work(&mut self) {
        while !self.hangs && !self.calls.is_empty() {
            self.finish_one();
        }
    }

    /// The store carries out the oldest call that hangs, and the server hears of it.
    pub fn finish_one(&mut self) {
        let Some((id, result)) = self.carry_out_one() else { return };
        self.tell(id, &result);
    }

    /// The store carries out the oldest call that hangs; the server does not hear of it yet.
    pub fn carry_out_one(&mut self) -> Option<(u32, OwnedResult)> {
        let call = self.calls.pop_front()?;
        let call = call.view();
        let result = if self.refuses { StoreResult::Failed } else { self.store.execute(&call) };
        Some((call.id, result.into()))
    }

    pub fn tell(&mut self, id: u32, result: &OwnedResult) {
        let mut out = Actions::new();
        self.server.on_stored(self.now, id, result.view(), &mut out);
        self.take(&out);
    }

    /// The store works again.
    pub fn resume(&mut self) {
        self.hangs = false;
        self.work();
    }

    /// What the store has of the key: content and sequence.
    pub fn stored(&mut self) -> (Content, Sequence) {
        self.stored_of(1)
    }

    pub fn stored_of(&mut self, id: u64) -> (Content, Sequence) {
        let key = key_of(id);
        match self.store.execute(&StoreCall::get(0, key)) {
            StoreResult::Value(value, sequence) => {
                let writer = read_writer(&key, value).expect("a whole value");
                (Some((writer.client, writer.request)), sequence)
            }
            StoreResult::NotFound(sequence) => (None, sequence),
            other => panic!("a get gives {other:?}"),
        }
    }

    /// Notes what is not as it should be.
    pub fn expect<T: PartialEq + std::fmt::Debug>(&mut self, found: T, right: T, what: &str) {
        if found != right {
            self.wrong.push(format!("{what}: {found:?} instead of {right:?}"));
        }
    }

    /// A write is answered ok, with this sequence.
    pub fn expect_done(&mut self, ask: &Ask, sequence: Sequence) {
        let found = self.answer(ask).map(|it| (it.status, it.sequence()));
        self.expect(found, Some((Status::Ok, sequence)), &format!("answer to {:?}", ask.op));
    }

    /// A client that reads the key sees this.
    pub fn expect_read(&mut self, content: Content, sequence: Sequence) {
        self.config.first_request += 1; // Any number that was not used.
        let get = Ask::get(self.config.first_request);
        let said = self.ask(&get).map(|it| (it.content, it.sequence()));
        self.expect(said, Some((content, sequence)), "what a client reads");
    }
}
