//! Patterns of names, as CONFIG GET takes them.

/// Whether a name matches a pattern with `*`, `?`, `[a-z]`, `[^a]` and `\`.
pub fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern, name) {
        ([], _) => name.is_empty(),
        ([b'*', rest @ ..], _) => (0..=name.len()).any(|skipped| matches(rest, &name[skipped..])),
        (_, []) => false,
        ([b'?', rest @ ..], [_, after @ ..]) => matches(rest, after),
        ([b'[', rest @ ..], [byte, after @ ..]) => {
            let (rest, negated) = match rest {
                [b'^', rest @ ..] => (rest, true),
                _ => (rest, false),
            };
            let (found, rest) = in_set(rest, *byte);
            found != negated && matches(rest, after)
        }
        ([b'\\', literal, rest @ ..] | [literal, rest @ ..], [byte, after @ ..]) => {
            literal == byte && matches(rest, after)
        }
    }
}

/// Whether a set such as `a-z]` has a byte, and what follows the set.
fn in_set(mut set: &[u8], byte: u8) -> (bool, &[u8]) {
    let mut found = false;
    loop {
        match set {
            [] => return (found, set),
            [b']', rest @ ..] => return (found, rest),
            [first, b'-', last, rest @ ..] if *last != b']' => {
                found |= (*first.min(last)..=*first.max(last)).contains(&byte);
                set = rest;
            }
            [b'\\', literal, rest @ ..] | [literal, rest @ ..] => {
                found |= *literal == byte;
                set = rest;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, matching, other) in [
            ("save", "save", "saved"),
            ("max*", "maxclients", "port"),
            ("*-max-*-len", "proto-max-bulk-len", "proto-max-len"),
            ("p?rt", "port", "prt"),
            ("[a-p]ort", "port", "sort"),
            ("[^p]ort", "sort", "port"),
            ("[\\]]", "]", "["),
            ("\\*", "*", "a"),
        ] {
            assert!(matches(pattern.as_bytes(), matching.as_bytes()), "{pattern}");
            assert!(!matches(pattern.as_bytes(), other.as_bytes()), "{pattern}");
        }
        assert!(matches(b"*", b""));
        assert!(!matches(b"sa[", b"sa["));
    }
}
