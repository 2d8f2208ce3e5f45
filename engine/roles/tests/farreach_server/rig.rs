//! One server of FarReach with its store, and every frame in the hands of a script. What the switch
//! would have written into a frame, the script says.

use std::collections::VecDeque;

use netkv_roles::{
    Actions, MILLISECOND, MemoryStore, Mutation, Nanos, SECOND, Scheme, Server, ServerConfig,
    StoreResult, WriteId, fill_value, read_writer,
};
use netkv_wire::{
    CONTROLLER_IP, CONTROLLER_SENDER, FrameView, Ip, Key, Message, Op, SERVICE_IP, Sequence, Stamp,
    Status, bits, client_ip, sender_of_server, server_ip,
};
use netkv_workload::{ValueSize, key_of};

use crate::common::{OwnedCall, OwnedResult, frame_of};

/// Bytes of a value, unless a script says otherwise.
pub const SIZE: usize = 64;
/// Life of the switch, unless a script says otherwise.
pub const LIFE: u32 = 5;
/// Longer than the controller may take to hear of an offer that is repeated.
pub const LONG: Nanos = 300 * MILLISECOND;

/// A sequence in the usual life.
pub fn at(number: u32) -> Sequence {
    Sequence { life: LIFE, number }
}

/// What a key holds: the client and number of the request that wrote it.
pub type Content = Option<(u16, u32)>;

/// The initial value of a key.
pub const INITIAL: Content = Some((0, 0));

/// A frame as the switch lets it through to the server.
#[derive(Debug, Clone, Copy)]
pub struct Ask {
    pub op: Op,
    pub source: Ip,
    pub sender: u16,
    pub request: u32,
    pub key: Key,
    pub stamp: Option<Stamp>,
    /// Whose value it carries, and how many bytes.
    pub writer: WriteId,
    pub size: usize,
}

impl Ask {
    pub fn client(op: Op, client: u16, request: u32, sequence: Sequence) -> Self {
        Self {
            op,
            source: client_ip(client),
            sender: client,
            request,
            key: key_of(1),
            stamp: Some(Stamp { sequence, ..Stamp::default() }),
            writer: WriteId { client, request },
            size: if op == Op::Put { SIZE } else { 0 },
        }
    }

    pub fn get(request: u32) -> Self {
        Self::client(Op::Get, 3, request, Sequence { life: LIFE, number: 0 })
    }

    /// A message of the controller.
    pub fn control(op: Op, request: u32, sequence: Sequence) -> Self {
        let (source, sender) = (CONTROLLER_IP, CONTROLLER_SENDER);
        Self { source, sender, ..Self::client(op, 1, request, sequence) }
    }

    /// RESTORE of what this request wrote.
    pub fn restore(request: u32, writer: (u16, u32), sequence: Sequence) -> Self {
        let writer = WriteId { client: writer.0, request: writer.1 };
        Self { writer, size: SIZE, ..Self::control(Op::Restore, request, sequence) }
    }

    /// A read that brings along what this request wrote.
    pub fn embedding(self, writer: (u16, u32), sequence: Sequence) -> Self {
        let writer = WriteId { client: writer.0, request: writer.1 };
        let ask = Self { writer, size: SIZE, ..self }.with(bits::EMBEDDED);
        Self { stamp: ask.stamp.map(|it| Stamp { sequence, ..it }), ..ask }
    }

    pub fn with(self, bits: u8) -> Self {
        let stamp = self.stamp.map(|it| Stamp { bits: it.bits | bits, ..it });
        Self { stamp, ..self }
    }

    pub fn of_generation(self, generation: u32) -> Self {
        Self { stamp: self.stamp.map(|it| Stamp { generation, ..it }), ..self }
    }

    pub fn of_key(self, id: u64) -> Self {
        Self { key: key_of(id), ..self }
    }

    pub fn of_size(self, size: usize) -> Self {
        Self { size, ..self }
    }

    pub fn frame(&self) -> Vec<u8> {
        let mut value = vec![0; self.size];
        if self.size > 0 {
            fill_value(&self.key, self.writer, &mut value);
        }
        let Self { op, source, sender, request, key, stamp, .. } = *self;
        let message = Message::request(source, SERVICE_IP, op, sender, request, key);
        frame_of(&Message { stamp, ..message.with_value(&value) })
    }
}

/// A reply, or an offer, as it leaves the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Said {
    pub op: Op,
    pub to: Ip,
    pub sender: u16,
    pub request: u32,
    pub key: Key,
    pub status: Status,
    pub stamp: Option<Stamp>,
    pub content: Content,
}

impl Said {
    fn read(bytes: &[u8]) -> Self {
        let frame = FrameView::parse(bytes).expect("a server sends no broken frame");
        assert_eq!(frame.source(), server_ip(0));
        let writer = read_writer(&frame.key(), frame.value());
        assert!(frame.value().is_empty() || writer.is_some(), "a value of nobody");
        Self {
            op: frame.op(),
            to: frame.destination(),
            sender: frame.sender(),
            request: frame.request(),
            key: frame.key(),
            status: frame.status(),
            stamp: frame.stamp(),
            content: writer.map(|it| (it.client, it.request)),
        }
    }

    pub fn sequence(&self) -> Sequence {
        self.stamp.unwrap_or_default().sequence
    }
}

pub struct Rig {
    pub now: Nanos,
    pub server: Server,
    pub config: ServerConfig,
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
        let config =
            ServerConfig { guard: 0, max_waiting: 8, ..ServerConfig::new(0, 1, Scheme::FarReach) };
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
        match self.store.execute(&netkv_roles::StoreCall::get(0, key)) {
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
