//! One case: a program, the state that the control plane gives it, and packets.

use std::sync::Arc;

use netkv_dataplane::{Switch, SwitchOptions};
use netkv_ir::Program;

use crate::control::Request;
use crate::packets::{PacketMaker, Recorded};
use crate::pool::Pool;
use crate::rng::Rng;
use crate::state::StateMaker;

/// Frames of one step at most.
const MAX_FRAMES: usize = 40;
/// Packets that a case tries in search of those that do something new.
const MAX_TRIES: usize = 2_000;

/// One thing that happens to both switches.
#[derive(Debug, Clone)]
pub enum Step {
    /// The control plane asks for something.
    Control(Request),
    /// Frames come in on one port.
    Frames {
        /// The caller's clock.
        now_ns: u64,
        /// The port.
        port: u16,
        /// The frames.
        frames: Vec<Vec<u8>>,
        /// All at once, instead of one call each.
        together: bool,
    },
}

/// A program and what happens to it.
#[derive(Debug, Clone)]
pub struct Case {
    /// The program.
    pub program: Arc<Program>,
    /// What the case was made from; also the seed of the switches.
    pub seed: u64,
    /// Pipelines of the switches.
    pub pipelines: usize,
    /// What happens, in order.
    pub steps: Vec<Step>,
}

impl Case {
    /// What the switches of the case are given.
    pub fn options(&self) -> SwitchOptions {
        SwitchOptions { seed: self.seed, pipelines: self.pipelines }
    }

    /// The case of a seed, with about `packets` packets.
    pub fn new(program: Arc<Program>, seed: u64, packets: usize, recorded: &[Recorded]) -> Self {
        let mut pool = Pool::new(&program);
        let mut rng = Rng::new(seed, "recorded");
        let mut maker = PacketMaker::new(&program, recorded, &mut pool, &mut rng);
        let mut rng = Rng::new(seed, "state");
        let mut state = StateMaker::new(&program);
        let mut steps: Vec<Step> =
            state.initial(&mut pool, &mut rng).into_iter().map(Step::Control).collect();
        let mut rng = Rng::new(seed, "packets");
        maker.walk(&program, &mut pool, &mut rng);
        let mut which = Rng::new(seed, "pipelines");
        let pipelines = *which.pick(&[1, 1, 2, 4]);
        // A program that cannot be loaded fails when the case runs.
        if let Ok(mut switch) = Switch::new(program.clone(), SwitchOptions { seed, pipelines }) {
            for step in &steps {
                if let Step::Control(request) = step {
                    let _ = request.apply(&mut switch);
                }
            }
            let tries = (packets / 3).clamp(10, MAX_TRIES);
            maker.explore(&mut switch, tries, &mut pool, &mut rng);
        }
        let mut now_ns = rng.between(0, 1 << 40);
        let mut made = 0;
        while made < packets {
            if rng.chance(30) {
                for request in state.change(&mut pool, &mut rng) {
                    // Pipelines are written one after the other, so packets meet them unequal.
                    let pipeline = which.below(pipelines);
                    steps.push(Step::Control(if pipelines > 1 && which.chance(30) {
                        Request::InPipeline { pipeline, request: Box::new(request) }
                    } else {
                        request
                    }));
                }
            }
            let together = rng.chance(50);
            let count = 1 + rng.below(MAX_FRAMES.min(packets - made));
            let (port, first) = maker.packet(&mut pool, &mut rng);
            let mut frames = vec![first];
            frames.extend((1..count).map(|_| maker.packet(&mut pool, &mut rng).1));
            made += frames.len();
            steps.push(Step::Frames { now_ns, port, frames, together });
            // Mostly the next microseconds; now and then a long pause, or no time at all.
            now_ns += match rng.below(10) {
                0 => 0,
                1 => rng.between(0, 10_000_000_000),
                _ => rng.between(0, 2_000_000),
            };
        }
        Self { program, seed, pipelines, steps }
    }
}
