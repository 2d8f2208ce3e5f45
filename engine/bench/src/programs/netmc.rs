//! `netmc.p4`: the switch splits a multiget into one sub-request for each server that has keys of
//! it. The rack is that of the other programs, with its switch as the splitter.

use netkv_ir::{Match, Value};
use netkv_wire::multiget::{
    Addresses, Answer, Fields, Header, Op, ReplyWriter, group, owner, splitter_ip, write_keys,
    write_put,
};
use netkv_wire::{CPU_PORT, KV_OFFSET, Key, MAX_VALUE, client_ip, mac_of, server_ip};

use super::all_kinds::{Draw, all_kinds};
use super::rack;
use super::subject::{Subject, no_path};
use crate::case::{ALL_KINDS, Case};
use crate::control::Control;
use crate::error::BenchError;
use crate::traffic::{Arrivals, Frames, Traffic, uniform, value_of};

/// SRV fields of the header.
const FIELDS: u8 = 8;
/// The number of the rack.
const RACK: u8 = 1;
/// The port of recirculation.
const LOOP_PORT: u16 = 508;
/// Keys of a multiget.
const KEYS: u8 = 16;

/// The server without a multicast group, if frames of all kinds are sent.
const WITHOUT_GROUP: u16 = 6;
/// The server at the controller's port, if frames of all kinds are sent.
const AT_CONTROLLER: u16 = 7;

/// One path: what the frames are.
#[derive(Clone, Copy)]
enum Frame {
    /// A read of one key.
    Get,
    /// A write of one key.
    Put,
    /// A multiget for keys of this many servers.
    Multiget { groups: u8 },
    /// A client's retry of one sub-request, which no switch splits.
    SubRequest,
    /// A server's reply to a sub-request, with two keys and their values.
    Reply,
}

const PATHS: &[(&str, Frame)] = &[
    ("get", Frame::Get),
    ("put", Frame::Put),
    ("multiget-1", Frame::Multiget { groups: 1 }),
    ("multiget-2", Frame::Multiget { groups: 2 }),
    ("multiget-8", Frame::Multiget { groups: 8 }),
    ("sub-request", Frame::SubRequest),
    ("reply", Frame::Reply),
];

/// The program `netmc.p4`, with 8 SRV fields.
pub(super) struct NetMc;

/// The first key with this number that a server owns.
fn key_of(server: u16, number: u32) -> Key {
    let is_owned = |key: &Key| owner(key, rack::SERVERS) == server;
    rack::keys(number).find(is_owned).expect("the keys do not end")
}

/// Addresses of a client's request.
fn to(destination: [u8; 4]) -> Addresses {
    Addresses { source: client_ip(rack::CLIENT), destination, fields: FIELDS.into() }
}

/// The `request`-th multiget, for keys of this many servers, of which one is that of `number`.
fn multiget(request: u32, number: u32, groups: u8) -> (Header, Vec<Key>) {
    let count = u32::from(groups);
    let mut servers: Vec<u16> =
        (0..count).map(|i| ((number + i) % u32::from(rack::SERVERS)) as u16).collect();
    servers.sort_unstable();
    let each = KEYS / groups;
    let keys = servers.iter().flat_map(|server| {
        let key = move |i: u8| key_of(*server, number.wrapping_mul(u32::from(KEYS)) + u32::from(i));
        (0..each).map(key)
    });
    let owners = servers.iter().flat_map(|server| vec![*server as u8; usize::from(each)]);
    let header = Header::request(Op::Mget, request, KEYS, &group(owners));
    (Header { rack: RACK, ..header }, keys.collect())
}

/// The header of the `request`-th request for one key.
fn single(op: Op, request: u32, key: &Key) -> Header {
    let groups = group([owner(key, rack::SERVERS) as u8]);
    Header { rack: RACK, ..Header::request(op, request, 1, &groups) }
}

fn slices(keys: &[Key]) -> impl Iterator<Item = &[u8]> {
    keys.iter().map(Key::as_slice)
}

impl Frame {
    /// The frame of the `request`-th request, about the key with this number.
    fn write(self, request: u32, number: u32, value_size: u32) -> Vec<u8> {
        let (splitter, mut frame) = (to(splitter_ip(RACK)), Vec::new());
        let (key, value) = (rack::key(number), value_of(number, value_size));
        match self {
            Frame::Get => {
                write_keys(
                    &mut frame,
                    &splitter,
                    &single(Op::Get, request, &key),
                    [&key[..]],
                    None,
                );
            }
            Frame::Put => {
                write_put(
                    &mut frame,
                    &splitter,
                    &single(Op::Put, request, &key),
                    &key,
                    &value,
                    None,
                );
            }
            Frame::Multiget { groups } => {
                let (header, keys) = multiget(request, number, groups);
                write_keys(&mut frame, &splitter, &header, slices(&keys), None);
            }
            Frame::SubRequest => {
                let (header, keys) = multiget(request, number, rack::SERVERS as u8);
                let server = to(server_ip(u16::from(header.srv[2])));
                let (numkey, keyidx) = (2, header.keyidx << 6);
                let header =
                    Header { oid: 3, numkey, startidx: 4, keyidx, clo: 1, rack: 0, ..header };
                write_keys(&mut frame, &server, &header, slices(&keys), None);
            }
            Frame::Reply => {
                let (header, keys) = multiget(request, number, rack::SERVERS as u8);
                let source = server_ip(u16::from(header.srv[2]));
                let addresses = Addresses { source, ..to(client_ip(rack::CLIENT)) };
                let answer = Header { oid: 3, ..header.answer(4, 2) };
                let mut reply = ReplyWriter::begin(&mut frame, &addresses, &answer, Answer::Ok);
                for key in slices(&keys[4..6]) {
                    reply.entry(&mut frame, key, true, Some(&value));
                }
                reply.finish(&mut frame);
            }
        }
        rack::clear_udp_checksum(&mut frame);
        frame
    }
}

