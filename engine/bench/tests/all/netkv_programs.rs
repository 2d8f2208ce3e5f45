//! The frames of each path of netkv's programs have the result that the path's name says.

use std::cmp::Ordering;
use std::collections::HashMap;

use netkv_bench::{Case, Contender, Executor, measure, subject, subjects};
use netkv_dataplane::{Output, Switch};
use netkv_wire::{FrameView, Key, Load, Op, bits, flags, partition};

use crate::programs::{case, run};

/// The program that is no file; `yardstick.rs` tests it.
const YARDSTICK: &str = "cache_read";

/// Bits of a request's stamp between the switches of a chain.
const STORED: u8 = bits::LATEST;
const SEQUENCED: u8 = bits::VALID;

fn cells(switch: &Switch, name: &str) -> Vec<u64> {
    let mut registers = switch.program().registers.iter();
    let register = registers.find(|register| register.identity.name == name).unwrap();
    let cells = switch.read_register(register.identity.id, None).unwrap();
    cells.iter().map(|(_, value)| value.words[0]).collect()
}

fn sum(contender: &mut Contender, register: &str) -> u64 {
    cells(contender.switch().unwrap(), register).iter().sum()
}

/// The number of reads that the entries have counted in this epoch.
fn counted_hits(contender: &mut Contender) -> u64 {
    let counts = cells(contender.switch().unwrap(), "NetkvIngress.hits.counts");
    counts.iter().map(|cell| cell & 0xffff).sum()
}

/// The number of reads that a row of the sketch has counted in this epoch.
fn counted_misses(contender: &mut Contender) -> u64 {
    let counts = cells(contender.switch().unwrap(), "NetkvIngress.hot_keys.sketch0.cells");
    counts.iter().map(|cell| cell & 0xffff).sum()
}

#[test]
fn write_through_caches_count_only_sampled_hits() {
    for program in ["netcache", "distcache-leaf", "distcache-spine"] {
        for (path, sampled) in [("read-hit", false), ("read-hit-sampled", true)] {
            let (mut contender, replies) = run(&case(program, path));
            for (port, reply) in &replies {
                let reply = FrameView::parse(reply).unwrap();
                assert!(reply.cache_hit() && *port == 1 && reply.value().len() == 128);
            }
            let expected = if sampled { replies.len() as u64 } else { 0 };
            assert_eq!(counted_hits(&mut contender), expected, "{program} {path}");
        }
    }
}

#[test]
fn write_through_caches_count_sampled_misses_in_the_sketch() {
    for program in ["netcache", "distcache-leaf"] {
        for (path, sampled) in [("read-miss", false), ("count-min", true)] {
            let (mut contender, forwarded) = run(&case(program, path));
            for (port, frame) in &forwarded {
                let request = FrameView::parse(frame).unwrap();
                assert!(request.op() == Op::Get && request.cache_metadata().is_none());
                assert!(*port == 100 && request.destination()[..2] == [10, 2]);
            }
            let expected = if sampled { forwarded.len() as u64 } else { 0 };
            assert_eq!(counted_hits(&mut contender), 0, "{program} {path}");
            assert_eq!(counted_misses(&mut contender), expected, "{program} {path}");
            assert_eq!(contender.switch().unwrap().statistics().digests, 0);
        }
    }
}

#[test]
fn writes_of_cached_keys_invalidate_the_write_through_entry() {
    let has_metadata = |frame: &[u8]| frame[44] & flags::CACHE_METADATA != 0;
    for program in ["netcache", "distcache-leaf"] {
        let (mut contender, forwarded) = run(&case(program, "write-cached"));
        assert!(forwarded.iter().all(|(port, frame)| *port == 100 && has_metadata(frame)));
        let versions = sum(&mut contender, "NetkvIngress.validity.version");
        assert_eq!(versions, forwarded.len() as u64, "{program}");
        assert_eq!(sum(&mut contender, "NetkvIngress.validity.valid"), 0, "{program}");

        let (mut contender, forwarded) = run(&case(program, "write-uncached"));
        assert!(forwarded.iter().all(|(port, frame)| *port == 100 && !has_metadata(frame)));
        assert_eq!(sum(&mut contender, "NetkvIngress.validity.version"), 0, "{program}");
    }
}

