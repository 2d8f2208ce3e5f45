//! Tests of the loads for benchmarks, against the echo node and a server on a TCP connection.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use netkv_rack::echo::{EchoNode, Echoes, NO_CPU_PORT};
use netkv_rack::load::{DatagramLoad, Requests, StreamLoad};
use netkv_rack::switch::PortConfig;
use netkv_rack::sys::Plug;

const REPLY: usize = 198;

fn v4(address: SocketAddr) -> SocketAddrV4 {
    match address {
        SocketAddr::V4(address) => address,
        SocketAddr::V6(_) => unreachable!(),
    }
}

fn free() -> [SocketAddrV4; 2] {
    [(); 2]
        .map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap())
        .map(|socket| v4(socket.local_addr().unwrap()))
}

fn requests(reply_bytes: usize) -> Requests {
    let frames: Vec<Vec<u8>> = (0..1000u16).map(|i| i.to_be_bytes().repeat(35)).collect();
    Requests::new(frames.iter().map(Vec::as_slice), reply_bytes).unwrap()
}

#[test]
fn every_request_is_echoed_with_the_size_of_a_reply() {
    for trains in [[false, false], [false, true], [true, false], [true, true]] {
        let [here, there] = free();
        let port = PortConfig::datagrams(1, here, there, trains[0]);
        let echo = Arc::new(Echoes::new(REPLY, 1));
        let node = EchoNode::new(echo, &[port], NO_CPU_PORT).unwrap();
        node.start().unwrap();
        let load =
            DatagramLoad::new(&Plug::datagrams(there, here, trains[1]), requests(REPLY)).unwrap();
        let loaded = load.run(256, Duration::from_millis(200)).unwrap();
        assert!(loaded.replies > 0 && loaded.wrong == 0, "{loaded:?}");
        assert_eq!(loaded.latency, None);
        let single = load.run(1, Duration::from_millis(100)).unwrap();
        let (median, p99) = single.latency.unwrap();
        assert!(median > Duration::from_nanos(100) && median <= p99, "{single:?}");
        node.stop();
        // All requests are lost after the node has stopped.
        let lost = load.run(4, Duration::from_millis(150)).unwrap();
        assert_eq!(lost.replies, 0);
    }
}

#[test]
fn replies_of_another_size_are_counted_as_wrong() {
    let [here, there] = free();
    let port = PortConfig::datagrams(1, here, there, true);
    let echo = Arc::new(Echoes::new(REPLY, 1));
    let node = EchoNode::new(echo, &[port], NO_CPU_PORT).unwrap();
    node.start().unwrap();
    let load = DatagramLoad::new(&Plug::datagrams(there, here, true), requests(REPLY - 1)).unwrap();
    let report = load.run(64, Duration::from_millis(100)).unwrap();
    assert!(report.replies == 0 && report.wrong > 0, "{report:?}");
}

#[test]
fn a_connection_is_loaded_until_the_last_reply() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = v4(listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut buffer, mut partial, mut served) = ([0; 4096], 0, 0u64);
        loop {
            let read = stream.read(&mut buffer).unwrap();
            if read == 0 {
                return served;
            }
            partial += read;
            let requests = partial / 70;
            partial %= 70;
            served += requests as u64;
            stream.write_all(&vec![1; requests * 30]).unwrap();
        }
    });
    let mut load = StreamLoad::new(address, requests(30)).unwrap();
    let single = load.run(1, Duration::from_millis(50)).unwrap();
    assert!(single.latency.is_some());
    let loaded = load.run(256, Duration::from_millis(100)).unwrap();
    drop(load);
    assert_eq!(server.join().unwrap(), single.replies + loaded.replies);
}

#[test]
fn a_load_without_requests_is_refused() {
    assert!(Requests::new([], 10).unwrap_err().contains("at least one request"));
}
