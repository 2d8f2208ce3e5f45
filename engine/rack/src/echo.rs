//! The echo node: sockets and loop of a switch node, and next to nothing between. What the I/O path
//! costs by itself, to measure switches against.

use netkv_dataplane::{DigestMessage, Output};

use crate::pipeline::Pipeline;
use crate::switch::Node;

/// Answers every frame on the port it came from with a frame of always the same size: the frame
/// itself, cut or filled up.
pub struct Echo {
    reply: Vec<u8>,
}

/// For an echo's node: a port that leads nowhere.
pub const NO_CPU_PORT: u16 = u16::MAX;

/// A running echo.
pub type EchoNode = Node<Echo>;

impl Echo {
    /// An echo with replies of `size` bytes.
    pub fn new(size: usize) -> Self {
        Self { reply: vec![0; size] }
    }
}

impl Pipeline for Echo {
    fn batch<'a>(
        &mut self,
        _: u64,
        port: u16,
        frames: impl Iterator<Item = &'a [u8]>,
        out: &mut Output,
    ) {
        for frame in frames {
            let kept = frame.len().min(self.reply.len());
            self.reply[..kept].copy_from_slice(&frame[..kept]);
            out.push(port, &self.reply);
        }
    }

    fn take_digests(&mut self) -> Vec<DigestMessage> {
        Vec::new()
    }
}
