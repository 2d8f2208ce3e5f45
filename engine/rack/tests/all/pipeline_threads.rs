//! Tests of a switch node whose pipelines have threads of their own, over loopback.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::lanes::*;
use netkv_compiled::ExecutorKind::{Compiled, Interpreter};
use netkv_dataplane::{CROSSING_QUEUE, InFlight, Output, Random, SharedSwitch, pipeline_of};
use netkv_rack::impair::{Direction, Impairment};
use netkv_rack::pipeline::{Pipeline, Pipelines};
use netkv_rack::switch::{Node, SwitchNode};

/// Frames on their way at a time, so that no socket's buffer overflows.
const WINDOW: u32 = 100;

/// The trail of a frame that enters and leaves by these ports.
fn trail(from: u8, to: u8, pipelines: usize) -> u32 {
    let of = |port: u8| pipeline_of(u16::from(port), pipelines) as u32;
    ((of(from) + 1) << 4) | (of(to) + 9)
}

#[test]
fn frames_within_and_between_pipelines_keep_their_order() {
    for (pipelines, kind) in [(2, Interpreter), (2, Compiled), (4, Compiled)] {
        let bench = bench(pipelines, kind);
        let mut number = 0;
        for _ in 0..100 {
            for from in 1..=4 {
                for to in (1..=4).cycle().take(20) {
                    bench.send(from, Frame::new(FORWARD, to, number | u32::from(from) << 24));
                    number += 1;
                }
            }
            for to in 1..=4 {
                let mut last = BTreeMap::new();
                for _ in 0..20 {
                    let frame = bench.receive(to);
                    let from = (frame.number >> 24) as u8;
                    assert_eq!(frame.trail, trail(from, to, pipelines), "{frame:?}");
                    let before = last.insert(from, frame.number);
                    assert!(before < Some(frame.number), "{frame:?} after {before:?}");
                }
                assert_eq!(last.len(), 4);
            }
        }
        bench.reach("sent", 8_000);
        let crossed = if pipelines == 2 { 8_000 / 2 } else { 8_000 * 3 / 4 };
        let counts = ["received", "crossings", "crossing_drops"].map(|name| bench.count(name));
        assert_eq!(counts, [8_000, crossed, 0]);
        let statistics = *bench.switch.lock().statistics();
        assert_eq!((statistics.packets_in, statistics.packets_out), (8_000, 8_000));
        let shares: Vec<u64> = bench.node.pipeline_statistics().iter().map(|c| c[0].1).collect();
        assert_eq!(shares, vec![8_000 / pipelines as u64; pipelines], "received by each");
    }
}

#[test]
fn copies_and_recirculated_packets_pass_the_pipelines_of_their_ports() {
    for kind in BOTH {
        let bench = bench(2, kind);
        let trails = |from: u8, frame: Frame, to: &[u8]| -> Vec<String> {
            bench.send(from, frame);
            to.iter().map(|port| format!("{:x}", bench.receive(*port).trail)).collect()
        };
        assert_eq!(trails(1, Frame::new(MULTICAST, 0, 1), &[2, 3]), ["29", "2a"]);
        assert_eq!(trails(4, Frame::new(MULTICAST, 0, 1), &[2, 3]), ["19", "1a"]);
        // An ingress clone has the received bytes.
        assert_eq!(trails(1, Frame::new(CLONE_INGRESS, 4, 1), &[2, 3, 4]), ["9", "a", "29"]);
        assert_eq!(trails(2, Frame::new(CLONE_EGRESS, 1, 1), &[1, 2, 3]), ["1a", "1a9", "1aa"]);
        assert_eq!(trails(2, Frame::new(ONLY_CLONES, 1, 1), &[2, 3]), ["1a9", "1aa"]);
        let again = |via, to| Frame { via, ..Frame::new(AGAIN, to, 1) };
        assert_eq!(trails(1, again(3, 1), &[1]), ["2a2a"]);
        assert_eq!(trails(1, again(2, 1), &[1]), ["291a"]);
        assert_eq!(trails(1, again(2, 4), &[4]), ["2919"]);
        assert_eq!(trails(4, again(3, 2), &[2]), ["1a29"]);
        assert_eq!(bench.count("unrouted"), 0);
    }
}

