//! What a program would take of a switch with stages, such as a Tofino: an estimate from the
//! program's dependencies. It is no compilation; docs/p4.md has the model and what it leaves out.
//!
//! For each pipeline, each module knowing those above it:
//!
//! ```text
//!   target           the shape of the switch
//!   report           the estimate, as others get it
//!   flow             order of blocks, and which branches decide on them
//!   reads, effects   what expressions read, what operations read and change
//!   numbers, facts   which values are the same, and what conditions tell of them
//!   touched          what the graphs before and after a pipeline have to do with it
//!   held, changes,   over the graph, from its beginning to its ends,
//!   walk             to
//!   dependencies     nodes, and the stages that must lie between them
//!   visits           how often a packet comes to a register array or table
//!   cycles, units    what is placed as one
//!   memory, place    what it takes, and the stage it gets
//!   phv              what travels with the packet
//!   describe,        sentences
//!   warnings, limits
//!   pipeline         all of it together
//! ```

#![forbid(unsafe_code)]

mod changes;
mod cycles;
mod dependencies;
mod describe;
mod effects;
mod facts;
mod flow;
mod held;
mod limits;
mod memory;
mod numbers;
mod phv;
mod pipeline;
mod place;
mod reads;
mod report;
mod target;
mod touched;
mod units;
mod visits;
mod walk;
mod warnings;

use std::fmt;

use netkv_ir::{Cfg, Program, Word};

use dependencies::Around;
use describe::Names;
pub use report::{
    Link, Phv, Pipeline, Placed, Position, Report, Share, Stage, Trouble, Usage, Warning, What,
};
pub use target::Target;
use touched::Touched;

/// Operations and blocks of a pipeline, at most.
const MAX_PARTS: usize = 20_000;

/// A program with so many operations that no switch would take it, and no estimate is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLarge {
    parts: usize,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { parts } = self;
        write!(
            f,
            "A pipeline of this program has {parts} operations and branches after its calls are \
             inlined; an estimate is made up to {MAX_PARTS}, and a switch takes far less."
        )
    }
}

impl std::error::Error for TooLarge {}

/// Estimates what a program takes of a switch.
pub fn estimate(program: &Program, target: &Target) -> Result<Report, TooLarge> {
    for cfg in [&program.ingress, &program.egress] {
        let parts = cfg.blocks.iter().map(|block| 1 + block.ops.len()).sum();
        if parts > MAX_PARTS {
            return Err(TooLarge { parts });
        }
    }
    let touched = |cfgs: &[&Cfg]| {
        let mut touched = Touched::new(program);
        cfgs.iter().for_each(|cfg| touched.graph(cfg));
        touched
    };
    let mut before = touched(&[&program.parser, &program.verify_checksum]);
    before.arrives();
    let ingress = touched(&[&program.ingress]);
    let egress = touched(&[&program.egress]);
    let mut behind = touched(&[&program.compute_checksum, &program.deparser]);
    behind.outside();
    let names = Names::new(program);
    let read_behind = |word: Word| behind.read(word);
    let (mut in_ingress, used) = pipeline::estimate(
        program,
        target,
        &names,
        &program.ingress,
        &Around {
            zero: &|word| !before.written(word),
            read_later: &|word| read_behind(word) || egress.read(word),
        },
    );
    let (in_egress, used_again) = pipeline::estimate(
        program,
        target,
        &names,
        &program.egress,
        &Around {
            zero: &|word| !before.written(word) && !ingress.written(word),
            read_later: &read_behind,
        },
    );
    for object in used.intersection(&used_again) {
        let name = names.name(*object).to_string();
        in_ingress.warnings.push(Warning {
            kind: Trouble::Shared,
            message: format!("{name} is used in ingress and in egress."),
            objects: vec![name],
            help: "Each pipeline has stages and memory of its own.".to_string(),
            at: Vec::new(),
        });
    }
    Ok(Report { target: target.clone(), ingress: in_ingress, egress: in_egress })
}
