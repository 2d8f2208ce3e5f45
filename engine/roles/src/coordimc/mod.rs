//! CoordiMC: clients send a multiget to a coordinator, which splits it among the servers and
//! answers with all values at once (`docs/schemes/netmc.md`).

mod config;
mod coordinator;
mod task;

use netkv_wire::multiget::{COORDINATOR_IP, keys_that_fit};

use crate::Actions;
use crate::entries::{ClientEntry, CoordinatorEntry, Roles};
use crate::kits::multiget::{
    Architecture, Layout, Operation, Part, RequestWriter, load_client, user_client,
};
pub use config::{CoordinatorConfig, CoordinatorStats};
pub use coordinator::Coordinator;

const NAME: &str = "coordimc";

pub(crate) const ROLES: Roles = Roles {
    clients: &[ClientEntry {
        name: NAME,
        load: &|options, workload| load_client(&CoordiMc, options, workload),
        users: &|options| user_client(&CoordiMc, options),
    }],
    coordinators: &[CoordinatorEntry {
        name: NAME,
        worker_of: Coordinator::worker_of,
        new: |options| Ok(Box::new(Coordinator::new(CoordinatorConfig::of(options))?)),
    }],
    ..Roles::NONE
};

/// The architecture.
#[derive(Debug)]
pub struct CoordiMc;

impl Architecture for CoordiMc {
    /// Keys stay in the order of the user; the coordinator finds the server of each.
    fn divide(&self, operation: &mut Operation, layout: &Layout) {
        operation.divide_by(layout, |_| 0, |lengths| keys_that_fit(lengths, layout.fields));
    }

    fn send_missing(&self, writer: &RequestWriter<'_>, part: &Part, out: &mut Actions) {
        writer.send_span(COORDINATOR_IP, writer.header(part), part, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kits::multiget::operation_tests::{assert_fills_frames, divided};

    #[test]
    fn the_coordinator_gets_the_keys_in_the_order_of_the_user() {
        let ids: Vec<u64> = (0..16).collect();
        let (operation, sizes) = divided(&CoordiMc, Layout::one_rack(5, 4), &ids);
        assert_eq!(sizes, [16]);
        assert!(operation.keys.is_sorted_by_key(|asked| asked.first));
    }

    #[test]
    fn keys_beyond_a_frame_take_several_requests() {
        assert_fills_frames(&CoordiMc);
    }
}
