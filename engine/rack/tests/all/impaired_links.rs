//! Tests of a switch node whose links lose, duplicate, corrupt, reorder and delay frames.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

use crate::small_switch::{Bench, bench, frame};
use netkv_rack::impair::{Direction, Impairment};

const FRAMES: u32 = 20_000;
const NONE: Impairment = Impairment::NONE;

/// Maximum number of frames in flight, below the capacity of a socket's buffer.
const WINDOW: u64 = 100;

/// Sends FRAMES numbered frames to the host at port 2. Waits until as many have arrived as the
/// counts of the links say, and returns their numbers in the order of arrival.
fn numbers(bench: &Bench) -> Vec<u32> {
    let [one, two] = &bench.peers;
    two.set_nonblocking(true).unwrap();
    let before = bench.count("received");
    let lost_before = bench.count("links_lost");
    let mut arrived = Vec::new();
    let mut receive = || {
        let mut buffer = [0; 100];
        loop {
            match two.recv(&mut buffer) {
                Ok(18) => arrived.push(u32::from_be_bytes(buffer[14..18].try_into().unwrap())),
                Ok(other) => panic!("a frame of {other} bytes"),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return arrived.len() as u64,
                Err(error) => panic!("{error}"),
            }
        }
    };
    let mut wait_until_at_most = |sent: u32, in_flight: u64| {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            let got = receive();
            let lost = bench.count("links_lost") - lost_before;
            let due = u64::from(sent) + bench.count("links_duplicated");
            let all_counted = bench.count("received") - before == u64::from(sent);
            if all_counted && due <= got + lost + in_flight {
                return;
            }
            assert!(Instant::now() < end, "{got} arrived and {lost} were lost of {due}");
            std::thread::yield_now();
        }
    };
    for number in 0..FRAMES {
        one.send(&frame(0x0800, number)).unwrap();
        if number % 50 == 49 {
            wait_until_at_most(number + 1, WINDOW);
        }
    }
    wait_until_at_most(FRAMES, 0);
    // Further frames, which would be an error, would arrive now.
    std::thread::sleep(Duration::from_millis(50));
    receive();
    arrived
}

fn impaired(direction: Direction, impairment: Impairment) -> (Bench, Vec<u32>) {
    let bench = bench();
    let port = match direction {
        Direction::From => 1,
        Direction::To => 2,
    };
    bench.node.impair(port, direction, impairment).unwrap();
    let arrived = numbers(&bench);
    (bench, arrived)
}

/// Whether a count of FRAMES trials is within five standard deviations of its mean.
fn likely(count: u64, probability: f64) -> bool {
    let (n, p) = (f64::from(FRAMES), probability);
    (count as f64 - n * p).abs() <= 5.0 * (n * p * (1.0 - p)).sqrt()
}

#[test]
fn a_lossy_link_loses_its_share_and_keeps_the_order() {
    for direction in [Direction::From, Direction::To] {
        let (bench, arrived) = impaired(direction, Impairment { loss: 0.1, ..NONE });
        let lost = bench.count("links_lost");
        assert!(likely(lost, 0.1), "{lost} lost");
        assert_eq!(arrived.len() as u64 + lost, u64::from(FRAMES));
        assert!(arrived.is_sorted_by(|a, b| a < b));
    }
}

#[test]
fn a_duplicating_link_delivers_its_share_twice() {
    for direction in [Direction::From, Direction::To] {
        let (bench, mut arrived) = impaired(direction, Impairment { duplicate: 0.2, ..NONE });
        let duplicated = bench.count("links_duplicated");
        assert!(likely(duplicated, 0.2), "{duplicated} duplicated");
        assert_eq!(arrived.len() as u64, u64::from(FRAMES) + duplicated);
        assert!(arrived.is_sorted());
        arrived.dedup();
        assert_eq!(arrived.len(), FRAMES as usize);
    }
}

