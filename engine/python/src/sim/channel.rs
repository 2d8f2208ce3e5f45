//! The control channel of one switch, as its controller uses it.

use std::collections::HashMap;

use netkv_dataplane::EntryAction;
use netkv_rack::sim::{Simulation as Rack, TableUpdate};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::p4runtime::PlainWrites;

/// Bytes of the controller headers: a port of 9 bits and padding (p4/common/wire.p4).
pub const PACKET_HEADER: usize = 2;
/// Tokens of writes that the engine carries out have this bit, those of the caller have not.
const ENGINE: u64 = 1 << 63;

/// See `Simulation.open_channel` of `_engine.pyi`.
pub struct Channel {
    number: u16,
    /// Its name in events and actions.
    pub name: Py<PyString>,
    /// Bytes of a packet-in or packet-out without its frame.
    packet_bytes: u64,
    /// Reads plain writes; without it the caller carries out every write.
    writes: Option<Py<PlainWrites>>,
    /// Returns the bytes of the message of a write.
    size_of: Py<PyAny>,
    /// Those of the kinds of plain writes so far; they hardly depend on the values.
    sizes: HashMap<WriteKind, u64>,
    /// Plain writes without an answer, by token.
    plain: HashMap<u64, Py<PyAny>>,
    last_token: u64,
    /// Weak reference to the controller that handles the messages of the switch now.
    pub controller: Option<Py<PyAny>>,
    /// Bytes of the messages that the engine has counted, in both directions.
    pub bytes: u64,
}

/// Insert, modify or delete; table; action.
type WriteKind = (u8, u32, u32);

impl Channel {
    pub fn new(
        number: u16,
        name: Py<PyString>,
        packet_bytes: u64,
        writes: Option<Py<PlainWrites>>,
        size_of: Py<PyAny>,
    ) -> Self {
        Self {
            number,
            name,
            packet_bytes,
            writes,
            size_of,
            sizes: HashMap::new(),
            plain: HashMap::new(),
            last_token: ENGINE,
            controller: None,
            bytes: 0,
        }
    }

    /// Differs between controllers.
    pub fn controller_id(&self) -> Option<usize> {
        self.controller.as_ref().map(|reference| reference.as_ptr() as usize)
    }

    /// Counts a packet-in or packet-out.
    pub fn count_packet(&mut self, frame: usize) {
        self.bytes += self.packet_bytes + frame as u64;
    }

    /// Sends the frame of a `SendFrame`.
    pub fn send_frame(&mut self, rack: &mut Rack, action: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = action.py();
        let frame = action.getattr(intern!(py, "frame"))?.cast_into::<PyBytes>()?;
        let port: u16 = action.getattr(intern!(py, "egress_port"))?.extract()?;
        let frame = frame.as_bytes();
        self.count_packet(frame.len());
        let mut packet = Vec::with_capacity(PACKET_HEADER + frame.len());
        packet.extend_from_slice(&(port << 7).to_be_bytes());
        packet.extend_from_slice(frame);
        rack.packet_out(self.number, &packet).map_err(PyValueError::new_err)
    }

    /// Sends a table write if it is plain; false if too many are under way, `None` if it is not
    /// plain.
    pub fn write(&mut self, rack: &mut Rack, action: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
        let Some(writes) = &self.writes else { return Ok(None) };
        let Some(update) = writes.get().update(action) else { return Ok(None) };
        let kind = kind_of(&update);
        self.last_token += 1;
        if !rack.write(self.number, self.last_token, Some(update)).map_err(PyValueError::new_err)? {
            return Ok(Some(false));
        }
        self.plain.insert(self.last_token, action.clone().unbind());
        self.bytes += match self.sizes.get(&kind) {
            Some(size) => *size,
            None => {
                let size = self.size_of.bind(action.py()).call1((action,))?.extract()?;
                self.sizes.insert(kind, size);
                size
            }
        };
        Ok(Some(true))
    }

    /// Whether the engine carries out plain writes.
    pub fn has_plain_writes(&self) -> bool {
        self.writes.is_some()
    }

    /// The plain write that is answered with this token, unless it was discarded.
    pub fn answered(&mut self, token: u64) -> Option<Py<PyAny>> {
        self.plain.remove(&token)
    }

    /// The plain writes under way will not be answered.
    pub fn discard_writes(&mut self) {
        self.plain.clear();
    }
}

/// Whether the engine carries out the write of this token.
pub fn is_plain(token: u64) -> bool {
    token & ENGINE != 0
}

fn kind_of(update: &TableUpdate) -> WriteKind {
    let (kind, entry) = match update {
        TableUpdate::Insert(entry) => (0, entry),
        TableUpdate::Modify(entry) => (1, entry),
        TableUpdate::Delete { table_id, .. } => return (2, *table_id, 0),
    };
    match entry.action {
        EntryAction::Direct { action_id, .. } => (kind, entry.table_id, action_id),
        _ => (kind, entry.table_id, 0),
    }
}
