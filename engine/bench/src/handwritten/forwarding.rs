//! What all programs of netkv do: they forward frames by the owner of a key and by address, count
//! drops by reason, and exchange frames with the controller.

use netkv_dataplane::Output;
use netkv_wire::{CPU_PORT, Ip, Mac, SERVICE_IP};

use super::layout::{DESTINATION, DROP_PORT};
use super::{Table, address, copy, u16_at};

/// Size of the table of routes.
const ROUTES: u32 = 4096;
/// Cells of the program's counter of drops, by reason. This pipeline uses 1 to 5.
pub(crate) const DROP_REASONS: usize = 9;
/// Bytes of the header before frames from and to the controller: a port (9 bits), and padding.
pub(super) const PORT_HEADER: usize = 2;

/// Why a frame is dropped: the index of its counter.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Drop {
    Malformed = 1,
    NotIpv4 = 2,
    NoOwner = 3,
    NoRoute = 4,
    Forbidden = 5,
}

/// A server: the first and last hash that it owns, and its addresses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner {
    pub first: u32,
    pub last: u32,
    pub mac: Mac,
    pub ip: Ip,
}

/// The tables of owners and routes.
pub(crate) struct Forwarding {
    /// In the order of their hashes.
    owners: Vec<Owner>,
    routes: Table<4, u16>,
}

impl Forwarding {
    pub(crate) fn new(mut owners: Vec<Owner>, routes: impl IntoIterator<Item = (Ip, u16)>) -> Self {
        owners.sort_unstable_by_key(|owner| owner.first);
        let mut table = Table::new(ROUTES);
        routes.into_iter().for_each(|(address, port)| table.insert(address, port));
        Self { owners, routes: table }
    }

    /// The server for a frame to `destination`, where `hash` is that of the key: none if the frame
    /// is not for the service.
    #[inline]
    pub(crate) fn owner(
        &self,
        destination: Ip,
        hash: impl FnOnce() -> u32,
    ) -> Result<Option<&Owner>, Drop> {
        if destination != SERVICE_IP {
            return Ok(None);
        }
        let hash = hash();
        let after = self.owners.partition_point(|owner| owner.first <= hash);
        let owner = self.owners[..after].last().filter(|owner| hash <= owner.last);
        owner.ok_or(Drop::NoOwner).map(Some)
    }

    /// The port for an address.
    #[inline]
    pub(crate) fn port(&self, address: &Ip) -> Result<u16, Drop> {
        self.routes.get(address).ok_or(Drop::NoRoute)
    }

    /// Forwards a frame unchanged.
    #[inline]
    pub(crate) fn route(&self, from: u16, frame: &[u8], out: &mut Output) -> Result<(), Drop> {
        let port = self.port(&address(frame, DESTINATION))?;
        send(out, from, port, frame.len(), |sent| sent.copy_from_slice(frame));
        Ok(())
    }
}

/// Sends a frame of `length` bytes, which `write` writes. If it is for the controller, its first
/// header is the port `from`, by which the frame has arrived.
#[inline]
pub(crate) fn send(
    out: &mut Output,
    from: u16,
    port: u16,
    length: usize,
    write: impl FnOnce(&mut [u8]),
) {
    let before = if port == CPU_PORT { PORT_HEADER } else { 0 };
    let room = &mut out.room(before + length)[..before + length];
    if before > 0 {
        copy(room, 0, &(from << 7).to_be_bytes());
    }
    write(&mut room[before..]);
    out.commit(port, before + length);
}

/// Removes the header of the controller from a frame that arrives by port `from`. If that header
/// names a port, the frame leaves there unchanged, and nothing is left to do.
#[inline]
pub(crate) fn enter<'a>(
    from: u16,
    frame: &'a [u8],
    out: &mut Output,
) -> Result<Option<&'a [u8]>, Drop> {
    if from != CPU_PORT {
        return Ok(Some(frame));
    }
    let Some((header, rest)) = frame.split_at_checked(PORT_HEADER) else {
        return Err(Drop::Malformed);
    };
    let port = u16_at(header, 0) >> 7;
    if port == 0 {
        return Ok(Some(rest));
    }
    if port != DROP_PORT {
        send(out, from, port, rest.len(), |sent| sent.copy_from_slice(rest));
    }
    Ok(None)
}
