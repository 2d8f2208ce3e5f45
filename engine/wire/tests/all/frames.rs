//! Tests of frames against bytes that were written by hand from `docs/internals/wire-format.md`.

use netkv_wire::{
    CONTROLLER_IP, CONTROLLER_SENDER, CacheMetadata, FrameView, Key, Load, MAX_FRAME, Malformed,
    Message, Op, SERVICE_IP, Sequence, Slot, Stamp, Status, bits, client_ip, flags,
    sender_of_server, server_ip, set_udp_checksum, write_frame,
};

const KEY: Key = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

fn frame(message: &Message<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    assert_eq!(write_frame(&mut out, message), out.len());
    out
}

fn get() -> Message<'static> {
    Message::request(client_ip(1), SERVICE_IP, Op::Get, 1, 0x0102_0304, KEY)
}

#[rustfmt::skip]
const GET_BYTES: [u8; 70] = [
    // Ethernet: to 02:00 + 10.0.0.100, from 02:00 + 10.1.0.1, IPv4
    0x02, 0x00, 0x0a, 0x00, 0x00, 0x64, 0x02, 0x00, 0x0a, 0x01, 0x00, 0x01, 0x08, 0x00,
    // IPv4: version and header length, type of service, total length 56, id, fragment
    0x45, 0x00, 0x00, 0x38, 0x00, 0x00, 0x00, 0x00,
    // time to live 64, UDP, checksum: 4500+0038+4011+0a01+0001+0a00+0064 = 99af, inverted 6650
    0x40, 0x11, 0x66, 0x50, 0x0a, 0x01, 0x00, 0x01, 0x0a, 0x00, 0x00, 0x64,
    // UDP: 5008 to 5008, length 36; checksum: pseudo header 149b, UDP header 2744, kv 0507, key
    // 3840, together 7926, inverted 86d9
    0x13, 0x90, 0x13, 0x90, 0x00, 0x24, 0x86, 0xd9,
    // kv: format 1, GET, no flags, ok, length 0, sender 1, request
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x01, 0x02, 0x03, 0x04,
    // key
    0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f,
];

#[test]
fn a_get_has_these_bytes() {
    assert_eq!(frame(&get()), GET_BYTES);
    let view = FrameView::parse(&GET_BYTES).unwrap();
    assert_eq!((view.op(), view.status(), view.length()), (Op::Get, Status::Ok, 0));
    assert_eq!((view.sender(), view.request(), view.key()), (1, 0x0102_0304, KEY));
    assert_eq!((view.source(), view.destination()), (client_ip(1), SERVICE_IP));
    assert_eq!((view.cache_metadata(), view.value(), view.cache_hit()), (None, &[][..], false));
}

#[test]
fn a_put_carries_its_value_in_chunks() {
    let put = Message { op: Op::Put, ..get() }.with_value(b"seventeen bytes!!");
    let bytes = frame(&put);
    assert_eq!(bytes.len(), 70 + 32);
    assert_eq!(bytes[16..18], [0, 56 + 32], "IPv4 length counts the padding");
    assert_eq!(bytes[38..40], [0, 36 + 32], "UDP length counts the padding");
    assert_eq!(bytes[43..48], [0x02, 0x00, 0x00, 0x00, 0x11], "PUT, no flags, ok, length 17");
    assert_eq!(&bytes[70..87], b"seventeen bytes!!");
    assert_eq!(bytes[87..], [0; 15]);
    assert_eq!(FrameView::parse(&bytes).unwrap().value(), b"seventeen bytes!!");
}

#[test]
fn an_update_fills_its_whole_bitmap() {
    let metadata = CacheMetadata { generation: 0x0a0b_0c0d, version: 7, bitmap: 0b1010_0010 };
    let source = server_ip(2);
    let mut update = Message::request(source, SERVICE_IP, Op::Update, sender_of_server(2), 9, KEY);
    update = Message { room: 48, ..update.with_cache_metadata(metadata).with_value(b"short") };
    let bytes = frame(&update);
    assert_eq!(bytes.len(), 70 + 9 + 48);
    assert_eq!(bytes[43..54], [0x10, 0x01, 0x00, 0x00, 0x05, 0x80, 0x02, 0, 0, 0, 9]);
    assert_eq!(bytes[70..79], [0x0a, 0x0b, 0x0c, 0x0d, 0, 0, 0, 7, 0xa2]);
    assert_eq!(&bytes[79..84], b"short");
    let view = FrameView::parse(&bytes).unwrap();
    assert_eq!((view.cache_metadata(), view.value()), (Some(metadata), &b"short"[..]));
}

