//! Frames of all kinds for a switch with a write-back cache.

use netkv_ir::{Match, Value};
use netkv_wire::{
    CONTROLLER_IP, CONTROLLER_SENDER, CPU_PORT, CacheMetadata, MAX_CACHED_VALUE, Message, Op,
    Sequence, Slot, Stamp, Status, client_ip, crc32, partition, server_ip,
};

use super::all_kinds::{Draw, all_kinds};
use super::rack;
use super::write_back::{AllKinds, INCARNATION};
use crate::case::Case;
use crate::control::Control;
use crate::error::BenchError;
use crate::traffic::{Arrivals, value_of};

/// A port of an ingress pipeline that has passed the point of a snapshot.
const AFTER_SNAPSHOT_POINT: (u16, u8) = (rack::OTHER_PORTS[0], 1);
/// The snapshot.
const SNAPSHOT: u32 = 9;
/// A port of an ingress pipeline that redirects its writes.
const REDIRECTING: (u16, u8) = (rack::OTHER_PORTS[1], 2);
/// A port without a clone session, so that replies to it are lost.
const WITHOUT_SESSION: u16 = 4;
/// The last sequence number of some keys: the next ones wrap.
const LAST_SEQUENCE: u32 = u32::MAX - 1;
/// Number of these keys.
const KEYS_THAT_WRAP: u32 = 10;

/// The counters of the sequence numbers of these keys.
fn counters() -> impl Iterator<Item = u16> {
    (0..KEYS_THAT_WRAP).map(|number| (crc32(&rack::key(number)) % 32_768) as u16)
}

/// The operations of frames from clients and servers.
const OPS: [Op; 16] = [
    Op::Get,
    Op::Get,
    Op::Get,
    Op::Get,
    Op::GetReply,
    Op::GetReply,
    Op::GetReply,
    Op::Put,
    Op::Put,
    Op::Put,
    Op::PutReply,
    Op::Delete,
    Op::Delete,
    Op::DeleteReply,
    Op::Stats,
    Op::Load,
];

/// The operations of frames from the controller.
const OPS_OF_CONTROLLER: [Op; 16] = [
    Op::Fill,
    Op::Fill,
    Op::Validate,
    Op::Validate,
    Op::Validate,
    Op::Evict,
    Op::Evict,
    Op::Load,
    Op::Load,
    Op::Load,
    Op::Retire,
    Op::Count,
    Op::Original,
    Op::Get,
    Op::Put,
    Op::GetReply,
];

/// For a switch that answers requests.
pub(super) const FRAMES: AllKinds = AllKinds { fill, arrivals };

/// Fills the tables about ingress pipelines and the snapshot, and sets last sequence numbers.
fn fill(control: &mut Control<'_>) -> Result<(), BenchError> {
    fill_pipelines(control)?;
    let last = Value::new(32, LAST_SEQUENCE.into());
    for counter in counters() {
        control.write_register("NetkvEgress.sequence.counters", counter.into(), &last)?;
    }
    Ok(())
}

/// Fills the tables about ingress pipelines and the snapshot.
fn fill_pipelines(control: &mut Control<'_>) -> Result<(), BenchError> {
    let (after, redirecting) = (AFTER_SNAPSHOT_POINT, REDIRECTING);
    for (port, pipeline) in [after, redirecting] {
        let port = Match::Exact(Value::new(9, port.into()));
        let (table, action) =
            ("NetkvIngress.ingress_pipeline.ports", "NetkvIngress.ingress_pipeline.of_pipeline");
        control.insert(table, port, 0, action, &[pipeline.into()])?;
    }
    let taking: (_, _, &[u128]) = (after.1, "taking", &[SNAPSHOT as u128]);
    for (pipeline, action, params) in [taking, (redirecting.1, "redirect", &[])] {
        let pipeline = Match::Exact(Value::new(8, pipeline.into()));
        let action = format!("NetkvIngress.snapshot.{action}");
        control.insert("NetkvIngress.snapshot.snapshot", pipeline, 0, &action, params)?;
    }
    Ok(())
}

