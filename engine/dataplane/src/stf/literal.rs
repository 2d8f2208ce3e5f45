//! Parses values and matches.

use netkv_ir::{Match, MatchKind, Value};

/// Parses a number of any width.
pub(super) fn parse_value(text: &str, width: u32) -> Result<Value, String> {
    let (radix, digits) = split_radix(text);
    let mut words = vec![0u64; width.div_ceil(64) as usize + 1];
    if digits.is_empty() {
        return Err(format!("'{text}' is not a number."));
    }
    for digit in digits.chars().filter(|c| *c != '_') {
        let digit = digit.to_digit(radix).ok_or_else(|| format!("'{text}' is not a number."))?;
        let mut carry = u128::from(digit);
        for word in &mut words {
            carry += u128::from(*word) * u128::from(radix);
            *word = carry as u64;
            carry >>= 64;
        }
        let fits = Value::from_words(width, words.clone()).words[..] == words[..words.len() - 1];
        if carry > 0 || !fits || words.last() != Some(&0) {
            return Err(format!("{text} does not fit into {width} bits."));
        }
    }
    Ok(Value::from_words(width, words))
}

fn split_radix(text: &str) -> (u32, &str) {
    match text.split_at_checked(2) {
        Some(("0x" | "0X", digits)) => (16, digits),
        Some(("0b" | "0B", digits)) => (2, digits),
        _ => (10, text),
    }
}

/// Parses a match. `None`: it accepts every value.
pub(super) fn parse_match(
    text: &str,
    kind: MatchKind,
    width: u32,
) -> Result<Option<Match>, String> {
    let wanted = |form: &str| format!("'{text}' is no match on {form} key.");
    match kind {
        MatchKind::Exact => Ok(Some(Match::Exact(parse_value(text, width)?))),
        MatchKind::Optional => Ok(Some(Match::Optional(Some(parse_value(text, width)?)))),
        MatchKind::Selector => Err(wanted("a selector")),
        MatchKind::Range => {
            let (low, high) = text.split_once("->").unwrap_or((text, text));
            let (low, high) = (parse_value(low, width)?, parse_value(high, width)?);
            let all = Value::from_words(width, vec![u64::MAX; low.words.len()]);
            let everything = low.words.iter().all(|word| *word == 0) && high == all;
            Ok((!everything).then_some(Match::Range(low, high)))
        }
        MatchKind::Ternary => {
            let (value, mask) = parse_masked(text, width)?;
            Ok(mask.words.iter().any(|word| *word != 0).then_some(Match::Ternary(value, mask)))
        }
        MatchKind::Lpm => {
            let (value, length) = parse_prefix(text, width)?;
            Ok((length > 0).then_some(Match::Lpm(value, length)))
        }
    }
}

/// Parses `value`, `value/mask`, `value&&&mask` or `0x1*` to a value under its mask, and the mask.
fn parse_masked(text: &str, width: u32) -> Result<(Value, Value), String> {
    let split = text.split_once("&&&").or_else(|| text.split_once('/'));
    let (found, mask) = if let Some((found, mask)) = split {
        (parse_value(found, width)?, parse_value(mask, width)?)
    } else if text.contains('*') {
        let (radix, digits) = split_radix(text);
        let (prefix, full) = match radix {
            16 => ("0x", "f"),
            2 => ("0b", "1"),
            _ => return Err(format!("'{text}': wildcards need a number with 0x or 0b.")),
        };
        let ones: String =
            digits.chars().map(|c| if c == '*' { "0" } else { full }).collect::<String>();
        let mask = parse_value(&format!("{prefix}{ones}"), width)?;
        (parse_value(&text.replace('*', "0"), width)?, mask)
    } else {
        (
            parse_value(text, width)?,
            Value::from_words(width, vec![u64::MAX; width.div_ceil(64) as usize]),
        )
    };
    let words = found.words.iter().zip(&mask.words).map(|(value, mask)| value & mask).collect();
    Ok((Value { width, words }, mask))
}

/// Parses `value/length`, `value`, or a number whose last digits are wildcards.
fn parse_prefix(text: &str, width: u32) -> Result<(Value, u32), String> {
    let (found, length) = match text.split_once('/') {
        Some((found, length)) => {
            let length = length.parse().map_err(|_| format!("'{length}' is no prefix length."))?;
            (parse_value(found, width)?, length)
        }
        None => {
            let (found, mask) = parse_masked(text, width)?;
            let length = mask.words.iter().map(|word| word.count_ones()).sum();
            (found, length)
        }
    };
    if length > width {
        return Err(format!("A prefix of {length} is too long for {width} bits."));
    }
    let mut mask = vec![0; found.words.len()];
    crate::wide::set_bits(&mut mask, width - length, width);
    let words = found.words.iter().zip(&mask).map(|(value, mask)| value & mask).collect();
    Ok((Value { width, words }, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_notation_of_a_match_is_parsed() {
        let v = |value| Value::new(16, value);
        let of = |text, kind| parse_match(text, kind, 16);
        assert_eq!(of("0x0102", MatchKind::Exact), Ok(Some(Match::Exact(v(0x102)))));
        assert_eq!(of("0b101", MatchKind::Optional), Ok(Some(Match::Optional(Some(v(5))))));
        assert_eq!(of("513/8", MatchKind::Lpm), Ok(Some(Match::Lpm(v(0x200), 8))));
        assert_eq!(of("0x12**", MatchKind::Lpm), Ok(Some(Match::Lpm(v(0x1200), 8))));
        let ternary = Ok(Some(Match::Ternary(v(0x1000), v(0xf000))));
        for text in ["0x1234/0xf000", "0x1000&&&0xf000", "0x1***"] {
            assert_eq!(of(text, MatchKind::Ternary), ternary, "{text}");
        }
        assert_eq!(of("0/0", MatchKind::Ternary), Ok(None));
        assert_eq!(of("1->9", MatchKind::Range), Ok(Some(Match::Range(v(1), v(9)))));
        assert_eq!(of("0->65535", MatchKind::Range), Ok(None));
        assert_eq!(of("65536", MatchKind::Exact), Err("65536 does not fit into 16 bits.".into()));
    }

    #[test]
    fn wide_decimal_numbers_are_exact() {
        let text = "340282366920938463463374607431768211455";
        assert_eq!(parse_value(text, 128), Ok(Value::new(128, u128::MAX)));
        assert!(parse_value("340282366920938463463374607431768211456", 128).is_err());
    }
}
