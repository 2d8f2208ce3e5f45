//! A gateway with sockets, before a rack in memory.

use std::collections::HashMap;
use std::net::Shutdown;

use netkv_rack::session::{OwnedKey, OwnedOp};
use netkv_roles::Outcome;

use super::*;
use crate::request::tests::{Random, request};

/// Long enough for any machine; no test waits so long if nothing is wrong.
const PATIENCE: Duration = Duration::from_secs(60);

/// Executes operations when they are submitted, or when they are released.
struct MemoryRack {
    state: Mutex<State>,
    event: Waker,
}

#[derive(Default)]
struct State {
    stored: HashMap<OwnedKey, Vec<u8>>,
    held: bool,
    waiting: Vec<(u64, OwnedOp)>,
    completed: Vec<Completion>,
    calls: usize,
    failure: Option<String>,
}

impl MemoryRack {
    fn new() -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), event: Waker::new().unwrap() })
    }

    fn hold(&self, held: bool) {
        lock(&self.state).held = held;
        self.execute(&mut Vec::new());
    }

    fn fail(&self, why: &str) {
        lock(&self.state).failure = Some(why.to_owned());
        self.event.wake();
    }

    fn calls(&self) -> usize {
        lock(&self.state).calls
    }

    fn execute(&self, operations: &mut Vec<(u64, OwnedOp)>) {
        let mut state = lock(&self.state);
        state.calls += operations.len();
        state.waiting.append(operations);
        if state.held {
            return;
        }
        for (token, op) in mem::take(&mut state.waiting) {
            let outcome = match op {
                OwnedOp::Get(keys) => {
                    Outcome::Values(keys.iter().map(|key| state.stored.get(key).cloned()).collect())
                }
                OwnedOp::Put(key, value) => {
                    state.stored.insert(key, value);
                    Outcome::Done
                }
                OwnedOp::Delete(key) => {
                    state.stored.remove(&key);
                    Outcome::Done
                }
            };
            state.completed.push(Completion { token, outcome });
        }
        self.event.wake();
    }
}

impl Rack for MemoryRack {
    fn submit(&self, operations: &mut Vec<(u64, OwnedOp)>) -> Result<(), String> {
        self.execute(operations);
        Ok(())
    }

    fn completions(&self, into: &mut Vec<Completion>) {
        self.event.clear();
        into.append(&mut lock(&self.state).completed);
    }

    fn failure(&self) -> Option<String> {
        lock(&self.state).failure.clone()
    }

    fn event(&self) -> &dyn Watched {
        &self.event
    }
}

fn serving(rack: &Arc<MemoryRack>) -> Gateway {
    let settings = Settings {
        address: "127.0.0.1:0".parse().unwrap(),
        lab: "lab".to_owned(),
        scheme: "a scheme".to_owned(),
        version: "1.2".to_owned(),
        servers: 4,
        named_keys: false,
        timeout_s: 2.0,
        separate_mset: false,
        max_clients: 100,
        under_way: 1024,
    };
    let gateway = Gateway::new(settings, Arc::clone(rack) as Arc<dyn Rack>).unwrap();
    gateway.start().unwrap();
    gateway
}

