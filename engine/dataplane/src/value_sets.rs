//! Lookup in parser value sets.

use netkv_ir::Match;

use crate::tables::in_range;

/// True if the concatenated keys of a select match this member of a value set.
pub(crate) fn member_holds(member: &[Match], key: &[u64]) -> bool {
    let mut from = 0;
    member.iter().all(|one| {
        let words = match one {
            Match::Exact(value) | Match::Lpm(value, _) | Match::Optional(Some(value)) => value,
            Match::Ternary(value, _) | Match::Range(value, _) => value,
            // The control-plane API stores it as a mask of 0 instead.
            Match::Optional(None) => return true,
        };
        let part = &key[from..from + words.words.len()];
        from += part.len();
        match one {
            Match::Ternary(value, mask) => {
                part.iter().zip(&value.words).zip(&mask.words).all(|((k, v), m)| k & m == v & m)
            }
            Match::Lpm(value, length) => {
                let mut mask = vec![0; part.len()];
                crate::wide::set_bits(&mut mask, value.width - length, value.width);
                part.iter().zip(&value.words).zip(&mask).all(|((k, v), m)| k & m == v & m)
            }
            Match::Range(low, high) => in_range(part, &low.words, &high.words),
            _ => part == words.words.as_slice(),
        }
    })
}
