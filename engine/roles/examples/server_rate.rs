//! Requests a second through `Server::on_frame` and `MemoryStore` on one core, reads and writes:
//! what the simulator pays for a server. Run it with `--release`; it prints the best of some
//! rounds, since other work on the machine only ever slows it down.

use std::time::Instant;

use netkv_roles::{Actions, MILLISECOND, MemoryStore, Nanos, Scheme, Server, ServerConfig};
use netkv_wire::{KV_OFFSET, Message, Op, SERVICE_IP, client_ip, write_frame};
use netkv_workload::{Random, ValueSize, key_of};

const KEYS: u64 = 100_000;
const CLIENTS: u16 = 64;
const FRAMES: usize = 1 << 16;
const ROUNDS: usize = 15;
/// Where the kv header has the request number.
const REQUEST: usize = KV_OFFSET + 8;

fn frames(op: Op) -> Vec<Vec<u8>> {
    let mut random = Random::new(1, 1);
    let value = [7; 128];
    let frame = |_| {
        let client = 1 + random.below(u64::from(CLIENTS)) as u16;
        let key = key_of(random.below(KEYS));
        let request = Message::request(client_ip(client), SERVICE_IP, op, client, 0, key);
        let mut bytes = Vec::new();
        write_frame(&mut bytes, &request.with_value(if op == Op::Put { &value } else { &[] }));
        bytes
    };
    (0..FRAMES).map(frame).collect()
}

/// Requests a second of the best round.
fn rate(scheme: Scheme, op: Op) -> f64 {
    let config = ServerConfig { guard: 0, ..ServerConfig::new(0, 1, scheme) };
    let mut server = Server::new(config, 0);
    let mut store = MemoryStore::new(KEYS, ValueSize::Fixed(128));
    let mut frames = frames(op);
    let mut out = Actions::new();
    let mut next = Actions::new();
    let (mut now, mut request): (Nanos, u32) = (0, 0);
    let mut best = 0.0f64;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for bytes in &mut frames {
            now += MILLISECOND;
            // One count for all clients: each uses some of the numbers, as with several servers.
            request += 1;
            bytes[REQUEST..REQUEST + 4].copy_from_slice(&request.to_be_bytes());
            server.on_frame(now, bytes, &mut out);
            for call in out.calls() {
                server.on_stored(now, call.id, store.execute(&call), &mut next);
            }
            assert_eq!(next.frames().len(), 1, "every request is answered");
            out.clear();
            next.clear();
        }
        best = best.max(FRAMES as f64 / start.elapsed().as_secs_f64());
    }
    best
}

fn main() {
    for scheme in [Scheme::Plain, Scheme::NetCache] {
        for op in [Op::Get, Op::Put, Op::Delete] {
            println!("{scheme:?} {op:?}: {:.0} requests/s", rate(scheme, op));
        }
    }
}
