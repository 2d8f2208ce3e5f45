//! The frames of each path of netkv's programs have the result that the path's name says.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use netkv_bench::{Case, Contender, Executor, measure, subject};
use netkv_dataplane::{Output, Switch};
use netkv_p4::{Options, compile_file};
use netkv_wire::{FrameView, Op, bits, flags};

/// Bits of a request's stamp between the switches of a chain.
const STORED: u8 = bits::LATEST;
const SEQUENCED: u8 = bits::VALID;

fn case(program: &str, path: &str) -> Case {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../p4");
    let (directory, stem) = program.split_once('-').unwrap_or((program, program));
    let file = Some(folder.join(format!("{directory}/{stem}.p4")));
    Case { file, include_dirs: vec![folder], entries: 100, ..Case::new(program, path) }
}

/// A filled switch after all frames of the path, and the sent frames.
fn run(case: &Case) -> (Contender, Vec<(u16, Vec<u8>)>) {
    let subject = subject(&case.program).unwrap();
    let file = case.file.as_ref().unwrap();
    let options = Options { include_dirs: case.include_dirs.clone(), ..Options::default() };
    let program = compile_file(file, &options).unwrap_or_else(|e| panic!("{e}"));
    let program = Arc::new(program.program);
    let made = Contender::new(Executor::Interpreter, case, subject, &program).unwrap();
    let mut contender = made.unwrap();
    let traffic = subject.traffic(case).unwrap();
    let mut out = Output::new();
    contender.process(0, traffic.port, &traffic.frames.slices(), &mut out);
    (contender, out.frames().map(|(port, frame)| (port, frame.to_vec())).collect())
}

fn cells(switch: &Switch, name: &str) -> Vec<u64> {
    let mut registers = switch.program().registers.iter();
    let register = registers.find(|register| register.identity.name == name).unwrap();
    let cells = switch.read_register(register.identity.id, None).unwrap();
    cells.iter().map(|(_, value)| value.words[0]).collect()
}

/// The number of reads counted in this epoch: by the entries, and in a row of the sketch.
fn counted(contender: &mut Contender) -> (u64, u64) {
    let switch = contender.switch().unwrap();
    let sum = |name| cells(switch, name).iter().map(|cell| cell & 0xffff).sum();
    (sum("NetkvIngress.hits.counts"), sum("NetkvIngress.hot_keys.sketch0.cells"))
}

#[test]
fn netcache_counts_only_sampled_hits() {
    for (path, sampled) in [("read-hit", false), ("read-hit-sampled", true)] {
        let (mut contender, replies) = run(&case("netcache", path));
        for (port, reply) in &replies {
            let reply = FrameView::parse(reply).unwrap();
            assert!(reply.cache_hit() && *port == 1 && reply.value().len() == 128);
        }
        let expected = if sampled { replies.len() as u64 } else { 0 };
        assert_eq!(counted(&mut contender), (expected, 0), "{path}");
    }
}

#[test]
fn netcache_counts_only_sampled_misses_in_the_sketch() {
    for (path, sampled) in [("read-miss", false), ("count-min", true)] {
        let (mut contender, forwarded) = run(&case("netcache", path));
        for (port, frame) in &forwarded {
            let request = FrameView::parse(frame).unwrap();
            assert!(request.op() == Op::Get && request.cache_metadata().is_none() && *port == 100);
        }
        let expected = if sampled { forwarded.len() as u64 } else { 0 };
        assert_eq!(counted(&mut contender), (0, expected), "{path}");
        assert_eq!(contender.switch().unwrap().statistics().digests, 0);
    }
}

