//! Tests of the switch node over loopback.

use std::collections::HashMap;
use std::net::{SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::small_switch::{Bench, PROGRAM, bench, bench_of, frame, switch, v4};
use netkv_dataplane::SharedSwitch;
use netkv_rack::switch::{CPU_QUEUE, PACKET_OUT_QUEUE, PortConfig, REPORT_QUEUE, SwitchNode};
use netkv_wire::{CONTROLLER_IP, Message, Op, SERVICE_IP, Stamp, write_frame};

#[test]
fn frames_cross_the_switch_both_ways_in_order() {
    let bench = bench();
    let [one, two] = &bench.peers;
    let mut buffer = [0; 100];
    for number in 0..1000 {
        one.send(&frame(0x0800, number)).unwrap();
        two.send(&frame(0x0806, number)).unwrap();
        let got = two.recv(&mut buffer).unwrap();
        assert_eq!(buffer[..got], frame(0x0800, number));
        let got = one.recv(&mut buffer).unwrap();
        assert_eq!(buffer[..got], frame(0x0806, number));
    }
    assert_eq!(bench.count("received"), 2000);
    bench.reach("sent", 2000);
    assert_eq!(bench.count("sent_bytes"), 2000 * 18);
}

#[test]
fn each_port_counts_its_own_frames_and_bytes() {
    let bench = bench();
    let [one, two] = &bench.peers;
    let mut buffer = [0; 100];
    for number in 0..50 {
        one.send(&frame(0x0800, number)).unwrap();
        two.recv(&mut buffer).unwrap();
    }
    one.send(&[0; 5]).unwrap();
    bench.reach("malformed", 1);
    bench.reach("sent", 50);
    let counts = |port: usize| -> HashMap<_, _> {
        bench.node.port_statistics().swap_remove(port).1.into_iter().collect()
    };
    let names = ["received", "received_bytes", "sent", "sent_bytes"];
    assert_eq!(names.map(|name| counts(0)[name]), [51, 50 * 18, 0, 0], "five bytes are no frame");
    assert_eq!(names.map(|name| counts(1)[name]), [0, 0, 50, 50 * 18]);
    bench.node.stop();
    assert_eq!(names.map(|name| bench.count(name)), [51, 50 * 18, 50, 50 * 18]);
    assert!(bench.node.port_statistics().is_empty());
}

#[test]
fn arriving_frames_are_captured_as_many_as_wanted() {
    let bench = bench();
    let [one, two] = &bench.peers;
    let exchange = |number| {
        one.send(&frame(0x0800, number)).unwrap();
        two.recv(&mut [0; 100]).unwrap();
    };
    exchange(1);
    assert!(bench.node.end_capture().is_empty(), "nobody wanted frames");
    bench.node.capture(2);
    for number in 2..6 {
        exchange(number);
    }
    assert_eq!(bench.node.captured(), 2);
    let arrived = |number| (1, frame(0x0800, number).to_vec());
    assert_eq!(bench.node.end_capture(), [arrived(2), arrived(3)]);
    exchange(6);
    assert_eq!(bench.node.captured(), 0);
    bench.node.capture(5);
    exchange(7);
    assert_eq!(bench.node.end_capture(), [arrived(7)], "as many as there were");
}

#[test]
fn the_control_plane_exchanges_frames_and_receives_digests() {
    let bench = bench();
    bench.node.packet_out(frame(0x0800, 7));
    let mut buffer = [0; 100];
    let got = bench.peers[0].recv(&mut buffer).unwrap();
    assert_eq!(buffer[..got], frame(0x0800, 7));
    bench.peers[0].send(&frame(0x88b5, 8)).unwrap();
    bench.peers[0].send(&frame(0x88b6, 9)).unwrap();
    let (mut frames, mut digests) = (Vec::new(), Vec::new());
    while frames.is_empty() || digests.is_empty() {
        let (more_frames, more_digests) = bench.node.wait(Duration::from_secs(5));
        assert!(!more_frames.is_empty() || !more_digests.is_empty());
        frames.extend(more_frames);
        digests.extend(more_digests);
    }
    assert_eq!(frames, [frame(0x88b5, 8)]);
    assert_eq!(digests[0].values[0].to_bytes(), [0xee; 6]);
    assert_eq!(digests[0].values[1].to_bytes(), [0x88, 0xb6]);
    bench.node.stop();
    let begin = Instant::now();
    assert!(bench.node.wait(Duration::from_secs(60)).0.is_empty());
    assert!(begin.elapsed() < Duration::from_secs(5), "wait must end when the node does");
}

#[test]
fn frames_for_a_slow_control_plane_are_limited() {
    let bench = bench();
    for number in 0..(CPU_QUEUE as u64 + 500) {
        bench.peers[0].send(&frame(0x88b5, number as u32)).unwrap();
        bench.reach("packet_ins", (number + 1).saturating_sub(300));
    }
    bench.reach("packet_ins", CPU_QUEUE as u64 + 500);
    bench.reach("cpu_queue_drops", 500);
    let (frames, _) = bench.node.wait(Duration::ZERO);
    assert_eq!(frames.len(), CPU_QUEUE);
    assert_eq!(frames[0], frame(0x88b5, 0));
}

/// A frame for the CPU port that reports a hot record, a controller header in front.
fn report(number: u32) -> Vec<u8> {
    let message = Message::request(SERVICE_IP, CONTROLLER_IP, Op::Offer, 200, number, [7; 16])
        .with_stamp(Stamp::default());
    let mut bytes = vec![0; 2];
    write_frame(&mut bytes, &message);
    // With the header in front, the program finds its Ethernet type in these bytes of the frame.
    bytes[12..14].copy_from_slice(&[0x88, 0xb5]);
    bytes
}

#[test]
fn reports_of_hot_records_leave_room_for_answers() {
    let bench = bench();
    let sent = REPORT_QUEUE as u64 + 200;
    for number in 0..sent {
        bench.peers[0].send(&report(number as u32)).unwrap();
        bench.reach("packet_ins", (number + 1).saturating_sub(100));
    }
    bench.reach("report_drops", 200);
    bench.peers[0].send(&frame(0x88b5, 5)).unwrap();
    bench.reach("packet_ins", sent + 1);
    let (frames, _) = bench.node.wait(Duration::ZERO);
    assert_eq!(frames.len(), REPORT_QUEUE + 1);
    assert_eq!(frames[0], frame(0x88b5, 5), "answers come first");
    assert_eq!(frames[1], report(0));
    assert_eq!(bench.count("cpu_queue_drops"), 0);
}

#[test]
fn packet_outs_for_a_paused_switch_are_limited() {
    let bench = bench();
    bench.node.pause();
    for number in 0..(PACKET_OUT_QUEUE as u32 + 100) {
        bench.node.packet_out(frame(0x0800, number));
    }
    assert_eq!(bench.count("packet_out_drops"), 100);
    bench.node.resume();
    bench.reach("packet_outs", PACKET_OUT_QUEUE as u64);
}

#[test]
fn malformed_frames_and_unknown_ports_are_counted() {
    let bench = bench();
    for length in 0..14 {
        bench.peers[0].send(&vec![0; length]).unwrap();
    }
    bench.peers[0].send(&[0; 2049]).unwrap();
    bench.peers[0].send(&frame(0x88b7, 0)).unwrap();
    bench.reach("unrouted", 1);
    assert_eq!(bench.count("malformed"), 15);
}

#[test]
fn a_paused_switch_forwards_nothing_until_it_is_resumed() {
    let bench = bench();
    bench.node.pause();
    bench.peers[0].send(&frame(0x0800, 1)).unwrap();
    bench.peers[1].set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut buffer = [0; 100];
    assert!(bench.peers[1].recv(&mut buffer).is_err());
    bench.node.resume();
    bench.peers[1].set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    assert_eq!(bench.peers[1].recv(&mut buffer).unwrap(), 18);
}

#[test]
fn a_paused_switch_ends_when_it_is_dropped() {
    let Bench { node, peers } = bench();
    node.pause();
    peers[0].send(&frame(0x0800, 1)).unwrap();
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || {
        drop(node);
        ended.send(())
    });
    end.recv_timeout(Duration::from_secs(60)).expect("its thread does not wait for ever");
    peers[1].set_nonblocking(true).unwrap();
    assert!(peers[1].recv(&mut [0; 100]).is_err(), "it forwards nothing more");
}

