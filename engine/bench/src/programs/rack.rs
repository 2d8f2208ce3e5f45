//! Common parts of netkv's programs: hosts, routes and frames.
//!
//! The hosts are those of the lab: eight servers at one port, clients at another.

use netkv_ir::{Match, Value};
use netkv_wire::{
    CONTROLLER_IP, CONTROLLER_SENDER, CPU_PORT, CacheMetadata, ETHERNET_LEN, IPV4_LEN, Ip, KV_LEN,
    Key, Message, Op, SERVICE_IP, UDP_LEN, client_ip, mac_of, partition_range, server_ip,
    write_frame,
};

use netkv_dataplane::Random;

use crate::case::{ALL_KINDS, Case};
use crate::control::Control;
use crate::error::BenchError;
use crate::handwritten::layout::UDP_CHECKSUM;
use crate::handwritten::{Forwarding, Owner};
use crate::traffic::value_of;

/// The port of all clients.
pub(super) const CLIENT_PORT: u16 = 1;
/// The port of all servers, which are one process.
pub(super) const SERVER_PORT: u16 = 100;
/// Other ports, by which frames of all kinds arrive.
pub(super) const OTHER_PORTS: [u16; 2] = [2, 3];
/// The ports with a clone session, if the switch replies by clones.
pub(super) const WITH_SESSION: [u16; 5] =
    [CLIENT_PORT, SERVER_PORT, CPU_PORT, OTHER_PORTS[0], OTHER_PORTS[1]];
/// Bytes of a frame without cache metadata and value.
pub(super) const MIN_FRAME_BYTES: usize = ETHERNET_LEN + IPV4_LEN + UDP_LEN + KV_LEN;

pub(super) const SERVERS: u16 = 8;
/// The server without the upper half of its hashes, if frames of all kinds are sent.
const WITH_GAP: u16 = 5;
/// The client that sends the requests.
pub(super) const CLIENT: u16 = 1;

/// The key with this number.
pub(super) fn key(number: u32) -> Key {
    random_key(&mut Random::new(u64::from(number)))
}

/// Keys without end for this number, the first of which is [`key`]: the candidates if a key must
/// have a property.
pub(super) fn keys(number: u32) -> impl Iterator<Item = Key> {
    let mut random = Random::new(u64::from(number));
    std::iter::repeat_with(move || random_key(&mut random))
}

fn random_key(random: &mut Random) -> Key {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&random.next().to_be_bytes());
    key[8..].copy_from_slice(&random.next().to_be_bytes());
    key
}

/// Checks that the program can have these sizes.
pub(super) fn check(case: &Case, max_entries: u32, max_value: u32) -> Result<(), BenchError> {
    let Case { program, entries, value_size, key_width, .. } = case;
    let text = if *key_width != 128 {
        format!("A key of {key_width} bits: the keys of '{program}' have 128.")
    } else if !(1..=max_entries).contains(entries) {
        format!("{entries} entries: '{program}' has 1 to {max_entries}.")
    } else if !(1..=max_value).contains(value_size) {
        format!("A value of {value_size} bytes: '{program}' takes 1 to {max_value}.")
    } else {
        return Ok(());
    };
    Err(BenchError::new(text))
}

/// The servers, each with its range of hashes. If frames of all kinds are sent, some keys have no
/// owner.
fn owners(case: &Case) -> impl Iterator<Item = Owner> {
    let has_gap = case.path == ALL_KINDS;
    (0..SERVERS).map(move |server| {
        let (ip, (first, last)) = (server_ip(server), partition_range(server, SERVERS));
        let last = if has_gap && server == WITH_GAP { first + (last - first) / 2 } else { last };
        Owner { first, last, mac: mac_of(ip), ip }
    })
}

/// Fills the tables of the partition and the routes.
pub(super) fn fill(case: &Case, control: &mut Control<'_>) -> Result<(), BenchError> {
    for Owner { first, last, mac, ip } in owners(case) {
        let range = Match::Range(Value::new(32, first.into()), Value::new(32, last.into()));
        let params = [number(&mac), number(&ip)];
        let (table, action) = ("NetkvIngress.partition.owner", "NetkvIngress.partition.to_owner");
        control.insert(table, range, 1, action, &params)?;
    }
    fill_routes(control)
}

/// Fills the table of the routes.
pub(super) fn fill_routes(control: &mut Control<'_>) -> Result<(), BenchError> {
    for (ip, port) in routes() {
        let ip = Match::Exact(Value::from_bytes(32, &ip));
        let (table, action) = ("NetkvIngress.route.ipv4", "NetkvIngress.route.forward");
        control.insert(table, ip, 0, action, &[u128::from(port)])?;
    }
    Ok(())
}

/// The ports of all addresses.
fn routes() -> impl Iterator<Item = (Ip, u16)> {
    let servers = (0..SERVERS).map(|server| (server_ip(server), SERVER_PORT));
    servers.chain([(client_ip(CLIENT), CLIENT_PORT), (CONTROLLER_IP, CPU_PORT)])
}

/// The tables of the partition and the routes, as a handwritten pipeline has them.
pub(super) fn forwarding(case: &Case) -> Forwarding {
    Forwarding::new(owners(case).collect(), routes())
}

/// Bytes as a number.
pub(super) fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

/// The frame of a message.
pub(super) fn frame(message: &Message<'_>) -> Vec<u8> {
    let mut frame = Vec::new();
    write_frame(&mut frame, message);
    clear_udp_checksum(&mut frame);
    frame
}

/// Makes the frame one without a UDP checksum, which NetCache's handwritten pipeline does not
/// compute. All programs get such frames, so that their figures compare.
pub(super) fn clear_udp_checksum(frame: &mut [u8]) {
    frame[UDP_CHECKSUM..UDP_CHECKSUM + 2].fill(0);
}

/// A request to the service address.
pub(super) fn to_service(
    source: Ip,
    op: Op,
    sender: u16,
    request: u32,
    key: Key,
) -> Message<'static> {
    Message::request(source, SERVICE_IP, op, sender, request, key)
}

/// The `request`-th read of a client.
pub(super) fn get(request: u32, key: u32) -> Vec<u8> {
    frame(&to_service(client_ip(CLIENT), Op::Get, CLIENT, request, self::key(key)))
}

/// The `request`-th write of a client.
pub(super) fn put(request: u32, key: u32, value_size: u32) -> Vec<u8> {
    let value = value_of(key, value_size);
    let message = to_service(client_ip(CLIENT), Op::Put, CLIENT, request, self::key(key));
    frame(&message.with_value(&value))
}

/// The controller's message that begins statistics epoch `epoch`, as it enters at the CPU port.
pub(super) fn epoch(epoch: u32) -> Vec<u8> {
    let metadata = CacheMetadata { generation: 0, version: epoch, bitmap: 0 };
    let message = to_service(CONTROLLER_IP, Op::Epoch, CONTROLLER_SENDER, epoch, [0; 16]);
    // The first two bytes are the packet-out header of an ordinary frame.
    [vec![0; 2], frame(&message.with_cache_metadata(metadata))].concat()
}