#[test]
fn netcache_writes_of_cached_keys_invalidate_the_entry() {
    let (mut contender, forwarded) = run(&case("netcache", "write-cached"));
    let has_metadata = |frame: &[u8]| frame[44] & flags::CACHE_METADATA != 0;
    assert!(forwarded.iter().all(|(port, frame)| *port == 100 && has_metadata(frame)));
    let switch = contender.switch().unwrap();
    let versions: u64 = cells(switch, "NetkvIngress.validity.version").iter().sum();
    assert_eq!(versions, forwarded.len() as u64);
    assert!(cells(switch, "NetkvIngress.validity.valid").iter().all(|cell| *cell == 0));

    let (mut contender, forwarded) = run(&case("netcache", "write-uncached"));
    assert!(forwarded.iter().all(|(port, frame)| *port == 100 && !has_metadata(frame)));
    let switch = contender.switch().unwrap();
    assert_eq!(cells(switch, "NetkvIngress.validity.version").iter().sum::<u64>(), 0);
}

#[test]
fn nocache_forwards_requests_to_the_server_of_the_key() {
    for (path, op) in [("read", Op::Get), ("write", Op::Put)] {
        let (_, forwarded) = run(&case("nocache", path));
        for (port, frame) in &forwarded {
            let request = FrameView::parse(frame).unwrap();
            assert!(request.op() == op && *port == 100 && request.destination()[..2] == [10, 2]);
        }
    }
}

#[test]
fn write_back_caches_reply_to_reads_of_cached_keys() {
    for program in ["farreach", "distreach-tail"] {
        for (path, sampled) in [("read-hit", false), ("read-hit-sampled", true)] {
            let (contender, replies) = run(&case(program, path));
            for (port, reply) in &replies {
                let reply = FrameView::parse(reply).unwrap();
                assert!(reply.cache_hit() && *port == 1 && reply.value().len() == 128);
            }
            let switch = contender.into_switch().unwrap();
            let counts = cells(&switch, "NetkvEgress.frequency.cells");
            let counted: u64 = counts.iter().map(|cell| cell & 0xffff).sum();
            let expected = if sampled { replies.len() as u64 } else { 0 };
            assert_eq!(counted, expected, "{program} {path}");
        }
    }
}

#[test]
fn farreach_replies_to_writes_of_cached_keys() {
    // The sequence is sent twice: no write is treated as a duplicate.
    let (mut contender, replies) = run(&case("farreach", "write-cached"));
    let traffic = subject("farreach").unwrap().traffic(&case("farreach", "write-cached")).unwrap();
    let mut out = Output::new();
    contender.process(0, traffic.port, &traffic.frames.slices(), &mut out);
    assert_eq!(out.frames().count(), replies.len());
    let mut last = HashMap::new();
    let again = out.frames().map(|(port, frame)| (port, frame.to_vec()));
    for (port, reply) in replies.into_iter().chain(again) {
        let reply = FrameView::parse(&reply).unwrap();
        assert!(reply.cache_hit() && port == 1 && reply.op() == Op::PutReply);
        let number = reply.stamp().unwrap().sequence.number;
        assert!(number > last.insert(reply.key(), number).unwrap_or(0), "a write is a new one");
    }
}

/// The sequence numbers of the last write of each key in these frames, sorted.
fn last_numbers<'a>(frames: impl Iterator<Item = &'a [u8]>) -> Vec<u64> {
    let mut last = HashMap::new();
    for frame in frames {
        let frame = FrameView::parse(frame).unwrap();
        last.insert(frame.key(), u64::from(frame.stamp().unwrap().sequence.number));
    }
    let mut numbers: Vec<u64> = last.into_values().collect();
    numbers.sort_unstable();
    numbers
}

/// The sequence numbers of the records of the 100 entries, sorted.
fn record_numbers(contender: &mut Contender) -> Vec<u64> {
    let cells = cells(contender.switch().unwrap(), "NetkvEgress.entry.record_sequence.cells");
    let mut numbers = cells[..100].to_vec();
    numbers.sort_unstable();
    numbers
}

#[test]
fn distreach_tail_stores_every_write_of_a_cached_key() {
    let case = case("distreach-tail", "write-cached");
    let (mut contender, replies) = run(&case);
    for (port, reply) in &replies {
        let reply = FrameView::parse(reply).unwrap();
        assert!(reply.cache_hit() && *port == 1 && reply.op() == Op::PutReply);
    }
    let traffic = subject("distreach-tail").unwrap().traffic(&case).unwrap();
    let frames = traffic.frames.slices();
    assert_eq!(record_numbers(&mut contender), last_numbers(frames.iter().copied()));
    // The sequence is sent again: the writes of each turn are newer than those of the turn before.
    for turn in frames.chunks(frames.len() / 3) {
        contender.process(0, traffic.port, turn, &mut Output::new());
        assert_eq!(record_numbers(&mut contender), last_numbers(turn.iter().copied()));
    }
}

