//! Programs with a write-through cache: reads to which the switch replies, and requests that it
//! forwards to a server, with cache metadata if the key is cached.

use netkv_ir::{Match, Value};
use netkv_wire::{
    CACHE_METADATA_LEN, CPU_PORT, CacheMetadata, Key, MAX_CACHED_VALUE, Message, Op, SERVICE_IP,
    capacity, chunks_for, client_ip, padded, partition, sender_of_server, server_ip,
};

use super::path::{NEVER_HOT, Path};
use super::{Subject, rack};
use crate::case::Case;
use crate::control::Control;
use crate::error::BenchError;
use crate::traffic::{Frames, Traffic, uniform, value_of};

const MAX_ENTRIES: u32 = 65_536;

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
}

fn bitmap(case: &Case) -> u8 {
    u8::MAX >> (8 - chunks_for(case.value_size as usize).clamp(1, 8))
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

    /// The message about the entry of a key by the key's server.
    fn server_message(&self, op: Op, request: u32, number: u32) -> Message<'static> {
        let key = self.key(number);
        let owner = partition(&key, rack::SERVERS);
        let sender = sender_of_server(owner);
        let message = rack::to_service(server_ip(owner), op, sender, request, key);
        Message { upper: self.upper, ..message }
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
        rack::fill(control)?;
        let below = self.path_of(case)?.sample_below();
        let (table, action) = ("NetkvIngress.sampling.settings", "NetkvIngress.sampling.configure");
        control.set_default(table, action, &[below, NEVER_HOT])?;
        (self.fill_more)(control)?;
        control.send(CPU_PORT, &rack::epoch(1));
        let bitmap = bitmap(case);
        for entry in 0..case.entries {
            let metadata = CacheMetadata { generation: entry + 1, version: 0, bitmap };
            let value = value_of(entry, case.value_size);
            let update = self.server_message(Op::Update, entry, entry);
            let update = update.with_cache_metadata(metadata).with_value(&value);
            let key = Match::Exact(Value::from_bytes(128, &update.key));
            let row = u128::from(entry);
            let params = [row, row, u128::from(bitmap), u128::from(metadata.generation)];
            let (table, action) = ("NetkvIngress.lookup.cache", "NetkvIngress.lookup.cached");
            control.insert(table, key, 0, action, &params)?;
            let update = rack::frame(&Message { room: capacity(bitmap), ..update });
            let replies = control.send(rack::SERVER_PORT, &update);
            if !matches!(replies.as_slice(), [(rack::SERVER_PORT, _)]) {
                return Err(BenchError::new(format!(
                    "An UPDATE of entry {entry} is not answered, so the cache cannot be filled."
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
}