#[test]
fn an_admit_reply_has_a_length_without_a_value() {
    let admit = Message::request(CONTROLLER_IP, server_ip(0), Op::Admit, CONTROLLER_SENDER, 5, KEY);
    let asked = frame(&admit);
    let reply = Message { length: 99, ..FrameView::parse(&asked).unwrap().reply(Status::Ok) };
    let bytes = frame(&reply);
    assert_eq!(bytes.len(), 70);
    let view = FrameView::parse(&bytes).unwrap();
    assert_eq!((view.op(), view.length(), view.value()), (Op::AdmitReply, 99, &[][..]));
    assert_eq!((view.source(), view.destination()), (server_ip(0), CONTROLLER_IP));
    assert_eq!((view.sender(), view.request()), (CONTROLLER_SENDER, 5));
}

#[test]
fn a_cache_hit_differs_from_a_reply_of_the_server() {
    let hit = Message { op: Op::GetReply, cache_hit: true, ..get() }.with_value(&[7; 128]);
    let bytes = frame(&hit);
    assert_eq!(bytes[44], 0x02);
    assert!(FrameView::parse(&bytes).unwrap().cache_hit());
}

#[test]
fn padding_after_value_and_packet_is_ignored() {
    let put = Message { op: Op::Put, room: 128, ..get() }.with_value(&[5; 20]);
    let mut bytes = frame(&put);
    bytes.extend_from_slice(&[0xee; 30]);
    assert_eq!(FrameView::parse(&bytes).unwrap().value(), [5; 20]);
}

const STAMP: Stamp = Stamp {
    sequence: Sequence { incarnation: 0x0102_0304, number: 0x0506_0708 },
    generation: 0x090a_0b0c,
    bits: bits::DIRTY | bits::LATEST,
};

#[test]
fn a_stamp_is_between_the_header_and_the_value() {
    let put = Message { op: Op::Put, ..get() }.with_value(b"abc").with_stamp(STAMP);
    let bytes = frame(&put);
    assert_eq!(bytes.len(), 70 + 13 + 16);
    assert_eq!(bytes[43..48], [0x02, 0x04, 0x00, 0x00, 0x03], "PUT, STAMPED, ok, length 3");
    assert_eq!(bytes[70..83], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x18]);
    let view = FrameView::parse(&bytes).unwrap();
    assert_eq!((view.stamp(), view.slot(), view.cache_metadata()), (Some(STAMP), None, None));
    assert_eq!(view.value(), b"abc");
    for end in 0..bytes.len() {
        assert!(FrameView::parse(&bytes[..end]).is_err(), "cut at {end}");
    }
}

#[test]
fn a_message_about_an_entry_has_a_slot_after_its_stamp() {
    let slot = Slot { entry: 0x0102, number: 0x0304_0506 };
    let fill = Message { op: Op::Fill, ..get() }.with_stamp(STAMP).with_slot(slot);
    let bytes = frame(&fill.with_value(&[7; 20]));
    assert_eq!(bytes.len(), 70 + 13 + 6 + 32);
    assert_eq!(bytes[83..89], [1, 2, 3, 4, 5, 6]);
    let view = FrameView::parse(&bytes).unwrap();
    assert_eq!((view.stamp(), view.slot()), (Some(STAMP), Some(slot)));
    assert_eq!(view.value(), [7; 20]);
    let bare = frame(&Message { op: Op::Validate, ..get() });
    assert_eq!(FrameView::parse(&bare).map(|_| ()).unwrap_err(), Malformed::Unstamped);
}

#[test]
fn a_get_carries_a_value_only_if_a_record_is_embedded() {
    let embedded = Stamp { bits: bits::EMBEDDED, ..STAMP };
    let bytes = frame(&get().with_stamp(embedded).with_value(b"embedded"));
    assert_eq!(FrameView::parse(&bytes).unwrap().value(), b"embedded");
    let bytes = frame(&get().with_stamp(STAMP).with_value(b"not embedded"));
    assert_eq!(FrameView::parse(&bytes).unwrap().value(), b"");
}

const LOAD: Load = Load { layer: 1, switch: 0xfe, reads: 0x0102_0304 };

