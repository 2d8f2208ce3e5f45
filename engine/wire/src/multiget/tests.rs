use super::*;
use crate::{ETHERNET_LEN, KV_OFFSET, client_ip, server_ip, set_udp_checksum};

const FIELDS: u8 = 3;

fn addresses() -> Addresses {
    Addresses { source: client_ip(1), destination: splitter_ip(1), fields: FIELDS.into() }
}

/// The request of figure 5: keys A and D of server 1, B of server 2 and C of server 3, sorted.
fn figure_5() -> Vec<u8> {
    let groups = group([1, 1, 2, 3]);
    let header = Header { rack: 1, ..Header::request(Op::Mget, 1001, 4, &groups) };
    let mut frame = Vec::new();
    let keys = [&b"AAAA"[..], b"DDDD", b"BBBB", b"CCCC"];
    write_keys(&mut frame, &addresses(), &header, keys, None);
    frame
}

#[test]
fn the_request_of_figure_5_has_these_bytes() {
    let frame = figure_5();
    #[rustfmt::skip]
    let expected = [
        1,                  // OP: MGET
        0, 0, 0x03, 0xe9,   // ID: 1001
        1,                  // OID: the first group
        4,                  // NUMKEY
        0b0111_0000, 0,     // KEYIDX: 0111 for A, D, B, C
        0,                  // STARTIDX
        0,                  // CLO
        1, 2, 3,            // SRV
        1,                  // RACK
        4, b'A', b'A', b'A', b'A', 4, b'D', b'D', b'D', b'D',
        4, b'B', b'B', b'B', b'B', 4, b'C', b'C', b'C', b'C',
    ];
    assert_eq!(frame[KV_OFFSET..], expected);
    assert_eq!(frame[12..14], [0x08, 0x00]);
    assert_eq!(frame[26..34], [10, 1, 0, 1, 10, 3, 0, 1]);
    assert_eq!(frame[34..38], [0x13, 0x91, 0x13, 0x91], "both ports are 5009");
    assert_eq!(frame[38..40], [0, 8 + expected.len() as u8]);
    assert_eq!(frame[40..42], [0xb4, 0xd9], "UDP checksum");
}

#[test]
fn servers_read_their_group_of_the_sub_requests_of_figure_6() {
    // NUMKEY, KEYIDX, STARTIDX, OID and CLO after each pass of Algorithm 2.
    let passes = [(2, 0b1100, 0, 1, 1), (1, 0b1000, 2, 2, 1), (1, 0, 3, 3, 1)];
    let groups: [&[&[u8]]; 3] = [&[b"AAAA", b"DDDD"], &[b"BBBB"], &[b"CCCC"]];
    for ((numkey, keyidx, startidx, oid, clo), keys) in passes.into_iter().zip(groups) {
        let mut frame = figure_5();
        let header = &mut frame[KV_OFFSET..];
        header[5..7].copy_from_slice(&[oid, numkey]);
        header[7..11].copy_from_slice(&[keyidx << 4, 0, startidx, clo]);
        set_udp_checksum(&mut frame);
        let view = View::parse(&frame, FIELDS).unwrap();
        assert_eq!(view.asked().collect::<Vec<_>>(), keys);
        assert_eq!(view.keys().count(), 4, "all keys are in each sub-request");
    }
}

#[test]
fn requests_are_read_as_they_were_written() {
    for fields in [1, 3, 32] {
        let addresses = Addresses { fields: fields.into(), ..addresses() };
        for op in [Op::Mget, Op::Get, Op::Delete] {
            let keys: Vec<Vec<u8>> = match op {
                Op::Mget => (0..16).map(|at| vec![at as u8; 4 + 4 * at]).collect(),
                _ => vec![b"key".repeat(3)],
            };
            let groups = group((0..keys.len()).map(|at| at as u8 % fields));
            let header = Header::request(op, u32::MAX, keys.len() as u8, &groups);
            let mut frame = vec![1, 2, 3];
            write_keys(&mut frame, &addresses, &header, keys.iter().map(Vec::as_slice), None);
            let view = View::parse(&frame[3..], fields).unwrap();
            assert_eq!(view.keys().collect::<Vec<_>>(), keys);
            assert_eq!(view.asked().count(), keys.len());
            let srv = |it: &Header| it.srv[..fields.into()].to_vec();
            assert_eq!(srv(view.header()), srv(&header));
            assert_eq!(Header { srv: header.srv, ..*view.header() }, header);
            assert_eq!((view.source(), view.destination()), (client_ip(1), splitter_ip(1)));
            assert_eq!(view.on_behalf(), None);
        }
    }
}

