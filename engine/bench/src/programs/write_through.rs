//! Programs with a write-through cache: reads to which the switch replies, and requests that it
//! forwards to a server, with cache metadata if the key is cached.

use netkv_dataplane::Output;
use netkv_ir::{Match, Value};
use netkv_wire::{
    CACHE_METADATA_LEN, CONTROLLER_IP, CONTROLLER_SENDER, CPU_PORT, CacheMetadata, Key,
    MAX_CACHED_VALUE, Message, Op, SERVICE_IP, capacity, chunks_for, client_ip, padded, partition,
    sender_of_server, server_ip,
};

use super::all_kinds::{Draw, all_kinds};
use super::path::{Path, Sampling};
use super::rack;
use super::subject::Subject;
use crate::case::{ALL_KINDS, Case};
use crate::control::Control;
use crate::error::BenchError;
use crate::handwritten::Pipeline;
use crate::traffic::{Arrivals, Frames, Traffic, uniform, value_of};

const MAX_ENTRIES: u32 = 65_536;

/// The ops of frames of all kinds.
const ANY_OP: [Op; 16] = [
    Op::Get,
    Op::Get,
    Op::Get,
    Op::Get,
    Op::Get,
    Op::GetReply,
    Op::Put,
    Op::PutReply,
    Op::Delete,
    Op::Update,
    Op::Update,
    Op::Update,
    Op::Invalidate,
    Op::Install,
    Op::Stats,
    Op::Epoch,
];

/// The kind of an input frame.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Frame {
    Read,
    Write,
    /// A server's INVALIDATE, to which the switch replies.
    Invalidate,
}

/// The paths of a switch that follows the writes of its keys and finds hot keys.
pub(super) const NETCACHE_PATHS: &[Path<Frame>] = &[
    Path { name: "read-hit", frame: Frame::Read, cached: true, sampled: false },
    Path { name: "read-hit-sampled", frame: Frame::Read, cached: true, sampled: true },
    Path { name: "read-miss", frame: Frame::Read, cached: false, sampled: false },
    Path { name: "count-min", frame: Frame::Read, cached: false, sampled: true },
    Path { name: "write-cached", frame: Frame::Write, cached: true, sampled: false },
    Path { name: "write-uncached", frame: Frame::Write, cached: false, sampled: false },
];

/// A program with a write-through cache.
pub(super) struct WriteThrough {
    pub name: &'static str,
    pub paths: &'static [Path<Frame>],
    /// Whether requests arrive with the address of their server, which an earlier switch has set.
    pub addressed: bool,
    /// Whether reads, and messages of servers, are about the upper copy of their key.
    pub upper: bool,
    /// Whether a client's write of a cached key changes the entry and gets cache metadata.
    pub follows_writes: bool,
    /// Bytes of the headers before the value in replies to reads.
    pub reply_header: usize,
    /// Whether requests for this key take this switch.
    pub serves: fn(&Key) -> bool,
    /// Fills the tables that NetCache does not have.
    pub fill_more: fn(&mut Control<'_>) -> Result<(), BenchError>,
    /// The empty handwritten pipeline, if there is one.
    pub by_hand: Option<NewByHand>,
    /// See [`Subject::counted`].
    pub counted: &'static [&'static str],
}

/// Makes a handwritten pipeline for a case.
pub(super) type NewByHand = fn(&Case, Sampling) -> Box<dyn ByHand>;

/// A handwritten pipeline whose cache can be filled.
pub(super) trait ByHand: Pipeline {
    /// Writes the lookup entry of a key.
    fn insert(&mut self, entry: &LookupEntry);
}

/// The lookup entry of a key. The number of the entry is that of its row.
pub(super) struct LookupEntry {
    pub key: Key,
    pub row: u16,
    /// The value arrays that have a chunk of the value.
    pub bitmap: u8,
    pub generation: u32,
}

/// The bitmap of an entry. If frames of all kinds are sent, there are entries of several kinds.
fn bitmap(case: &Case, entry: u32) -> u8 {
    let usual = u8::MAX >> (8 - chunks_for(case.value_size as usize).clamp(1, 8));
    if case.path == ALL_KINDS { [usual, 0xa5, 0x80, 0x01][entry as usize % 4] } else { usual }
}

