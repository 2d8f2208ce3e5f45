//! A switch node over loopback, for tests. Its program forwards between ports 1 and 2, sends
//! ethertype 0x88b5 to the CPU port and 0x88b7 to a port that does not exist, and emits a digest
//! for 0x88b6.

use std::net::{SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use netkv_dataplane::{SharedSwitch, Switch, SwitchOptions};
use netkv_rack::switch::{PortConfig, SwitchNode};

pub const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
struct headers_t { ethernet_t ethernet; }
struct metadata_t { }
struct seen_t { bit<48> src; bit<16> type; }
parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    state start { p.extract(h.ethernet); transition accept; }
}
control Verify(inout headers_t h, inout metadata_t m) { apply { } }
control Compute(inout headers_t h, inout metadata_t m) { apply { } }
control In(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply {
        if (h.ethernet.type == 0x88b5) { s.egress_spec = 510; }
        else if (h.ethernet.type == 0x88b7) { s.egress_spec = 77; }
        else if (s.ingress_port == 1) { s.egress_spec = 2; }
        else { s.egress_spec = 1; }
        if (h.ethernet.type == 0x88b6) {
            digest<seen_t>(1, { h.ethernet.src, h.ethernet.type });
        }
    }
}
control Out(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }
control Deparse(packet_out p, in headers_t h) { apply { p.emit(h.ethernet); } }
V1Switch(P(), Verify(), In(), Out(), Compute(), Deparse()) main;
"#;

pub struct Bench {
    pub node: SwitchNode,
    pub peers: [UdpSocket; 2],
}

pub fn v4(socket: &UdpSocket) -> SocketAddrV4 {
    match socket.local_addr().unwrap() {
        SocketAddr::V4(address) => address,
        SocketAddr::V6(_) => unreachable!(),
    }
}

pub fn switch(program: &str) -> Switch {
    let compiled = netkv_p4::compile_source("small.p4", program, &Default::default())
        .unwrap_or_else(|found| panic!("{found}"));
    Switch::new(Arc::new(compiled.program), SwitchOptions::default()).unwrap()
}

pub fn bench() -> Bench {
    bench_of(Arc::new(SharedSwitch::new(switch(PROGRAM))))
}

pub fn bench_of(switch: Arc<SharedSwitch>) -> Bench {
    let bind = || UdpSocket::bind("127.0.0.1:0").unwrap();
    let (peers, own) = ([bind(), bind()], [bind(), bind()]);
    let addresses = own.each_ref().map(v4);
    drop(own);
    let ports: Vec<PortConfig> = (0..2)
        .map(|i| PortConfig::datagrams(i as u16 + 1, addresses[i], v4(&peers[i]), true))
        .collect();
    for (peer, address) in peers.iter().zip(addresses) {
        peer.connect(address).unwrap();
        peer.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    }
    let node = SwitchNode::new(switch, &ports, 510).unwrap();
    node.start().unwrap();
    Bench { node, peers }
}

pub fn frame(kind: u16, number: u32) -> Vec<u8> {
    let mut frame = vec![0xee; 12];
    frame.extend(kind.to_be_bytes());
    frame.extend(number.to_be_bytes());
    frame
}

impl Bench {
    pub fn count(&self, name: &str) -> u64 {
        self.node.statistics().iter().find(|(found, _)| *found == name).unwrap().1
    }

    /// Waits until a count is reached.
    pub fn reach(&self, name: &str, count: u64) {
        let end = Instant::now() + Duration::from_secs(10);
        while self.count(name) < count {
            assert!(Instant::now() < end, "{name} is {} of {count}", self.count(name));
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}
