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
const MOST_FRAMES: usize = 40;
/// Packets that a case tries in search of those that do something new.
const MOST_TRIES: usize = 2_000;

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
    /// What happens, in order.
    pub steps: Vec<Step>,
}

impl Case {
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
        let options = SwitchOptions { seed, ..SwitchOptions::default() };
        // A program that cannot be loaded fails when the case runs.
        if let Ok(mut switch) = Switch::new(program.clone(), options) {
            for step in &steps {
                if let Step::Control(request) = step {
                    let _ = request.apply(&mut switch);
                }
            }
            let tries = (packets / 3).clamp(10, MOST_TRIES);
            maker.explore(&mut switch, tries, &mut pool, &mut rng);
        }
        let mut now_ns = rng.between(0, 1 << 40);
        let mut made = 0;
        while made < packets {
            if rng.chance(30) {
                steps.extend(state.change(&mut pool, &mut rng).into_iter().map(Step::Control));
            }
            let together = rng.chance(50);
            let count = 1 + rng.below(MOST_FRAMES.min(packets - made));
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
        Self { program, seed, steps }
    }
}
