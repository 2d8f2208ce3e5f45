//! Storage reads for client reads, FETCH and copies of writes, and their answers (rules 3 and 4).

use netkv_wire::{
    FrameView, Ip, Key, MAX_CACHED_VALUE, Message, Op, Sequence, Stamp, Status, bits,
};

use super::state::Server;
use crate::kits::single_key::server::state::Call;
use crate::{Actions, Nanos, StoreResult, is_reserved};

/// A stamped read of a client, a FETCH, or a copy of a write that is answered with what is stored
/// now: it waits for the store.
#[derive(Debug)]
pub struct Query {
    op: Op,
    source: Ip,
    sender: u16,
    request: u32,
    key: Key,
    generation: u32,
    /// The switch has reported the key as hot.
    hot: bool,
    /// The record that is embedded in the read.
    embedded: Option<Box<Embedded>>,
}

/// A record of the switch that may be newer than the stored one.
#[derive(Debug)]
struct Embedded {
    sequence: Sequence,
    deleted: bool,
    value: Vec<u8>,
}

impl Server {
    /// Asks the store for the record of a key, for a read, a FETCH or a copy of a write.
    pub(super) fn query(&mut self, frame: &FrameView<'_>, out: &mut Actions) {
        let stamp = frame.stamp().unwrap_or_default();
        let embedded = (frame.op() == Op::Get && stamp.has(bits::EMBEDDED)).then(|| {
            let deleted = stamp.has(bits::DELETED);
            Box::new(Embedded { sequence: stamp.sequence, deleted, value: frame.value().to_vec() })
        });
        let key = frame.key();
        let query = Query {
            op: frame.op(),
            source: frame.source(),
            sender: frame.sender(),
            request: frame.request(),
            key,
            generation: stamp.generation,
            hot: stamp.has(bits::HOT),
            embedded,
        };
        let call = self.calls.add(Call::Query(query));
        out.get(call, key);
    }

    /// The store has answered with the record.
    pub(super) fn on_queried(
        &mut self,
        now: Nanos,
        query: Query,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        if query.op == Op::Get {
            self.copies.end(now, (query.sender, query.request));
        }
        let (found, sequence) = match result {
            StoreResult::Value(value, sequence) => (Some(value), sequence),
            StoreResult::NotFound(sequence) => {
                self.note_tombstone(now, &query.key, sequence);
                (None, sequence)
            }
            StoreResult::Done | StoreResult::Failed => {
                if query.op == Op::Get {
                    self.answer_query(&query, Status::Rejected, Stamp::default(), &[], out);
                }
                return;
            }
        };
        let Query { generation, hot, .. } = query;
        match (&query.embedded, query.op) {
            (Some(it), _) if it.sequence.is_newer(sequence) => {
                let deleted = it.deleted;
                let bits = bits::EMBEDDED | if deleted { bits::DELETED } else { 0 };
                let stamp = Stamp { sequence: it.sequence, generation, bits };
                let status = if deleted { Status::NotFound } else { Status::Ok };
                self.answer_query(&query, status, stamp, &it.value, out);
            }
            (_, Op::Get | Op::Fetch) => {
                let tombstone = found.is_none() && sequence != Sequence::default();
                let bits = if tombstone { bits::DELETED } else { 0 };
                let stamp = Stamp { sequence, generation, bits };
                let (status, value) = match found {
                    None => (Status::NotFound, &[][..]),
                    Some(value) if query.op == Op::Fetch && value.len() > MAX_CACHED_VALUE => {
                        (Status::TooLarge, &[][..])
                    }
                    Some(value) => (Status::Ok, value),
                };
                self.answer_query(&query, status, stamp, value, out);
            }
            _ => self.answer_query(
                &query,
                Status::Ok,
                Stamp { sequence, generation, bits: 0 },
                &[],
                out,
            ),
        }
        if hot {
            self.offer(now, &query.key, sequence, found, out);
        }
    }

    fn answer_query(
        &self,
        query: &Query,
        status: Status,
        stamp: Stamp,
        value: &[u8],
        out: &mut Actions,
    ) {
        let op = query.op.reply();
        let message = Message::request(
            self.address(),
            query.source,
            op,
            query.sender,
            query.request,
            query.key,
        );
        out.send(&message.with_value(value).with_status(status).with_stamp(stamp));
    }

    /// A copy of a write that was carried out is answered with what is stored now (rule 3).
    pub(super) fn answer_copy(&mut self, frame: &FrameView<'_>, out: &mut Actions) {
        let stamp = frame.stamp().unwrap_or_default();
        match self.protocol.sequences.get(&frame.key()) {
            Some(sequence) if !stamp.has(bits::HOT) => {
                let stamp = Stamp { sequence, bits: 0, ..stamp };
                self.send_reply(frame.reply(Status::Ok).with_stamp(stamp), out);
            }
            _ => self.query(frame, out),
        }
    }

    /// The controller asks for a record.
    pub(super) fn on_fetch(&mut self, frame: &FrameView<'_>, out: &mut Actions) {
        if is_reserved(&frame.key()) {
            self.stats.unexpected += 1;
            self.refuse(frame, Status::Rejected, out);
        } else {
            self.query(frame, out);
        }
    }
}