/// The sum of the generations for which the 100 entries of a filled switch are valid.
const ALL_VALID: u64 = 100 * 101 / 2;

#[test]
fn distcache_replies_to_reads_carry_the_load() {
    for (program, layer) in [("distcache-leaf", 0), ("distcache-spine", 1)] {
        for path in ["read-hit", "read-hit-sampled"] {
            let (_, replies) = run(&case(program, path));
            for (reads, (_, reply)) in (1..).zip(&replies) {
                let reply = FrameView::parse(reply).unwrap();
                assert_eq!(reply.load(), Some(Load { layer, switch: 0, reads }), "{program}");
                assert_eq!(reply.upper(), layer == 1, "{program}");
            }
        }
    }
}

#[test]
fn distcache_spine_passes_on_reads_of_uncached_keys() {
    let (mut contender, forwarded) = run(&case("distcache-spine", "read-miss"));
    for (port, frame) in &forwarded {
        let request = FrameView::parse(frame).unwrap();
        assert!(request.op() == Op::Get && request.upper() && request.cache_metadata().is_none());
        assert!(*port == 100 && request.destination()[..2] == [10, 2]);
    }
    assert_eq!(sum(&mut contender, "NetkvIngress.load.cells"), 0);
}

#[test]
fn distcache_spine_does_not_follow_writes_of_clients() {
    let case = case("distcache-spine", "write");
    let (mut contender, forwarded) = run(&case);
    let traffic = subject("distcache-spine").unwrap().traffic(&case).unwrap();
    let forwarded: Vec<_> = forwarded.iter().map(|(port, frame)| (*port, &frame[..])).collect();
    let sent: Vec<_> = traffic.frames.slices().into_iter().map(|frame| (100, frame)).collect();
    assert_eq!(forwarded, sent, "writes are unchanged");
    assert_eq!(sum(&mut contender, "NetkvIngress.validity.version"), 0);
    assert_eq!(sum(&mut contender, "NetkvIngress.validity.valid"), ALL_VALID);
}

#[test]
fn distcache_spine_replies_to_invalidate() {
    let (mut contender, replies) = run(&case("distcache-spine", "invalidate"));
    let mut versions = HashMap::new();
    for (port, reply) in &replies {
        let reply = FrameView::parse(reply).unwrap();
        assert!(reply.op() == Op::InvalidateReply && reply.upper() && *port == 100);
        let metadata = reply.cache_metadata().unwrap();
        let last = versions.insert(reply.key(), metadata.version).unwrap_or(0);
        assert_eq!(metadata.version, last + 1);
    }
    let versions = sum(&mut contender, "NetkvIngress.validity.version");
    assert_eq!(versions, replies.len() as u64);
    assert_eq!(sum(&mut contender, "NetkvIngress.validity.valid"), 0);
}

/// The leaf of a key's server, and the spine that may have the upper copy, in two layers of two.
fn copies_of(key: &Key) -> (usize, usize) {
    let mut swapped = *key;
    swapped.rotate_left(8);
    (usize::from(partition(key, 2)), usize::from(partition(&swapped, 2)))
}

