//! The yardstick `cache_read.p4`: the read path of a switch cache, the minimum of such a program.
//! netkv is compared with bmv2 by it.
//!
//! The index of a key is its number. A client at 10.0.0.1 sends requests. A server at 10.0.0.2
//! receives those to which the cache does not reply. In several pipelines, the host at 10.0.0.P is
//! at port P, and the requests of one host are for the next.

use std::ops::RangeInclusive;

use netkv_dataplane::Random;
use netkv_ir::{Match, Value};

use super::subject::{Subject, no_path};
use crate::case::Case;
use crate::control::Control;
use crate::error::BenchError;
use crate::handwritten::{CacheRead as ByHand, Pipeline};
use crate::traffic::{Arrivals, Frames, Traffic, arrivals, uniform, value_of};
use crate::variant::{Shape, source};

/// The program with which other switches were measured.
const SOURCE: &str = include_str!("../../programs/cache_read.p4");

const CLIENT_PORT: u16 = 1;
const SERVER_PORT: u16 = 2;

const READ: u8 = 0;
const WRITE: u8 = 1;
/// Number of frames of other kinds.
const OTHERS: usize = 4_000;

/// The program `cache_read.p4`.
pub(super) struct CacheRead;

/// The variant that is large enough for the case.
fn shape(case: &Case) -> Result<Shape, BenchError> {
    let wrong = |text: String| Err(BenchError::new(text));
    if !(1..=1 << 20).contains(&case.entries) {
        return wrong(format!("{} entries: the yardstick has 1 to 1,048,576.", case.entries));
    }
    if !case.value_size.is_multiple_of(16) || !(16..=1024).contains(&case.value_size) {
        return wrong(format!(
            "A value of {} bytes: the yardstick has values of 16, 32, … 1024 bytes.",
            case.value_size
        ));
    }
    if ![32, 64, 128, 256, 512].contains(&case.key_width) {
        return wrong(format!(
            "A key of {} bits: the yardstick has keys of 32, 64, 128, 256 or 512.",
            case.key_width
        ));
    }
    let (capacity, index_width) = if case.entries <= 65_536 { (65_536, 16) } else { (1 << 20, 32) };
    let chunks = case.value_size / 16;
    Ok(Shape { capacity, index_width, chunks, key_width: case.key_width })
}

/// The key with this number.
fn key(number: u32, bytes: usize) -> Vec<u8> {
    let mut key = vec![0; bytes];
    key[bytes - 4..].copy_from_slice(&number.to_be_bytes());
    key
}

/// The address of the host at a port.
fn address(port: u16) -> [u8; 4] {
    [10, 0, 0, port as u8]
}

/// The ports with hosts. There is one in each pipeline, and there are at least two.
fn ports(case: &Case) -> RangeInclusive<u16> {
    1..=case.pipelines.max(2) as u16
}

/// A frame with a request of the client to the server.
fn request(op: u8, key: &[u8], value: &[u8]) -> Vec<u8> {
    request_between(CLIENT_PORT, SERVER_PORT, op, key, value)
}

/// A frame with a request of the host at a port to that at another one.
fn request_between(from: u16, to: u16, op: u8, key: &[u8], value: &[u8]) -> Vec<u8> {
    let udp = 8 + 5 + key.len() + value.len();
    let [ip_high, ip_low] = (20 + udp as u16).to_be_bytes();
    let [udp_high, udp_low] = (udp as u16).to_be_bytes();
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    frame.extend([0x45, 0, ip_high, ip_low, 0, 0, 0, 0, 64, 17, 0, 0]);
    frame.extend(address(from).iter().chain(&address(to)));
    frame.extend([0x30, 0x39, 0x13, 0x88, udp_high, udp_low, 0, 0]);
    frame.extend([op, 0, 0, 0, 1]);
    frame.extend(key);
    frame.extend(value);
    frame
}

/// Frames of every kind that the program distinguishes: other operations, protocols, ports and
/// addresses, truncated frames, frames with bytes after the key, and corrupted headers.
fn all_kinds(case: &Case) -> Vec<Arrivals> {
    let key_bytes = case.key_width as usize / 8;
    let mut random = Random::new(11);
    let mut frames = Vec::new();
    for _ in 0..OTHERS {
        let mut draw = |count: u64| random.between(0, count - 1);
        // A fifth of the keys are not cached.
        let number = draw(u64::from(case.entries) * 5 / 4 + 1) as u32;
        let op = [READ, READ, READ, WRITE, 2, 255][draw(6) as usize];
        let value = vec![draw(256) as u8; [0, 0, 1, 37, 128][draw(5) as usize]];
        let mut frame = request(op, &key(number, key_bytes), &value);
        match draw(8) {
            0 => frame.truncate(draw(frame.len() as u64 + 1) as usize),
            1 => frame[12..14].copy_from_slice(&[0x86, 0xdd]),
            2 => frame[23] = 6,
            3 => frame[36..38].copy_from_slice(&[0, draw(256) as u8]),
            4 => frame[30..34].copy_from_slice(&[10, 0, 0, draw(6) as u8]),
            5 => frame[26..30].copy_from_slice(&[10, 0, 0, draw(6) as u8]),
            6 => {
                let at = draw(frame.len() as u64) as usize;
                frame[at] = draw(256) as u8;
            }
            _ => frame[14..34].iter_mut().for_each(|byte| *byte ^= draw(4) as u8),
        }
        frames.push(frame);
    }
    arrivals(CLIENT_PORT, &frames)
}

