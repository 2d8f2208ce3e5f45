use std::net::{SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

use netkv_roles::Outcome;
use netkv_wire::{FrameView, Message, Op, Stamp, Status, write_frame};

use super::*;
use crate::generator::tests::registering_role;
use crate::sys::Poller;

const KEY: [u8; 16] = *b"a user's key, 16";

/// The switch and servers, played by the test.
struct Rack(UdpSocket);

impl Rack {
    fn new() -> (Self, SocketAddrV4) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let address = address_of(&socket);
        (Self(socket), address)
    }

    fn receive(&self) -> (Vec<u8>, std::net::SocketAddr) {
        let mut bytes = vec![0; 2048];
        let (length, from) = self.0.recv_from(&mut bytes).expect("a frame within 5 s");
        bytes.truncate(length);
        (bytes, from)
    }

    fn send(&self, message: &Message<'_>, to: std::net::SocketAddr) {
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
        "keyspace": {"servers": 4, "racks": 1, "key_size": 16},
    });
    serde_json::from_value(text).unwrap()
}

fn completions(session: &Session, number: usize) -> Vec<Completion> {
    let (mut completed, start) = (Vec::new(), Instant::now());
    let mut poller = Poller::new().unwrap();
    poller.watch(&session.shared.completion_event, 0).unwrap();
    while completed.len() < number {
        assert!(start.elapsed() < Duration::from_secs(5), "{completed:?}");
        poller.wait(Some(Duration::from_secs(1))).unwrap().for_each(drop);
        session.take(&mut completed);
    }
    completed
}

fn count(session: &Session, name: &str) -> u64 {
    session.statistics().iter().find(|(it, _)| *it == name).unwrap().1
}

#[test]
fn operations_of_many_threads_complete_once() {
    let (rack, peer) = Rack::new();
    let session = Session::new(&config(peer, "plain")).unwrap();
    session.start().unwrap();
    std::thread::scope(|threads| {
        for thread in 0..4u64 {
            let session = &session;
            threads.spawn(move || {
                for number in 0..50 {
                    let op = OwnedOp::Get([OwnedKey::from(KEY)].into());
                    session.submit(thread * 50 + number, op).unwrap();
                }
            });
        }
        for _ in 0..200 {
            let (bytes, from) = rack.receive();
            let request = FrameView::parse(&bytes).unwrap();
            assert_eq!(request.sender(), 3);
            rack.send(&request.reply(Status::Ok).with_value(b"value"), from);
        }
    });
    let completed = completions(&session, 200);
    let mut tokens: Vec<u64> = completed.iter().map(|it| it.token).collect();
    tokens.sort_unstable();
    assert_eq!(tokens, Vec::from_iter(0..200));
    let value = Outcome::Values(vec![Some(b"value".to_vec())]);
    assert!(completed.iter().all(|it| it.outcome == value));
    session.stop();
}

#[test]
fn operations_submitted_before_a_wake_up_are_sent_together() {
    let (rack, peer) = Rack::new();
    let session = Session::new(&config(peer, "plain")).unwrap();
    for token in 0..20 {
        session.submit(token, OwnedOp::Delete(KEY.into())).unwrap();
    }
    session.start().unwrap();
    for _ in 0..20 {
        rack.receive();
    }
    // Frames are counted after all are sent, so the rack may receive them before.
    let start = Instant::now();
    while count(&session, "sent") < 20 && start.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!((count(&session, "sent"), count(&session, "bursts")), (20, 1));
    session.stop();
    let late = session.submit(99, OwnedOp::Delete(KEY.into())).unwrap_err();
    assert_eq!(late, "The session was closed.");
}

#[test]
fn an_operation_that_a_client_refuses_completes_with_the_reason() {
    let (_rack, peer) = Rack::new();
    let session = Session::new(&config(peer, "plain")).unwrap();
    session.start().unwrap();
    session.submit(7, OwnedOp::Put(OwnedKey::from_slice(b"short"), vec![])).unwrap();
    let refused = Outcome::Refused("A key has 16 bytes, not 5.".to_owned());
    assert_eq!(completions(&session, 1), [Completion { token: 7, outcome: refused }]);
}

#[test]
fn a_session_registers_at_the_start_and_deregisters_at_the_end() {
    let (rack, peer) = Rack::new();
    let session = Session::new(&config(peer, registering_role())).unwrap();
    session.start().unwrap();
    let (bytes, from) = rack.receive();
    let hello = FrameView::parse(&bytes).unwrap();
    assert_eq!((hello.op(), hello.sender()), (Op::Hello, 3));
    rack.send(&hello.reply(Status::Ok).with_stamp(Stamp::default()), from);
    std::thread::scope(|threads| {
        threads.spawn(|| session.stop());
        let (bytes, from) = loop {
            let (bytes, from) = rack.receive();
            // HELLO may have been retransmitted before it was answered.
            if FrameView::parse(&bytes).unwrap().op() != Op::Hello {
                break (bytes, from);
            }
        };
        let bye = FrameView::parse(&bytes).unwrap();
        assert_eq!((bye.op(), bye.sender()), (Op::Bye, 3));
        rack.send(&bye.reply(Status::Ok), from);
    });
    assert_eq!(session.failure(), None);
}

#[test]
fn an_address_belongs_to_one_session_until_it_stops() {
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
fn client_numbers_beyond_the_switchs_limit_are_refused() {
    let (_rack, peer) = Rack::new();
    let config = SessionConfig { client: 65, ..config(peer, registering_role()) };
    let error = Session::new(&config).err().expect("a switch distinguishes 64 clients").to_string();
    assert!(error.contains("64"), "{error}");
}
