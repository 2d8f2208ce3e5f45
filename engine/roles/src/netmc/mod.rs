//! NetMC: clients send one request to the splitting switch of each rack, which splits it among the
//! servers (`docs/schemes/netmc.md`). A request has as many keys as KEYIDX has bits, 16 in the paper.
//!
//! If no key of a request was answered, the client sends all of it again. Otherwise it sends each
//! key group with a missing key directly to its server, in the form that the switch would have
//! sent.

use netkv_wire::multiget::{keys_that_fit, rack_of, splitter_ip};
use netkv_wire::server_ip;

use crate::Actions;
use crate::entries::{ClientEntry, Roles};
use crate::kits::multiget::{
    Architecture, Layout, Operation, Part, RequestWriter, key_bits, load_client, user_client,
};

pub(crate) const ROLES: Roles = Roles {
    clients: &[ClientEntry {
        name: "netmc",
        load: &|options, workload| load_client(&NetMc, options, workload),
        users: &|options| user_client(&NetMc, options),
    }],
    ..Roles::NONE
};

/// The architecture.
#[derive(Debug)]
pub struct NetMc;

impl Architecture for NetMc {
    /// Algorithm 1 of the paper, without line 2.
    fn divide(&self, operation: &mut Operation, layout: &Layout) {
        operation.sort_by_owner(layout);
        let split_keys = usize::from(layout.fields.split_keys);
        operation.divide_by(
            layout,
            |asked| u16::from(rack_of(asked.owner, layout.per_rack)),
            |lengths| keys_that_fit(lengths.take(split_keys), layout.fields),
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
            let keyidx = header.keyidx.checked_shl(end as u32).unwrap_or(0);
            let header =
                netkv_wire::multiget::Header { oid: order as u8 + 1, keyidx, clo: 1, ..header };
            writer.send_span(server_ip(group[0].owner), header, &missing, out);
        }
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use netkv_wire::multiget::Fields;

    use super::*;
    use crate::kits::multiget::operation_tests::divided;

    #[test]
    fn a_switch_gets_the_keys_of_its_rack_sorted_by_server() {
        let ids: Vec<u64> = (0..16).collect();
        let (operation, sizes) = divided(&NetMc, Layout::one_rack(5, 4), &ids);
        assert_eq!(sizes, [16]);
        assert!(operation.keys.is_sorted_by_key(|asked| asked.owner));
        assert_eq!(operation.parts[0].groups.count, 5);
    }

    #[test]
    fn a_wider_keyidx_takes_more_keys_up_to_a_frame() {
        let fields = |split_keys| Fields { split_keys, ..Fields::of_paper(1) };
        let of = |split_keys, key_size| {
            let layout = Layout { fields: fields(split_keys), ..Layout::one_rack(1, key_size) };
            divided(&NetMc, layout, &(0..50).collect::<Vec<u64>>()).1
        };
        assert_eq!(of(32, 4), [32, 18]);
        assert_eq!(of(128, 4), [50]);
        assert_eq!(of(128, 64), [22, 22, 6], "1500 bytes");
    }

    #[test]
    fn keys_beyond_a_split_or_a_rack_take_several_requests() {
        let ids: Vec<u64> = (0..50).collect();
        let (operation, sizes) = divided(&NetMc, Layout::one_rack(1, 64), &ids);
        assert_eq!(sizes, [16, 16, 16, 2]);
        assert_eq!(operation.parts[3].missing, 0b11);
        let racks = Layout { servers: 6, per_rack: 2, fields: 2.into(), key_size: 4 };
        let (operation, _) = divided(&NetMc, racks, &ids[..12]);
        assert_eq!(operation.parts.len(), 3, "one for each rack");
        for part in &operation.parts {
            let racks = operation.keys_of(part).iter().map(|asked| asked.owner / 2);
            assert_eq!(racks.collect::<HashSet<u16>>().len(), 1);
        }
    }
}