#[test]
fn writes_carry_their_value_and_the_client_that_they_are_for() {
    let header = Header::request(Op::Put, 9, 1, &group([2]));
    for on_behalf in [None, Some(OnBehalf { client: 7, request: 0xdead_beef })] {
        for size in [0, 1, 1024] {
            let mut frame = Vec::new();
            write_put(&mut frame, &addresses(), &header, b"abcd", &vec![5; size], on_behalf);
            let view = View::parse(&frame, FIELDS).unwrap();
            assert_eq!((view.value(), view.on_behalf()), (&vec![5; size][..], on_behalf));
            assert_eq!(view.asked().next(), Some(&b"abcd"[..]));
        }
        let mut frame = Vec::new();
        let header = Header { op: Op::Delete, ..header };
        write_keys(&mut frame, &addresses(), &header, [&b"abcd"[..]], on_behalf);
        assert_eq!(View::parse(&frame, FIELDS).unwrap().on_behalf(), on_behalf);
    }
}

fn reply(op: Op, entries: &[(&[u8], Option<&[u8]>)]) -> Vec<u8> {
    let addresses =
        Addresses { source: server_ip(2), destination: client_ip(1), fields: FIELDS.into() };
    let header = Header { oid: 3, ..Header::request(op, 1001, 4, &group([1, 1, 2, 3])) };
    let mut frame = Vec::new();
    let mut writer = ReplyWriter::begin(&mut frame, &addresses, &header.answer(2, 0), Answer::Ok);
    for (key, value) in entries {
        let bytes = op.reads().then(|| value.unwrap_or_default());
        writer.entry(&mut frame, key, value.is_some(), bytes);
    }
    writer.finish(&mut frame);
    frame
}

#[test]
fn replies_contain_keys_and_whether_they_were_found() {
    let frame = reply(Op::Mget, &[(b"BBBB", Some(b"value")), (b"CCCC", None)]);
    let view = View::parse(&frame, FIELDS).unwrap();
    let Header { op, reply: is_reply, id, oid, numkey, startidx, keyidx, clo, rack, .. } =
        *view.header();
    assert_eq!((op, is_reply, id, oid, numkey, startidx), (Op::Mget, true, 1001, 3, 2, 2));
    assert_eq!((keyidx, clo, rack), (0, 0, 0));
    let entries: Vec<Entry<'_>> = view.entries().collect();
    assert_eq!(entries[0], Entry { key: b"BBBB", found: true, value: b"value" });
    assert_eq!(entries[1], Entry { key: b"CCCC", found: false, value: b"" });
    assert_eq!((view.keys().count(), view.asked().count()), (0, 0));
    let put = super::tests::reply(Op::Put, &[(b"BBBB", Some(b""))]);
    let put = View::parse(&put, FIELDS).unwrap();
    assert_eq!(put.entries().next(), Some(Entry { key: b"BBBB", found: true, value: b"" }));
}

#[test]
fn refusals_have_no_entries() {
    for answer in [Answer::Overloaded, Answer::Rejected, Answer::Failed] {
        let header = Header::request(Op::Mget, 1, 4, &group([0; 4])).answer(1, 3);
        let mut frame = Vec::new();
        ReplyWriter::begin(&mut frame, &addresses(), &header, answer).finish(&mut frame);
        let view = View::parse(&frame, FIELDS).unwrap();
        assert_eq!((view.answer(), view.entries().count()), (answer, 0));
        assert_eq!((view.header().startidx, view.header().numkey), (1, 3));
    }
    assert_eq!(Answer::ALL.iter().map(|it| it.code()).collect::<Vec<_>>(), [0, 5, 6, 8]);
}

/// The first `end` bytes of the frame, with matching lengths in IPv4 and UDP.
fn cut(frame: &[u8], end: usize) -> Vec<u8> {
    let mut cut = frame[..end].to_vec();
    let (source, destination) = (client_ip(1), splitter_ip(1));
    cut[..KV_OFFSET].fill(0);
    crate::write::write_outer(&mut cut, source, destination, (MULTIGET_PORT, MULTIGET_PORT));
    cut
}