#[test]
fn the_cpu_port_belongs_to_one_pipeline_and_digests_come_from_all() {
    for (pipelines, of_cpu) in [(2, 0), (4, 2)] {
        let bench = bench(pipelines, Compiled);
        for to in 1..=4 {
            bench.node.packet_out(Frame::new(FORWARD, to, 9).bytes().to_vec());
            let pipeline = pipeline_of(u16::from(to), pipelines) as u32;
            let expected = ((of_cpu + 1) << 4) | (pipeline + 9);
            assert_eq!(bench.receive(to).trail, expected);
        }
        assert_eq!(bench.count("packet_outs"), 4);
        for from in 1..=4 {
            bench.send(from, Frame::new(CPU, 0, u32::from(from)));
            bench.send(from, Frame::new(DIGEST, from, 10 + u32::from(from)));
            assert_eq!(bench.receive(from).number, 10 + u32::from(from));
        }
        bench.reach("packet_ins", 4);
        bench.reach("digests", 4);
        let (frames, digests) = bench.node.wait(Duration::from_secs(5));
        let mut found: Vec<Frame> = frames.iter().map(|frame| Frame::of(frame)).collect();
        found.sort_by_key(|frame| frame.number);
        let trails: Vec<u32> = found.iter().map(|frame| frame.trail).collect();
        let expected = |from: u32| ((from % pipelines as u32 + 1) << 4) | (of_cpu + 9);
        assert_eq!(trails, (1..=4).map(expected).collect::<Vec<_>>());
        let mut values: Vec<u64> = digests.iter().map(|digest| digest.values[0].words[0]).collect();
        values.sort_unstable();
        assert_eq!(values, [11, 12, 13, 14]);
    }
}

#[test]
fn only_the_pipeline_of_the_cpu_port_takes_packet_outs() {
    let bench = bench(4, Compiled);
    // All threads are woken by packets of others, while frames wait at the CPU port.
    for number in 0..2_000 {
        for from in 1..=4 {
            bench.send(from, Frame::new(FORWARD, from % 4 + 1, number));
            bench.node.packet_out(Frame::new(FORWARD, from % 4 + 1, number).bytes().to_vec());
        }
        for to in 1..=4 {
            let mut trails = [bench.receive(to).trail, bench.receive(to).trail];
            let from = (to + 2) % 4 + 1;
            let mut expected = [trail(from, to, 4), trail(2, to, 4)];
            trails.sort_unstable();
            expected.sort_unstable();
            assert_eq!(trails, expected, "to port {to}");
        }
    }
    assert_eq!(bench.node.failure(), None);
}

/// Sends frames from port 2 to port 1 while pipeline 1 is locked, until a queue is full.
fn fill(bench: &Bench) -> u64 {
    let mut sent = 0;
    while bench.count("crossing_drops") < 100 {
        assert!(sent < 10 * CROSSING_QUEUE as u64, "{sent} frames and no drop");
        for _ in 0..WINDOW {
            bench.send(2, Frame::new(FORWARD, 1, 0));
        }
        sent += u64::from(WINDOW);
        bench.reach("received", sent);
    }
    sent
}

#[test]
fn packets_that_find_a_full_queue_are_dropped_and_counted() {
    let bench = bench(2, Compiled);
    let locked = bench.switch.lock_pipeline(1);
    let sent = fill(&bench);
    assert!(sent >= CROSSING_QUEUE as u64);
    bench.send(4, Frame::new(FORWARD, 2, 7));
    assert_eq!(bench.receive(2).number, 7, "the other pipeline goes on");
    drop(locked);
    bench.reach("sent", bench.count("crossings") + 1);
    assert_eq!(bench.count("crossings") + bench.count("crossing_drops"), sent);
    bench.send(2, Frame::new(FORWARD, 3, 8));
    assert_eq!(bench.receive(3).number, 8, "there is room again");
}

#[test]
fn a_node_stops_while_queues_are_full() {
    let bench = bench(2, Compiled);
    let locked = bench.switch.lock_pipeline(1);
    fill(&bench);
    std::thread::scope(|scope| {
        scope.spawn(|| bench.node.stop());
        drop(locked);
    });
    assert_eq!(bench.node.failure(), None);
    bench.switch.settle();
    assert!(bench.node.wait(Duration::from_secs(60)).0.is_empty());
    assert!(bench.count("cpu_ns") > 0, "a stopped node keeps its counts");
}

