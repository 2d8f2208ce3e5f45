//! Converts between the match fields of a request and the matches of an entry, one per key.

use netkv_ir::{Match, MatchKind, TableKey, Value};

use crate::error::ControlError;

/// Checks match fields against the keys, and returns one match per key. Omitted fields become
/// matches that accept every value.
pub(crate) fn complete_matches(
    owner: &str,
    keys: &[TableKey],
    fields: &[(u32, Match)],
) -> Result<Vec<Match>, ControlError> {
    for (position, (id, _)) in fields.iter().enumerate() {
        if *id == 0 || *id as usize > keys.len() {
            return Err(ControlError::invalid(format!(
                "{owner} has no match field {id}; its fields are {}.",
                field_names(keys)
            )));
        }
        if fields[..position].iter().any(|(other, _)| other == id) {
            let name = &keys[*id as usize - 1].name;
            return Err(ControlError::invalid(format!(
                "{owner}: match field '{name}' is given twice."
            )));
        }
    }
    (1..)
        .zip(keys)
        .map(|(id, key)| match fields.iter().find(|(field, _)| *field == id) {
            Some((_, one)) => {
                check_match(key, one).map_err(|text| {
                    let name = &key.name;
                    ControlError::invalid(format!("{owner}: match field '{name}' {text}."))
                })?;
                Ok(one.clone())
            }
            None => match_any(key).ok_or_else(|| {
                ControlError::invalid(format!(
                    "{owner}: match field '{}' is exact and must be given.",
                    key.name
                ))
            }),
        })
        .collect()
}

/// The match fields of an entry with their ids, without those that accept every value.
pub(crate) fn match_fields(keys: &[TableKey], matches: &[Match]) -> Vec<(u32, Match)> {
    (1..)
        .zip(keys.iter().zip(matches))
        .filter(|(_, (key, one))| match_any(key).as_ref() != Some(*one))
        .map(|(id, (_, one))| (id, one.clone()))
        .collect()
}

/// The match that accepts every value. `None`: an exact key has no such match.
pub(crate) fn match_any(key: &TableKey) -> Option<Match> {
    let zero = Value::new(key.width, 0);
    match key.kind {
        MatchKind::Lpm => Some(Match::Lpm(zero, 0)),
        MatchKind::Ternary => Some(Match::Ternary(zero.clone(), zero)),
        MatchKind::Range => Some(Match::Range(zero, all_ones(key.width))),
        MatchKind::Optional => Some(Match::Optional(None)),
        MatchKind::Exact | MatchKind::Selector => None,
    }
}

/// The largest value of a width.
pub(crate) fn all_ones(width: u32) -> Value {
    Value::from_words(width, vec![u64::MAX; width.div_ceil(64) as usize])
}

fn field_names(keys: &[TableKey]) -> String {
    let names: Vec<String> =
        (1..).zip(keys).map(|(id, key)| format!("{id} '{}'", key.name)).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn check_match(key: &TableKey, one: &Match) -> Result<(), String> {
    let kind = match (key.kind, one) {
        (MatchKind::Exact, Match::Exact(value)) => return check_width(key, value),
        (MatchKind::Lpm, Match::Lpm(value, length)) => return check_lpm(key, value, *length),
        (MatchKind::Ternary, Match::Ternary(value, mask)) => {
            return check_ternary(key, value, mask);
        }
        (MatchKind::Range, Match::Range(low, high)) => return check_range(key, low, high),
        (MatchKind::Optional, Match::Optional(value)) => {
            let value = value.as_ref().ok_or("matches everything; leave it out instead")?;
            return check_width(key, value);
        }
        (MatchKind::Exact, _) => "exact",
        (MatchKind::Lpm, _) => "lpm",
        (MatchKind::Ternary, _) => "ternary",
        (MatchKind::Range, _) => "range",
        (MatchKind::Optional, _) => "optional",
        (MatchKind::Selector, _) => "a selector key and no part of an entry",
    };
    Err(format!("is {kind}, but the entry gives another kind of match"))
}

fn check_width(key: &TableKey, value: &Value) -> Result<(), String> {
    if value.width == key.width && *value == Value::from_words(key.width, value.words.clone()) {
        return Ok(());
    }
    Err(format!("has {} bits, but the entry gives a value of {} bits", key.width, value.width))
}

/// True if `value` has bits outside of `mask`.
fn has_bits_outside(value: &Value, mask: &Value) -> bool {
    value.words.iter().zip(&mask.words).any(|(value, mask)| value & !mask != 0)
}

fn check_lpm(key: &TableKey, value: &Value, length: u32) -> Result<(), String> {
    check_width(key, value)?;
    if length > key.width {
        return Err(format!("has {} bits, so a prefix of {length} is too long", key.width));
    }
    if length == 0 {
        return Err("has prefix length 0 and matches everything; leave it out instead".into());
    }
    let mut mask = Value::new(key.width, 0);
    crate::wide::set_bits(&mut mask.words, key.width - length, key.width);
    if has_bits_outside(value, &mask) {
        return Err(format!("is {value}/{length}, but bits behind the prefix must be 0"));
    }
    Ok(())
}

fn check_ternary(key: &TableKey, value: &Value, mask: &Value) -> Result<(), String> {
    check_width(key, value)?;
    check_width(key, mask)?;
    if has_bits_outside(value, mask) {
        return Err(format!("is {value} &&& {mask}, but bits outside of the mask must be 0"));
    }
    if mask.words.iter().all(|word| *word == 0) {
        return Err("has mask 0 and matches everything; leave it out instead".into());
    }
    Ok(())
}

fn check_range(key: &TableKey, low: &Value, high: &Value) -> Result<(), String> {
    check_width(key, low)?;
    check_width(key, high)?;
    if crate::wide::compare(&low.words, &high.words).is_gt() {
        return Err(format!("is the range {low} .. {high}, but its low end is above its high end"));
    }
    if low.words.iter().all(|word| *word == 0) && *high == all_ones(key.width) {
        return Err("is the range of all values; leave it out instead".into());
    }
    Ok(())
}
