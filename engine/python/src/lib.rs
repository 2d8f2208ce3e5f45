//! `netkv._engine`: the Python bindings of the engine. `netkv/_engine.pyi` documents their types
//! and functions.

mod bench;
mod budget;
mod bundle;
mod control;
mod counters;
mod digests;
mod errors;
mod fpga;
mod fuzz;
mod gateway;
mod groups;
mod histogram;
mod json;
mod loads;
mod nodes;
mod objects;
mod p4runtime;
mod roles;
mod scripted;
mod session;
mod sim;
mod store;
mod switch;
mod tables;
mod values;
mod wire;

use pyo3::prelude::*;

/// The engine: compiler, switches, nodes of a rack, and simulator.
#[pymodule]
mod _engine {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::bench::{bench_load, bench_measure, bench_paths, bench_source};
    #[pymodule_export]
    use crate::budget::p4_budget;
    #[pymodule_export]
    use crate::bundle::{compile_p4, compile_source, program_text, run_stf};
    #[pymodule_export]
    use crate::control::{MessageNumbers, Outstanding, RoundTrip};
    #[pymodule_export]
    use crate::counters::{client_counters, server_counters};
    #[pymodule_export]
    use crate::errors::{CompileError, ControlError, MalformedFrameError, SimulationError};
    #[pymodule_export]
    use crate::fpga::{FpgaDesign, FpgaNode};
    #[pymodule_export]
    use crate::fuzz::{Fuzzer, generate_p4, record_stf, sample_packets, stf_frames};
    #[pymodule_export]
    use crate::gateway::Gateway;
    #[pymodule_export]
    use crate::histogram::Histogram;
    #[pymodule_export]
    use crate::loads::{DatagramLoad, EchoNode, StreamLoad, filled_switch};
    #[pymodule_export]
    use crate::nodes::{ClientNode, CoordinatorNode, ServerNode, SwitchNode};
    #[pymodule_export]
    use crate::p4runtime::{PlainUpdates, PlainWrites};
    #[pymodule_export]
    use crate::scripted::{ClientRole, ServerRole};
    #[pymodule_export]
    use crate::session::Session;
    #[pymodule_export]
    use crate::sim::Simulation;
    #[pymodule_export]
    use crate::switch::Switch;
    #[pymodule_export]
    use crate::wire::{client_ip, mac_of, server_ip, splitter_ip};
    #[pymodule_export]
    use crate::wire::{corrupted_frame, frame_op, is_report, read_frame, udp_frame, write_frame};
    #[pymodule_export]
    use crate::wire::{initial_set, key_hash, key_of_record, owner_index, partition_range};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::roles::register();
        crate::wire::add_to(module)
    }
}