#[test]
fn a_confirmed_write_is_seen_by_every_later_frame() {
    const FRAMES: u32 = 20_000;
    for kind in BOTH {
        let bench = bench(2, kind);
        set_version(&mut bench.switch.lock(), 1).unwrap();
        let (confirmed, seen) = (AtomicU8::new(1), AtomicU32::new(0));
        std::thread::scope(|scope| {
            // Half of the writes are one request for all pipelines, the others one for each.
            scope.spawn(|| {
                for version in 2..200 {
                    if version % 2 == 0 {
                        set_version(&mut bench.switch.lock(), version).unwrap();
                    } else {
                        for pipeline in 0..2 {
                            let write = |switch: &mut _| set_version(switch, version);
                            bench.switch.in_pipeline(pipeline, write).unwrap();
                        }
                    }
                    confirmed.store(version, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_micros(500));
                }
            });
            scope.spawn(|| {
                let end = Instant::now() + Duration::from_secs(30);
                for number in 0..FRAMES {
                    while number - seen.load(Ordering::Acquire) >= WINDOW {
                        if Instant::now() > end {
                            return; // the receiver reports the missing frame
                        }
                        std::thread::yield_now();
                    }
                    let known = confirmed.load(Ordering::SeqCst);
                    let to = 1 + (number / 4 % 4) as u8;
                    let from = 1 + (number % 4) as u8;
                    bench.send(from, Frame { known, ..Frame::new(FORWARD, to, number) });
                }
            });
            let mut versions = BTreeMap::<_, u8>::new();
            for at in 0..FRAMES {
                let frame = bench.receive(1 + (at / 4 % 4) as u8);
                assert!(frame.versions.iter().all(|v| *v >= frame.known), "{frame:?}");
                // Writes of a pipeline take effect in order.
                let last = versions.entry((frame.number % 4, frame.to)).or_default();
                assert!(frame.versions[0] >= *last, "{frame:?} after version {last}");
                *last = frame.versions[0];
                seen.store(at + 1, Ordering::Release);
            }
            let newest = versions.values().max().unwrap();
            assert!(*newest > 2, "no write came before the last frame");
        });
    }
}

/// A control plane may rely on it: e.g. an entry turns valid when all ingress pipelines know it,
/// and then no packet that passed ingress without it may reach egress.
#[test]
fn no_packet_from_before_a_confirmed_write_is_on_its_way() {
    let bench = bench(2, Compiled);
    set_version(&mut bench.switch.lock(), 1).unwrap();
    let done = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for from in [1, 2] {
            let (bench, done) = (&bench, &done);
            scope.spawn(move || {
                for number in (0..).take_while(|_| done.load(Ordering::SeqCst) == 0) {
                    // To the other pipeline, directly, by a clone, or by recirculation there.
                    let op = [FORWARD, ONLY_CLONES, AGAIN][number as usize % 3];
                    let frame = Frame { via: 3 - from, ..Frame::new(op, 3 - from, number) };
                    bench.send(from, frame);
                }
            });
        }
        let late = (2..150).find(|&version| {
            for pipeline in 0..2 {
                let write = |switch: &mut _| set_version(switch, version);
                bench.switch.in_pipeline(pipeline, write).unwrap();
            }
            bench.switch.settle();
            let before = older(&mut bench.switch.lock(), version);
            std::thread::sleep(Duration::from_micros(300));
            older(&mut bench.switch.lock(), version) != before
        });
        done.store(1, Ordering::SeqCst);
        assert_eq!(late, None, "packets older than this version came later");
    });
    assert!(bench.count("crossings") > 1_000);
}

/// The thread may take the wake-up of the owner together with that of another thread.
#[test]
fn a_node_ends_while_its_threads_wake_each_other() {
    let (ended, end) = std::sync::mpsc::channel();
    for round in 0..150 {
        let bench = bench(2, Interpreter);
        for number in 0..20 + round % 7 {
            for from in [1, 2] {
                bench.send(from, Frame::new(FORWARD, 3 - from, number));
            }
        }
        let ended = ended.clone();
        std::thread::spawn(move || {
            drop(bench);
            ended.send(()).unwrap();
        });
        let wait = end.recv_timeout(Duration::from_secs(20));
        assert_eq!(wait, Ok(()), "the node of round {round} has not ended");
    }
}

