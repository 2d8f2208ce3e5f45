//! The wire format of protobuf, as far as plain updates need it: varints and byte strings.

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
}

/// A message is malformed, or has a field of another wire type.
#[derive(Debug, PartialEq, Eq)]
pub struct Unreadable;

/// The fields of a message in order, each with its number.
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// The fields of a serialized message.
    pub fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// The bytes that are not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    fn varint(&mut self) -> Result<u64, Unreadable> {
        let mut value = 0;
        for (at, byte) in self.rest.iter().take(10).enumerate() {
            let bits = u64::from(byte & 0x7f);
            if at == 9 && bits > 1 {
                break;
            }
            value |= bits << (7 * at);
            if byte & 0x80 == 0 {
                self.rest = &self.rest[at + 1..];
                return Ok(value);
            }
        }
        Err(Unreadable)
    }

    fn field(&mut self) -> Result<(u64, Field<'a>), Unreadable> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Field::Varint(self.varint()?),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| Unreadable)?;
                let (bytes, rest) = self.rest.split_at_checked(length).ok_or(Unreadable)?;
                self.rest = rest;
                Field::Bytes(bytes)
            }
            _ => return Err(Unreadable),
        };
        Ok((tag >> 3, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Field<'a>), Unreadable>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

fn put_varint(message: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

/// Appends a number; one that is 0 is left out, as in protobuf.
pub fn put_number(message: &mut Vec<u8>, field: u64, value: u64) {
    if value != 0 {
        put_varint(message, field << 3);
        put_varint(message, value);
    }
}

/// Appends a byte string, or a message that is serialized already.
pub fn put_bytes(message: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_varint(message, field << 3 | 2);
    put_varint(message, bytes.len() as u64);
    message.extend_from_slice(bytes);
}