impl CacheRead {
    fn handwritten<const KEY: usize, const VALUE: usize>(
        case: &Case,
        capacity: u32,
    ) -> Box<dyn Pipeline> {
        let mut pipeline = ByHand::<KEY, VALUE>::new(capacity);
        for number in 0..case.entries {
            let (mut name, mut value) = ([0; KEY], [0; VALUE]);
            name.copy_from_slice(&key(number, KEY));
            value.copy_from_slice(&value_of(number, VALUE as u32));
            pipeline.cache(name, number);
            pipeline.set(number, true, value);
        }
        for port in ports(case) {
            pipeline.route(address(port), port);
        }
        Box::new(pipeline)
    }
}

impl CacheRead {
    /// The frames of a path that the host at a port sends to that at another one.
    fn traffic_between(
        &self,
        client: u16,
        server: u16,
        case: &Case,
    ) -> Result<Traffic, BenchError> {
        let (op, first, output_port, added) = match case.path.as_str() {
            "read-hit" => (READ, 0, client, case.value_size as usize),
            "read-miss" => (READ, case.entries, server, 0),
            "write" => (WRITE, 0, server, 0),
            _ => return Err(no_path(case, self)),
        };
        let key_bytes = case.key_width as usize / 8;
        let mut frames = Frames::default();
        let mut bytes = 0;
        for number in uniform(case.entries) {
            let value = if op == WRITE { value_of(number, case.value_size) } else { Vec::new() };
            let frame =
                request_between(client, server, op, &key(first + number, key_bytes), &value);
            bytes = frame.len() + added;
            frames.push(&frame);
        }
        Ok(Traffic::new(client, frames, output_port..=output_port, bytes))
    }
}

impl Subject for CacheRead {
    fn name(&self) -> &'static str {
        "cache_read"
    }

    fn paths(&self) -> Vec<&'static str> {
        vec!["read-hit", "read-miss", "write"]
    }

    fn source(&self, case: &Case) -> Result<Option<String>, BenchError> {
        let shape = shape(case)?;
        Ok(Some(if shape == Shape::default() { SOURCE.to_owned() } else { source(shape) }))
    }

    fn fill(&self, case: &Case, control: &mut Control<'_>) -> Result<(), BenchError> {
        let shape = shape(case)?;
        let arrays: Vec<String> = (0..shape.chunks).map(|chunk| format!("I.r{chunk}")).collect();
        let key_bytes = case.key_width as usize / 8;
        for number in 0..case.entries {
            let name = Value::from_bytes(case.key_width, &key(number, key_bytes));
            let params = [u128::from(number), 255];
            control.insert("I.lookup", Match::Exact(name), 0, "I.hit", &params)?;
            control.write_register("I.valid", number, &Value::new(1, 1))?;
            let value = value_of(number, case.value_size);
            for (array, chunk) in arrays.iter().zip(value.chunks(16)) {
                control.write_register(array, number, &Value::from_bytes(128, chunk))?;
            }
        }
        for port in ports(case) {
            let address = Match::Exact(Value::from_bytes(32, &address(port)));
            control.insert("I.route", address, 0, "I.fwd", &[u128::from(port)])?;
        }
        Ok(())
    }

    fn traffic(&self, case: &Case) -> Result<Traffic, BenchError> {
        self.traffic_between(CLIENT_PORT, SERVER_PORT, case)
    }

    fn traffic_of_pipelines(&self, case: &Case) -> Result<Vec<Traffic>, BenchError> {
        let last = *ports(case).end();
        // The first pipeline has the last port; one pipeline has the first.
        let clients =
            if case.pipelines == 1 { 1..=1 } else { last..=last + case.pipelines as u16 - 1 };
        let traffic = |client: u16| {
            let client = (client - 1) % last + 1;
            self.traffic_between(client, client % last + 1, case)
        };
        clients.map(traffic).collect()
    }

    fn all_kinds(&self, case: &Case) -> Vec<Arrivals> {
        all_kinds(case)
    }

    fn handwritten(&self, case: &Case) -> Option<Box<dyn Pipeline>> {
        let capacity = shape(case).ok()?.capacity;
        let make = match (case.key_width, case.value_size) {
            (128, 16) => Self::handwritten::<16, 16>,
            (128, 32) => Self::handwritten::<16, 32>,
            (128, 64) => Self::handwritten::<16, 64>,
            (128, 128) => Self::handwritten::<16, 128>,
            (128, 256) => Self::handwritten::<16, 256>,
            (128, 512) => Self::handwritten::<16, 512>,
            (128, 1024) => Self::handwritten::<16, 1024>,
            (32, 128) => Self::handwritten::<4, 128>,
            (64, 128) => Self::handwritten::<8, 128>,
            (256, 128) => Self::handwritten::<32, 128>,
            (512, 128) => Self::handwritten::<64, 128>,
            _ => return None,
        };
        Some(make(case, capacity))
    }

    fn counted(&self) -> &'static [&'static str] {
        &["I.hits"]
    }
}
