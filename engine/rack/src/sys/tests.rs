//! Tests of the system calls.

use super::*;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

fn free_port() -> SocketAddrV4 {
    let probe = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    match probe.local_addr().unwrap() {
        std::net::SocketAddr::V4(address) => address,
        std::net::SocketAddr::V6(_) => unreachable!(),
    }
}

/// Two sockets that are connected to each other, each with or without trains.
fn pair(trains: [bool; 2]) -> (Socket, Socket) {
    let (a, b) = (free_port(), free_port());
    (Socket::open("a", a, b, trains[0]).unwrap(), Socket::open("b", b, a, trains[1]).unwrap())
}

/// Frames in one buffer.
#[derive(Default)]
struct Frames {
    bytes: Vec<u8>,
    ranges: Vec<(usize, usize)>,
}

impl Frames {
    fn of(frames: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let mut all = Self::default();
        for frame in frames {
            let start = all.bytes.len();
            all.bytes.extend(frame);
            all.ranges.push((start, all.bytes.len()));
        }
        all
    }

    fn list(&self) -> Vec<Vec<u8>> {
        self.ranges.iter().map(|&(start, end)| self.bytes[start..end].to_vec()).collect()
    }

    fn send(&self, socket: &Socket) -> Sent {
        socket.transmit(&mut Sender::default(), &self.bytes, &self.ranges)
    }
}

/// Receives all waiting frames.
fn drain(socket: &Socket) -> Vec<Vec<u8>> {
    let mut received = Received::default();
    let mut got = Vec::new();
    while socket.receive(&mut received).unwrap() > 0 {
        got.extend(received.frames().map(|frame| frame.unwrap().to_vec()));
    }
    got
}

const ALL_PAIRS: [[bool; 2]; 4] = [[false, false], [false, true], [true, false], [true, true]];

#[test]
fn frames_of_every_length_arrive_complete_and_in_order() {
    for trains in ALL_PAIRS {
        let (a, b) = pair(trains);
        let frames = Frames::of((0..150usize).map(|i| vec![i as u8; (i * 13) % FRAME_LIMIT]));
        let sent = frames.send(&a);
        assert_eq!((sent.frames, sent.dropped), (150, 0));
        assert_eq!(sent.bytes, frames.bytes.len() as u64);
        assert_eq!(drain(&b), frames.list(), "trains {trains:?}");
    }
}

#[test]
fn trains_arrive_as_single_frames() {
    for trains in ALL_PAIRS {
        let (a, b) = pair(trains);
        // Trains that end because of a shorter frame, a longer one, an empty one, and the limit.
        let sizes = [198; 100].iter().chain(&[70; 3]).chain(&[71, 70, 0, 70]).chain(&[2000; 70]);
        let frames = Frames::of(sizes.enumerate().map(|(i, &size)| vec![i as u8; size]));
        let sent = frames.send(&a);
        assert_eq!((sent.frames, sent.dropped), (177, 0));
        assert_eq!(drain(&b), frames.list(), "trains {trains:?}");
    }
}

#[test]
fn frames_are_sent_in_the_order_of_their_ranges() {
    for trains in ALL_PAIRS {
        let (a, b) = pair(trains);
        let mut frames = Frames::of((0..600u32).map(|i| i.to_be_bytes().repeat(20)));
        let mut random = 7u32;
        for at in (1..frames.ranges.len()).rev() {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            frames.ranges.swap(at, random as usize % (at + 1));
        }
        assert_eq!(frames.send(&a).frames, 600);
        assert_eq!(drain(&b), frames.list(), "trains {trains:?}");
    }
}

#[test]
fn a_kernel_that_refuses_trains_gets_single_frames() {
    let (a, b) = pair([true, true]);
    // Trains need checksums; this socket does not compute them.
    a.set_option(libc::SOL_SOCKET, libc::SO_NO_CHECK, 1).unwrap();
    let frames = Frames::of((0..200u8).map(|i| vec![i; 80]));
    let sent = frames.send(&a);
    assert_eq!((sent.frames, sent.dropped), (200, 0));
    assert_eq!(drain(&b), frames.list());
    assert!(!a.trains(), "later batches must not try trains again");
}

#[test]
fn a_batch_has_few_trains_or_many_single_frames() {
    let (a, b) = pair([true, true]);
    let train = Frames::of((0..BATCH).map(|i| vec![i as u8; 100]));
    assert_eq!((0..100).map(|_| train.send(&a).frames).sum::<u64>(), 100 * BATCH as u64);
    let mut received = Received::default();
    let mut batches = Vec::new();
    while let count @ 1.. = b.receive(&mut received).unwrap() {
        batches.push(count);
    }
    assert_eq!(batches.iter().sum::<usize>(), 100 * BATCH);
    assert!(batches[1..].iter().all(|&count| count <= 2 * BATCH), "{batches:?}");
    a.disable_trains();
    assert_eq!((0..40).map(|_| train.send(&a).frames).sum::<u64>(), 40 * BATCH as u64);
    let singles: Vec<usize> =
        std::iter::from_fn(|| Some(b.receive(&mut received).unwrap()).filter(|&count| count > 0))
            .collect();
    assert_eq!(singles.iter().sum::<usize>(), 40 * BATCH);
    assert_eq!(singles[10], BATCH, "{singles:?}");
}