#[test]
fn distreach_upper_stores_writes_and_passes_them_on() {
    for (path, cached) in [("write-cached", true), ("write-uncached", false)] {
        let case = case("distreach-upper", path);
        let (mut contender, mut forwarded) = run(&case);
        let traffic = subject("distreach-upper").unwrap().traffic(&case).unwrap();
        let mut out = Output::new();
        contender.process(0, traffic.port, &traffic.frames.slices(), &mut out);
        forwarded.extend(out.frames().map(|(port, frame)| (port, frame.to_vec())));
        let mut last = HashMap::new();
        for (port, frame) in &forwarded {
            let request = FrameView::parse(frame).unwrap();
            assert!(request.op() == Op::Put && *port == 100 && request.value().len() == 128);
            let stamp = request.stamp().unwrap();
            assert_eq!(stamp.bits, SEQUENCED | if cached { STORED } else { 0 });
            let number = stamp.sequence.number;
            assert!(number > last.insert(request.key(), number).unwrap_or(0), "a new write");
        }
        if cached {
            let frames = forwarded.iter().map(|(_, frame)| frame.as_slice());
            assert_eq!(record_numbers(&mut contender), last_numbers(frames));
        }
    }
}

#[test]
fn distreach_upper_passes_reads_on() {
    let (_, forwarded) = run(&case("distreach-upper", "read"));
    for (port, frame) in &forwarded {
        let request = FrameView::parse(frame).unwrap();
        assert!(request.op() == Op::Get && *port == 100 && request.destination()[..2] == [10, 2]);
        assert_eq!(request.stamp().unwrap().bits, SEQUENCED);
    }
}

#[test]
fn write_back_caches_forward_requests_for_uncached_keys() {
    for program in ["farreach", "distreach-tail"] {
        for (path, op) in
            [("read-miss", Op::Get), ("count-min", Op::Get), ("write-uncached", Op::Put)]
        {
            let (_, forwarded) = run(&case(program, path));
            for (port, frame) in &forwarded {
                let request = FrameView::parse(frame).unwrap();
                assert!(request.op() == op && *port == 100, "{program} {path}");
                assert_eq!(request.destination()[..2], [10, 2]);
                assert_eq!(request.stamp().unwrap().bits, 0);
            }
        }
    }
}

#[test]
fn write_back_caches_forward_replies_of_servers() {
    for program in ["farreach", "distreach-tail", "distreach-upper"] {
        for path in ["reply-cached", "reply-uncached"] {
            let (_, replies) = run(&case(program, path));
            for (port, reply) in &replies {
                let reply = FrameView::parse(reply).unwrap();
                assert!(!reply.cache_hit() && reply.op() == Op::GetReply && *port == 1, "{path}");
            }
        }
    }
}

#[test]
fn every_path_can_be_measured_with_every_executor() {
    for program in ["distreach-upper", "distreach-tail", "farreach", "netcache", "nocache"] {
        for path in subject(program).unwrap().paths() {
            let case = case(program, path);
            let results = measure(&case, &Executor::ALL, 0.0).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(results.len(), 2, "{path}: it has no handwritten pipeline");
        }
    }
}

#[test]
fn a_program_without_the_tables_of_its_name_is_refused() {
    let file = case("nocache", "read").file;
    let error = measure(&Case { file, ..case("netcache", "read-hit") }, &Executor::ALL, 0.0);
    let text = error.unwrap_err().to_string();
    assert!(text.contains("no action 'NetkvIngress.sampling.configure'"), "{text}");
    let error = measure(&Case { value_size: 129, ..case("netcache", "read-hit") }, &[], 0.0);
    assert!(error.unwrap_err().to_string().contains("takes 1 to 128"));
}
