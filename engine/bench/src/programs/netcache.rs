//! `netcache.p4`: cache hits and misses, writes, and reads with statistics.

use netkv_ir::{Match, Value};
use netkv_wire::{
    CACHE_METADATA_LEN, CPU_PORT, CacheMetadata, MAX_CACHED_VALUE, chunks_for, padded,
};

use super::{Subject, no_path, rack};
use crate::case::Case;
use crate::control::Control;
use crate::error::BenchError;
use crate::traffic::{Frames, Traffic, uniform};

/// The program `netcache.p4`.
pub(super) struct NetCache;

const MAX_ENTRIES: u32 = 65_536;
/// The sampling threshold at which all reads are sampled.
const ALL: u128 = 65_536;
/// A hot-key threshold that no estimate reaches within a round.
const NEVER_HOT: u128 = 0xffff;

/// One path: the kind of requests, and their result.
struct Path {
    name: &'static str,
    write: bool,
    cached: bool,
    /// Whether all reads are counted or none: for the entry, or in the Count-Min sketch.
    sampled: bool,
}

const PATHS: [Path; 6] = [
    Path { name: "read-hit", write: false, cached: true, sampled: false },
    Path { name: "read-hit-sampled", write: false, cached: true, sampled: true },
    Path { name: "read-miss", write: false, cached: false, sampled: false },
    Path { name: "count-min", write: false, cached: false, sampled: true },
    Path { name: "write-cached", write: true, cached: true, sampled: false },
    Path { name: "write-uncached", write: true, cached: false, sampled: false },
];

fn path_of(case: &Case) -> Result<&'static Path, BenchError> {
    PATHS.iter().find(|path| path.name == case.path).ok_or_else(|| no_path(case, &NetCache))
}

fn bitmap(case: &Case) -> u8 {
    u8::MAX >> (8 - chunks_for(case.value_size as usize).clamp(1, 8))
}

impl Subject for NetCache {
    fn name(&self) -> &'static str {
        "netcache"
    }

    fn paths(&self) -> Vec<&'static str> {
        PATHS.iter().map(|path| path.name).collect()
    }

    /// Fills entries as the controller and the servers do: the lookup entry, then an UPDATE through
    /// the data plane.
    fn fill(&self, case: &Case, control: &mut Control<'_>) -> Result<(), BenchError> {
        rack::check(case, MAX_ENTRIES, MAX_CACHED_VALUE as u32)?;
        rack::fill(control)?;
        let below = if path_of(case)?.sampled { ALL } else { 0 };
        let (table, action) = ("NetkvIngress.sampling.settings", "NetkvIngress.sampling.configure");
        control.set_default(table, action, &[below, NEVER_HOT])?;
        control.send(CPU_PORT, &rack::epoch(1));
        let bitmap = bitmap(case);
        for entry in 0..case.entries {
            let metadata = CacheMetadata { generation: entry + 1, version: 0, bitmap };
            let key = Match::Exact(Value::from_bytes(128, &rack::key(entry)));
            let row = u128::from(entry);
            let params = [row, row, u128::from(bitmap), u128::from(metadata.generation)];
            let (table, action) = ("NetkvIngress.lookup.cache", "NetkvIngress.lookup.cached");
            control.insert(table, key, 0, action, &params)?;
            let update = rack::update(entry, metadata, case.value_size);
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
        let path = path_of(case)?;
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
            frames.push(&if path.write {
                rack::put(request, first + key, case.value_size)
            } else {
                rack::get(request, first + key)
            });
        }
        let answered = path.cached && !path.write;
        let port = if answered { rack::CLIENT_PORT } else { rack::SERVER_PORT };
        let value = if path.write || answered { padded(case.value_size as usize) } else { 0 };
        let metadata = if path.cached && path.write { CACHE_METADATA_LEN } else { 0 };
        let bytes = rack::MIN_FRAME_BYTES + metadata + value;
        let mut traffic = Traffic::new(rack::CLIENT_PORT, frames, port..=port, bytes);
        if path.sampled {
            traffic.new_frame = Some(|turn| (CPU_PORT, rack::epoch(turn + 1)));
        }
        Ok(traffic)
    }
}
