//! The load of a switch, which its answers carry to the switch of the clients.

/// Bytes of the load.
pub const LOAD_LEN: usize = 6;

/// The load of a switch: the reads that it has answered in its statistics epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Load {
    /// The layer of the switch: 0 for the last one, 1 for the upper one.
    pub layer: u8,
    /// Its number in that layer, from 0.
    pub switch: u8,
    /// The reads.
    pub reads: u32,
}

impl Load {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let reads = u32::from_be_bytes([bytes[2], bytes[3], bytes[4], bytes[5]]);
        Self { layer: bytes[0], switch: bytes[1], reads }
    }

    pub(crate) fn write(self, bytes: &mut [u8]) {
        bytes[0] = self.layer;
        bytes[1] = self.switch;
        bytes[2..6].copy_from_slice(&self.reads.to_be_bytes());
    }
}
