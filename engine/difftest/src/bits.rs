//! Bits of a packet under construction, most significant first, and of values; bytes as text.

use netkv_ir::Value;

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bit `at` of a value, from the least significant.
pub(crate) fn bit(words: &[u64], at: u32) -> bool {
    words.get(at as usize / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
}

/// A string of bits that grows.
#[derive(Debug, Clone, Default)]
pub(crate) struct BitString {
    pub(crate) bytes: Vec<u8>,
    len: usize,
}

impl BitString {
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), len: bytes.len() * 8 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn push(&mut self, one: bool) {
        if self.len.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if one {
            self.bytes[self.len / 8] |= 0x80 >> (self.len % 8);
        }
        self.len += 1;
    }

    /// Pads the last byte with zeros.
    pub(crate) fn pad(&mut self) {
        self.len = self.bytes.len() * 8;
    }

    /// Appends bytes at a byte boundary.
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.pad();
    }

    /// Appends a value.
    pub(crate) fn append(&mut self, value: &Value) {
        for at in (0..value.width).rev() {
            self.push(bit(&value.words, at));
        }
    }

    /// The value at an offset; bits after the end are 0.
    pub(crate) fn value(&self, offset: usize, width: u32) -> Value {
        read(&self.bytes, offset, width)
    }

    /// Overwrites existing bits.
    pub(crate) fn set(&mut self, offset: usize, value: &Value) {
        write(&mut self.bytes, offset, value);
    }
}

/// The value at a bit offset of a frame; bits after the end are 0.
pub(crate) fn read(bytes: &[u8], offset: usize, width: u32) -> Value {
    let mut words = vec![0u64; width.div_ceil(64) as usize];
    for at in 0..width as usize {
        let position = offset + at;
        let one = bytes.get(position / 8).is_some_and(|byte| byte << (position % 8) & 0x80 != 0);
        if one {
            let weight = width as usize - 1 - at;
            words[weight / 64] |= 1 << (weight % 64);
        }
    }
    Value { width, words }
}

/// Writes a value at a bit offset; bits after the end are ignored.
pub(crate) fn write(bytes: &mut [u8], offset: usize, value: &Value) {
    for at in 0..value.width {
        let position = offset + (value.width - 1 - at) as usize;
        if let Some(byte) = bytes.get_mut(position / 8) {
            let mask = 0x80 >> (position % 8);
            *byte = if bit(&value.words, at) { *byte | mask } else { *byte & !mask };
        }
    }
}
