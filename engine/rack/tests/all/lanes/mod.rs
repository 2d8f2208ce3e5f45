//! A switch node with several pipelines over loopback, for tests. Its program has an operation for
//! each way between pipelines, and records in every frame the pipelines that it has passed.

use std::net::{SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use netkv_compiled::{ExecutorKind, switch};
use netkv_dataplane::{
    CloneSession, ControlError, EntryAction, SharedSwitch, Switch, SwitchOptions, TableEntry,
};
use netkv_ir::{Identity, Match, Value};
use netkv_p4::{Options, compile_source};
use netkv_rack::switch::{PortConfig, SwitchNode};

pub const BOTH: [ExecutorKind; 2] = [ExecutorKind::Interpreter, ExecutorKind::Compiled];

/// To `to`; out at `via`, in again there, and to `to`; copies to ports 2 and 3; to `to`, with an
/// ingress clone to ports 2 and 3; with an egress clone to these; with a digest; to the CPU port;
/// first dropped in egress, while its egress clones go to ports 2 and 3.
pub const FORWARD: u8 = 0;
pub const AGAIN: u8 = 1;
pub const MULTICAST: u8 = 2;
pub const CLONE_INGRESS: u8 = 3;
pub const CLONE_EGRESS: u8 = 4;
pub const DIGEST: u8 = 5;
pub const CPU: u8 = 6;
pub const ONLY_CLONES: u8 = 7;

/// The trail has a hexadecimal digit for each pass: 1 to 4 for ingress of pipelines 0 to 3, 9 to c
/// for egress. `STAMP` is the number of the program. Tables `t` of ingress and egress set versions.
const SOURCE: &str = "
#include <core.p4>
#include <v1model.p4>
header q_t {
    bit<8> op; bit<8> to; bit<8> via; bit<8> known;
    bit<8> version_in; bit<8> version_out; bit<8> program_in; bit<8> program_out;
    bit<32> number; bit<32> trail;
}
struct headers_t { q_t q; }
struct meta_t { @field_list(1) bit<8> kept; }
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(h.q); transition accept; }
}
control V(inout headers_t h, inout meta_t m) { apply { } }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    register<bit<32>>(1) here;
    register<bit<32>>(64) seen;
    bit<32> number;
    bit<32> count;
    action set_version(bit<8> version) { h.q.version_in = version; }
    table t { key = { h.q.op: ternary; } actions = { set_version; NoAction; } }
    apply {
        here.read(number, 0);
        h.q.trail = (h.q.trail << 4) | (number + 1);
        seen.read(count, h.q.number & 63);
        seen.write(h.q.number & 63, count + 1);
        t.apply();
        h.q.program_in = STAMP;
        s.egress_spec = (bit<9>)h.q.to;
        if (h.q.op == 1) {
            s.egress_spec = (bit<9>)h.q.via;
        } else if (h.q.op == 2) {
            s.mcast_grp = 7;
        } else if (h.q.op == 3) {
            clone_preserving_field_list(CloneType.I2E, 5, 1);
        } else if (h.q.op == 5) {
            digest<bit<32>>(1, h.q.number);
        } else if (h.q.op == 6) {
            s.egress_spec = 510;
        }
    }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    register<bit<32>>(1) here;
    register<bit<32>>(64) left;
    register<bit<32>>(256) versions;
    bit<32> number;
    bit<32> count;
    action set_version(bit<8> version) { h.q.version_out = version; }
    table t { key = { h.q.op: ternary; } actions = { set_version; NoAction; } }
    apply {
        here.read(number, 0);
        h.q.trail = (h.q.trail << 4) | (number + 9);
        left.read(count, h.q.number & 63);
        left.write(h.q.number & 63, count + 1);
        versions.read(count, (bit<32>)h.q.version_in);
        versions.write((bit<32>)h.q.version_in, count + 1);
        t.apply();
        h.q.program_out = STAMP;
        if (h.q.op == 1) {
            h.q.op = 0;
            recirculate_preserving_field_list(1);
        } else if ((h.q.op == 4 || h.q.op == 7) && s.instance_type == 0) {
            clone(CloneType.E2E, 5);
            if (h.q.op == 7) { mark_to_drop(s); }
        }
    }
}
control C(inout headers_t h, inout meta_t m) { apply { } }
control D(packet_out p, in headers_t h) { apply { p.emit(h.q); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";

pub const FRAME: usize = 16;

/// A frame, with the fields that tests read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Frame {
    pub op: u8,
    pub to: u8,
    pub via: u8,
    /// What the sender knew when it sent the frame.
    pub known: u8,
    pub versions: [u8; 2],
    pub programs: [u8; 2],
    pub number: u32,
    pub trail: u32,
}

impl Frame {
    pub fn new(op: u8, to: u8, number: u32) -> Self {
        Self { op, to, number, ..Self::default() }
    }

    pub fn bytes(self) -> [u8; FRAME] {
        let mut bytes = [0; FRAME];
        bytes[..4].copy_from_slice(&[self.op, self.to, self.via, self.known]);
        bytes[8..12].copy_from_slice(&self.number.to_be_bytes());
        bytes
    }

    pub fn of(bytes: &[u8]) -> Self {
        assert_eq!(bytes.len(), FRAME);
        let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        Self {
            op: bytes[0],
            to: bytes[1],
            via: bytes[2],
            known: bytes[3],
            versions: [bytes[4], bytes[5]],
            programs: [bytes[6], bytes[7]],
            number: word(8),
            trail: word(12),
        }
    }
}

pub fn id(switch: &Switch, name: &str) -> u32 {
    let program = switch.program();
    let tables = program.tables.iter().map(|table| &table.identity);
    let actions = program.actions.iter().map(|action| &action.identity);
    let registers = program.registers.iter().map(|register| &register.identity);
    let found: Option<&Identity> =
        tables.chain(actions).chain(registers).find(|identity| identity.name == name);
    found.unwrap_or_else(|| panic!("the program has no {name}")).id
}

/// Sets the version that ingress and egress of the selected pipelines write into frames.
pub fn set_version(switch: &mut Switch, version: u8) -> Result<(), ControlError> {
    for block in ["I", "E"] {
        let (table, action) =
            (id(switch, &format!("{block}.t")), id(switch, &format!("{block}.set_version")));
        let entry = TableEntry {
            table_id: table,
            matches: Vec::<(u32, Match)>::new(),
            action: EntryAction::Direct {
                action_id: action,
                params: vec![Value::new(8, u128::from(version))],
            },
            priority: 1,
            metadata: Vec::new(),
            controller_metadata: 0,
            idle_timeout_ns: 0,
        };
        if version == 1 { switch.insert_entry(entry) } else { switch.modify_entry(entry) }?;
    }
    Ok(())
}

/// The switch with program number `stamp`.
pub fn lanes(pipelines: usize, kind: ExecutorKind, stamp: u8) -> Switch {
    let source = SOURCE.replace("STAMP", &stamp.to_string());
    let compiled = compile_source("lanes.p4", &source, &Options::default());
    let program = Arc::new(compiled.unwrap_or_else(|errors| panic!("{errors}")).program);
    let mut switch = switch(program, SwitchOptions { seed: 1, pipelines }, kind).unwrap();
    let replicas = vec![(2, 0), (3, 1)];
    let session = CloneSession { replicas: replicas.clone(), ..CloneSession::default() };
    switch.insert_clone_session(5, session).unwrap();
    switch.insert_multicast_group(7, replicas).unwrap();
    for register in ["I.here", "E.here"] {
        let here = id(&switch, register);
        for pipeline in 0..pipelines {
            let number = Value::new(32, pipeline as u128);
            switch
                .in_pipeline(pipeline, |switch| switch.write_register(here, Some(0), &number))
                .unwrap();
        }
    }
    switch
}

/// Cells of the registers that count frames, for each pipeline.
pub fn counted(switch: &mut Switch) -> Vec<Vec<u64>> {
    let (seen, left) = (id(switch, "I.seen"), id(switch, "E.left"));
    (0..switch.pipelines())
        .map(|pipeline| {
            let cells = switch.in_pipeline(pipeline, |switch| {
                let mut cells = switch.read_register(seen, None)?;
                cells.extend(switch.read_register(left, None)?);
                Ok(cells)
            });
            cells.unwrap().iter().map(|(_, value)| value.words[0]).collect()
        })
        .collect()
}

/// Number of packets in egress whose last ingress saw an older version.
pub fn older(switch: &mut Switch, version: u8) -> u64 {
    let (versions, pipelines) = (id(switch, "E.versions"), switch.pipelines());
    let of = |pipeline| {
        let cells = switch.in_pipeline(pipeline, |switch| switch.read_register(versions, None));
        let cells = cells.unwrap().into_iter().take(usize::from(version));
        cells.map(|(_, value)| value.words[0]).sum::<u64>()
    };
    (0..pipelines).map(of).sum()
}

/// A running node with ports 1 to 4.
pub struct Bench {
    pub switch: Arc<SharedSwitch>,
    pub node: SwitchNode,
    /// The hosts at ports 1 to 4.
    hosts: [UdpSocket; 4],
}

pub fn v4(socket: &UdpSocket) -> SocketAddrV4 {
    match socket.local_addr().unwrap() {
        SocketAddr::V4(address) => address,
        SocketAddr::V6(_) => unreachable!(),
    }
}

/// The ports of a node, and their hosts.
pub fn cables() -> (Vec<PortConfig>, [UdpSocket; 4]) {
    let bind = || UdpSocket::bind("127.0.0.1:0").unwrap();
    let (hosts, own) = ([(); 4].map(|()| bind()), [(); 4].map(|()| bind()));
    let addresses = own.each_ref().map(v4);
    drop(own);
    let ports = (0..4)
        .map(|at| PortConfig::datagrams(at as u16 + 1, addresses[at], v4(&hosts[at]), true))
        .collect();
    for (host, address) in hosts.iter().zip(addresses) {
        host.connect(address).unwrap();
        host.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    }
    (ports, hosts)
}

pub fn bench(pipelines: usize, kind: ExecutorKind) -> Bench {
    let switch = Arc::new(SharedSwitch::new(lanes(pipelines, kind, 1)));
    let (ports, hosts) = cables();
    let node = SwitchNode::new(Arc::clone(&switch), &ports, 510).unwrap();
    node.start().unwrap();
    Bench { switch, node, hosts }
}

impl Bench {
    pub fn host(&self, port: u8) -> &UdpSocket {
        &self.hosts[usize::from(port) - 1]
    }

    pub fn send(&self, port: u8, frame: Frame) {
        self.host(port).send(&frame.bytes()).unwrap();
    }

    pub fn receive(&self, port: u8) -> Frame {
        let mut buffer = [0; 2 * FRAME];
        let length = self.host(port).recv(&mut buffer).unwrap();
        Frame::of(&buffer[..length])
    }

    pub fn count(&self, name: &str) -> u64 {
        self.node.statistics().iter().find(|(found, _)| *found == name).unwrap().1
    }

    /// Waits until a count is reached.
    pub fn reach(&self, name: &str, count: u64) {
        let end = Instant::now() + Duration::from_secs(20);
        while self.count(name) < count {
            assert!(Instant::now() < end, "{name} is {} of {count}", self.count(name));
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
