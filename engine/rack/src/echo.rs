//! The echo node: the sockets and the loop of a switch node with a trivial program. Benchmarks
//! measure with it the cost of the I/O path, to which they compare switches.

use std::sync::{Arc, Mutex, MutexGuard};

use netkv_dataplane::{InFlight, Output};

use crate::lock::lock;
use crate::pipeline::{Pipeline, Pipelines};
use crate::switch::Node;

/// Returns every frame on its ingress port, truncated or padded to a fixed size.
pub struct Echo {
    reply: Vec<u8>,
}

/// The pipelines of an echo node.
pub struct Echoes {
    pipelines: Vec<Aligned>,
    in_flight: Arc<InFlight>,
}

/// Aligned to two cache lines, which processors load together.
#[repr(align(128))]
struct Aligned(Mutex<Echo>);

/// CPU port of an echo node; no frame goes there.
pub const NO_CPU_PORT: u16 = u16::MAX;

/// A running echo.
pub type EchoNode = Node<Echoes>;

impl Echoes {
    /// Pipelines with replies of `size` bytes.
    pub fn new(size: usize, pipelines: usize) -> Self {
        let echo = || Aligned(Mutex::new(Echo { reply: vec![0; size] }));
        Self {
            pipelines: (0..pipelines).map(|_| echo()).collect(),
            in_flight: Arc::new(InFlight::new(pipelines)),
        }
    }
}

impl Pipelines for Echoes {
    type Pipeline = Echo;

    fn in_flight(&self) -> &Arc<InFlight> {
        &self.in_flight
    }

    fn lock(&self, pipeline: usize) -> MutexGuard<'_, Echo> {
        lock(&self.pipelines[pipeline].0)
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
}
