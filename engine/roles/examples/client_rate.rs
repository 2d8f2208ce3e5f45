//! Measures the time of a client for an operation on one core (it sends the request, and handles
//! and judges the answer), and the additional cost of preserving a record that only the switch has.
//! Run it with `--release`; it prints the best of several rounds, since other work on the machine
//! only slows it down.

use std::time::{Duration, Instant};

use netkv_roles::registry::ClientRole;
use netkv_roles::{
    Actions, ClientConfig, ClientOptions, Keyspace, LoadClient, Nanos, initial_value,
};
use netkv_wire::{
    CONTROLLER_IP, FrameView, Message, Op, Sequence, Stamp, Status, bits, client_ip, write_frame,
};
use netkv_workload::{Arrivals, Mix, ValueSize, Workload, WorkloadConfig};

const KEYS: u64 = 10_000;
const OUTSTANDING: u32 = 256;
const BATCHES: usize = 400;
const ROUNDS: usize = 15;
const VALUE: usize = 128;

/// A switch and servers that answer at once.
struct Rack {
    hits: bool,
    number: u32,
    bytes: Vec<u8>,
    answers: Vec<(usize, usize)>,
}

impl Rack {
    fn answer(&mut self, requests: &Actions) {
        self.bytes.clear();
        self.answers.clear();
        let mut value = [0; VALUE];
        for request in requests.frames() {
            let request = FrameView::parse(request).expect("the client made it");
            let mut reply = request.reply(Status::Ok);
            if request.op() == Op::Get {
                initial_value(&request.key(), &mut value);
                reply = reply.with_value(&value);
            }
            if request.stamp().is_some() {
                self.number += 1;
                let bits = if self.hits { bits::DIRTY } else { 0 };
                let sequence = Sequence { incarnation: 1, number: self.number };
                reply = reply.with_stamp(Stamp { sequence, generation: 0, bits });
            }
            reply.cache_hit = self.hits;
            let start = self.bytes.len();
            write_frame(&mut self.bytes, &reply);
            self.answers.push((start, self.bytes.len()));
        }
    }
}

fn client(role: &str, writes: f64, check: bool) -> Box<dyn LoadClient> {
    let workload = WorkloadConfig {
        value_size: ValueSize::Fixed(VALUE),
        ..WorkloadConfig::new(KEYS, Mix::writes(writes, 0.0), 1)
    };
    let arrivals = Arrivals::Closed { outstanding: OUTSTANDING };
    let load = ClientConfig { check, ..ClientConfig::new(4, arrivals) };
    let keyspace = Keyspace::of_a_rack(1);
    let role = ClientRole::named(role).expect("the registry has it");
    let workload = Workload::new(workload).expect("the workload is valid");
    (role.load)(&ClientOptions { load, keyspace }, workload).expect("the configuration is valid")
}

/// The controller answers HELLO.
fn register(client: &mut dyn LoadClient, out: &mut Actions) {
    client.poll(0, out);
    let mut reply = Vec::new();
    for frame in out.frames() {
        let hello = FrameView::parse(frame).expect("the client made it");
        let (to, number) = (client_ip(1), hello.request());
        let message = Message::request(CONTROLLER_IP, to, Op::HelloReply, 1, number, [0; 16]);
        let sequence = Sequence { incarnation: 1, number: 0 };
        write_frame(&mut reply, &message.with_stamp(Stamp { sequence, ..Stamp::default() }));
    }
    out.clear();
    if !reply.is_empty() {
        client.on_frame(0, &reply, out);
    }
}

/// Nanoseconds of the client for an operation, in the best round. Answers are checked if `judged`.
fn cost(role: &str, writes: f64, hits: bool, judged: bool) -> f64 {
    let mut client = client(role, writes, judged);
    let mut out = Actions::new();
    register(client.as_mut(), &mut out);
    let mut rack = Rack { hits, number: 0, bytes: Vec::new(), answers: Vec::new() };
    let mut now: Nanos = 1;
    client.start(now, &mut out);
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let mut spent = Duration::ZERO;
        for _ in 0..BATCHES {
            rack.answer(&out);
            out.clear();
            now += 1000;
            let start = Instant::now();
            for &(from, to) in &rack.answers {
                client.on_frame(now, &rack.bytes[from..to], &mut out);
            }
            client.poll(now, &mut out);
            spent += start.elapsed();
            assert_eq!(rack.answers.len(), OUTSTANDING as usize, "every request is answered");
        }
        best = best.min(spent);
    }
    best.as_nanos() as f64 / (BATCHES * OUTSTANDING as usize) as f64
}

fn main() {
    for (what, writes) in [("read", 0.0), ("write", 1.0)] {
        for judged in [true, false] {
            let check = if judged { "checked" } else { "not checked" };
            let plain = cost("plain", writes, false, judged);
            let stamped = cost("farreach", writes, false, judged);
            let kept = cost("farreach", writes, true, judged);
            println!("{what}, {check}: plain {plain:.0} ns, FarReach by servers {stamped:.0} ns");
            println!("  by the switch {kept:.0} ns: {:.0} ns for each record kept", kept - stamped);
        }
    }
}
