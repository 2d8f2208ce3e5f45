//! Counter cells.

use std::iter::Sum;

/// Value of a counter cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[repr(C)] // compiled code writes it, too
pub struct CounterData {
    /// Number of packets.
    pub packets: u64,
    /// Bytes of these packets when they were received.
    pub bytes: u64,
}

impl CounterData {
    /// Counts one packet.
    #[inline]
    pub(crate) fn count(&mut self, bytes: u32) {
        self.packets = self.packets.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(u64::from(bytes));
    }
}

impl Sum for CounterData {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |sum, part| Self {
            packets: sum.packets.wrapping_add(part.packets),
            bytes: sum.bytes.wrapping_add(part.bytes),
        })
    }
}
