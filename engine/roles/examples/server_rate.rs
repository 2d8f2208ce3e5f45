//! Measures reads and writes per second of a server with a `MemoryStore` on one core: the cost of a
//! server in the simulator. Run it with `--release`; it prints the best of several rounds, since
//! other work on the machine only slows it down.

use std::time::Instant;

use netkv_roles::registry::ServerRole;
use netkv_roles::{
    Actions, Applied, Keyspace, MILLISECOND, MemoryStore, Nanos, SECOND, ServerOptions,
};
use netkv_wire::{
    KV_LEN, KV_OFFSET, Message, Op, SERVICE_IP, Sequence, Stamp, client_ip, write_frame,
};
use netkv_workload::{Random, ValueSize, key_of};

const KEYS: u64 = 100_000;
const CLIENTS: u16 = 64;
const FRAMES: usize = 1 << 16;
const ROUNDS: usize = 15;
/// Offset of the request number, in the kv header.
const REQUEST: usize = KV_OFFSET + 8;
/// Offset of the number of the write, in the stamp.
const NUMBER: usize = KV_OFFSET + KV_LEN + 4;

fn frames(stamped: bool, op: Op) -> Vec<Vec<u8>> {
    let sequence = Sequence { incarnation: 1, number: 1 };
    let stamp = stamped.then_some(Stamp { sequence, ..Stamp::default() });
    let mut random = Random::new(1, 1);
    let value = [7; 128];
    let frame = |_| {
        let client = 1 + random.below(u64::from(CLIENTS)) as u16;
        let key = key_of(random.below(KEYS));
        let request = Message::request(client_ip(client), SERVICE_IP, op, client, 0, key);
        let mut bytes = Vec::new();
        let request = request.with_value(if op == Op::Put { &value } else { &[] });
        write_frame(&mut bytes, &Message { stamp, ..request });
        bytes
    };
    (0..FRAMES).map(frame).collect()
}

/// Requests a second of the best round.
fn rate(role: ServerRole, op: Op) -> f64 {
    let options = ServerOptions {
        server: 0,
        keyspace: Keyspace::of_a_rack(1),
        first_request: 1,
        epoch: 0,
        service_rate: None,
        service_queue: 256,
    };
    let server = (role.restore)(&options, 0, &Applied::default());
    let mut server = server.expect("the options are valid");
    let stamped = role.keeps_sequences;
    let mut store = MemoryStore::new(KEYS, ValueSize::Fixed(128));
    let mut frames = frames(stamped, op);
    let mut out = Actions::new();
    let mut next = Actions::new();
    // After the guard time of a server that has just started.
    let (mut now, mut request): (Nanos, u32) = (10 * SECOND, 0);
    let mut best = 0.0f64;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for bytes in &mut frames {
            now += MILLISECOND;
            // One counter for all clients: a server sees some of the numbers of each, as in a rack.
            request += 1;
            bytes[REQUEST..REQUEST + 4].copy_from_slice(&request.to_be_bytes());
            if stamped {
                bytes[NUMBER..NUMBER + 4].copy_from_slice(&request.to_be_bytes());
            }
            server.on_frame(now, bytes, &mut out);
            // A write may first read the stored sequence.
            while out.frames().len() == 0 {
                for call in out.calls() {
                    server.on_stored(now, call.id, store.execute(&call), &mut next);
                }
                out.clear();
                std::mem::swap(&mut out, &mut next);
            }
            assert_eq!(out.frames().len(), 1, "every request is answered");
            out.clear();
        }
        best = best.max(FRAMES as f64 / start.elapsed().as_secs_f64());
    }
    best
}

fn main() {
    for name in ["plain", "netcache", "write-back"] {
        let role = ServerRole::named(name).expect("the registry has it");
        for op in [Op::Get, Op::Put, Op::Delete] {
            println!("{name} {op:?}: {:.0} requests/s", rate(role, op));
        }
    }
}
