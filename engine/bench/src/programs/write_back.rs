//! Programs with a write-back cache: reads and writes to which the switch replies, and frames that
//! it forwards to a server or a client. A reply of the switch is a clone, from a second pass
//! through egress.

use netkv_ir::{Match, Value};
use netkv_wire::{
    CONTROLLER_IP, CONTROLLER_SENDER, CPU_PORT, Key, MAX_CACHED_VALUE, Op, STAMP_LEN, Sequence,
    Slot, Stamp, client_ip, padded, partition, server_ip,
};

use super::path::{Path, Sampling};
use super::rack;
use super::subject::Subject;
use crate::case::{ALL_KINDS, Case};
use crate::control::Control;
use crate::error::BenchError;
use crate::traffic::{Arrivals, Frames, Traffic, uniform, value_of};

const MAX_ENTRIES: u32 = 32_768;
/// The setting with which the switch uses its cache; it has another value during a recovery.
const CACHE_OPEN: u128 = 1;
/// The statistics epoch.
const EPOCH: u16 = 1;
/// The incarnation of the switch, or of its chain.
pub(super) const INCARNATION: u32 = 3;
/// The sequence number of the record of every entry.
const NUMBER: u32 = 1;

/// The kind of an input frame.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Frame {
    Read,
    Write,
    /// A server's reply to a read.
    Reply,
}

/// The paths of a switch that answers requests.
pub(super) const ANSWERING_PATHS: &[Path<Frame>] = &[
    Path { name: "read-hit", frame: Frame::Read, cached: true, sampled: false },
    Path { name: "read-hit-sampled", frame: Frame::Read, cached: true, sampled: true },
    Path { name: "read-miss", frame: Frame::Read, cached: false, sampled: false },
    Path { name: "count-min", frame: Frame::Read, cached: false, sampled: true },
    Path { name: "write-cached", frame: Frame::Write, cached: true, sampled: false },
    Path { name: "write-cached-sampled", frame: Frame::Write, cached: true, sampled: true },
    Path { name: "write-uncached", frame: Frame::Write, cached: false, sampled: false },
    Path { name: "reply-cached", frame: Frame::Reply, cached: true, sampled: false },
    Path { name: "reply-uncached", frame: Frame::Reply, cached: false, sampled: false },
];

/// A program with a write-back cache.
pub(super) struct WriteBack {
    pub name: &'static str,
    pub paths: &'static [Path<Frame>],
    /// Whether the switch answers requests for cached keys; otherwise it passes them on.
    pub answers: bool,
    /// The incarnation of the records in the entries.
    pub record_incarnation: u32,
    /// The parameters of the action that sets the incarnation.
    pub incarnation: &'static [u128],
    /// Whether the switch serves a chain, which a table with servers defines.
    pub chain: bool,
    /// The version stamp with which the `n`-th request of a path arrives, which is in this turn and
    /// about the key of this entry.
    pub request_stamp: fn(path: &Path<Frame>, entry: u32, turn: u32, n: u32) -> Stamp,
    /// How often the sequence of keys of a path is used, with different stamps.
    pub turns: fn(path: &Path<Frame>) -> u32,
    /// The frames of all kinds, if the benchmark has some for the program.
    pub all_kinds: Option<AllKinds>,
    /// See [`Subject::counted`].
    pub counted: &'static [&'static str],
}

/// How a switch gets frames of all kinds.
pub(super) struct AllKinds {
    /// Fills what only these frames need.
    pub fill: fn(&mut Control<'_>) -> Result<(), BenchError>,
    pub arrivals: fn(&Case) -> Vec<Arrivals>,
}

/// An entry, with the frames that fill it.
struct Entry {
    number: u16,
    key: Key,
    generation: u32,
    /// Port and frame.
    frames: [(u16, Vec<u8>); 3],
}

/// The version stamp of a client's request.
pub(super) fn client_stamp() -> Stamp {
    Stamp { sequence: Sequence { incarnation: INCARNATION, number: 0 }, generation: 0, bits: 0 }
}

/// A controller's message about the entry of a key, as a frame at the CPU port.
fn control_message(op: Op, entry: u32, record: Stamp, value: &[u8]) -> Vec<u8> {
    let message = rack::to_service(CONTROLLER_IP, op, CONTROLLER_SENDER, entry, rack::key(entry))
        .with_stamp(record)
        .with_slot(Slot { entry: entry as u16, number: 0 })
        .with_value(value);
    // The first two bytes are the packet-out header of an ordinary frame.
    [vec![0; 2], rack::frame(&message)].concat()
}

/// The server's reply to a read of a key, which updates the entry.
fn reply(request: u32, key: u32, record: Stamp, value_size: u32) -> Vec<u8> {
    let value = value_of(key, value_size);
    let mut message = rack::to_service(
        client_ip(rack::CLIENT),
        Op::GetReply,
        rack::CLIENT,
        request,
        rack::key(key),
    );
    message.source = server_ip(partition(&message.key, rack::SERVERS));
    message.destination = client_ip(rack::CLIENT);
    rack::frame(&message.with_stamp(record).with_value(&value))
}

/// The request number of the `n`-th write. In each cell of the deduplication window, two distant
/// request numbers alternate. So no write is a duplicate, also if the sequence is repeated.
fn request_of(n: u32) -> u32 {
    (n % 1024) | ((n / 1024 % 2) << 29)
}

impl WriteBack {
    fn path_of(&self, case: &Case) -> Result<&'static Path<Frame>, BenchError> {
        Path::of(self.paths, case, self)
    }