#[test]
fn packets_between_pipelines_are_lost_by_a_pause() {
    let bench = bench(2, Compiled);
    let end = Instant::now() + Duration::from_secs(60);
    let mut sent = 0;
    // The thread of pipeline 1 may process all of them before the pause begins.
    while bench.count("crossing_losses") == 0 {
        assert!(Instant::now() < end, "{sent} packets, and all were processed");
        let locked = bench.switch.lock_pipeline(1);
        // With more than the queue holds, the thread has taken some, and waits for its lock.
        let waiting = bench.count("crossings") + CROSSING_QUEUE as u64;
        while bench.count("crossings") <= waiting {
            assert!(Instant::now() < end, "the thread of pipeline 1 takes none of {sent} packets");
            for _ in 0..50 {
                bench.send(2, Frame::new(FORWARD, 1, 0));
            }
            sent += 50;
            bench.reach("received", sent);
        }
        std::thread::scope(|scope| {
            let settling = scope.spawn(|| bench.switch.settle());
            let pausing = scope.spawn(|| bench.node.pause());
            std::thread::sleep(Duration::from_millis(30));
            assert!(!settling.is_finished() && !pausing.is_finished());
            drop(locked);
        });
        let ended = ["sent", "crossing_losses", "crossing_drops"].map(|name| bench.count(name));
        assert_eq!(ended.iter().sum::<u64>(), sent);
        // Nothing is on its way, so nothing has to be waited for.
        bench.switch.settle();
        bench.node.resume();
    }
    bench.send(2, Frame::new(FORWARD, 3, 8));
    assert_eq!(bench.receive(3).number, 8);
}

#[test]
fn a_new_program_gets_every_later_frame_of_all_pipelines() {
    const FRAMES: u32 = 20_000;
    let bench = bench(2, Compiled);
    let programs: Vec<_> = (2..12).map(|stamp| lanes(2, Compiled, stamp)).collect();
    let (loaded, done) = (AtomicU8::new(1), AtomicU32::new(0));
    let mut received = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for (program, stamp) in programs.into_iter().zip(2..) {
                std::thread::sleep(Duration::from_millis(5));
                *bench.switch.lock() = program;
                loaded.store(stamp, Ordering::SeqCst);
            }
            done.store(1, Ordering::SeqCst);
        });
        let mut number = 0;
        // Some more after the last program.
        while number < FRAMES || done.load(Ordering::SeqCst) == 0 {
            let first = number;
            for from in 1..=4 {
                for _ in 0..10 {
                    let known = loaded.load(Ordering::SeqCst);
                    let to = 1 + (number % 4) as u8;
                    bench.send(from, Frame { known, ..Frame::new(FORWARD, to, number) });
                    number += 1;
                }
            }
            let end = Instant::now() + Duration::from_secs(20);
            let arrived = |sum: u64| sum >= u64::from(number);
            while !arrived(bench.count("sent") + bench.count("crossing_losses")) {
                assert!(Instant::now() < end, "frames {first} to {number} are lost");
                std::thread::yield_now();
            }
            for to in 1..=4 {
                bench.host(to).set_nonblocking(true).unwrap();
                let mut buffer = [0; 2 * FRAME];
                while let Ok(length) = bench.host(to).recv(&mut buffer) {
                    let frame = Frame::of(&buffer[..length]);
                    assert_eq!(
                        frame.programs[0], frame.programs[1],
                        "half of a program: {frame:?}"
                    );
                    assert!(frame.programs[0] >= frame.known, "an old program: {frame:?}");
                    received += 1;
                }
            }
        }
        assert_eq!(received + bench.count("crossing_losses"), u64::from(number));
        assert_eq!(bench.count("crossing_drops"), 0);
    });
}

#[test]
fn packets_between_pipelines_are_dropped_when_a_program_is_loaded() {
    let bench = bench(2, Compiled);
    let end = Instant::now() + Duration::from_secs(20);
    let (mut sent, mut stamp) = (0, 1);
    // The thread of pipeline 1 may be the first to get its lock, and process them.
    while bench.count("crossing_losses") == 0 {
        assert!(Instant::now() < end, "{sent} packets, and all were processed");
        let next = lanes(2, Compiled, stamp % 100 + 1);
        let locked = bench.switch.lock_pipeline(1);
        for number in 0..50 {
            bench.send(2, Frame::new(FORWARD, 1, number));
        }
        sent += 50;
        bench.reach("crossings", sent);
        drop(locked);
        *bench.switch.lock() = next;
        while bench.count("sent") + bench.count("crossing_losses") < sent {
            assert!(Instant::now() < end, "packets are lost");
            std::thread::yield_now();
        }
        stamp = stamp % 100 + 1;
    }
    assert_eq!(bench.count("sent") + bench.count("crossing_losses"), sent);
    bench.send(2, Frame::new(FORWARD, 3, 7));
    assert_eq!(bench.receive(3).programs, [stamp, stamp]);
}