impl WriteThrough {
    fn path_of(&self, case: &Case) -> Result<&'static Path<Frame>, BenchError> {
        Path::of(self.paths, case, self)
    }

    /// The key with this number.
    fn key(&self, number: u32) -> Key {
        rack::keys(number).find(self.serves).expect("the keys do not end")
    }

    /// A client's request for a key.
    fn request(&self, op: Op, request: u32, number: u32) -> Message<'static> {
        let key = self.key(number);
        let owner = server_ip(partition(&key, rack::SERVERS));
        let destination = if self.addressed { owner } else { SERVICE_IP };
        Message::request(client_ip(rack::CLIENT), destination, op, rack::CLIENT, request, key)
    }

    /// Any message, as it may arrive by this port. Some have the metadata of the entry.
    fn any_message<'a>(
        &self,
        case: &Case,
        draw: &mut Draw,
        port: u16,
        value: &'a mut [u8; 128],
    ) -> Message<'a> {
        let number = draw.below(2 * u64::from(case.entries)) as u32;
        let op = draw.of(&ANY_OP);
        let request = draw.below(1 << 20) as u32;
        let message = match port {
            rack::CLIENT_PORT => self.request(op, request, number),
            rack::SERVER_PORT => self.server_message(op, request, number),
            _ => rack::to_service(CONTROLLER_IP, op, CONTROLLER_SENDER, request, self.key(number)),
        };
        let metadata = CacheMetadata {
            generation: if draw.one_in(8) { 7 } else { number + 1 },
            version: draw.below(3) as u32,
            bitmap: if draw.one_in(8) { draw.below(256) as u8 } else { bitmap(case, number) },
        };
        let has_metadata = draw.one_in(4) || matches!(op, Op::Update | Op::Epoch);
        let length = draw.below(1 + capacity(metadata.bitmap) as u64) as usize;
        let has_value = matches!(op, Op::Update | Op::Put | Op::GetReply);
        let value = &mut value[..if has_value { length } else { 0 }];
        value.copy_from_slice(&value_of(request, value.len() as u32));
        let room = if op == Op::Update { capacity(metadata.bitmap) } else { 0 };
        let upper = self.upper && !draw.one_in(8);
        let cache_metadata = (has_metadata && !draw.one_in(16)).then_some(metadata);
        Message { cache_metadata, upper, room, ..message.with_value(value) }
    }

    /// The message about the entry of a key by the key's server.
    fn server_message(&self, op: Op, request: u32, number: u32) -> Message<'static> {
        let key = self.key(number);
        let owner = partition(&key, rack::SERVERS);
        let sender = sender_of_server(owner);
        let message = rack::to_service(server_ip(owner), op, sender, request, key);
        Message { upper: self.upper, ..message }
    }
}

impl WriteThrough {
    /// For each entry its lookup entry, and the server's UPDATE with its value.
    fn entries(&self, case: &Case) -> impl Iterator<Item = (LookupEntry, Vec<u8>)> {
        (0..case.entries).map(move |number| {
            let (bitmap, generation) = (bitmap(case, number), number + 1);
            let metadata = CacheMetadata { generation, version: 0, bitmap };
            let room = capacity(bitmap);
            let value = value_of(number, case.value_size.min(room as u32));
            let update = self.server_message(Op::Update, number, number);
            let update = update.with_cache_metadata(metadata).with_value(&value);
            let entry = LookupEntry { key: update.key, row: number as u16, bitmap, generation };
            (entry, rack::frame(&Message { room, ..update }))
        })
    }
}

