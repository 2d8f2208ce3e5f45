//! NetMC: clients send one request to the splitting switch of each rack, which splits it among the
//! servers (`docs/schemes/netmc.md`).

use netkv_wire::multiget::{MAX_SPLIT_KEYS, rack_of, splitter_ip};
use netkv_wire::server_ip;

use super::client::{Architecture, Operation, Part, RequestWriter, client};
use super::{Layout, key_bits};
use crate::Actions;
use crate::registry::ClientEntry;

/// The registry's entry for clients.
pub(crate) const CLIENT: ClientEntry =
    ClientEntry { name: "netmc", new: &|options, workload| client(&NetMc, options, workload) };

/// The architecture.
#[derive(Debug)]
pub struct NetMc;

impl Architecture for NetMc {
    /// Algorithm 1 of the paper, without line 2.
    fn divide(&self, operation: &mut Operation, layout: &Layout) {
        operation.sort_by_owner(layout);
        operation.divide_by(
            |asked| u16::from(rack_of(asked.owner, layout.per_rack)),
            |lengths| lengths.take(MAX_SPLIT_KEYS).count(),
        );
    }

    fn send_missing(&self, writer: &RequestWriter<'_>, part: &Part, out: &mut Actions) {
        if !part.is_untouched() {
            send_groups(writer, part, out);
            return;
        }
        let mut header = writer.header(part);
        header.rack = rack_of(writer.keys_of(part)[0].owner, writer.layout.per_rack);
        writer.write(splitter_ip(header.rack), &header, part, out);
    }
}

/// Requests each key group with a missing key, with the frame that the switch would have sent for
/// it: CLO is 1 and RACK 0, so that no switch splits it again.
fn send_groups(writer: &RequestWriter<'_>, part: &Part, out: &mut Actions) {
    let header = writer.header(part);
    let mut start = 0;
    let groups = writer.keys_of(part).chunk_by(|one, next| one.owner == next.owner);
    for (order, group) in groups.enumerate() {
        let end = start + group.len();
        let of_group = key_bits(start, end);
        if part.missing & of_group != 0 {
            let missing = Part { missing: part.missing & of_group, ..*part };
            let keyidx = (u32::from(header.keyidx) << end) as u16;
            let header =
                netkv_wire::multiget::Header { oid: order as u8 + 1, keyidx, clo: 1, ..header };
            writer.send_span(server_ip(group[0].owner), header, &missing, out);
        }
        start = end;
    }
}
