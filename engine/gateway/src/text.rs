//! Keys and numbers in texts for users.

use std::fmt::Write as _;

/// Bytes of a word that a text shows.
const MAX_SHOWN: usize = 64;

/// A key as `netkv.client` shows it: `b'user:1'`.
pub fn key(bytes: &[u8]) -> String {
    format!("b{}", quoted(bytes))
}

/// A word of a user, escaped and shortened: `'user:1'`.
pub fn word(bytes: &[u8]) -> String {
    match bytes.get(..MAX_SHOWN) {
        Some(head) if head.len() < bytes.len() => format!("{}…", quoted(head)),
        _ => quoted(bytes),
    }
}

/// In quotes and escaped as a literal of Python.
fn quoted(bytes: &[u8]) -> String {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    let mut text = String::with_capacity(bytes.len() + 2);
    text.push(quote);
    for &byte in bytes {
        match byte {
            b'\t' => text.push_str("\\t"),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\\' => text.push_str("\\\\"),
            b' '..=b'~' => {
                if char::from(byte) == quote {
                    text.push('\\');
                }
                text.push(char::from(byte));
            }
            _ => {
                let _ = write!(text, "\\x{byte:02x}");
            }
        }
    }
    text.push(quote);
    text
}

/// A number with commas between thousands.
pub fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_shown_as_literals_of_python() {
        assert_eq!(key(b"user:1"), "b'user:1'");
        assert_eq!(key(b"it's"), "b\"it's\"");
        assert_eq!(key(b"'\""), "b'\\'\"'");
        assert_eq!(key(b"\0\t\r\n\\\x7f\xff"), "b'\\x00\\t\\r\\n\\\\\\x7f\\xff'");
    }

    #[test]
    fn long_words_are_shortened() {
        assert_eq!(word(&[b'a'; 64]), format!("'{}'", "a".repeat(64)));
        assert_eq!(word(&[b'a'; 65]), format!("'{}'…", "a".repeat(64)));
    }

    #[test]
    fn thousands_have_commas() {
        let shown = [0, 999, 1000, 1_234_567].map(thousands);
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
    }
}
