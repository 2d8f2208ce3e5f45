//! Plain updates: their form on the wire, and as requests to a switch.

use netkv_dataplane::{EntryAction, TableEntry};
use netkv_ir::{Match, Program, Value};

use super::wire::{Field, Fields, Unreadable};
use crate::values::{fits, keys_of_table};

/// The type of an update, with its number on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Insert = 1,
    Modify = 2,
    Delete = 3,
}

/// Id and value of a match field or of a parameter.
type Values<'a> = Vec<(u64, &'a [u8])>;

/// An update of a table entry, whose values are where the message has them.
#[derive(Debug, PartialEq, Eq)]
pub struct PlainUpdate<'a> {
    pub kind: Kind,
    pub table_id: u32,
    /// Exact matches.
    matches: Values<'a>,
    /// Id and parameters.
    action: Option<(u32, Values<'a>)>,
    metadata: &'a [u8],
    controller_metadata: u64,
}

/// Sets what a message may hold once.
fn once<T>(place: &mut Option<T>, value: T) -> Result<(), Unreadable> {
    if place.replace(value).is_some() { Err(Unreadable) } else { Ok(()) }
}

fn id(value: u64) -> Result<u32, Unreadable> {
    u32::try_from(value).map_err(|_| Unreadable)
}

impl<'a> PlainUpdate<'a> {
    /// Reads a serialized `p4.v1.Update`; an error means that it is not plain or not well-formed.
    pub fn read(message: &'a [u8]) -> Result<Self, Unreadable> {
        let (mut kind, mut entity) = (None, None);
        for field in Fields::of(message) {
            match field? {
                (1, Field::Varint(1)) => once(&mut kind, Kind::Insert)?,
                (1, Field::Varint(2)) => once(&mut kind, Kind::Modify)?,
                (1, Field::Varint(3)) => once(&mut kind, Kind::Delete)?,
                (2, Field::Bytes(bytes)) => once(&mut entity, bytes)?,
                _ => return Err(Unreadable),
            }
        }
        let entry = only(2, entity.ok_or(Unreadable)?)?;
        let mut update = Self {
            kind: kind.ok_or(Unreadable)?,
            table_id: 0,
            matches: Vec::with_capacity(1),
            action: None,
            metadata: &[],
            controller_metadata: 0,
        };
        for field in Fields::of(entry) {
            match field? {
                (1, Field::Varint(table)) => update.table_id = id(table)?,
                (2, Field::Bytes(bytes)) => update.matches.push(exact(bytes)?),
                (3, Field::Bytes(bytes)) => once(&mut update.action, call(only(1, bytes)?)?)?,
                // Neither a priority nor a timeout, and no default entry.
                (4 | 8 | 9, Field::Varint(0)) => {}
                (5, Field::Varint(metadata)) => update.controller_metadata = metadata,
                (11, Field::Bytes(metadata)) => update.metadata = metadata,
                _ => return Err(Unreadable),
            }
        }
        Ok(update)
    }

    /// The id of its action, if it has one.
    pub fn action_id(&self) -> Option<u32> {
        self.action.as_ref().map(|(action, _)| *action)
    }

    /// The match fields with the widths of the program; `None` if a value does not fit.
    pub fn matches(&self, program: &Program) -> Option<Vec<(u32, Match)>> {
        let keys = keys_of_table(program, self.table_id);
        let one = |(field, value): &(u64, &[u8])| {
            let key = keys.get((*field as usize).checked_sub(1)?)?;
            Some((*field as u32, Match::Exact(value_of(key.width, value)?)))
        };
        self.matches.iter().map(one).collect()
    }

    /// The entry with the widths of the program; `None` if it has no action, if a value does not
    /// fit, or if parameters are missing or not in order.
    pub fn entry(&self, program: &Program) -> Option<TableEntry> {
        let (action_id, given) = self.action.as_ref()?;
        let action = program.actions.iter().find(|action| action.identity.id == *action_id)?;
        if given.len() != action.params.len() {
            return None;
        }
        let values = (1..).zip(given).zip(&action.params).map(|((at, (id, value)), param)| {
            if *id == at { value_of(param.width, value) } else { None }
        });
        Some(TableEntry {
            table_id: self.table_id,
            matches: self.matches(program)?,
            action: EntryAction::Direct {
                action_id: *action_id,
                params: values.collect::<Option<_>>()?,
            },
            priority: 0,
            metadata: self.metadata.to_vec(),
            controller_metadata: self.controller_metadata,
            idle_timeout_ns: 0,
        })
    }
}

/// The one field of a message that has no other.
fn only(number: u64, message: &[u8]) -> Result<&[u8], Unreadable> {
    let mut fields = Fields::of(message);
    match (fields.next(), fields.rest()) {
        (Some(Ok((found, Field::Bytes(bytes)))), []) if found == number => Ok(bytes),
        _ => Err(Unreadable),
    }
}

/// A byte string that is the value of an exact match or of a parameter.
fn value_of(width: u32, bytes: &[u8]) -> Option<Value> {
    if bytes.is_empty() { None } else { fits(width, bytes).ok() }
}

/// Field and value of a serialized `FieldMatch` that is exact.
fn exact(message: &[u8]) -> Result<(u64, &[u8]), Unreadable> {
    let (mut field_id, mut value) = (0, None);
    for field in Fields::of(message) {
        match field? {
            (1, Field::Varint(number)) => field_id = id(number)?.into(),
            (2, Field::Bytes(bytes)) => once(&mut value, only(1, bytes)?)?,
            _ => return Err(Unreadable),
        }
    }
    Ok((field_id, value.ok_or(Unreadable)?))
}

/// Id and parameters of a serialized `Action`.
fn call(message: &[u8]) -> Result<(u32, Values<'_>), Unreadable> {
    let (mut action, mut params) = (0, Vec::with_capacity(4));
    for field in Fields::of(message) {
        match field? {
            (1, Field::Varint(number)) => action = id(number)?,
            (4, Field::Bytes(bytes)) => params.push(param(bytes)?),
            _ => return Err(Unreadable),
        }
    }
    Ok((action, params))
}

fn param(message: &[u8]) -> Result<(u64, &[u8]), Unreadable> {
    let (mut number, mut value) = (0, None);
    for field in Fields::of(message) {
        match field? {
            (2, Field::Varint(param)) => number = id(param)?.into(),
            (3, Field::Bytes(bytes)) => once(&mut value, bytes)?,
            _ => return Err(Unreadable),
        }
    }
    Ok((number, value.ok_or(Unreadable)?))
}