#[test]
fn a_load_is_between_the_header_and_the_value() {
    let reply = Message { op: Op::GetReply, cache_hit: true, load: Some(LOAD), ..get() };
    let bytes = frame(&reply.with_value(b"abc"));
    assert_eq!(bytes.len(), 70 + 6 + 16);
    assert_eq!(bytes[16..18], [0, 56 + 6 + 16], "IPv4 length counts the load");
    assert_eq!(bytes[38..40], [0, 36 + 6 + 16], "UDP length counts the load");
    assert_eq!(bytes[43..48], [0x01, 0x12, 0x00, 0x00, 0x03], "CACHE_HIT and LOAD");
    assert_eq!(bytes[70..76], [1, 0xfe, 1, 2, 3, 4], "layer, switch, reads");
    let view = FrameView::parse(&bytes).unwrap();
    assert_eq!((view.load(), view.value()), (Some(LOAD), &b"abc"[..]));
    assert_eq!((view.upper(), view.cache_hit(), view.cache_metadata()), (false, true, None));
    for end in 0..bytes.len() {
        assert!(FrameView::parse(&bytes[..end]).is_err(), "cut at {end}");
    }
}

/// A header that promises a load, and a packet that ends before it is complete.
#[test]
fn a_load_that_is_cut_is_reported() {
    let bytes = frame(&Message { load: Some(LOAD), ..get() });
    for missing in 1..=6u8 {
        let mut cut = bytes[..bytes.len() - usize::from(missing)].to_vec();
        cut[17] -= missing;
        cut[39] -= missing;
        // The words that the checksum covers have become smaller by as much.
        let checksum = u16::from_be_bytes([cut[24], cut[25]]) + u16::from(missing);
        cut[24..26].copy_from_slice(&checksum.to_be_bytes());
        set_udp_checksum(&mut cut);
        let expected = Malformed::CutShort { needed: 76, found: 76 - usize::from(missing) };
        assert_eq!(FrameView::parse(&cut).map(|_| ()).unwrap_err(), expected);
    }
}

#[test]
fn a_flag_says_that_a_frame_is_about_the_upper_copy() {
    let bytes = frame(&Message { upper: true, ..get() });
    assert_eq!(bytes.len(), GET_BYTES.len(), "the flag adds no header");
    assert_eq!(bytes[44], 0x08);
    for unchanged in [0..40, 42..44, 45..70] {
        assert_eq!(bytes[unchanged.clone()], GET_BYTES[unchanged], "all but flags and checksum");
    }
    assert!(FrameView::parse(&bytes).unwrap().upper());
    assert!(!FrameView::parse(&GET_BYTES).unwrap().upper());
}

/// Every combination of the headers that may follow the `kv` header, as written and as read.
#[test]
fn headers_in_any_combination_are_read_as_written() {
    let metadata = CacheMetadata { generation: 1, version: 2, bitmap: 3 };
    for combination in 0..32u8 {
        let has = |bit: u8| combination & bit != 0;
        let message = Message {
            op: Op::GetReply,
            upper: has(1),
            cache_hit: has(2),
            cache_metadata: has(4).then_some(metadata),
            stamp: has(8).then_some(STAMP),
            load: has(16).then_some(LOAD),
            ..get()
        };
        let bytes = frame(&message.with_value(b"value"));
        let view = FrameView::parse(&bytes).unwrap();
        assert_eq!((view.upper(), view.cache_hit()), (message.upper, message.cache_hit));
        assert_eq!(view.cache_metadata(), message.cache_metadata);
        assert_eq!((view.stamp(), view.load()), (message.stamp, message.load));
        assert_eq!((view.value(), view.key()), (&b"value"[..], KEY));
        let headers = [(4, 9), (8, 13), (16, 6)].into_iter().filter(|(bit, _)| has(*bit));
        let added: usize = headers.map(|(_, bytes)| bytes).sum();
        assert_eq!(bytes.len(), 70 + added + 16);
    }
}

/// The flags are bits of one byte: none is used twice.
#[test]
fn flags_are_single_bits() {
    let all = [flags::CACHE_METADATA, flags::CACHE_HIT, flags::STAMPED, flags::UPPER, flags::LOAD];
    assert_eq!(all, [0x01, 0x02, 0x04, 0x08, 0x10]);
}

