//! Frames of every kind with flipped bits: refused, or read as they were written.

use netkv_wire::memcached::{CLIENT_PORT, Opcode, Reply, Request, status};
use netkv_wire::multiget::{self, Addresses, Answer, Header, OnBehalf, ReplyWriter, View};
use netkv_wire::{
    CacheMetadata, FrameView, Load, Message, Op, SERVICE_IP, Sequence, Slot, Stamp, client_ip,
    server_ip, set_udp_checksum, write_frame,
};

const KEY: [u8; 16] = *b"a key of 16 byte";
/// Offset of the UDP checksum.
const UDP_CHECKSUM: usize = 40;
/// SRV fields of multiget frames.
const FIELDS: u8 = 4;

/// A frame, and what an end reads in it.
struct Kind {
    name: &'static str,
    frame: Vec<u8>,
    read: fn(&[u8]) -> Result<String, String>,
}

fn single_key(name: &'static str, message: &Message<'_>) -> Kind {
    let mut frame = Vec::new();
    write_frame(&mut frame, message);
    let read = |frame: &[u8]| {
        let view = FrameView::parse(frame).map_err(|error| error.to_string())?;
        Ok(format!("{view:?}"))
    };
    Kind { name, frame, read }
}

fn single_key_frames() -> Vec<Kind> {
    let get = Message::request(client_ip(1), SERVICE_IP, Op::Get, 1, 0x0102_0304, KEY);
    let sequence = Sequence { incarnation: 7, number: 8 };
    let stamp = Stamp { sequence, generation: 9, bits: 0x55 };
    let metadata = CacheMetadata { generation: 1, version: 2, bitmap: 0b111 };
    let load = Load { layer: 1, switch: 2, reads: 3 };
    let slot = Slot { entry: 4, number: 5 };
    let value = &[0xa5; 41];
    let of = |op| Message { op, ..get };
    let update = of(Op::Update).with_cache_metadata(metadata).with_value(value);
    vec![
        single_key("GET", &get),
        single_key("PUT", &of(Op::Put).with_value(value)),
        single_key("PUT with an odd header", &of(Op::Put).with_stamp(stamp).with_value(value)),
        single_key("DELETE with cache metadata", &of(Op::Delete).with_cache_metadata(metadata)),
        single_key("UPDATE", &Message { room: 48, ..update }),
        single_key("FILL", &of(Op::Fill).with_stamp(stamp).with_slot(slot).with_value(value)),
        single_key("load", &Message { load: Some(load), ..of(Op::GetReply).with_value(value) }),
    ]
}

fn multiget_frames() -> Vec<Kind> {
    let addresses =
        Addresses { source: client_ip(1), destination: server_ip(1), fields: FIELDS.into() };
    let groups = multiget::group([1, 2, 3]);
    let read = |frame: &[u8]| {
        let view = View::parse(frame, FIELDS).map_err(|error| error.to_string())?;
        Ok(format!("{view:?}"))
    };
    let mut kinds = Vec::new();
    let mut add = |name, frame| kinds.push(Kind { name, frame, read });
    let mut frame = Vec::new();
    let header = Header::request(multiget::Op::Mget, 5, 3, &groups);
    multiget::write_keys(&mut frame, &addresses, &header, [&b"abcd"[..]; 3], None);
    add("MGET", std::mem::take(&mut frame));
    let header = Header::request(multiget::Op::Put, 6, 1, &groups);
    let client = Some(OnBehalf { client: 3, request: 4 });
    multiget::write_put(&mut frame, &addresses, &header, b"abcde", &[7; 20], client);
    add("multiget PUT", std::mem::take(&mut frame));
    let header = Header::request(multiget::Op::Mget, 5, 2, &groups).answer(0, 0);
    let mut reply = ReplyWriter::begin(&mut frame, &addresses, &header, Answer::Ok);
    reply.entry(&mut frame, b"abcd", true, Some(&[9; 33]));
    reply.entry(&mut frame, b"abcde", false, Some(b""));
    reply.finish(&mut frame);
    add("reply to MGET", frame);
    kinds
}

fn memcached_frames() -> Vec<Kind> {
    let request = Request {
        source: client_ip(3),
        source_port: CLIENT_PORT,
        destination: server_ip(1),
        opcode: Opcode::Set,
        id: 7,
        opaque: 0x0102_0304,
        cas: 5,
        key: b"key",
        value: b"a value",
    };
    let mut frame = Vec::new();
    request.write(&mut frame);
    let read = |frame: &[u8]| {
        let request = Request::parse(frame).map_err(|error| error.to_string())?;
        Ok(format!("{request:?}"))
    };
    let mut kinds = vec![Kind { name: "memcached SET", frame, read }];
    let get = Request { opcode: Opcode::Get, value: b"", ..request };
    let mut frame = Vec::new();
    Reply { value: b"odd value", ..get.reply(status::OK, 9) }.write(&mut frame);
    let read = |frame: &[u8]| {
        let reply = Reply::parse(frame).map_err(|error| error.to_string())?;
        Ok(format!("{reply:?}"))
    };
    kinds.push(Kind { name: "memcached's reply", frame, read });
    kinds
}