#[test]
fn bursts_of_all_kinds_arrive_complete() {
    let (a, b) = pair([true, true]);
    let mut received = Received::default();
    let mut random = 1u32;
    let mut draw = |below: usize| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 8) as usize % below
    };
    for _ in 0..2000 {
        // Trains of all lengths: the more sizes there are, the shorter are the trains.
        let (count, sizes) = (1 + draw(400), [1, 2, 3, 20][draw(4)]);
        let frames = (0..count).map(|i| vec![i as u8; 60 + draw(sizes)]).collect::<Vec<_>>();
        let frames = Frames::of(frames);
        assert_eq!(frames.send(&a).dropped, 0);
        let mut got = Vec::new();
        while b.receive(&mut received).unwrap() > 0 {
            got.extend(received.frames().map(|frame| frame.unwrap().to_vec()));
        }
        assert_eq!(got, frames.list());
    }
}

#[test]
fn a_frame_that_is_too_long_does_not_hide_the_next() {
    for trains in ALL_PAIRS {
        let (a, b) = pair(trains);
        Frames::of([vec![1; FRAME_LIMIT + 1], vec![2; FRAME_LIMIT]]).send(&a);
        let mut received = Received::default();
        let mut lengths = Vec::new();
        while b.receive(&mut received).unwrap() > 0 {
            lengths.extend(received.frames().map(|frame| frame.map(<[u8]>::len)));
        }
        assert_eq!(lengths, [None, Some(FRAME_LIMIT)]);
    }
}

#[test]
fn a_too_long_datagram_is_dropped_and_the_others_are_sent() {
    let (a, b) = pair([true, true]);
    let frames = Frames::of([vec![1; 60], vec![2; 70_000], vec![3; 60]]);
    let sent = frames.send(&a);
    assert_eq!((sent.frames, sent.bytes, sent.dropped), (2, 120, 1));
    assert_eq!(drain(&b), [[1; 60], [3; 60]]);
}

#[test]
fn a_port_ignores_other_senders() {
    let (a, _b) = pair([true, true]);
    let stranger = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = a.socket.local_addr().unwrap();
    stranger.send_to(&[0; 60], address).unwrap();
    assert_eq!(a.receive(&mut Received::default()).unwrap(), 0);
}

#[test]
fn a_socket_without_a_peer_sends_to_the_last_sender() {
    let here = free_port();
    let open = Socket::open_to_any("open", here, true).unwrap();
    let frame = Frames::of([vec![1; 60]]);
    assert_eq!(frame.send(&open).dropped, 1, "no datagram has arrived yet");
    for number in 2..4u8 {
        let peer = Socket::open("peer", free_port(), here, true).unwrap();
        Frames::of([vec![number; 60]]).send(&peer);
        assert_eq!(drain(&open), [[number; 60]]);
        assert_eq!(frame.send(&open).frames, 1);
        assert_eq!(drain(&peer), [[1; 60]]);
    }
}

#[test]
fn a_peer_that_restarts_receives_again() {
    for trains in [false, true] {
        let (here, there) = (free_port(), free_port());
        let a = Socket::open("a", here, there, trains).unwrap();
        for _ in 0..3 {
            Frames::of([vec![0; 60]]).send(&a);
        }
        a.receive(&mut Received::default()).unwrap();
        let b = Socket::open("b", there, here, trains).unwrap();
        Frames::of([vec![7; 60], vec![8; 60]]).send(&a);
        assert_eq!(drain(&b).last(), Some(&vec![8; 60]));
    }
}

#[test]
fn the_error_for_a_busy_port_names_it_and_a_remedy() {
    let taken = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let std::net::SocketAddr::V4(address) = taken.local_addr().unwrap() else { unreachable!() };
    let error = Socket::open("switch port 3", address, free_port(), true).err().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    assert_eq!(
        error.to_string(),
        format!(
            "switch port 3 cannot use {address}: the UDP port is in use by another process; \
             stop it or choose another port"
        )
    );
}

#[test]
fn frames_that_do_not_fit_the_receive_buffer_are_counted() {
    for trains in ALL_PAIRS {
        let (a, b) = pair(trains);
        b.set_option(libc::SOL_SOCKET, libc::SO_RCVBUF, 4096).unwrap();
        Frames::of((0..100).map(|_| vec![0; 1000])).send(&a);
        // The kernel drops whole trains to a socket with receive offload, and counts each as one.
        let got = drain(&b).len() as u64;
        assert!(got < 100 && b.receive_drops() > 0);
        assert!(trains == [true, true] || b.receive_drops() + got == 100);
    }
}

#[test]
fn a_wait_ends_after_its_time_or_by_a_wake_up() {
    // With the call of Linux 5.11, and with those of earlier ones.
    for exact in [true, false] {
        let mut poller = Poller::new().unwrap();
        poller.exact = exact;
        let waker = Waker::new().unwrap();
        poller.watch(&waker, 9).unwrap();
        let start = Instant::now();
        assert_eq!(poller.wait(Some(Duration::from_micros(300))).unwrap().count(), 0);
        assert!(start.elapsed() >= Duration::from_micros(300));
        waker.wake();
        assert_eq!(poller.wait(None).unwrap().collect::<Vec<_>>(), [9]);
        waker.clear();
        assert_eq!(poller.wait(Some(Duration::ZERO)).unwrap().count(), 0);
    }
}