#[test]
fn a_stopped_switch_frees_its_ports_for_the_next() {
    let bench = bench();
    let address = match bench.peers[0].peer_addr().unwrap() {
        SocketAddr::V4(address) => address,
        SocketAddr::V6(_) => unreachable!(),
    };
    assert!(UdpSocket::bind(address).is_err());
    bench.node.stop();
    assert!(UdpSocket::bind(address).is_ok());
}

/// Addresses with free UDP ports.
fn free<const N: usize>() -> [SocketAddrV4; N] {
    [(); N].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap()).each_ref().map(v4)
}

#[test]
fn a_row_of_switches_in_one_process_keeps_frames_in_order() {
    const SWITCHES: usize = 4;
    const FRAMES: u32 = 20_000;
    // The addresses of the left and the right end of each cable.
    let cables: [[SocketAddrV4; 2]; SWITCHES + 1] = [(); SWITCHES + 1].map(|()| free());
    let nodes: Vec<SwitchNode> = cables
        .windows(2)
        .map(|cable| {
            let [left, right] = [cable[0], cable[1]];
            let ports = [
                PortConfig::datagrams(1, left[1], left[0], true),
                PortConfig::datagrams(2, right[0], right[1], true),
            ];
            let node =
                SwitchNode::new(Arc::new(SharedSwitch::new(switch(PROGRAM))), &ports, 510).unwrap();
            node.start().unwrap();
            node
        })
        .collect();
    let (first, last) = (cables[0], cables[SWITCHES]);
    let sender = UdpSocket::bind(first[0]).unwrap();
    sender.connect(first[1]).unwrap();
    let receiver = UdpSocket::bind(last[1]).unwrap();
    receiver.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut buffer = [0; 100];
    // In bursts that fit into the sockets' buffers.
    for burst in 0..FRAMES / 100 {
        let numbers = burst * 100..(burst + 1) * 100;
        for number in numbers.clone() {
            // Most consecutive frames have the same size.
            let mut frame = frame(0x0800, number);
            frame.resize(frame.len() + usize::from(number % 50 == 0), 0);
            sender.send(&frame).unwrap();
        }
        for number in numbers {
            let got = receiver.recv(&mut buffer).unwrap();
            assert_eq!(buffer[14..18], number.to_be_bytes());
            assert_eq!(got, 18 + usize::from(number % 50 == 0));
        }
    }
    for node in &nodes {
        let counts: HashMap<_, _> = node.statistics().into_iter().collect();
        assert_eq!((counts["received"], counts["send_drops"]), (u64::from(FRAMES), 0));
    }
}

