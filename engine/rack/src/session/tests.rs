use std::net::{SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

use netkv_roles::Outcome;
use netkv_wire::{FrameView, Message, Op, Stamp, Status, write_frame};

use super::*;
use crate::generator::tests::registering_role;

const KEY: [u8; 16] = *b"a user's key, 16";

/// The switch and all behind it: the test plays it.
struct Rack(UdpSocket);

impl Rack {
    fn new() -> (Self, SocketAddrV4) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let address = address_of(&socket);
        (Self(socket), address)
    }

    fn hears(&self) -> (Vec<u8>, std::net::SocketAddr) {
        let mut bytes = vec![0; 2048];
        let (length, from) = self.0.recv_from(&mut bytes).expect("a frame within 5 s");
        bytes.truncate(length);
        (bytes, from)
    }

    fn says(&self, message: &Message<'_>, to: std::net::SocketAddr) {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, message);
        self.0.send_to(&bytes, to).unwrap();
    }
}

fn address_of(socket: &UdpSocket) -> SocketAddrV4 {
    let std::net::SocketAddr::V4(address) = socket.local_addr().unwrap() else { panic!("IPv4") };
    address
}

fn config(peer: SocketAddrV4, role: &str) -> SessionConfig {
    let free = address_of(&UdpSocket::bind("127.0.0.1:0").unwrap());
    let text = serde_json::json!({
        "bind": free, "peer": peer, "role": role, "client": 3, "deadline_s": 2.0, "retry_s": 0.05,
        "servers": 4, "key_size": 16,
    });
    serde_json::from_value(text).unwrap()
}

fn ends(session: &Session, number: usize) -> Vec<Completion> {
    let (mut ended, start) = (Vec::new(), Instant::now());
    let mut poller = Poller::new().unwrap();
    poller.watch(&session.shared.bell, 0).unwrap();
    while ended.len() < number {
        assert!(start.elapsed() < Duration::from_secs(5), "{ended:?}");
        poller.wait(Some(Duration::from_secs(1))).unwrap().for_each(drop);
        ended.extend(session.take());
    }
    ended
}

fn count(session: &Session, name: &str) -> u64 {
    session.statistics().iter().find(|(it, _)| *it == name).unwrap().1
}

#[test]
fn operations_of_other_threads_end_once_and_ring_the_bell() {
    let (rack, peer) = Rack::new();
    let session = Session::new(&config(peer, "plain")).unwrap();
    session.start().unwrap();
    std::thread::scope(|threads| {
        for thread in 0..4u64 {
            let session = &session;
            threads.spawn(move || {
                for number in 0..50 {
                    let op = OwnedOp::Get(vec![KEY.to_vec()]);
                    session.submit(thread * 50 + number, op).unwrap();
                }
            });
        }
        for _ in 0..200 {
            let (bytes, from) = rack.hears();
            let request = FrameView::parse(&bytes).unwrap();
            assert_eq!(request.sender(), 3);
            rack.says(&request.reply(Status::Ok).with_value(b"value"), from);
        }
    });
    let ended = ends(&session, 200);
    let mut tokens: Vec<u64> = ended.iter().map(|it| it.token).collect();
    tokens.sort_unstable();
    assert_eq!(tokens, Vec::from_iter(0..200));
    let value = Outcome::Values(vec![Some(b"value".to_vec())]);
    assert!(ended.iter().all(|it| it.outcome == value));
    session.stop();
}

#[test]
fn what_is_handed_in_before_the_thread_looks_leaves_together() {
    let (rack, peer) = Rack::new();
    let session = Session::new(&config(peer, "plain")).unwrap();
    for token in 0..20 {
        session.submit(token, OwnedOp::Delete(KEY.to_vec())).unwrap();
    }
    session.start().unwrap();
    for _ in 0..20 {
        rack.hears();
    }
    // They are counted when all have left, so the rack may have heard them before.
    let start = Instant::now();
    while count(&session, "sent") < 20 && start.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!((count(&session, "sent"), count(&session, "bursts")), (20, 1));
    session.stop();
    let late = session.submit(99, OwnedOp::Delete(KEY.to_vec())).unwrap_err();
    assert_eq!(late, "The session was closed.");
}

#[test]
fn what_a_client_does_not_take_ends_with_its_sentence() {
    let (_rack, peer) = Rack::new();
    let session = Session::new(&config(peer, "plain")).unwrap();
    session.start().unwrap();
    session.submit(7, OwnedOp::Put(b"short".to_vec(), vec![])).unwrap();
    let refused = Outcome::Refused("A key has 16 bytes, not 5.".to_owned());
    assert_eq!(ends(&session, 1), [Completion { token: 7, outcome: refused }]);
}

#[test]
fn a_session_registers_at_the_start_and_deregisters_at_the_end() {
    let (rack, peer) = Rack::new();
    let session = Session::new(&config(peer, registering_role())).unwrap();
    session.start().unwrap();
    let (bytes, from) = rack.hears();
    let hello = FrameView::parse(&bytes).unwrap();
    assert_eq!((hello.op(), hello.sender()), (Op::Hello, 3));
    rack.says(&hello.reply(Status::Ok).with_stamp(Stamp::default()), from);
    std::thread::scope(|threads| {
        threads.spawn(|| session.stop());
        let (bytes, from) = loop {
            let (bytes, from) = rack.hears();
            // HELLO may have been repeated before it was answered.
            if FrameView::parse(&bytes).unwrap().op() != Op::Hello {
                break (bytes, from);
            }
        };
        let bye = FrameView::parse(&bytes).unwrap();
        assert_eq!((bye.op(), bye.sender()), (Op::Bye, 3));
        rack.says(&bye.reply(Status::Ok), from);
    });
    assert_eq!(session.failure(), None);
}

#[test]
fn an_address_is_one_sessions_and_free_again_when_that_is_over() {
    let (_rack, peer) = Rack::new();
    let config = config(peer, "plain");
    let first = Session::new(&config).unwrap();
    first.start().unwrap();
    let taken = Session::new(&config).err().expect("the address is taken");
    assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
    first.stop();
    Session::new(&config).unwrap();
}

#[test]
fn clients_that_a_switch_cannot_tell_apart_are_refused() {
    let (_rack, peer) = Rack::new();
    let config = SessionConfig { client: 65, ..config(peer, registering_role()) };
    let error = Session::new(&config).err().expect("a switch tells 64 clients apart").to_string();
    assert!(error.contains("64"), "{error}");
}
