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

use crate::case::Case;
use crate::control::Control;
use crate::error::BenchError;
use crate::handwritten::set_checksum;
use crate::traffic::{Frames, value_of};

/// The port of all clients.
pub(super) const CLIENT_PORT: u16 = 1;
/// The port of all servers, which are one process.
pub(super) const SERVER_PORT: u16 = 100;
/// Bytes of a frame without cache metadata and value.
pub(super) const MIN_FRAME_BYTES: usize = ETHERNET_LEN + IPV4_LEN + UDP_LEN + KV_LEN;

pub(super) const SERVERS: u16 = 8;
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

/// Fills the tables of the partition and the routes.
pub(super) fn fill(control: &mut Control<'_>) -> Result<(), BenchError> {
    for server in 0..SERVERS {
        let (low, high) = partition_range(server, SERVERS);
        let range = Match::Range(Value::new(32, u128::from(low)), Value::new(32, u128::from(high)));
        let ip = server_ip(server);
        let params = [number(&mac_of(ip)), number(&ip)];
        let (table, action) = ("NetkvIngress.partition.owner", "NetkvIngress.partition.to_owner");
        control.insert(table, range, 1, action, &params)?;
    }
    for (ip, port) in routes() {
        let ip = Match::Exact(Value::from_bytes(32, &ip));
        let (table, action) = ("NetkvIngress.route.ipv4", "NetkvIngress.route.forward");
        control.insert(table, ip, 0, action, &[u128::from(port)])?;
    }
    Ok(())
}

/// The ports of all addresses.
pub(super) fn routes() -> impl Iterator<Item = (Ip, u16)> {
    let servers = (0..SERVERS).map(|server| (server_ip(server), SERVER_PORT));
    servers.chain([(client_ip(CLIENT), CLIENT_PORT), (CONTROLLER_IP, CPU_PORT)])
}

/// Frames of all kinds: requests and other messages, cut anywhere, with wrong lengths, versions,
/// protocols and checksums, and to addresses with and without a route.
pub(super) fn others(case: &Case) -> Frames {
    let mut random = Random::new(11);
    let mut draw = |below: u64| random.between(0, below - 1);
    let mut frames = Frames::default();
    for _ in 0..4_000 {
        let number = draw(2 * u64::from(case.entries)) as u32;
        let mut frame = if draw(2) == 0 {
            get(number, number)
        } else {
            put(number, number, [1, 16, 37, 128][draw(4) as usize])
        };
        let destinations = [server_ip(3), client_ip(CLIENT), CONTROLLER_IP, [10, 9, 9, 9]];
        match draw(10) {
            0 => frame.truncate(draw(frame.len() as u64 + 1) as usize),
            1 => frame[12..14].copy_from_slice(&[0x86, 0xdd]),
            2 => frame[23] = 6,
            3 => frame[36..38].copy_from_slice(&[19, draw(256) as u8]),
            4 => frame[30..34].copy_from_slice(&destinations[draw(4) as usize]),
            5 => {
                let at = draw(frame.len() as u64) as usize;
                frame[at] = draw(256) as u8;
            }
            6 => frame[14] = [0x45, 0x46, 0x55, 0x65][draw(4) as usize],
            7 => frame[20..22].copy_from_slice(&[draw(64) as u8, draw(2) as u8]),
            8 => frame[43] = draw(256) as u8,
            _ => frame.extend((0..draw(40)).map(|byte| byte as u8)),
        }
        // Most frames get the right checksum again, so that they are not dropped for that.
        if frame.len() >= 34 && draw(4) > 0 {
            set_checksum(&mut frame[ETHERNET_LEN..ETHERNET_LEN + IPV4_LEN]);
        }
        frames.push(&frame);
    }
    frames
}

fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

/// The frame of a message.
pub(super) fn frame(message: &Message<'_>) -> Vec<u8> {
    let mut frame = Vec::new();
    write_frame(&mut frame, message);
    frame
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
