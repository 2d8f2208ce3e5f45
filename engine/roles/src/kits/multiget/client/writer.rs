//! Writes the frames of requests.

use netkv_wire::multiget::{Addresses, Header, Op, write_keys, write_put};
use netkv_wire::{Ip, client_ip};

use super::operation::{Operation, Part, RequestedKey};
use crate::Actions;
use crate::kits::multiget::key_bits::key_span;
use crate::kits::multiget::layout::Layout;

/// Writes the frames of an operation.
#[derive(Debug)]
pub struct RequestWriter<'a> {
    pub(crate) layout: &'a Layout,
    pub(super) operation: &'a Operation,
    pub(super) value: &'a [u8],
}

impl RequestWriter<'_> {
    /// The keys of a request.
    pub(crate) fn keys_of(&self, part: &Part) -> &[RequestedKey] {
        self.operation.keys_of(part)
    }

    /// The header of a request for all of its keys.
    pub(crate) fn header(&self, part: &Part) -> Header {
        Header::request(self.operation.op, part.number, part.count as u8, &part.groups)
    }

    /// Requests the keys from the first to the last missing one.
    pub(crate) fn send_span(&self, to: Ip, mut header: Header, part: &Part, out: &mut Actions) {
        (header.startidx, header.numkey) = key_span(part.missing);
        self.write(to, &header, part, out);
    }

    /// Writes a request.
    pub(crate) fn write(&self, destination: Ip, header: &Header, part: &Part, out: &mut Actions) {
        let source = client_ip(self.operation.client);
        let addresses = Addresses { source, destination, fields: self.layout.fields };
        let keys = self.operation.keys_of(part);
        out.send_written(|bytes| {
            if header.op == Op::Put {
                write_put(bytes, &addresses, header, keys[0].name.as_bytes(), self.value, None);
            } else {
                let names = keys.iter().map(|asked| asked.name.as_bytes());
                write_keys(bytes, &addresses, header, names, None);
            }
        });
    }
}