/// Any frame of any operation, with a header that the switch may have to refuse.
fn any_frame(case: &Case, draw: &mut Draw) -> Vec<u8> {
    let (request, number) = (draw.below(1 << 32) as u32, draw.below(case.entries.into()) as u32);
    if draw.one_in(16) {
        return rack::get(request, number); // a frame of the other schemes
    }
    let (_, kind) = draw.of(PATHS);
    let mut frame = kind.write(request, number, draw.below(129) as u32);
    let header = &mut frame[KV_OFFSET..KV_OFFSET + Fields::of_paper(FIELDS).header_len()];
    if draw.one_in(2) {
        // OP, OID, NUMKEY, KEYIDX, STARTIDX, CLO, a SRV field, RACK.
        let (at, values) = draw.of::<(usize, &[u8])>(&[
            (0, &[0, 1, 2, 3, 4, 5, 0x81, 0xff]),
            (5, &[0, 1, 2, 9]),
            (6, &[0, 1, 16, 17, 255]),
            (7, &[0, 1, 0x55, 0x80, 0xff]),
            (8, &[0, 1, 0x55, 0xff]),
            (9, &[0, 1, 255]),
            (10, &[0, 1, 2]),
            (11, &[0, 6, 7, 8, 200]),
            (13, &[0, 6, 7, 8, 200]),
            (18, &[6, 7, 8]),
            (19, &[0, RACK, RACK + 1]),
        ]);
        header[at] = draw.of(values);
    }
    frame
}

impl Subject for NetMc {
    fn name(&self) -> &'static str {
        "netmc"
    }

    fn paths(&self) -> Vec<&'static str> {
        PATHS.iter().map(|(name, _)| *name).collect()
    }

    /// Fills the tables as the control plane does: the groups, then the entries that use them.
    fn fill(&self, case: &Case, control: &mut Control<'_>) -> Result<(), BenchError> {
        rack::fill_routes(control)?;
        let exact = |width: u32, value: u16| Match::Exact(Value::new(width, value.into()));
        let action = |action: &str| format!("NetkvIngress.addressing.{action}");
        for server in 0..rack::SERVERS {
            let (ip, group) = (server_ip(server), server + 1);
            if has_group(case, server) {
                control.multicast_group(group.into(), &[port_of(case, server), LOOP_PORT])?;
            }
            let (mac, address) = (rack::number(&mac_of(ip)), rack::number(&ip));
            let params = [mac, address, port_of(case, server).into(), group.into()];
            let (table, to_server) = ("NetkvIngress.addressing.addr", action("to_server"));
            control.insert(table, exact(8, server), 0, &to_server, &params)?;
        }
        for oid in 1..=FIELDS.into() {
            let (table, field) = ("NetkvIngress.addressing.srv_id", action(&format!("srv_{oid}")));
            control.insert(table, exact(8, oid), 0, &field, &[])?;
        }
        let (table, split) =
            ("NetkvIngress.splitter_id.splitter_id", "NetkvIngress.splitter_id.split");
        control.insert(table, exact(8, RACK.into()), 0, split, &[])
    }

    fn traffic(&self, case: &Case) -> Result<Traffic, BenchError> {
        rack::check(case, u32::MAX, MAX_VALUE as u32 / 2)?;
        let found = PATHS.iter().find(|(name, _)| *name == case.path);
        let (_, kind) = found.ok_or_else(|| no_path(case, self))?;
        let mut frames = Frames::default();
        let mut bytes = 0;
        for (request, number) in (1..).zip(uniform(case.entries)) {
            let frame = kind.write(request, number, case.value_size);
            bytes = frame.len();
            frames.push(&frame);
        }
        let (input_port, output_port, outputs) = match kind {
            Frame::Reply => (rack::SERVER_PORT, rack::CLIENT_PORT, 1),
            Frame::Multiget { groups } => {
                (rack::CLIENT_PORT, rack::SERVER_PORT, usize::from(*groups))
            }
            _ => (rack::CLIENT_PORT, rack::SERVER_PORT, 1),
        };
        let output_ports = output_port..=output_port;
        Ok(Traffic { outputs, ..Traffic::new(input_port, frames, output_ports, bytes) })
    }

    fn all_kinds(&self, case: &Case) -> Vec<Arrivals> {
        let ports = [rack::CLIENT_PORT, rack::SERVER_PORT, CPU_PORT];
        all_kinds(&ports, |draw, _| any_frame(case, draw))
    }

    fn counted(&self) -> &'static [&'static str] {
        &["NetkvIngress.drop.reasons"]
    }
}

/// Whether the multicast group of a server exists.
fn has_group(case: &Case, server: u16) -> bool {
    case.path != ALL_KINDS || server != WITHOUT_GROUP
}

/// The port of a server.
fn port_of(case: &Case, server: u16) -> u16 {
    if case.path == ALL_KINDS && server == AT_CONTROLLER { CPU_PORT } else { rack::SERVER_PORT }
}