#[test]
fn a_paused_node_forwards_in_no_pipeline() {
    let bench = bench(2, Compiled);
    bench.node.pause();
    let received = bench.count("received");
    for from in 1..=4 {
        bench.send(from, Frame::new(FORWARD, 5 - from, 1));
    }
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(bench.count("received"), received);
    bench.node.resume();
    for to in 1..=4 {
        assert_eq!(bench.receive(to).number, 1);
    }
    bench.node.pause();
    bench.node.stop();
    assert_eq!(bench.node.failure(), None);
}

#[test]
fn a_link_loses_the_same_frames_with_any_number_of_pipelines() {
    let survivors = |pipelines: usize| -> Vec<Vec<u32>> {
        let bench = bench(pipelines, Compiled);
        let half = Impairment { loss: 0.5, ..Impairment::NONE };
        for port in [1, 2] {
            bench.node.impair(port, Direction::From, half).unwrap();
            bench.node.impair(port + 2, Direction::To, half).unwrap();
        }
        for number in 0..WINDOW {
            bench.send(1, Frame::new(FORWARD, 3, number));
            bench.send(2, Frame::new(FORWARD, 4, number));
        }
        bench.reach("received", 2 * u64::from(WINDOW));
        bench.reach("links_lost", 2);
        // What is not lost passes both links.
        let statistics =
            || (bench.count("received"), bench.count("links_lost"), bench.count("sent"));
        let end = Instant::now() + Duration::from_secs(20);
        while statistics().1 + statistics().2 < 2 * u64::from(WINDOW) {
            assert!(Instant::now() < end, "{:?}", statistics());
            std::thread::yield_now();
        }
        [3, 4]
            .map(|port| {
                bench.host(port).set_nonblocking(true).unwrap();
                let mut buffer = [0; FRAME];
                let next =
                    || bench.host(port).recv(&mut buffer).ok().map(|_| Frame::of(&buffer).number);
                std::iter::from_fn(next).collect()
            })
            .to_vec()
    };
    let one = survivors(1);
    assert!(one.iter().all(|port| port.len() > 5 && port.len() < 60), "{one:?}");
    assert_eq!(one, survivors(2));
    assert_eq!(one, survivors(4));
}

#[test]
fn ports_of_all_pipelines_are_recorded() {
    let directory = std::env::temp_dir().join(format!("netkv-lanes-{}", std::process::id()));
    let switch = Arc::new(SharedSwitch::new(lanes(2, Compiled, 1)));
    let (ports, hosts) = cables();
    let node = SwitchNode::new(Arc::clone(&switch), &ports, 510).unwrap();
    node.record(&directory).unwrap();
    node.start().unwrap();
    hosts[0].send(&Frame::new(FORWARD, 2, 0x1234_5678).bytes()).unwrap();
    let mut buffer = [0; FRAME];
    hosts[1].recv(&mut buffer).unwrap();
    node.stop();
    let recorded = |port: u16| {
        let bytes = std::fs::read(directory.join(format!("port-{port}.pcapng"))).unwrap();
        bytes.windows(4).filter(|window| *window == [0x12, 0x34, 0x56, 0x78]).count()
    };
    assert_eq!([1, 2, 3, 4].map(recorded), [1, 1, 0, 0]);
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn an_idle_node_uses_little_processor_time() {
    let bench = bench(4, Compiled);
    for to in 1..=4 {
        bench.send(1, Frame::new(FORWARD, to, 1));
        bench.receive(to);
    }
    let before = bench.count("cpu_ns");
    std::thread::sleep(Duration::from_secs(1));
    let used = Duration::from_nanos(bench.count("cpu_ns") - before);
    assert!(used < Duration::from_millis(40), "{used:?} of a second");
}

/// Pipelines that panic at the first frame.
struct Broken([Mutex<BrokenPipeline>; 2], Arc<InFlight>);
struct BrokenPipeline;

impl Pipeline for BrokenPipeline {
    fn batch<'a>(&mut self, _: u64, port: u16, _: impl Iterator<Item = &'a [u8]>, _: &mut Output) {
        panic!("port {port} is broken");
    }
}

