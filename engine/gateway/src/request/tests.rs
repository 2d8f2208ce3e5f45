use super::*;

/// Pseudo-random numbers (SplitMix64).
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.below(256) as u8).collect()
    }
}

/// A request in the protocol.
pub(crate) fn request<W: AsRef<[u8]>>(words: &[W]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        let word = word.as_ref();
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

fn pipeline() -> (Vec<u8>, Vec<Vec<Vec<u8>>>) {
    let many: Vec<String> = (0..300).map(|number| format!("key{number}")).collect();
    let large: Vec<u8> = (0..10_240u32).map(|at| at as u8).collect();
    let data = [
        request(&["SET", "a", "line\r\n*1\r\n$4\r\nPING\r\n"]),
        b"PING\r\n*0\r\n*-1\r\n\r\n".to_vec(),
        request(&["GET", ""]),
        b"set \"a \\x41\\n\" 'b \"\\' c'\n".to_vec(),
        request(&many),
        request(&[b"ECHO", &large[..]]),
    ];
    let words = |words: &[&[u8]]| words.iter().map(|word| word.to_vec()).collect();
    let expected = vec![
        words(&[b"SET", b"a", b"line\r\n*1\r\n$4\r\nPING\r\n"]),
        words(&[b"PING"]),
        words(&[b"GET", b""]),
        words(&[b"set", b"a A\n", b"b \"' c"]),
        many.iter().map(|word| word.clone().into_bytes()).collect(),
        words(&[b"ECHO", &large]),
    ];
    (data.concat(), expected)
}

/// The complete requests, and the error after them.
fn parse(requests: &mut Requests) -> (Vec<Vec<Vec<u8>>>, Option<String>) {
    let mut found = Vec::new();
    loop {
        match requests.next_request() {
            Ok(Some(words)) => found.push(words.iter().map(<[u8]>::to_vec).collect()),
            Ok(None) => return (found, None),
            Err(ProtocolError::Malformed(text)) => return (found, Some(text)),
            Err(ProtocolError::Foreign) => return (found, Some("foreign".to_owned())),
        }
    }
}

#[test]
fn requests_do_not_depend_on_segment_boundaries() {
    let (data, expected) = pipeline();
    for size in [1, 2, 3, 7, 64, 1000, 1_000_000] {
        let mut requests = Requests::default();
        let mut found = Vec::new();
        for segment in data.chunks(size) {
            requests.feed(segment);
            found.extend(parse(&mut requests).0);
        }
        assert_eq!(found, expected, "{size}");
    }
}

#[test]
fn a_protocol_error_is_returned_after_the_earlier_requests() {
    let cases: [(&[u8], &str); 15] = [
        (b"*x\r\n", "invalid multibulk length"),
        (b"*01\r\n", "invalid multibulk length"),
        (b"*-0\r\n", "invalid multibulk length"),
        (b"*+1\r\n", "invalid multibulk length"),
        (b"*99999999999\r\n", "invalid multibulk length"),
        (b"*10000000000000000000000000000000000", "invalid multibulk length"),
        (b"*1\r\n:1\r\n", "expected '$', got ':'"),
        (b"*1\r\n*1\r\n", "expected '$', got '*'"),
        (b"*1\r\n\0\r\n", "expected '$', got '\\x00'"),
        (b"*1\r\n$-1\r\n", "invalid bulk length"),
        (b"*1\r\n$1048577\r\n", "invalid bulk length"),
        (b"*1\r\n$1\r\nab\r\n", "a bulk string is longer than announced"),
        (b"PING 'a\r\n", "unbalanced quotes in request"),
        (b"PING \"a\"b\r\n", "unbalanced quotes in request"),
        (&[b'P'; 70_000], "too big inline request"),
    ];
    for (data, message) in cases {
        let mut requests = Requests::default();
        requests.feed(&request(&["PING"]));
        requests.feed(b"ECHO a\r\n");
        requests.feed(&request(&["GET", "b"]));
        requests.feed(data);
        let (found, error) = parse(&mut requests);
        assert_eq!((found.len(), error.as_deref()), (3, Some(message)));
        requests.feed(&request(&["PING"]));
        assert_eq!(parse(&mut requests), (vec![], Some(message.to_owned())));
    }
}

#[test]
fn the_size_of_a_request_is_limited() {
    let mut requests = Requests::default();
    requests.feed(b"*100\r\n");
    let word = [format!("${MAX_WORD}\r\n").into_bytes(), vec![b'v'; MAX_WORD], b"\r\n".to_vec()];
    let word = word.concat();
    for _ in 1..MAX_REQUEST / MAX_WORD {
        requests.feed(&word);
        assert_eq!(parse(&mut requests), (vec![], None));
    }
    requests.feed(&word);
    let error = parse(&mut requests).1.unwrap();
    assert_eq!(error, format!("a request may have {MAX_REQUEST} bytes"));
}

#[test]
fn announced_lengths_take_no_memory() {
    let mut requests = Requests::default();
    requests.feed(b"*200000\r\n$1000000\r\nab");
    assert_eq!(parse(&mut requests), (vec![], None));
    assert!(requests.buffer.capacity() + 8 * requests.words.capacity() < 1000);
}

#[test]
fn random_bytes_are_requests_or_an_error_however_they_are_split() {
    let good = pipeline().0[..600].to_vec();
    for seed in 0..3000 {
        let mut random = Random(seed);
        let five = request(&["SET", "a", "b"]).repeat(5);
        let mut data = [&good[..], &five, &[]][random.below(3)].to_vec();
        for _ in 0..1 + random.below(11) {
            let at = random.below(data.len() + 1);
            let length = random.below(6);
            let noise = random.bytes(length);
            let pieces: [&[u8]; 7] = [&noise, b"\r\n", b"*", b"$", b"-1", b"\"", b"'"];
            let end = (at + random.below(4)).min(data.len());
            data.splice(at..end, pieces[random.below(7)].iter().copied());
        }
        let mut whole = Requests::default();
        whole.feed(&data);
        let expected = parse(&mut whole);
        assert!(expected.0.iter().all(|words| !words.is_empty()));
        let (mut parts, mut found, mut error) = (Requests::default(), vec![], None);
        let mut rest = &data[..];
        while !rest.is_empty() && error.is_none() {
            let (segment, after) = rest.split_at(rest.len().min(1 + random.below(8)));
            parts.feed(segment);
            let (more, failed) = parse(&mut parts);
            found.extend(more);
            (rest, error) = (after, failed);
        }
        assert_eq!((found, error), expected, "seed {seed}");
    }
}