fn all() -> Vec<Kind> {
    [single_key_frames(), multiget_frames(), memcached_frames()].into_iter().flatten().collect()
}

/// A frame whose bits `pattern` are flipped from bit `start` on, the highest bit first.
fn flipped(frame: &[u8], start: usize, length: usize, pattern: u32) -> Vec<u8> {
    let mut changed = frame.to_vec();
    for bit in 0..length {
        if (pattern >> (length - 1 - bit)) & 1 == 1 {
            let at = start + bit;
            changed[at / 8] ^= 0x80 >> (at % 8);
        }
    }
    changed
}

/// Fails unless a changed frame is refused, or read like the original. Returns whether it is read.
fn check(kind: &Kind, changed: &[u8], what: &str) -> bool {
    let original = (kind.read)(&kind.frame).unwrap();
    match (kind.read)(changed) {
        Ok(found) => assert_eq!(found, original, "{}: {what}", kind.name),
        Err(_) => return false,
    }
    true
}

#[test]
fn every_frame_has_a_right_udp_checksum() {
    for Kind { name, frame, .. } in all() {
        assert_ne!(frame[UDP_CHECKSUM..UDP_CHECKSUM + 2], [0, 0], "{name}");
        // By the bytes, in the order of the network (RFC 768).
        let mut bytes = frame[26..].to_vec();
        bytes.extend([0, 17, frame[38], frame[39]].iter().copied());
        if frame.len() % 2 == 1 {
            bytes.truncate(bytes.len() - 4);
            bytes.extend([0, 0, 17, frame[38], frame[39]]);
        }
        let mut sum: u32 =
            bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        assert_eq!(sum, 0xffff, "{name}");
    }
}

#[test]
fn no_flipped_bit_changes_what_is_read() {
    for kind in all() {
        for bit in 0..8 * kind.frame.len() {
            let changed = flipped(&kind.frame, bit, 1, 1);
            let is_read = check(&kind, &changed, &format!("bit {bit}"));
            // No checksum covers the MAC addresses, and no end reads them.
            assert!(!is_read || bit < 8 * 12, "{}: bit {bit} is not noticed", kind.name);
        }
    }
}

#[test]
fn no_burst_of_up_to_15_bits_changes_what_is_read() {
    let mut state = 0x1234_5678_9abc_def0u64;
    let mut random = |end: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize % end
    };
    for kind in all() {
        for _ in 0..20_000 {
            let length = 2 + random(14);
            let start = random(8 * kind.frame.len() - length + 1);
            let pattern = 1 << (length - 1) | random(1 << (length - 1)) as u32 | 1;
            let changed = flipped(&kind.frame, start, length, pattern);
            check(&kind, &changed, &format!("{length} bits from bit {start}: {pattern:b}"));
        }
    }
}

#[test]
fn frames_without_a_checksum_are_read() {
    for kind in all() {
        let mut frame = kind.frame.clone();
        frame[UDP_CHECKSUM..UDP_CHECKSUM + 2].fill(0);
        assert!(check(&kind, &frame, "without a checksum"), "{}", kind.name);
    }
}

/// A sum whose complement is 0, which would mean that there is no checksum.
#[test]
fn checksum_of_zero_is_sent_as_ones() {
    let mut put = Message::request(client_ip(1), SERVICE_IP, Op::Put, 1, 2, KEY);
    put = put.with_value(&[0; 16]);
    let mut frame = Vec::new();
    write_frame(&mut frame, &put);
    let checksum = [frame[UDP_CHECKSUM], frame[UDP_CHECKSUM + 1]];
    // With its own checksum as data, the rest has to sum up to 0.
    let mut value = [0; 16];
    value[..2].copy_from_slice(&checksum);
    frame.clear();
    write_frame(&mut frame, &put.with_value(&value));
    assert_eq!(frame[UDP_CHECKSUM..UDP_CHECKSUM + 2], [0xff, 0xff]);
    assert!(FrameView::parse(&frame).is_ok());
}

#[test]
fn corrected_checksum_is_right_again() {
    for kind in all() {
        let mut frame = kind.frame.clone();
        let last = frame.len() - 1;
        frame[last] ^= 1;
        assert!(!check(&kind, &frame, "a changed byte"));
        set_udp_checksum(&mut frame);
        frame[last] ^= 1;
        assert!(!check(&kind, &frame, "the checksum of another byte"));
        set_udp_checksum(&mut frame);
        assert!(check(&kind, &frame, "the checksum of the same byte"));
        assert_eq!(frame, kind.frame);
    }
}