#[test]
fn a_restarted_server_sends_these_bytes() {
    let (sender, number) = (sender_of_server(3), 7);
    let message =
        Message::request(server_ip(3), CONTROLLER_IP, Op::Restarted, sender, number, [0; 16]);
    let bytes = frame(&message);
    assert_eq!(bytes[42..46], [0x01, 0x5a, 0x00, 0x00], "format 1, RESTARTED, no flags, ok");
    let reply = frame(&FrameView::parse(&bytes).unwrap().reply(Status::Ok));
    assert_eq!(reply[43], 0x5b, "RESTARTED_REPLY");
    let view = FrameView::parse(&reply).unwrap();
    assert_eq!((view.sender(), view.request(), view.destination()), (sender, 7, server_ip(3)));
}

#[test]
fn the_largest_frame_has_the_declared_length() {
    let put = Message { op: Op::Put, ..get() }.with_value(&[1; 1024]).with_stamp(Stamp::default());
    assert_eq!(frame(&put).len(), MAX_FRAME);
}

#[test]
fn every_malformed_header_is_reported() {
    let malformed = |at: usize, value: u8| {
        let mut bytes = GET_BYTES;
        bytes[at] = value;
        if (14..34).contains(&at) && at != 24 && at != 25 {
            // Corrects the checksum, so that the field itself is refused.
            bytes[24..26].copy_from_slice(&[0, 0]);
            let mut sum: u32 =
                bytes[14..34].chunks(2).map(|w| u32::from(w[0]) * 256 + u32::from(w[1])).sum();
            sum = (sum & 0xffff) + (sum >> 16);
            bytes[24..26].copy_from_slice(&(!(sum as u16)).to_be_bytes());
        }
        set_udp_checksum(&mut bytes);
        FrameView::parse(&bytes).map(|_| ()).unwrap_err()
    };
    assert_eq!(malformed(12, 0x86), Malformed::NotUdp);
    assert_eq!(malformed(14, 0x46), Malformed::NotUdp);
    assert_eq!(malformed(20, 0x20), Malformed::NotUdp);
    assert_eq!(malformed(23, 6), Malformed::NotUdp);
    assert_eq!(malformed(25, 0x52), Malformed::Checksum);
    let mut wrong = GET_BYTES;
    wrong[41] += 1;
    assert_eq!(FrameView::parse(&wrong).map(|_| ()).unwrap_err(), Malformed::UdpChecksum);
    assert_eq!(Malformed::UdpChecksum.to_string(), "the UDP checksum is wrong");
    assert_eq!(malformed(37, 0x91), Malformed::Port(5009));
    assert_eq!(malformed(17, 0x39), Malformed::Lengths);
    assert_eq!(malformed(39, 0x23), Malformed::Lengths);
    assert_eq!(malformed(42, 2), Malformed::Format(2));
    assert_eq!(malformed(43, 0x77), Malformed::Op(0x77));
    assert_eq!(malformed(45, 9), Malformed::Status(9));
    assert_eq!(malformed(44, 1), Malformed::CutShort { needed: 79, found: 70 });
    let put = frame(&Message { op: Op::Put, ..get() }.with_value(&[1; 30]));
    let mut too_long = put.clone();
    too_long[47] = 33;
    set_udp_checksum(&mut too_long);
    let error = FrameView::parse(&too_long).map(|_| ()).unwrap_err();
    assert_eq!(error, Malformed::CutShort { needed: 103, found: 102 });
    assert_eq!(error.to_string(), "the frame has 102 bytes, but its headers say 103");
    let update = frame(&Message { op: Op::Update, ..get() });
    assert_eq!(FrameView::parse(&update).map(|_| ()).unwrap_err(), Malformed::Update);
}

#[test]
fn no_truncated_or_random_frame_causes_a_panic() {
    let metadata = CacheMetadata { generation: 1, version: 1, bitmap: 3 };
    let put = Message { op: Op::Put, ..get() }.with_value(&[1; 40]).with_cache_metadata(metadata);
    let whole = frame(&Message { load: Some(LOAD), ..put.with_stamp(STAMP) });
    for end in 0..whole.len() {
        assert!(FrameView::parse(&whole[..end]).is_err(), "cut at {end}");
    }
    let mut state = 0x1234_5678_9abc_def0u64;
    for _ in 0..100_000 {
        let mut bytes = whole.clone();
        for _ in 0..3 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let at = (state >> 8) as usize % bytes.len();
            bytes[at] = state as u8;
        }
        set_udp_checksum(&mut bytes);
        if let Ok(view) = FrameView::parse(&bytes) {
            let _ = (view.value(), view.cache_metadata(), view.stamp(), view.slot(), view.key());
            let _ = (view.load(), view.upper());
        }
    }
}
