//! CoordiMC: clients send a multiget to a coordinator, which splits it among the servers and
//! answers with all values at once (`docs/schemes/netmc.md`).

mod config;
mod coordinator;
mod task;

use netkv_wire::multiget::{COORDINATOR_IP, keys_that_fit};

use super::Layout;
use super::client::{Architecture, Operation, Part, RequestWriter, client};
use crate::Actions;
use crate::registry::{ClientEntry, CoordinatorEntry};
pub use config::{CoordinatorConfig, CoordinatorStats};
pub use coordinator::Coordinator;

/// The registry's entry for clients.
pub(crate) const CLIENT: ClientEntry = ClientEntry {
    name: "coordimc",
    new: &|options, workload| client(&CoordiMc, options, workload),
};

/// The registry's entry for coordinators.
pub(crate) const COORDINATOR: CoordinatorEntry = CoordinatorEntry {
    name: "coordimc",
    worker_of: Coordinator::worker_of,
    new: |options| Ok(Box::new(Coordinator::new(CoordinatorConfig::of(options))?)),
};

/// The architecture.
#[derive(Debug)]
pub struct CoordiMc;

impl Architecture for CoordiMc {
    /// Keys stay in the order of the user; the coordinator finds the server of each.
    fn divide(&self, operation: &mut Operation, layout: &Layout) {
        operation.divide_by(|_| 0, |lengths| keys_that_fit(lengths, layout.fields));
    }

    fn send_missing(&self, writer: &RequestWriter<'_>, part: &Part, out: &mut Actions) {
        writer.send_span(COORDINATOR_IP, writer.header(part), part, out);
    }
}
