//! Estimates the resources that a program needs on a switch with stages, such as a Tofino.
//!
//! The estimate follows from the dependencies of the program; nothing is compiled for a switch.
//! `docs/use/p4.md` describes the model and what it leaves out.
//!
//! The modules in the order of the analysis of one pipeline. A module uses those above it only.
//!
//! ```text
//!   target                the resources of the switch
//!   report                the result of the estimate
//!   flow                  topological order of the blocks, and control dependences
//!   reads, effects        what expressions read, and what operations read and write
//!   value_numbering       global value numbering: which expressions have equal values
//!   path_conditions       what the branches taken so far imply about values
//!   use_def               words that other graphs of the program use and define
//!   nodes                 the nodes and edges of the dependency graph, and its boundary
//!   reaching_definitions  which nodes wrote the current value of a word
//!   dataflow, transfer    forward data-flow analysis; it makes the nodes and edges of
//!   dependencies          the dependency graph
//!   access_groups         accesses to an object that one stateful ALU can do together
//!   components            strongly connected components of a graph
//!   units                 groups of nodes that share a stage
//!   memory                memory and stateful ALUs of an object
//!   placement             list scheduling: the stage of each unit
//!   phv                   size of the packet header vector
//!   describe, warnings,   sentences for the user
//!   limits
//!   pipeline              the estimate for one pipeline
//! ```

#![forbid(unsafe_code)]

mod access_groups;
mod components;
mod dataflow;
mod dependencies;
mod describe;
mod effects;
mod flow;
mod limits;
mod memory;
mod nodes;
mod path_conditions;
mod phv;
mod pipeline;
mod placement;
mod reaching_definitions;
mod reads;
mod report;
mod target;
mod transfer;
mod units;
mod use_def;
mod value_numbering;
mod warnings;

use std::fmt;

use netkv_ir::{Cfg, Program, Word};

use describe::Names;
use nodes::Boundary;
pub use report::{
    ChainLink, ObjectKind, Phv, Pipeline, Placed, Position, Report, Share, Stage, Usage, Warning,
    WarningKind,
};
pub use target::Target;
use use_def::UseDef;

/// Maximum number of operations and blocks of a pipeline.
const MAX_PARTS: usize = 20_000;

/// The program has too many operations for an estimate, and for any switch.
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

/// Estimates the resources that a program needs on a switch.
pub fn estimate(program: &Program, target: &Target) -> Result<Report, TooLarge> {
    for cfg in [&program.ingress, &program.egress] {
        let parts = cfg.blocks.iter().map(|block| 1 + block.ops.len()).sum();
        if parts > MAX_PARTS {
            return Err(TooLarge { parts });
        }
    }
    let use_def = |cfgs: &[&Cfg]| {
        let mut use_def = UseDef::new(program);
        cfgs.iter().for_each(|cfg| use_def.add_graph(cfg));
        use_def
    };
    let mut before = use_def(&[&program.parser, &program.verify_checksum]);
    before.add_switch_inputs();
    let ingress = use_def(&[&program.ingress]);
    let egress = use_def(&[&program.egress]);
    let mut after = use_def(&[&program.compute_checksum, &program.deparser]);
    after.add_switch_outputs();
    let names = Names::new(program);
    let read_after = |word: Word| after.uses(word);
    let (mut in_ingress, used) = pipeline::estimate(
        program,
        target,
        &names,
        &program.ingress,
        &Boundary {
            zero_at_entry: &|word| !before.defines(word),
            live_at_exit: &|word| read_after(word) || egress.uses(word),
        },
    );
    let (in_egress, used_again) = pipeline::estimate(
        program,
        target,
        &names,
        &program.egress,
        &Boundary {
            zero_at_entry: &|word| !before.defines(word) && !ingress.defines(word),
            live_at_exit: &read_after,
        },
    );
    for object in used.intersection(&used_again) {
        let name = names.name(*object).to_string();
        in_ingress.warnings.push(Warning {
            kind: WarningKind::Shared,
            message: format!("{name} is used in ingress and in egress."),
            objects: vec![name],
            help: "Each pipeline has stages and memory of its own.".to_string(),
            at: Vec::new(),
        });
    }
    Ok(Report { target: target.clone(), ingress: in_ingress, egress: in_egress })
}
