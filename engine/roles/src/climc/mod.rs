//! CliMC: clients split a multiget themselves and send a request to each server, one after the
//! other (`docs/schemes/netmc.md`).

use netkv_wire::multiget::keys_that_fit;
use netkv_wire::server_ip;

use crate::Actions;
use crate::entries::{ClientEntry, Roles};
use crate::kits::multiget::{
    Architecture, Layout, Operation, Part, RequestWriter, load_client, user_client,
};

pub(crate) const ROLES: Roles = Roles {
    clients: &[ClientEntry {
        name: "climc",
        load: &|options, workload| load_client(&CliMc, options, workload),
        users: &|options| user_client(&CliMc, options),
    }],
    ..Roles::NONE
};

/// The architecture.
#[derive(Debug)]
pub struct CliMc;

impl Architecture for CliMc {
    fn divide(&self, operation: &mut Operation, layout: &Layout) {
        operation.sort_by_owner(layout);
        operation.divide_by(
            layout,
            |asked| asked.owner,
            |lengths| keys_that_fit(lengths, layout.fields),
        );
    }

    fn send_missing(&self, writer: &RequestWriter<'_>, part: &Part, out: &mut Actions) {
        let server = server_ip(writer.keys_of(part)[0].owner);
        writer.send_span(server, writer.header(part), part, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kits::multiget::operation_tests::{assert_fills_frames, divided};

    #[test]
    fn each_server_gets_a_request() {
        let ids: Vec<u64> = (0..16).collect();
        let (operation, sizes) = divided(&CliMc, Layout::one_rack(5, 4), &ids);
        assert_eq!(sizes.len(), 5);
        assert!(operation.parts.iter().all(|part| part.groups.count == 1));
    }

    #[test]
    fn keys_beyond_a_frame_take_several_requests() {
        assert_fills_frames(&CliMc);
    }
}
