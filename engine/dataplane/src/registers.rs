//! Register arrays.

use netkv_ir::Value;

/// An array of values of one width, in one piece of memory.
#[derive(Debug, Clone)]
pub struct Register {
    width: u32,
    size: u32,
    stride: usize,
    words: Vec<u64>,
}

impl Register {
    pub(crate) fn new(width: u32, size: u32) -> Self {
        let stride = width.div_ceil(64) as usize;
        Self { width, size, stride, words: vec![0; stride * size as usize] }
    }

    /// Number of elements.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Width of an element in bits.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The words of an element; none out of range.
    #[inline]
    pub fn get(&self, index: u64) -> Option<&[u64]> {
        if index >= u64::from(self.size) {
            return None;
        }
        let at = index as usize * self.stride;
        self.words.get(at..at + self.stride)
    }

    /// The words of an element to write to; none out of range.
    #[inline]
    pub fn get_mut(&mut self, index: u64) -> Option<&mut [u64]> {
        if index >= u64::from(self.size) {
            return None;
        }
        let at = index as usize * self.stride;
        self.words.get_mut(at..at + self.stride)
    }

    /// An element as a value; none out of range.
    pub fn value(&self, index: u32) -> Option<Value> {
        let words = self.get(u64::from(index))?;
        Some(Value { width: self.width, words: words.to_vec() })
    }
}