#[test]
fn malformed_frames_are_refused_without_a_panic() {
    let put = {
        let mut frame = Vec::new();
        let header = Header::request(Op::Put, 9, 1, &group([2]));
        write_put(&mut frame, &addresses(), &header, b"abcd", b"value", None);
        frame
    };
    let answer = reply(Op::Mget, &[(b"BBBB", Some(b"value")), (b"CCCC", None)]);
    for frame in [figure_5(), put, answer] {
        assert!(View::parse(&frame, FIELDS).is_ok());
        for end in 0..frame.len() {
            assert!(View::parse(&frame[..end], FIELDS).is_err(), "cut at {end}");
            if end >= KV_OFFSET {
                assert!(View::parse(&cut(&frame, end), FIELDS).is_err(), "lengths of {end}");
            }
        }
        // With another byte the frame is malformed, or has as many keys as NUMKEY says.
        for at in KV_OFFSET..frame.len() {
            for value in 0..=255 {
                let mut other = frame.clone();
                other[at] = value;
                set_udp_checksum(&mut other);
                if let Ok(view) = View::parse(&other, FIELDS) {
                    let Header { numkey, reply, .. } = *view.header();
                    let seen = if reply { view.entries().count() } else { view.asked().count() };
                    let refused = view.answer() != Answer::Ok;
                    assert!(refused && seen == 0 || seen == usize::from(numkey));
                }
            }
        }
        let padded = [&frame[..], &[0; 20]].concat();
        assert!(View::parse(&padded, FIELDS).is_ok(), "Ethernet padding is ignored");
    }
    let with = |at: usize, value: u8| {
        let mut frame = figure_5();
        frame[KV_OFFSET + at] = value;
        set_udp_checksum(&mut frame);
        View::parse(&frame, FIELDS).unwrap_err()
    };
    assert_eq!(with(0, 9), Malformed::Op(9));
    assert_eq!(with(6, 0), Malformed::Range);
    assert_eq!(with(6, 5), Malformed::Range);
    assert_eq!(with(9, 1), Malformed::Range);
    assert_eq!(with(15, 3), Malformed::Keys, "a key of 3 bytes");
    assert_eq!(with(15, 65), Malformed::Keys, "a key of 65 bytes");
    let mut other = figure_5();
    other[ETHERNET_LEN + 22..ETHERNET_LEN + 24].copy_from_slice(&5008u16.to_be_bytes());
    let wrong = View::parse(&other, FIELDS).unwrap_err();
    assert_eq!(wrong, Malformed::Outer(crate::Malformed::Port(5008)));
    assert!(wrong.to_string().contains("5009"));
}

#[test]
fn a_request_has_up_to_128_keys() {
    let header = Header::request(Op::Mget, 1, 128, &group([0; 16]));
    let mut frame = Vec::new();
    write_keys(&mut frame, &addresses(), &header, [&b"abcd"[..]; 128], None);
    assert_eq!(View::parse(&frame, FIELDS).unwrap().asked().count(), 128);
    frame.clear();
    write_keys(&mut frame, &addresses(), &header, [&b"abcd"[..]; 129], None);
    assert_eq!(View::parse(&frame, FIELDS).unwrap_err(), Malformed::Keys);
}

#[test]
fn a_request_has_as_many_keys_as_fit_into_a_packet() {
    assert_eq!(keys_that_fit([4; 200], 32), 128);
    // 1500 bytes without the headers IPv4 (20), UDP (8), netmc (11 + 32 + 1); 65 for each key.
    assert_eq!(keys_that_fit([64; 128], 32), 21);
    assert_eq!(keys_that_fit([64; 7], 32), 7);
    let addresses = Addresses { fields: 32.into(), ..addresses() };
    for length in [4, 10, 16, 33, 64] {
        let keys = keys_that_fit(vec![length; 128], 32);
        let header = Header::request(Op::Mget, 1, keys as u8, &group([]));
        let mut frame = Vec::new();
        write_keys(&mut frame, &addresses, &header, vec![&[7; 64][..length]; keys], None);
        assert!(frame.len() <= ETHERNET_LEN + MTU);
        assert!(keys == 128 || frame.len() + 1 + length > ETHERNET_LEN + MTU);
        assert_eq!(View::parse(&frame, 32).unwrap().asked().count(), keys);
    }
}

#[test]
fn a_reply_ends_where_a_packet_is_full() {
    let addresses = Addresses { fields: 32.into(), ..addresses() };
    let header = Header::request(Op::Mget, 1, 16, &group([0; 16])).answer(0, 0);
    let mut frame = vec![0; 5];
    let mut reply = ReplyWriter::begin(&mut frame, &addresses, &header, Answer::Ok);
    let (key, value) = ([7; 64], [8; 256]);
    let length = entry_len(key.len(), Some(value.len()));
    while reply.has_room(&frame, length) {
        reply.entry(&mut frame, &key, true, Some(&value));
    }
    reply.finish(&mut frame);
    assert!(frame.len() - 5 <= ETHERNET_LEN + MTU);
    assert!(frame.len() - 5 + length > ETHERNET_LEN + MTU, "another entry would not fit");
    assert_eq!(View::parse(&frame[5..], 32).unwrap().entries().count(), 4);
}

#[test]
fn a_wider_keyidx_comes_back_and_moves_the_fields_after_it() {
    let fields = Fields { split_keys: 32, ..Fields::of_paper(3) };
    let addresses = Addresses { fields, ..addresses() };
    let groups = group_first(32, (0..32).map(|key| key / 11));
    let header = Header { rack: 7, ..Header::request(Op::Mget, 1, 32, &groups) };
    let mut frame = Vec::new();
    write_keys(&mut frame, &addresses, &header, [&b"abcd"[..]; 32], None);
    let bits = 1u32 << 21 | 1 << 10 | 1;
    assert_eq!(frame[KV_OFFSET + 7..KV_OFFSET + 11], bits.to_be_bytes());
    let view = View::parse(&frame, fields).unwrap();
    assert_eq!((*view.header(), view.asked().count()), (header, 32));
}
