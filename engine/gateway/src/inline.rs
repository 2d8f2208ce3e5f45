//! Inline commands: a line of words, as typed into telnet. Words may be quoted.

/// Calls `take` with each word of a line, without quotes and escapes; false if quotes are
/// unbalanced.
pub fn split(line: &[u8], mut take: impl FnMut(&[u8])) -> bool {
    let mut rest = line;
    let mut word = Vec::new();
    loop {
        let blanks = rest.iter().take_while(|byte| is_blank(**byte)).count();
        rest = &rest[blanks..];
        if rest.is_empty() {
            return true;
        }
        word.clear();
        while let Some((&byte, after)) = rest.split_first() {
            let end = match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b'\0' => break,
                b'"' => double_quoted(after, &mut word),
                b'\'' => single_quoted(after, &mut word),
                _ => {
                    word.push(byte);
                    rest = after;
                    continue;
                }
            };
            let Some(end) = end.filter(|end| end.first().is_none_or(|byte| is_blank(*byte))) else {
                return false;
            };
            rest = end;
            if rest.first().is_some_and(|byte| matches!(byte, b'\x0b' | b'\x0c')) {
                break;
            }
        }
        take(&word);
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r' | b'\0')
}

/// Appends text up to the closing quote to `word`; returns what follows the quote.
fn double_quoted<'a>(mut rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        match rest {
            [] | [b'\\'] => return None,
            [b'"', after @ ..] => return Some(after),
            [b'\\', b'x', high, low, after @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                word.push(16 * digit(*high) + digit(*low));
                rest = after;
            }
            [b'\\', escaped, after @ ..] => {
                word.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'a' => 7,
                    other => *other,
                });
                rest = after;
            }
            [byte, after @ ..] => {
                word.push(*byte);
                rest = after;
            }
        }
    }
}

fn digit(hexadecimal: u8) -> u8 {
    char::from(hexadecimal).to_digit(16).unwrap_or_default() as u8
}

/// As [`double_quoted`]; the only escape is that of the quote.
fn single_quoted<'a>(mut rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        match rest {
            [] => return None,
            [b'\'', after @ ..] => return Some(after),
            [b'\\', b'\'', after @ ..] => {
                word.push(b'\'');
                rest = after;
            }
            [byte, after @ ..] => {
                word.push(*byte);
                rest = after;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Option<Vec<String>> {
        let mut words = Vec::new();
        split(line.as_bytes(), |word| words.push(String::from_utf8_lossy(word).into_owned()))
            .then_some(words)
    }

    #[test]
    fn words_are_separated_by_blanks() {
        assert_eq!(words(""), Some(vec![]));
        assert_eq!(words(" \t\r"), Some(vec![]));
        assert_eq!(words("  GET\ta\r").unwrap(), ["GET", "a"]);
    }

    #[test]
    fn quotes_keep_blanks_and_have_escapes() {
        assert_eq!(words(r#"a"b c" '"' ''"#).unwrap(), ["ab c", "\"", ""]);
        assert_eq!(words(r#""\x41\n\"\q\x4""#).unwrap(), ["A\n\"qx4"]);
        assert_eq!(words(r"'\'\n'").unwrap(), ["'\\n"]);
    }

    #[test]
    fn unbalanced_quotes_are_refused() {
        for line in ["'a", "\"a", "\"a\"b", "'a'b", "\"a\\", "a\"", "\"a\"'b'"] {
            assert_eq!(words(line), None, "{line}");
        }
    }
}
