//! Random histories of a key with two copies: frames are lost, duplicated and overtake each other,
//! copies are admitted and evicted, server and spine restart. The checks are those of the traps.
//! Set `NETKV_SEEDS` for more seeds, `NETKV_SEED` to replay one.

use std::cell::Cell;

use netkv_compiled::ExecutorKind;
use netkv_roles::MILLISECOND;
use netkv_wire::Op;
use netkv_workload::Random;

use super::mutants::*;
use super::rack::{BITMAP, Rack};
use super::switches::Layer;
use crate::common::frame::Node;
use crate::common::rack::Harm;
use crate::common::seeds;
use crate::common::traps::{Rack as _, Trap};

const STEPS: u64 = 600;

thread_local! {
    /// The seed of the script that is played next; a script has no parameters.
    static SEED: Cell<u64> = const { Cell::new(0) };
}

/// A step is chosen at random. Most steps deliver a frame.
fn play(rack: &mut Rack) {
    let mut random = Random::new(SEED.get(), 0xd15c);
    rack.cache();
    for _ in 0..STEPS {
        let layer = if random.below(2) == 0 { Layer::Lower } else { Layer::Upper };
        match random.below(40) {
            0..8 if rack.outstanding() < 2 => {
                let frame = match random.below(8) {
                    0 => rack.delete(),
                    1..4 => rack.write(),
                    _ => rack.read_of(layer),
                };
                rack.put_on_wire(frame);
            }
            8..12 => {
                rack.now += random.below(MILLISECOND);
                rack.run_timers();
            }
            12 => {
                let message = match rack.remove(layer) {
                    Some(generation) => rack.control(layer, Op::Evicted, generation),
                    None => {
                        let generation = rack.next_generation();
                        rack.insert(layer, generation, BITMAP);
                        rack.control(layer, Op::Install, generation)
                    }
                };
                rack.put_on_wire(message);
            }
            13 if random.below(4) == 0 => rack.restart_server(),
            14 if random.below(4) == 0 => {
                rack.remove(Layer::Upper);
                rack.switch.restart(Layer::Upper);
            }
            _ => deliver(rack, &mut random),
        }
    }
}

/// Delivers a frame, which may overtake others. It may be lost, or stay on the wire as a copy.
fn deliver(rack: &mut Rack, random: &mut Random) {
    if rack.wire.is_empty() {
        return;
    }
    let at = random.below(rack.wire.len().min(6) as u64) as usize;
    let Some(frame) = rack.wire.remove(at) else { return };
    let fate = random.below(20);
    if fate == 0 {
        return;
    }
    if fate < 3 {
        rack.wire.push_back(frame.clone());
    }
    if frame.to == Node::Switch {
        let passed = rack.pass(&frame);
        if !passed.bytes.is_empty() {
            rack.put_on_wire(passed);
        }
    } else {
        rack.arrive(&frame);
    }
}

fn harm(seed: u64, mutant: Option<Mutant>) -> Vec<Harm> {
    SEED.set(seed);
    let trap = Trap { name: "random", script: play, setup: Rack::USUAL, own: &[], also: &[] };
    Rack::play(&trap, (ExecutorKind::Interpreter, 1), mutant)
}

#[test]
fn no_history_of_two_copies_has_a_stale_read_or_a_lost_write() {
    for seed in seeds(60) {
        let found = harm(seed, None);
        assert!(found.is_empty(), "seed {seed}: {found:?}");
    }
}

#[test]
fn histories_without_a_protection_of_the_upper_copy_do_harm() {
    for mutant in [FORGET_UPPER, NO_LEARNING, ANY_VERSION, ANSWER_RESTARTED_EARLY] {
        let found = (0..400).any(|seed| harm(seed, Some(mutant)).contains(&Harm::StaleRead));
        assert!(found, "{} does no harm", mutant.name);
    }
}