impl Subject for WriteThrough {
    fn name(&self) -> &'static str {
        self.name
    }

    fn paths(&self) -> Vec<&'static str> {
        self.paths.iter().map(|path| path.name).collect()
    }

    /// Fills entries as the controller and the servers do: the lookup entry, then an UPDATE through
    /// the data plane.
    fn fill(&self, case: &Case, control: &mut Control<'_>) -> Result<(), BenchError> {
        rack::check(case, MAX_ENTRIES, MAX_CACHED_VALUE as u32)?;
        rack::fill(case, control)?;
        let Sampling { below, hot_threshold } = Path::sampling(self.paths, case, self)?;
        let (table, action) = ("NetkvIngress.sampling.settings", "NetkvIngress.sampling.configure");
        control.set_default(table, action, &[below.into(), hot_threshold.into()])?;
        (self.fill_more)(control)?;
        control.send(CPU_PORT, &rack::epoch(1));
        for (entry, update) in self.entries(case) {
            let key = Match::Exact(Value::from_bytes(128, &entry.key));
            let row = u128::from(entry.row);
            let params = [row, row, entry.bitmap.into(), entry.generation.into()];
            let (table, action) = ("NetkvIngress.lookup.cache", "NetkvIngress.lookup.cached");
            control.insert(table, key, 0, action, &params)?;
            let replies = control.send(rack::SERVER_PORT, &update);
            if !matches!(replies.as_slice(), [(rack::SERVER_PORT, _)]) {
                return Err(BenchError::new(format!(
                    "An UPDATE of entry {row} is not answered, so the cache cannot be filled."
                )));
            }
        }
        Ok(())
    }

    fn traffic(&self, case: &Case) -> Result<Traffic, BenchError> {
        rack::check(case, MAX_ENTRIES, MAX_CACHED_VALUE as u32)?;
        let path = self.path_of(case)?;
        if path.cached && case.pipelines > 1 {
            return Err(BenchError::new(format!(
                "'{}' keeps its cache in ingress, so clients have none in {} pipelines: measure the \
                 path '{}' with 1.",
                case.program, case.pipelines, case.path
            )));
        }
        // The numbers of uncached keys follow those of cached keys.
        let first = if path.cached { 0 } else { case.entries };
        let mut frames = Frames::default();
        for (request, key) in (1..).zip(uniform(case.entries)) {
            let number = first + key;
            let value = value_of(number, case.value_size);
            let message = match path.frame {
                Frame::Read => {
                    Message { upper: self.upper, ..self.request(Op::Get, request, number) }
                }
                Frame::Write => self.request(Op::Put, request, number).with_value(&value),
                Frame::Invalidate => self.server_message(Op::Invalidate, request, number),
            };
            frames.push(&rack::frame(&message));
        }
        let value = padded(case.value_size as usize);
        let metadata = if path.cached && self.follows_writes { CACHE_METADATA_LEN } else { 0 };
        let (input_port, output_port, added) = match (path.frame, path.cached) {
            (Frame::Read, true) => {
                (rack::CLIENT_PORT, rack::CLIENT_PORT, self.reply_header + value)
            }
            (Frame::Read, false) => (rack::CLIENT_PORT, rack::SERVER_PORT, 0),
            (Frame::Write, _) => (rack::CLIENT_PORT, rack::SERVER_PORT, metadata + value),
            (Frame::Invalidate, _) => (rack::SERVER_PORT, rack::SERVER_PORT, CACHE_METADATA_LEN),
        };
        let bytes = rack::MIN_FRAME_BYTES + added;
        let mut traffic = Traffic::new(input_port, frames, output_port..=output_port, bytes);
        if path.sampled {
            traffic.new_frame = Some(|turn| (CPU_PORT, rack::epoch(turn + 1)));
        }
        Ok(traffic)
    }

    fn all_kinds(&self, case: &Case) -> Vec<Arrivals> {
        let ports = [rack::CLIENT_PORT, rack::SERVER_PORT, CPU_PORT];
        all_kinds(&ports, |draw, port| {
            rack::frame(&self.any_message(case, draw, port, &mut [0; 128]))
        })
    }

    fn handwritten(&self, case: &Case) -> Option<Box<dyn Pipeline>> {
        let sampling = Path::sampling(self.paths, case, self).ok()?;
        // The state of the pipeline is that of a switch with one pipeline.
        let new = self.by_hand.filter(|_| case.pipelines == 1)?;
        let mut pipeline = new(case, sampling);
        let mut out = Output::new();
        pipeline.process_batch(CPU_PORT, &[&rack::epoch(1)], &mut out);
        for (entry, update) in self.entries(case) {
            pipeline.insert(&entry);
            pipeline.process_batch(rack::SERVER_PORT, &[&update], &mut out);
            out.clear();
        }
        Some(pipeline)
    }

    fn counted(&self) -> &'static [&'static str] {
        self.counted
    }
}