fn connect(gateway: &Gateway) -> TcpStream {
    let stream = TcpStream::connect(gateway.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn send(mut client: &TcpStream, line: &str) {
    client.write_all(&request(&line.split(' ').collect::<Vec<_>>())).unwrap();
}

/// Reads a reply of known length.
fn expect(mut client: &TcpStream, reply: &str) {
    let mut found = vec![0; reply.len()];
    client.read_exact(&mut found).unwrap();
    assert_eq!(String::from_utf8_lossy(&found), reply);
}

fn call(client: &TcpStream, line: &str, reply: &str) {
    send(client, line);
    expect(client, reply);
}

/// All bytes until the gateway closes the connection.
fn rest(mut client: &TcpStream) -> String {
    let mut found = String::new();
    client.read_to_string(&mut found).unwrap();
    found
}

fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_true() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn join(gateway: &Gateway) {
    let mut poller = Poller::new().unwrap();
    poller.watch(&gateway.shared.ended, 0).unwrap();
    assert_eq!(poller.wait(Some(PATIENCE)).unwrap().count(), 1, "the gateway ends");
}

#[test]
fn clients_are_served_side_by_side() {
    let rack = MemoryRack::new();
    let gateway = serving(&rack);
    let clients: Vec<TcpStream> = (0..70).map(|_| connect(&gateway)).collect();
    for (number, client) in clients.iter().enumerate() {
        send(client, &format!("SET k{number} {number:03}"));
        send(client, &format!("GET k{number}"));
    }
    for (number, client) in clients.iter().enumerate() {
        expect(client, &format!("+OK\r\n$3\r\n{number:03}\r\n"));
    }
    let large = vec![b'v'; 900];
    for _ in 0..3 {
        let pipeline = [request(&[&b"SET"[..], b"large", &large]), request(&["GET", "large"])];
        (&clients[0]).write_all(&pipeline.concat().repeat(300)).unwrap();
        let reply = format!("+OK\r\n$900\r\n{}\r\n", "v".repeat(900));
        expect(&clients[0], &reply.repeat(300));
    }
}

#[test]
fn replies_arrive_before_the_close() {
    let rack = MemoryRack::new();
    let gateway = serving(&rack);
    let client = connect(&gateway);
    send(&client, "PING");
    send(&client, "QUIT");
    let replies = "+PONG\r\n+OK\r\n";
    until("the replies arrive", || client.peek(&mut [0; 64]).unwrap() == replies.len());
    // Input after QUIT does not make the close a reset.
    send(&client, "PING");
    assert_eq!(rest(&client), replies);
    let client = connect(&gateway);
    rack.hold(true);
    send(&client, "GET a");
    client.shutdown(Shutdown::Write).unwrap();
    until("the read is under way", || rack.calls() == 1);
    rack.hold(false);
    assert_eq!(rest(&client), "$-1\r\n");
    let client = connect(&gateway);
    (&client).write_all(b"*1\r\n:1\r\n").unwrap();
    assert_eq!(rest(&client), "-ERR Protocol error: expected '$', got ':'\r\n");
}

#[test]
fn a_client_that_does_not_read_delays_no_other() {
    let rack = MemoryRack::new();
    let gateway = serving(&rack);
    let (slow, other) = (connect(&gateway), connect(&gateway));
    let value = "v".repeat(1000);
    call(&slow, &format!("SET big {value}"), "+OK\r\n");
    let reads = request(&["GET", "big"]).repeat(1_000_000);
    let each = request(&["GET", "big"]).len();
    slow.set_nonblocking(true).unwrap();
    let mut sent = 0;
    loop {
        match (&slow).write(&reads[sent..]) {
            Ok(length) => sent += length,
            Err(_) => {
                // Blocked, if no read starts while a hundred other requests are answered.
                let before = rack.calls();
                (0..100).for_each(|_| call(&other, "PING", "+PONG\r\n"));
                if rack.calls() == before {
                    break;
                }
            }
        }
    }
    // Requests under way, and replies in the buffers of the gateway and of the kernel.
    let started = rack.calls();
    assert!(started * each < sent && sent < reads.len(), "{started} have started");
    slow.set_nonblocking(false).unwrap();
    // More replies than before, so reads are started again.
    let reply = format!("$1000\r\n{value}\r\n");
    (0..started + 1000).for_each(|_| expect(&slow, &reply));
}

#[test]
fn pending_requests_are_answered_at_the_end() {
    let rack = MemoryRack::new();
    let gateway = serving(&rack);
    let (client, idle) = (connect(&gateway), connect(&gateway));
    call(&idle, "PING", "+PONG\r\n");
    rack.hold(true);
    send(&client, "SET a 1");
    until("the write is under way", || rack.calls() == 1);
    gateway.stop();
    assert_eq!(rest(&idle), "");
    drop(idle);
    rack.hold(false);
    assert_eq!(rest(&client), "+OK\r\n");
    drop(client);
    join(&gateway);
    assert_eq!(gateway.failure(), None);
    let refused = TcpStream::connect(gateway.address()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn a_gateway_ends_when_its_rack_is_lost() {
    let rack = MemoryRack::new();
    let gateway = serving(&rack);
    let client = connect(&gateway);
    rack.hold(true);
    send(&client, "GET a");
    send(&client, "PING");
    until("the read is under way", || rack.calls() == 1);
    rack.fail("The session has stopped.");
    assert_eq!(rest(&client), "-NOTCONNECTED The session has stopped.\r\n+PONG\r\n");
    drop(client);
    join(&gateway);
    assert_eq!(gateway.failure().unwrap(), "The session has stopped.");
}

#[test]
fn an_address_in_use_is_an_error() {
    let rack = MemoryRack::new();
    let gateway = serving(&rack);
    let listener = TcpListener::bind(gateway.address());
    assert_eq!(listener.unwrap_err().kind(), ErrorKind::AddrInUse);
    assert!(gateway.start().is_err());
}

#[test]
fn random_bytes_and_closes_harm_no_other_client() {
    let rack = MemoryRack::new();
    let gateway = serving(&rack);
    let healthy = connect(&gateway);
    let good = [
        request(&["SET", "a", "1"]),
        request(&["MGET", "a", "b"]),
        b"PING\r\n".to_vec(),
        request(&["QUIT"]),
        b"*3\r\n".to_vec(),
        b"$9\r\n".to_vec(),
    ];
    let mut random = Random(7);
    for _ in 0..300 {
        let client = connect(&gateway);
        let mut data = Vec::new();
        for _ in 0..1 + random.below(20) {
            if random.below(2) == 0 {
                data.extend_from_slice(&good[random.below(good.len())]);
            } else {
                let length = random.below(40);
                data.extend(random.bytes(length));
            }
        }
        // The gateway may have closed the connection already.
        let _ = (&client).write_all(&data);
        let how = [Shutdown::Write, Shutdown::Both][random.below(2)];
        if client.shutdown(how).is_ok() {
            let _ = (&client).read_to_end(&mut Vec::new());
        }
        call(&healthy, "PING", "+PONG\r\n");
    }
    until("no other client is left", || {
        send(&healthy, "INFO clients");
        let mut found = vec![0; 4096];
        let length = (&healthy).read(&mut found).unwrap();
        String::from_utf8_lossy(&found[..length]).contains("connected_clients:1\r\n")
    });
}