#[test]
fn a_corrupting_link_flips_bits_of_its_share() {
    for direction in [Direction::From, Direction::To] {
        let bench = bench();
        let port = if direction == Direction::From { 1 } else { 2 };
        bench.node.impair(port, direction, Impairment { corrupt: 0.1, ..NONE }).unwrap();
        let mut wrong = 0;
        for first in (0..FRAMES).step_by(50) {
            // Numbers that differ in more bits than a burst has.
            let spread = |number: u32| number.wrapping_mul(0x9e37_79b9);
            let numbers = (first..first + 50).map(spread);
            let sent: HashSet<_> = numbers.map(|number| frame(0x0800, number)).collect();
            for frame in &sent {
                bench.peers[0].send(frame).unwrap();
            }
            for _ in &sent {
                let mut buffer = [0; 100];
                let length = bench.peers[1].recv(&mut buffer).unwrap();
                assert_eq!(length, 18, "a burst changes no length");
                wrong += u64::from(!sent.contains(&buffer[..length]));
            }
        }
        assert!(likely(wrong, 0.1), "{wrong} corrupted");
        bench.reach("links_corrupted", wrong);
        assert_eq!(bench.count("links_corrupted"), wrong);
        assert_eq!(bench.count("links_lost") + bench.count("links_delayed"), 0);
    }
}

#[test]
fn a_reordering_link_loses_no_frame() {
    for direction in [Direction::From, Direction::To] {
        let (bench, mut arrived) = impaired(direction, Impairment { reorder: 0.3, ..NONE });
        let held = bench.count("links_delayed");
        assert!(likely(held, 0.3), "{held} held back");
        let overtaken = arrived.windows(2).filter(|pair| pair[0] > pair[1]).count();
        assert!(overtaken > FRAMES as usize / 100, "{overtaken} overtaken");
        arrived.sort_unstable();
        assert!(arrived.into_iter().eq(0..FRAMES));
    }
}

#[test]
fn a_constant_delay_keeps_the_order_of_frames() {
    for direction in [Direction::From, Direction::To] {
        let delay = Impairment { delay: 20_000_000, ..NONE };
        let (bench, arrived) = impaired(direction, delay);
        assert!(arrived.into_iter().eq(0..FRAMES));
        assert_eq!(bench.count("links_delayed"), u64::from(FRAMES));
        let [one, two] = &bench.peers;
        two.set_nonblocking(false).unwrap();
        let sent = Instant::now();
        one.send(&frame(0x0800, 1)).unwrap();
        assert_eq!(two.recv(&mut [0; 100]).unwrap(), 18);
        assert!(sent.elapsed() >= Duration::from_millis(20), "{:?}", sent.elapsed());
        // The link delays frames in one direction only.
        two.send(&frame(0x0800, 2)).unwrap();
        assert_eq!(one.recv(&mut [0; 100]).unwrap(), 18);
        assert_eq!(bench.count("links_delayed"), u64::from(FRAMES) + 1);
    }
}

#[test]
fn a_restored_link_carries_all_frames_again() {
    let bench = bench();
    bench.node.impair(1, Direction::From, Impairment { loss: 1.0, ..NONE }).unwrap();
    bench.peers[0].send(&frame(0x0800, 1)).unwrap();
    bench.reach("links_lost", 1);
    bench.node.impair(1, Direction::From, NONE).unwrap();
    assert!(numbers(&bench).into_iter().eq(0..FRAMES));
    assert_eq!(bench.count("links_lost"), 1);
}

#[test]
fn an_invalid_impairment_is_refused_with_a_sentence() {
    let bench = bench();
    let error = bench.node.impair(3, Direction::To, NONE).unwrap_err();
    assert!(error.contains("no switch port 3") && error.contains("1, 2"), "{error}");
    let wrong = Impairment { loss: 2.0, ..NONE };
    let error = bench.node.impair(1, Direction::To, wrong).unwrap_err();
    assert!(error.contains("'loss' is 2"), "{error}");
}
