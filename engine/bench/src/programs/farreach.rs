//! `farreach.p4`: reads and writes to which the switch replies, and frames that it forwards to a
//! server or a client. A reply of the switch is a clone, from a second pass through egress.

use netkv_ir::{Match, Value};
use netkv_wire::{
    CONTROLLER_IP, CONTROLLER_SENDER, CPU_PORT, MAX_CACHED_VALUE, Op, STAMP_LEN, Sequence, Slot,
    Stamp, client_ip, padded, partition, server_ip,
};

use super::{Subject, no_path, rack};
use crate::case::Case;
use crate::control::Control;
use crate::error::BenchError;
use crate::traffic::{Frames, Traffic, uniform, value_of};

/// The program `farreach.p4`.
pub(super) struct FarReach;

const MAX_ENTRIES: u32 = 32_768;
/// The sampling threshold at which all requests are sampled.
const ALL: u128 = 65_536;
/// A hot-key threshold that no estimate reaches within a round.
const NEVER_HOT: u128 = 0xffff;
/// The setting with which the switch uses its cache; it is 0 during a recovery.
const CACHE_OPEN: u128 = 1;
/// The incarnation of the switch.
const INCARNATION: u32 = 2;
/// The sequence number of the record of every entry.
const NUMBER: u32 = 1;

/// The kind of an input frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frame {
    Read,
    Write,
    /// A server's reply to a read.
    Reply,
}

/// One path: the kind of frames, and their result.
struct Path {
    name: &'static str,
    frame: Frame,
    cached: bool,
    /// Whether all requests are counted or none: for the entry, or in the Count-Min sketch.
    sampled: bool,
}

const PATHS: [Path; 9] = [
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

fn path_of(case: &Case) -> Result<&'static Path, BenchError> {
    PATHS.iter().find(|path| path.name == case.path).ok_or_else(|| no_path(case, &FarReach))
}

/// The version stamp of the record in an entry.
fn record(entry: u32) -> Stamp {
    let sequence = Sequence { incarnation: INCARNATION, number: NUMBER };
    Stamp { sequence, generation: entry + 1, bits: 0 }
}

/// The version stamp of a client's request.
fn client_stamp() -> Stamp {
    Stamp { sequence: Sequence { incarnation: INCARNATION, number: 0 }, generation: 0, bits: 0 }
}

/// A controller's message about the entry of a key, as a frame at the CPU port.
fn control_message(op: Op, entry: u32, value: &[u8]) -> Vec<u8> {
    let message = rack::to_service(CONTROLLER_IP, op, CONTROLLER_SENDER, entry, rack::key(entry))
        .with_stamp(record(entry))
        .with_slot(Slot { entry: entry as u16, number: 0 })
        .with_value(value);
    // The first two bytes are the packet-out header of an ordinary frame.
    [vec![0; 2], rack::frame(&message)].concat()
}

/// The server's reply to a read of a key, which updates the entry.
fn reply(request: u32, key: u32, value_size: u32) -> Vec<u8> {
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
    rack::frame(&message.with_stamp(record(key)).with_value(&value))
}

/// The request number of the `n`-th write. In each cell of the deduplication window, two distant
/// request numbers alternate. So no write is a duplicate, also if the sequence is repeated.
fn request_of(n: u32) -> u32 {
    (n % 1024) | ((n / 1024 % 2) << 29)
}

impl Subject for FarReach {
    fn name(&self) -> &'static str {
        "farreach"
    }

    fn paths(&self) -> Vec<&'static str> {
        PATHS.iter().map(|path| path.name).collect()
    }

    /// Fills entries as the controller does, and updates them with a server's reply.
    fn fill(&self, case: &Case, control: &mut Control<'_>) -> Result<(), BenchError> {
        rack::check(case, MAX_ENTRIES, MAX_CACHED_VALUE as u32)?;
        rack::fill(control)?;
        for port in [rack::CLIENT_PORT, rack::SERVER_PORT, CPU_PORT] {
            control.clone_session(u32::from(port), port)?;
        }
        let below = if path_of(case)?.sampled { ALL } else { 0 };
        let settings = [below, NEVER_HOT, 1, CACHE_OPEN];
        let (table, action) = ("NetkvIngress.settings.settings", "NetkvIngress.settings.configure");
        control.set_default(table, action, &settings)?;
        let (table, action) = ("NetkvEgress.incarnation.current", "NetkvEgress.incarnation.set");
        control.set_default(table, action, &[u128::from(INCARNATION)])?;
        for entry in 0..case.entries {
            let value = value_of(entry, case.value_size);
            let key = Match::Exact(Value::from_bytes(128, &rack::key(entry)));
            let params = [u128::from(entry), u128::from(entry + 1)];
            let (table, action) = ("NetkvIngress.lookup.cache", "NetkvIngress.lookup.cached");
            control.insert(table, key, 0, action, &params)?;
            let frames = [
                (CPU_PORT, control_message(Op::Fill, entry, &value)),
                (CPU_PORT, control_message(Op::Validate, entry, &[])),
                (rack::SERVER_PORT, reply(0, entry, case.value_size)),
            ];
            for (port, frame) in frames {
                if control.send(port, &frame).len() != 1 {
                    return Err(BenchError::new(format!(
                        "Entry {entry} is not filled: a frame for it gets no answer."
                    )));
                }
            }
        }
        Ok(())
    }

    fn traffic(&self, case: &Case) -> Result<Traffic, BenchError> {
        rack::check(case, MAX_ENTRIES, MAX_CACHED_VALUE as u32)?;
        let path = path_of(case)?;
        // The numbers of uncached keys follow those of cached keys.
        let first = if path.cached { 0 } else { case.entries };
        let mut frames = Frames::default();
        for (number, key) in (0..).zip(uniform(case.entries)) {
            let (key, request) = (first + key, request_of(number));
            let value = value_of(key, case.value_size);
            let request_message = |op| {
                let client = client_ip(rack::CLIENT);
                rack::to_service(client, op, rack::CLIENT, request, rack::key(key))
                    .with_stamp(client_stamp())
            };
            frames.push(&match path.frame {
                Frame::Read => rack::frame(&request_message(Op::Get)),
                Frame::Write => rack::frame(&request_message(Op::Put).with_value(&value)),
                Frame::Reply => reply(request, key, case.value_size),
            });
        }
        let answered = path.cached || path.frame == Frame::Reply;
        let output_port = if answered { rack::CLIENT_PORT } else { rack::SERVER_PORT };
        let has_value = match path.frame {
            Frame::Read => path.cached,
            Frame::Write => !path.cached,
            Frame::Reply => true,
        };
        let value = if has_value { padded(case.value_size as usize) } else { 0 };
        let bytes = rack::MIN_FRAME_BYTES + STAMP_LEN + value;
        let input_port =
            if path.frame == Frame::Reply { rack::SERVER_PORT } else { rack::CLIENT_PORT };
        Ok(Traffic::new(input_port, frames, output_port..=output_port, bytes))
    }
}
