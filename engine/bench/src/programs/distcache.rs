//! The programs of DistCache for switches with a cache: `leaf.p4` for the last layer, `spine.p4`
//! for the layer above. [`super::distcache_client`] is the switch of the clients.
//!
//! Each layer has two switches, as a rack of DistCache unless its scenario says otherwise. The
//! measured switch is the first one of its layer, and all keys are those that it serves.

use netkv_ir::{Match, Value};
use netkv_wire::{Key, LOAD_LEN, partition, partition_range};

use super::path::Path;
use super::rack;
use super::write_through::{Frame, NETCACHE_PATHS, WriteThrough};
use crate::control::Control;
use crate::error::BenchError;

/// The number of switches of each layer.
pub(super) const SWITCHES: u16 = 2;
/// The layers in the header of a load.
pub(super) const LAST: u8 = 0;
pub(super) const UPPER: u8 = 1;
/// The number of the measured switch in its layer.
const NUMBER: u16 = 0;

/// The program `leaf.p4`.
pub(super) static LEAF: WriteThrough = WriteThrough {
    name: "distcache-leaf",
    paths: NETCACHE_PATHS,
    addressed: true,
    upper: false,
    follows_writes: true,
    reply_header: LOAD_LEN,
    serves: |key| leaf_of_server(partition(key, rack::SERVERS)) == NUMBER,
    fill_more: |control| fill_switch(control, LAST, None),
    by_hand: None,
    counted: &[],
};

/// The program `spine.p4`. It has no sketch.
pub(super) static SPINE: WriteThrough = WriteThrough {
    name: "distcache-spine",
    paths: &[
        Path { name: "read-hit", frame: Frame::Read, cached: true, sampled: false },
        Path { name: "read-hit-sampled", frame: Frame::Read, cached: true, sampled: true },
        Path { name: "read-miss", frame: Frame::Read, cached: false, sampled: false },
        Path { name: "write", frame: Frame::Write, cached: true, sampled: false },
        Path { name: "invalidate", frame: Frame::Invalidate, cached: true, sampled: false },
    ],
    addressed: true,
    upper: true,
    follows_writes: false,
    reply_header: LOAD_LEN,
    serves: |key| spine_of(key) == NUMBER,
    fill_more: |control| fill_switch(control, UPPER, Some(NUMBER)),
    by_hand: None,
    counted: &[],
};

/// The leaf that a server is at.
pub(super) fn leaf_of_server(server: u16) -> u16 {
    server * SWITCHES / rack::SERVERS
}

/// The spine that may have the upper copy of a key.
pub(super) fn spine_of(key: &Key) -> u16 {
    let mut swapped = *key;
    swapped.rotate_left(key.len() / 2);
    partition(&swapped, SWITCHES)
}

/// The port towards a spine.
pub(super) fn spine_port(spine: u16) -> u16 {
    rack::SERVER_PORT + 1 + spine
}

/// Fills the table of the upper copies in the control `upper_copy` of this name. `here` is the
/// number of this switch, if it is a spine.
pub(super) fn fill_upper_copies(
    control: &mut Control<'_>,
    upper_copy: &str,
    here: Option<u16>,
) -> Result<(), BenchError> {
    for spine in 0..SWITCHES {
        let (low, high) = partition_range(spine, SWITCHES);
        let range = Match::Range(Value::new(32, u128::from(low)), Value::new(32, u128::from(high)));
        let towards = [u128::from(spine_port(spine)), u128::from(spine)];
        let (action, params) =
            if here == Some(spine) { ("here", &[][..]) } else { ("towards", &towards[..]) };
        let (table, action) = (format!("{upper_copy}.switches"), format!("{upper_copy}.{action}"));
        control.insert(&table, range, 1, &action, params)?;
    }
    Ok(())
}

/// Fills the tables that NetCache does not have.
fn fill_switch(control: &mut Control<'_>, layer: u8, here: Option<u16>) -> Result<(), BenchError> {
    let (table, action) = ("NetkvIngress.load.settings", "NetkvIngress.load.report");
    control.set_default(table, action, &[u128::from(layer), u128::from(NUMBER)])?;
    fill_upper_copies(control, "NetkvIngress.upper_copy", here)
}
