//! A test case: a program, and a sequence of control-plane requests and packets.

use std::sync::Arc;

use netkv_dataplane::{Switch, SwitchOptions};
use netkv_ir::Program;

use crate::packets::{PacketGenerator, Recorded};
use crate::request::Request;
use crate::rng::Rng;
use crate::state::StateGenerator;
use crate::value_pool::ValuePool;

/// Maximum number of frames of one step.
const MAX_FRAMES: usize = 40;
/// Maximum number of packets that are tried to find ones with new coverage.
const MAX_TRIES: usize = 2_000;

/// One step, which both switches execute.
#[derive(Debug, Clone)]
pub enum Step {
    /// A request of the control plane.
    Control(Request),
    /// Frames arrive at one port.
    Frames {
        /// Time of arrival.
        now_ns: u64,
        /// The port.
        port: u16,
        /// The frames.
        frames: Vec<Vec<u8>>,
        /// As one batch, instead of one call for each frame.
        batched: bool,
    },
}

/// A program and the steps to execute.
#[derive(Debug, Clone)]
pub struct Case {
    /// The program.
    pub program: Arc<Program>,
    /// The seed of the case and of the switches.
    pub seed: u64,
    /// Number of pipelines of the switches.
    pub pipelines: usize,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

impl Case {
    /// The options of the switches.
    pub fn options(&self) -> SwitchOptions {
        SwitchOptions { seed: self.seed, pipelines: self.pipelines }
    }

    /// The case of a seed, with about `packets` packets.
    pub fn new(program: Arc<Program>, seed: u64, packets: usize, recorded: &[Recorded]) -> Self {
        let mut pool = ValuePool::new(&program);
        let mut rng = Rng::new(seed, "recorded");
        let mut generator = PacketGenerator::new(&program, recorded, &mut pool, &mut rng);
        let mut rng = Rng::new(seed, "state");
        let mut state = StateGenerator::new(&program);
        let mut steps: Vec<Step> =
            state.initial(&mut pool, &mut rng).into_iter().map(Step::Control).collect();
        let mut rng = Rng::new(seed, "packets");
        generator.build_templates(&program, &mut pool, &mut rng);
        let mut pipeline_rng = Rng::new(seed, "pipelines");
        let pipelines = *pipeline_rng.pick(&[1, 1, 2, 4]);
        // A program that cannot be loaded fails when the case runs.
        if let Ok(mut switch) = Switch::new(program.clone(), SwitchOptions { seed, pipelines }) {
            for step in &steps {
                if let Step::Control(request) = step {
                    let _ = request.apply(&mut switch);
                }
            }
            let tries = (packets / 3).clamp(10, MAX_TRIES);
            generator.explore(&mut switch, tries, &mut pool, &mut rng);
        }
        let mut now_ns = rng.between(0, 1 << 40);
        let mut packets_made = 0;
        while packets_made < packets {
            if rng.chance(30) {
                for request in state.change(&mut pool, &mut rng) {
                    // A request for one pipeline only makes the state of the pipelines differ.
                    let pipeline = pipeline_rng.below(pipelines);
                    steps.push(Step::Control(if pipelines > 1 && pipeline_rng.chance(30) {
                        Request::InPipeline { pipeline, request: Box::new(request) }
                    } else {
                        request
                    }));
                }
            }
            let batched = rng.chance(50);
            let count = 1 + rng.below(MAX_FRAMES.min(packets - packets_made));
            let (port, first) = generator.packet(&mut pool, &mut rng);
            let mut frames = vec![first];
            frames.extend((1..count).map(|_| generator.packet(&mut pool, &mut rng).1));
            packets_made += frames.len();
            steps.push(Step::Frames { now_ns, port, frames, batched });
            // The time advances mostly by up to 2 ms, sometimes by up to 10 s or not at all.
            now_ns += match rng.below(10) {
                0 => 0,
                1 => rng.between(0, 10_000_000_000),
                _ => rng.between(0, 2_000_000),
            };
        }
        Self { program, seed, pipelines, steps }
    }
}