#[test]
fn swapping_the_program_loses_no_frame() {
    const FRAMES: u32 = 30_000;
    /// Maximum number of frames in flight, so that no buffer overflows.
    const WINDOW: u32 = 100;
    let stamped = |stamp: &str| {
        let ports = "else if (s.ingress_port == 1) {";
        PROGRAM.replacen(ports, &format!("{ports} h.ethernet.dst = {stamp};"), 1)
    };
    let shared = Arc::new(SharedSwitch::new(switch(&stamped("1"))));
    let bench = bench_of(Arc::clone(&shared));
    let end = Instant::now() + Duration::from_secs(10);
    let (sent, seen) = (AtomicU32::new(0), AtomicU32::new(0));
    let swapped_before = std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..FRAMES {
                while number - seen.load(Ordering::Acquire) >= WINDOW {
                    if Instant::now() > end {
                        return; // the receiver reports the missing frame
                    }
                    std::thread::yield_now();
                }
                // Counted before it is sent, so that no frame beyond the count has been sent.
                sent.store(number + 1, Ordering::SeqCst);
                bench.peers[0].send(&frame(0x0800, number)).unwrap();
            }
        });
        let swapper = scope.spawn(|| {
            // For each swap, the first frame that was certainly sent after it.
            (2..8u8)
                .map(|stamp| {
                    let next = switch(&stamped(&stamp.to_string()));
                    *shared.lock() = next;
                    (stamp, sent.load(Ordering::SeqCst))
                })
                .collect::<Vec<_>>()
        });
        let mut stamps = Vec::new();
        let mut buffer = [0; 100];
        for number in 0..FRAMES {
            bench.peers[1].recv(&mut buffer).unwrap();
            assert_eq!(buffer[14..18], number.to_be_bytes(), "lost, or out of order");
            stamps.push(buffer[5]);
            seen.store(number + 1, Ordering::Release);
        }
        let swaps = swapper.join().unwrap();
        for &(stamp, from) in &swaps {
            let late = stamps.iter().skip(from as usize).find(|&&found| found < stamp);
            assert_eq!(late, None, "an old program processed a frame that was sent after the swap");
        }
        assert!(stamps.is_sorted(), "a frame of an older program came after one of a newer");
        swaps
    });
    assert!(swapped_before[0].1 < FRAMES, "nothing was sent after the first swap");
}

#[test]
fn an_idle_switch_uses_little_processor_time() {
    let bench = bench();
    let mut buffer = [0; 100];
    bench.peers[0].send(&frame(0x0800, 1)).unwrap();
    bench.peers[1].recv(&mut buffer).unwrap();
    let before = bench.count("cpu_ns");
    assert!(before > 0);
    std::thread::sleep(Duration::from_secs(1));
    let used = Duration::from_nanos(bench.count("cpu_ns") - before);
    assert!(used < Duration::from_millis(20), "{used:?} of a second");
    bench.node.stop();
    assert!(bench.count("cpu_ns") >= before, "a stopped node keeps its counts");
}
