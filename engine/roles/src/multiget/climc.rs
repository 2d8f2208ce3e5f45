//! CliMC: clients split a multiget themselves and send a request to each server, one after the
//! other (`docs/schemes/netmc.md`).

use netkv_wire::multiget::keys_that_fit;
use netkv_wire::server_ip;

use super::Layout;
use super::client::{Architecture, Operation, Part, RequestWriter, client};
use crate::Actions;
use crate::registry::ClientEntry;

/// The registry's entry for clients.
pub(crate) const CLIENT: ClientEntry =
    ClientEntry { name: "climc", new: &|options, workload| client(&CliMc, options, workload) };

/// The architecture.
#[derive(Debug)]
pub struct CliMc;

impl Architecture for CliMc {
    fn divide(&self, operation: &mut Operation, layout: &Layout) {
        operation.sort_by_owner(layout);
        operation.divide_by(|asked| asked.owner, |lengths| keys_that_fit(lengths, layout.fields));
    }

    fn send_missing(&self, writer: &RequestWriter<'_>, part: &Part, out: &mut Actions) {
        let server = server_ip(writer.keys_of(part)[0].owner);
        writer.send_span(server, writer.header(part), part, out);
    }
}
