//! Packets per second of the yardstick: cache read hits with a 128-byte value, on one core.
//!
//! `cargo run --release -p netkv-dataplane --example bench_cache_read [SECONDS]`
//!
//! The set-up is the one that the peers were measured with: 10,000 keys, index = key, all valid,
//! requests uniform over the keys, frames of 63 bytes, replies of 191.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netkv_dataplane::{EntryAction, Output, Random, Switch, SwitchOptions, TableEntry};
use netkv_ir::{Match, Program, Value};
use netkv_p4::{Options, compile_file};

const KEYS: u32 = 10_000;
/// Requests prepared ahead, so that making them is not measured.
const REQUESTS: usize = 4_096;
const REPLY_BYTES: usize = 191;

fn id(program: &Program, name: &str) -> u32 {
    let tables = program.tables.iter().map(|table| &table.identity);
    let actions = program.actions.iter().map(|action| &action.identity);
    let registers = program.registers.iter().map(|register| &register.identity);
    let mut all = tables.chain(actions).chain(registers);
    all.find(|identity| identity.name == name).expect("an object of the program").id
}

fn set_up(program: Program) -> Switch {
    let ids = |name: &str| id(&program, name);
    let (lookup, hit, route, forward) =
        (ids("I.lookup"), ids("I.hit"), ids("I.route"), ids("I.fwd"));
    let valid = ids("I.valid");
    let arrays: Vec<u32> = (0..8).map(|i| ids(&format!("I.r{i}"))).collect();
    let mut switch =
        Switch::new(Arc::new(program), SwitchOptions { seed: 1 }).expect("the program runs");
    let entry = |table_id, key: Value, action_id, params: Vec<Value>| TableEntry {
        table_id,
        matches: vec![(1, Match::Exact(key))],
        action: EntryAction::Direct { action_id, params },
        priority: 0,
        metadata: Vec::new(),
        controller_metadata: 0,
        idle_timeout_ns: 0,
    };
    for key in 0..KEYS {
        let params = vec![Value::new(16, u128::from(key)), Value::new(8, 255)];
        let entry = entry(lookup, Value::new(128, u128::from(key)), hit, params);
        switch.insert_entry(entry).expect("room for all keys");
        switch.write_register(valid, Some(key), &Value::new(1, 1)).expect("a valid bit");
        for array in &arrays {
            let value = Value::new(128, u128::from(key) * 0x0101_0101);
            switch.write_register(*array, Some(key), &value).expect("a part of the value");
        }
    }
    let client = Value::new(32, 0x0a00_0001);
    let entry = entry(route, client, forward, vec![Value::new(9, 1)]);
    switch.insert_entry(entry).expect("a route");
    switch
}

/// A read of `key` from 10.0.0.1 to 10.0.0.2, 63 bytes.
fn request(key: u32) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    frame.extend([0x45, 0, 0, 49, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend([0x30, 0x39, 0x13, 0x88, 0, 29, 0, 0]);
    frame.extend([0, 0, 0, 0, 1]);
    frame.extend(u128::from(key).to_be_bytes());
    frame
}

/// Nanoseconds that this thread has been on a core; on a machine that others use as well, wall
/// time says nothing about one core. None where the system does not tell (Linux does).
fn core_time() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok()
}

/// Calls `work` with each request in turn until the time is over; calls per second of wall time
/// and per second on a core.
fn rate(duration: Duration, requests: &[Vec<u8>], mut work: impl FnMut(&[u8])) -> (f64, f64) {
    let (start, core, mut done) = (Instant::now(), core_time(), 0u64);
    while start.elapsed() < duration {
        for request in requests {
            work(request);
        }
        done += requests.len() as u64;
    }
    let wall = done as f64 / start.elapsed().as_secs_f64();
    let spent = core_time().zip(core).map(|(end, start)| (end - start) as f64 / 1e9);
    (wall, spent.map_or(wall, |seconds| done as f64 / seconds))
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(3.0);
    let duration = Duration::from_secs_f64(seconds);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/cache_read.p4");
    let compiled = compile_file(&source, &Options::default());
    let mut switch = set_up(compiled.unwrap_or_else(|errors| panic!("{errors}")).program);
    let mut random = Random::new(7);
    let requests: Vec<Vec<u8>> =
        (0..REQUESTS).map(|_| request(random.between(0, u64::from(KEYS) - 1) as u32)).collect();

    let mut output = Output::new();
    switch.process(0, 0, &requests[0], &mut output);
    let reply = output.frames().next().map(|(port, frame)| (port, frame.len()));
    assert_eq!(reply, Some((1, REPLY_BYTES)), "the first request is a cache hit");

    let mut now_ns = 0;
    let (wall, packets) = rate(duration, &requests, |frame| {
        now_ns += 1_000;
        output.clear();
        switch.process(now_ns, 0, frame, &mut output);
        black_box(&output);
    });
    let (input, answered) = (switch.statistics().packets_in, switch.statistics().packets_out);
    assert_eq!(input, answered, "every request is answered");

    let mut reply = vec![0u8; REPLY_BYTES];
    let (_, echo) = rate(duration.min(Duration::from_secs(1)), &requests, |frame| {
        reply[..frame.len()].copy_from_slice(frame);
        output.clear();
        output.push(1, &reply);
        black_box(&output);
    });
    println!("cache read hits: {packets:.0} packets/s on one core ({:.0} ns each)", 1e9 / packets);
    println!("                 {wall:.0} packets/s of wall time");
    println!(
        "memcpy echo:     {echo:.0} packets/s on one core, {:.1} times as many",
        echo / packets
    );
}
