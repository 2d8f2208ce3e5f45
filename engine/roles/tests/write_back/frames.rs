//! Frames to the server, as the switch forwards them, and frames of the server.

use netkv_roles::{MILLISECOND, Nanos, WriteId, fill_value, read_writer};
use netkv_wire::{
    CONTROLLER_IP, CONTROLLER_SENDER, FrameView, Ip, Key, Message, Op, SERVICE_IP, Sequence, Stamp,
    Status, bits, client_ip, server_ip,
};
use netkv_workload::key_of;

use crate::common::frame_of;

/// Bytes of a value, unless a script sets another size.
pub const SIZE: usize = 64;
/// Incarnation of the switch, unless a script sets another.
pub const INCARNATION: u32 = 5;
/// Longer than several retries of an offer.
pub const LONG: Nanos = 300 * MILLISECOND;

/// A sequence in the usual incarnation.
pub fn at(number: u32) -> Sequence {
    Sequence { incarnation: INCARNATION, number }
}

/// The content of a key: the client and number of the request that wrote it.
pub type Content = Option<(u16, u32)>;

/// The initial value of a key.
pub const INITIAL: Content = Some((0, 0));

/// A frame as the switch forwards it to the server.
#[derive(Debug, Clone, Copy)]
pub struct Incoming {
    pub op: Op,
    pub source: Ip,
    pub sender: u16,
    pub request: u32,
    pub key: Key,
    pub stamp: Option<Stamp>,
    /// The writer of its value, and the length of the value.
    pub writer: WriteId,
    pub size: usize,
}

impl Incoming {
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
        Self::client(Op::Get, 3, request, Sequence { incarnation: INCARNATION, number: 0 })
    }

    /// A message of the controller.
    pub fn control(op: Op, request: u32, sequence: Sequence) -> Self {
        let (source, sender) = (CONTROLLER_IP, CONTROLLER_SENDER);
        Self { source, sender, ..Self::client(op, 1, request, sequence) }
    }

    /// RESTORE of the value that this request wrote.
    pub fn restore(request: u32, writer: (u16, u32), sequence: Sequence) -> Self {
        let writer = WriteId { client: writer.0, request: writer.1 };
        Self { writer, size: SIZE, ..Self::control(Op::Restore, request, sequence) }
    }

    /// A read with an embedded record: the value that this request wrote.
    pub fn embedding(self, writer: (u16, u32), sequence: Sequence) -> Self {
        let writer = WriteId { client: writer.0, request: writer.1 };
        let incoming = Self { writer, size: SIZE, ..self }.with(bits::EMBEDDED);
        Self { stamp: incoming.stamp.map(|it| Stamp { sequence, ..it }), ..incoming }
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

/// A frame of the server: a reply or an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outgoing {
    pub op: Op,
    pub to: Ip,
    pub sender: u16,
    pub request: u32,
    pub key: Key,
    pub status: Status,
    pub stamp: Option<Stamp>,
    pub content: Content,
}

impl Outgoing {
    pub fn read(bytes: &[u8]) -> Self {
        let frame = FrameView::parse(bytes).expect("a server sends no broken frame");
        assert_eq!(frame.source(), server_ip(0));
        let writer = read_writer(&frame.key(), frame.value());
        assert!(frame.value().is_empty() || writer.is_some(), "a value without a writer");
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