impl Pipelines for Broken {
    type Pipeline = BrokenPipeline;

    fn in_flight(&self) -> &Arc<InFlight> {
        &self.1
    }

    fn lock(&self, pipeline: usize) -> MutexGuard<'_, BrokenPipeline> {
        self.0[pipeline].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[test]
fn a_thread_that_fails_ends_the_node() {
    let (ports, hosts) = cables();
    let broken = Broken([(); 2].map(|()| Mutex::new(BrokenPipeline)), Arc::new(InFlight::new(2)));
    let node = Node::new(Arc::new(broken), &ports, 510).unwrap();
    node.start().unwrap();
    hosts[2].send(&[0; FRAME]).unwrap();
    assert!(node.wait(Duration::from_secs(60)).0.is_empty());
    assert_eq!(
        node.failure().unwrap(),
        "The switch thread 1 has stopped because of an error in netkv: port 3 is broken."
    );
    let end = Instant::now() + Duration::from_secs(20);
    let cpu = || node.statistics().iter().find(|(name, _)| *name == "cpu_ns").unwrap().1;
    while cpu() > 0 {
        assert!(Instant::now() < end, "the other thread still runs");
        std::thread::yield_now();
    }
    node.stop();
}

/// Frames of all kinds, whose results do not depend on their order.
#[test]
fn threads_give_the_results_of_a_single_thread() {
    for (pipelines, kind) in [(2, Interpreter), (2, Compiled), (4, Compiled)] {
        let bench = bench(pipelines, kind);
        let mut single = lanes(pipelines, kind, 1);
        let mut random = Random::new(7);
        let mut draw = |last: u64| random.between(0, last);
        let mut digests = [0, 0];
        for round in 0..300u32 {
            let mut output = Output::new();
            let mut sent = Vec::new();
            for number in 0..40 {
                let (op, via) = (draw(7) as u8, 1 + draw(3) as u8);
                let frame = Frame::new(op, 1 + draw(3) as u8, round * 40 + number);
                sent.push((1 + draw(3) as u8, Frame { via, ..frame }));
            }
            for (port, frame) in &sent {
                single.process(0, u16::from(*port), &frame.bytes(), &mut output);
                bench.send(*port, *frame);
            }
            let mut expected: Vec<(u16, Frame)> =
                output.frames().map(|(port, frame)| (port, Frame::of(frame))).collect();
            let mut found = Vec::new();
            for port in 1..=4 {
                for _ in expected.iter().filter(|(to, _)| *to == u16::from(port)) {
                    found.push((u16::from(port), bench.receive(port)));
                }
            }
            let to_cpu = expected.iter().filter(|(to, _)| *to == 510).count();
            while found.len() < expected.len() {
                let (frames, more) = bench.node.wait(Duration::from_secs(10));
                assert!(!frames.is_empty() || !more.is_empty(), "{to_cpu} frames to the CPU port");
                digests[0] += more.len();
                found.extend(frames.iter().map(|frame| (510, Frame::of(frame))));
            }
            digests[1] += single.take_digests().len();
            expected.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, expected, "round {round}");
        }
        while digests[0] < digests[1] {
            let more = bench.node.wait(Duration::from_secs(10)).1.len();
            assert!(more > 0, "{digests:?}");
            digests[0] += more;
        }
        assert_eq!(digests[0], digests[1]);
        // Packets without output may still be under way.
        let end = Instant::now() + Duration::from_secs(20);
        while bench.switch.lock().statistics() != single.statistics() {
            let (found, expected) = (*bench.switch.lock().statistics(), single.statistics());
            assert!(Instant::now() < end, "{found:?}, not {expected:?}");
            std::thread::yield_now();
        }
        assert_eq!(counted(&mut bench.switch.lock()), counted(&mut single));
        assert!(single.statistics().recirculated > 1_000 && digests[1] > 1_000);
        assert_eq!(bench.count("crossing_drops") + bench.count("crossing_losses"), 0);
    }
}
