//! Tests of the system calls.

use super::*;
use std::net::Ipv4Addr;
use std::time::Instant;

fn free_port() -> SocketAddrV4 {
    let probe = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    match probe.local_addr().unwrap() {
        std::net::SocketAddr::V4(address) => address,
        std::net::SocketAddr::V6(_) => unreachable!(),
    }
}

fn pair() -> (Socket, Socket) {
    let (a, b) = (free_port(), free_port());
    (Socket::open("a", a, b).unwrap(), Socket::open("b", b, a).unwrap())
}

#[test]
fn frames_of_every_length_arrive_whole_and_in_order() {
    let (a, b) = pair();
    let frames: Vec<Vec<u8>> =
        (0..150usize).map(|i| vec![i as u8; (i * 13) % FRAME_LIMIT]).collect();
    let mut outgoing = Outgoing::default();
    frames.iter().for_each(|frame| outgoing.push(frame));
    let sent = outgoing.flush(&a);
    assert_eq!((sent.frames, sent.dropped), (150, 0));
    assert_eq!(sent.bytes, frames.iter().map(|f| f.len() as u64).sum::<u64>());
    let mut received = Received::default();
    let mut got = Vec::new();
    while received.fill(&b).unwrap() > 0 {
        got.extend(received.frames().map(|frame| frame.unwrap().to_vec()));
    }
    assert_eq!(got, frames);
}

#[test]
fn a_frame_beyond_the_limit_is_reported_and_does_not_hide_the_next() {
    let (a, b) = pair();
    let mut outgoing = Outgoing::default();
    outgoing.push(&[1; FRAME_LIMIT + 1]);
    outgoing.push(&[2; FRAME_LIMIT]);
    outgoing.flush(&a);
    let mut received = Received::default();
    received.fill(&b).unwrap();
    let lengths: Vec<_> = received.frames().map(|frame| frame.map(<[u8]>::len)).collect();
    assert_eq!(lengths, [None, Some(FRAME_LIMIT)]);
}

#[test]
fn a_port_keeps_strangers_out() {
    let (a, _b) = pair();
    let stranger = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = a.0.local_addr().unwrap();
    stranger.send_to(&[0; 60], address).unwrap();
    assert_eq!(Received::default().fill(&a).unwrap(), 0);
}

#[test]
fn a_peer_that_is_gone_and_comes_back_is_served_again() {
    let (here, there) = (free_port(), free_port());
    let a = Socket::open("a", here, there).unwrap();
    let mut outgoing = Outgoing::default();
    for _ in 0..3 {
        outgoing.push(&[0; 60]);
        outgoing.flush(&a);
    }
    let mut received = Received::default();
    received.fill(&a).unwrap();
    let b = Socket::open("b", there, here).unwrap();
    outgoing.push(&[7; 60]);
    outgoing.push(&[8; 60]);
    outgoing.flush(&a);
    assert!(received.fill(&b).unwrap() >= 1);
    assert_eq!(received.frames().last().unwrap().unwrap()[0], 8);
}

#[test]
fn the_error_for_a_busy_port_says_which_and_what_to_do() {
    let taken = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let std::net::SocketAddr::V4(address) = taken.local_addr().unwrap() else { unreachable!() };
    let error = Socket::open("switch port 3", address, free_port()).err().unwrap();
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
    let (a, b) = pair();
    b.set_option(libc::SO_RCVBUF, 4096).unwrap();
    let mut outgoing = Outgoing::default();
    (0..100).for_each(|_| outgoing.push(&[0; 1000]));
    outgoing.flush(&a);
    let mut received = Received::default();
    let got = received.fill(&b).unwrap() as u64;
    assert!(got < 100);
    assert_eq!(b.receive_drops() + got, 100);
}

#[test]
fn a_wait_ends_in_time_or_by_a_wake() {
    let mut poller = Poller::new().unwrap();
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