#[test]
fn distcache_client_switch_sends_reads_to_the_smaller_load() {
    let (mut contender, forwarded) = run(&case("distcache-client", "read"));
    let switch = contender.switch().unwrap();
    let [upper_loads, last_loads] = ["upper_loads", "last_loads"]
        .map(|loads| cells(switch, &format!("NetkvIngress.choice.{loads}.cells")));
    let mut cases = HashMap::new();
    for (port, frame) in &forwarded {
        let request = FrameView::parse(frame).unwrap();
        let (leaf, spine) = copies_of(&request.key());
        let order = upper_loads[spine].cmp(&last_loads[leaf]);
        let upper =
            order == Ordering::Less || order == Ordering::Equal && request.request() % 2 == 1;
        let expected = if upper { 101 + spine as u16 } else { 100 };
        assert!(request.op() == Op::Get && request.destination()[..2] == [10, 2]);
        assert_eq!((request.upper(), *port), (upper, expected));
        *cases.entry((order, upper)).or_insert(0) += 1;
    }
    assert_eq!(cases.len(), 4, "the upper load is smaller, larger, or equal with either choice");
    assert!(cases.values().all(|count| *count > forwarded.len() / 8), "{cases:?}");
}

#[test]
fn distcache_client_switch_forwards_writes_to_the_server() {
    let (_, forwarded) = run(&case("distcache-client", "write"));
    for (port, frame) in &forwarded {
        let request = FrameView::parse(frame).unwrap();
        assert!(request.op() == Op::Put && !request.upper() && request.value().len() == 128);
        assert!(*port == 100 && request.destination()[..2] == [10, 2]);
    }
}

#[test]
fn distcache_client_switch_takes_loads_from_replies() {
    let case = case("distcache-client", "reply");
    let (mut contender, forwarded) = run(&case);
    let traffic = subject("distcache-client").unwrap().traffic(&case).unwrap();
    let mut loads = [[0; 2]; 2];
    for (sent, (port, frame)) in traffic.frames.slices().into_iter().zip(&forwarded) {
        let (sent, reply) = (FrameView::parse(sent).unwrap(), FrameView::parse(frame).unwrap());
        assert!(reply.op() == Op::GetReply && reply.cache_hit() && *port == 1);
        assert!(!reply.upper() && reply.load().is_none() && reply.value() == sent.value());
        let load = sent.load().unwrap();
        let (leaf, spine) = copies_of(&sent.key());
        assert_eq!(usize::from(load.switch), if sent.upper() { spine } else { leaf });
        loads[usize::from(load.layer)][usize::from(load.switch)] = u64::from(load.reads);
    }
    let switch = contender.switch().unwrap();
    for (layer, name) in ["last_loads", "upper_loads"].into_iter().enumerate() {
        let known = cells(switch, &format!("NetkvIngress.choice.{name}.cells"));
        // No time has passed, so the cells are the reads.
        assert_eq!(known[..2], loads[layer], "{name}");
    }
    assert!(loads.iter().flatten().all(|reads| *reads > 300), "newer than the filled ones");
}

#[test]
fn forwarding_sends_requests_to_the_server_of_the_key() {
    for (path, op) in [("read", Op::Get), ("write", Op::Put)] {
        let (_, forwarded) = run(&case("forwarding", path));
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
    let subjects = subjects();
    // Most of the time goes into compiling, so the programs are measured side by side.
    std::thread::scope(|scope| {
        for subject in subjects.iter().filter(|subject| subject.name() != YARDSTICK) {
            scope.spawn(|| {
                for path in subject.paths() {
                    let case = case(subject.name(), path);
                    let results =
                        measure(&case, &Executor::ALL, 0.0).unwrap_or_else(|e| panic!("{e}"));
                    let pipeline = usize::from(subject.name() == "netcache");
                    assert_eq!(results.len(), 2 + pipeline, "{path}");
                }
            });
        }
    });
}

#[test]
fn a_program_without_the_tables_of_its_name_is_refused() {
    let file = case("forwarding", "read").file;
    let error = measure(&Case { file, ..case("netcache", "read-hit") }, &Executor::ALL, 0.0);
    let text = error.unwrap_err().to_string();
    assert!(text.contains("no action 'NetkvIngress.sampling.configure'"), "{text}");
    let error = measure(&Case { value_size: 129, ..case("netcache", "read-hit") }, &[], 0.0);
    assert!(error.unwrap_err().to_string().contains("takes 1 to 128"));
}