    /// The entries, with the frames that fill them.
    fn entries(&self, case: &Case) -> impl Iterator<Item = Entry> {
        (0..case.entries).map(move |entry| {
            let (record, value) = (self.record(entry), value_of(entry, case.value_size));
            let frames = [
                (CPU_PORT, control_message(Op::Fill, entry, record, &value)),
                (CPU_PORT, control_message(Op::Validate, entry, record, &[])),
                (rack::SERVER_PORT, reply(0, entry, record, case.value_size)),
            ];
            let (number, generation) = (entry as u16, record.generation);
            Entry { number, key: rack::key(entry), generation, frames }
        })
    }

    /// The version stamp of the record in an entry.
    fn record(&self, entry: u32) -> Stamp {
        let sequence = Sequence { incarnation: self.record_incarnation, number: NUMBER };
        Stamp { sequence, generation: generation_of(entry), bits: 0 }
    }
}

/// The generation of an entry, which is filled once.
pub(super) fn generation_of(entry: u32) -> u32 {
    entry + 1
}

impl Subject for WriteBack {
    fn name(&self) -> &'static str {
        self.name
    }

    fn paths(&self) -> Vec<&'static str> {
        self.paths.iter().map(|path| path.name).collect()
    }

    /// Fills entries as the controller does, and updates them with a server's reply.
    fn fill(&self, case: &Case, control: &mut Control<'_>) -> Result<(), BenchError> {
        rack::check(case, MAX_ENTRIES, MAX_CACHED_VALUE as u32)?;
        rack::fill(case, control)?;
        for port in rack::WITH_SESSION {
            control.clone_session(u32::from(port), port)?;
        }
        let Sampling { below, hot_threshold } = Path::sampling(self.paths, case, self)?;
        let settings = [below.into(), hot_threshold.into(), EPOCH.into(), CACHE_OPEN];
        let (table, action) = ("NetkvIngress.settings.settings", "NetkvIngress.settings.configure");
        control.set_default(table, action, &settings)?;
        let (table, action) = ("NetkvEgress.incarnation.current", "NetkvEgress.incarnation.set");
        control.set_default(table, action, self.incarnation)?;
        if self.chain {
            for server in 0..rack::SERVERS {
                let ip = Match::Exact(Value::from_bytes(32, &server_ip(server)));
                let (table, action) =
                    ("NetkvIngress.chain.servers", "NetkvIngress.chain.of_this_chain");
                control.insert(table, ip, 0, action, &[])?;
            }
        }
        if case.path == ALL_KINDS
            && let Some(all_kinds) = &self.all_kinds
        {
            (all_kinds.fill)(control)?;
        }
        for Entry { number, key, generation, frames } in self.entries(case) {
            let key = Match::Exact(Value::from_bytes(128, &key));
            let params = [number.into(), generation.into()];
            let (table, action) = ("NetkvIngress.lookup.cache", "NetkvIngress.lookup.cached");
            control.insert(table, key, 0, action, &params)?;
            for (port, frame) in frames {
                // Among frames of all kinds there are keys without an owner.
                if control.send(port, &frame).len() != 1 && case.path != ALL_KINDS {
                    return Err(BenchError::new(format!(
                        "Entry {number} is not filled: a frame for it gets no answer."
                    )));
                }
            }
        }
        Ok(())
    }

    fn traffic(&self, case: &Case) -> Result<Traffic, BenchError> {
        rack::check(case, MAX_ENTRIES, MAX_CACHED_VALUE as u32)?;
        let path = self.path_of(case)?;
        // The numbers of uncached keys follow those of cached keys.
        let first = if path.cached { 0 } else { case.entries };
        let turns = 0..(self.turns)(path);
        let keys = turns.flat_map(|turn| uniform(case.entries).map(move |key| (turn, key)));
        let mut frames = Frames::default();
        for (number, (turn, key)) in (0..).zip(keys) {
            let (key, request) = (first + key, request_of(number));
            let value = value_of(key, case.value_size);
            let request_message = |op| {
                let client = client_ip(rack::CLIENT);
                rack::to_service(client, op, rack::CLIENT, request, rack::key(key))
                    .with_stamp((self.request_stamp)(path, key, turn, number))
            };
            frames.push(&match path.frame {
                Frame::Read => rack::frame(&request_message(Op::Get)),
                Frame::Write => rack::frame(&request_message(Op::Put).with_value(&value)),
                Frame::Reply => reply(request, key, self.record(key), case.value_size),
            });
        }
        let answered = path.cached && self.answers;
        let to_client = answered || path.frame == Frame::Reply;
        let output_port = if to_client { rack::CLIENT_PORT } else { rack::SERVER_PORT };
        let has_value = match path.frame {
            Frame::Read => answered,
            Frame::Write => !answered,
            Frame::Reply => true,
        };
        let value = if has_value { padded(case.value_size as usize) } else { 0 };
        let bytes = rack::MIN_FRAME_BYTES + STAMP_LEN + value;
        let input_port =
            if path.frame == Frame::Reply { rack::SERVER_PORT } else { rack::CLIENT_PORT };
        Ok(Traffic::new(input_port, frames, output_port..=output_port, bytes))
    }

    fn all_kinds(&self, case: &Case) -> Vec<Arrivals> {
        self.all_kinds.as_ref().map_or_else(Vec::new, |all_kinds| (all_kinds.arrivals)(case))
    }

    fn counted(&self) -> &'static [&'static str] {
        self.counted
    }
}