/// Frames of all kinds.
fn arrivals(case: &Case) -> Vec<Arrivals> {
    // Twice as many messages of the controller, since many of them depend on earlier ones.
    let ports = [&rack::WITH_SESSION[..], &[WITHOUT_SESSION, CPU_PORT]].concat();
    all_kinds(&ports, |draw, port| {
        let mut value = vec![0; draw.of(&[0, 1, 37, MAX_CACHED_VALUE, MAX_CACHED_VALUE + 1])];
        rack::frame(&any_message(case, draw, port, &mut value))
    })
}

fn any_message<'a>(case: &Case, draw: &mut Draw, port: u16, value: &'a mut [u8]) -> Message<'a> {
    let number = draw.below(2 * u64::from(case.entries)) as u32;
    let key = rack::key(number);
    let op = draw.of(if port == CPU_PORT { &OPS_OF_CONTROLLER } else { &OPS });
    let (sender, request) = request(draw);
    let source = match port {
        CPU_PORT => CONTROLLER_IP,
        rack::SERVER_PORT => server_ip(partition(&key, rack::SERVERS)),
        _ => client_ip(rack::CLIENT),
    };
    let sender = if port == CPU_PORT { CONTROLLER_SENDER } else { sender };
    value.copy_from_slice(&value_of(request, value.len() as u32));
    let value = if op.carries_value() { value } else { &mut [] };
    let message = rack::to_service(source, op, sender, request, key).with_value(value);
    let message = Message {
        destination: match op.is_reply() {
            true if draw.one_in(8) => CONTROLLER_IP,
            true => client_ip(rack::CLIENT),
            false => message.destination,
        },
        status: if op.is_reply() && draw.one_in(4) { Status::NotFound } else { Status::Ok },
        slot: Slot {
            entry: if draw.one_in(8) { draw.of(&[32_767, 32_768, 65_535]) } else { number as u16 },
            number: draw.of(&[0, SNAPSHOT]),
        },
        ..message
    };
    match draw.below(20) {
        0 => message,
        1 => {
            let metadata = CacheMetadata { generation: 1, version: 1, bitmap: 1 };
            message.with_stamp(stamp(draw, number)).with_cache_metadata(metadata)
        }
        2 => message.with_stamp(Stamp { generation: 0, ..stamp(draw, number) }),
        _ => {
            let mut stamp = stamp(draw, number);
            if op == Op::Fill && draw.one_in(2) {
                stamp.generation += draw.below(3) as u32;
            }
            message.with_stamp(stamp)
        }
    }
}

/// A sender and its request number: often new, and sometimes one that was used before.
fn request(draw: &mut Draw) -> (u16, u32) {
    if draw.one_in(4) {
        let window = draw.of(&[0, 1, 2, 2, 1 << 18, 1 << 19]);
        (draw.of(&[0, 1, 2]), 1024 * window + draw.below(4) as u32)
    } else {
        let far = if draw.one_in(8) { 1 << 29 } else { 0 };
        (draw.below(70) as u16, far | draw.below(3_000) as u32)
    }
}

/// Any version stamp. Most are about the generation of the entry with this number.
fn stamp(draw: &mut Draw, number: u32) -> Stamp {
    let others = [INCARNATION - 1, INCARNATION - 2, INCARNATION + 5, 0];
    Stamp {
        sequence: Sequence {
            incarnation: if draw.one_in(2) { INCARNATION } else { draw.of(&others) },
            number: if draw.one_in(8) { draw.below(1 << 32) as u32 } else { draw.below(6) as u32 },
        },
        generation: number + if draw.one_in(8) { draw.below(4) as u32 } else { 1 },
        bits: if draw.one_in(2) { draw.below(256) as u8 } else { 0 },
    }
}
