//! The echo node: the sockets and the loop of a switch node with a trivial pipeline. Benchmarks
//! measure with it the cost of the I/O path, to which they compare switches.

use netkv_dataplane::{DigestMessage, Output};

use crate::pipeline::Pipeline;
use crate::switch::Node;

/// Returns every frame on its ingress port, truncated or padded to a fixed size.
pub struct Echo {
    reply: Vec<u8>,
}

/// CPU port of an echo node; no frame goes there.
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
