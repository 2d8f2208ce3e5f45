//! Switches that run the same program on both executors, which must give the same.

use std::sync::Arc;

use netkv_compiled::{ExecutorKind, switch};
use netkv_dataplane::{Output, Switch, SwitchOptions};
use netkv_ir::{Identity, Program};
use netkv_p4::{Options, compile_source};

/// The reference, and the one that is compared with it.
pub const BOTH: [ExecutorKind; 2] = [ExecutorKind::Interpreter, ExecutorKind::Compiled];

/// A switch with this program.
pub fn switch_with(source: &str, pipelines: usize, kind: ExecutorKind) -> Switch {
    let compiled = compile_source("both.p4", source, &Options::default());
    let program: Arc<Program> =
        Arc::new(compiled.unwrap_or_else(|errors| panic!("{errors}")).program);
    switch(program, SwitchOptions { seed: 1, pipelines }, kind).unwrap()
}

/// Id of a table, action, register or value set.
pub fn id(switch: &Switch, name: &str) -> u32 {
    let program = switch.program();
    let tables = program.tables.iter().map(|table| &table.identity);
    let actions = program.actions.iter().map(|action| &action.identity);
    let registers = program.registers.iter().map(|register| &register.identity);
    let sets = program.value_sets.iter().map(|set| &set.identity);
    let found: Option<&Identity> =
        tables.chain(actions).chain(registers).chain(sets).find(|identity| identity.name == name);
    found.unwrap_or_else(|| panic!("the program has no {name}")).id
}

/// Sends frames through both switches. Frames, their numbers of passes, statistics and digests are
/// the same.
pub fn send(switches: &mut [Switch; 2], port: u16, frames: &[Vec<u8>]) -> Vec<(u16, Vec<u8>)> {
    let outputs = [0, 1].map(|at: usize| {
        let mut output = Output::new();
        switches[at].process_batch(5_000, port, frames.iter().map(Vec::as_slice), &mut output);
        output
    });
    let of = |at: usize| outputs[at].frames().map(|(port, frame)| (port, frame.to_vec()));
    assert_eq!(of(1).collect::<Vec<_>>(), of(0).collect::<Vec<_>>(), "{frames:02x?}");
    assert_eq!(outputs[1].again(), outputs[0].again(), "{frames:02x?}");
    assert_eq!(switches[1].statistics(), switches[0].statistics(), "{frames:02x?}");
    let digests = [0, 1].map(|at: usize| switches[at].take_digests());
    assert_eq!(digests[1], digests[0], "{frames:02x?}");
    of(1).collect()
}

/// The registers of these names have the same cells in each pipeline.
pub fn assert_same_registers(switches: &mut [Switch; 2], names: &[&str]) {
    for name in names {
        let [left, right] = [0, 1].map(|at: usize| {
            let (id, pipelines) = (id(&switches[at], name), switches[at].pipelines());
            let mut read = |pipeline| {
                switches[at].in_pipeline(pipeline, |switch| switch.read_register(id, None)).unwrap()
            };
            (0..pipelines).map(&mut read).collect::<Vec<_>>()
        });
        assert_eq!(left, right, "{name}");
    }
}
