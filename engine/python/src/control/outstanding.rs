//! `Outstanding`: requests of a controller without a reply, and their retransmission.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};

use netkv_roles::WINDOW;
use netkv_wire::{CONTROLLER_IP, CONTROLLER_SENDER, FrameView, Status};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use super::message_numbers::{MessageNumbers, wire};
use super::nanoseconds::Nanoseconds;
use super::round_trip::{Bounds, RoundTrip};
use super::send_frame::send_frame;
use crate::wire::write_frame;

/// A request without a reply.
struct Pending {
    op: u8,
    key: [u8; 16],
    /// The number in its slot header, 0 without one.
    slot_number: u32,
    frame: Py<PyBytes>,
    /// The name of the switch that gets the frame.
    switch: Py<PyString>,
    number: i64,
    tries_left: u32,
    /// The receiver, if it has a deduplication window.
    lane: Option<u32>,
    /// When it was sent first.
    sent: Option<Nanoseconds>,
    timeout: Nanoseconds,
    due: Nanoseconds,
    repeated: bool,
}

/// The requests to one receiver with a deduplication window.
#[derive(Default)]
struct Lane {
    pending: BTreeSet<i64>,
    /// Requests beyond the receiver's window, the oldest first; some are cancelled.
    held: VecDeque<(u32, i64)>,
}

/// See `_engine.pyi`.
#[pyclass(module = "netkv._engine")]
pub struct Outstanding {
    numbers: Py<MessageNumbers>,
    bounds: Bounds,
    /// By op.
    round_trips: HashMap<u8, RoundTrip>,
    /// By the number on the wire.
    pending: HashMap<u32, Pending>,
    /// Requests that were not sent yet, with their numbers; some are cancelled.
    ready: VecDeque<(u32, i64)>,
    lanes: HashMap<u32, Lane>,
    /// Times at which timeouts end, with their requests; some are out of date.
    queue: BinaryHeap<Reverse<(Nanoseconds, u32)>>,
    #[pyo3(get)]
    retries: u64,
}

#[pymethods]
impl Outstanding {
    #[new]
    fn new(numbers: Py<MessageNumbers>, timeouts: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self {
            numbers,
            bounds: Bounds::of(timeouts)?,
            round_trips: HashMap::new(),
            pending: HashMap::new(),
            ready: VecDeque::new(),
            lanes: HashMap::new(),
            queue: BinaryHeap::new(),
            retries: 0,
        })
    }

    #[getter]
    fn numbers(&self, py: Python<'_>) -> Py<MessageNumbers> {
        self.numbers.clone_ref(py)
    }

    fn __len__(&self) -> usize {
        self.pending.len()
    }

    #[allow(clippy::too_many_arguments)] // the fields of a message
    fn add(
        &mut self,
        py: Python<'_>,
        op: u8,
        key: &[u8],
        tries: u32,
        lane: Option<u32>,
        to: u32,
        upper: bool,
        cache_metadata: Option<&Bound<'_, PyAny>>,
        stamp: Option<&Bound<'_, PyAny>>,
        slot: Option<&Bound<'_, PyAny>>,
        value: &[u8],
        switch: Py<PyString>,
    ) -> PyResult<u32> {
        let number = self.numbers.bind(py).borrow_mut().take();
        let request = wire(number);
        let slot = slot.map(slot_of).transpose()?;
        let frame = write_frame(
            py,
            op,
            key,
            request,
            u32::from_be_bytes(CONTROLLER_IP),
            to,
            CONTROLLER_SENDER,
            Status::Ok.code(),
            cache_metadata.map(metadata_of).transpose()?,
            u16::try_from(value.len()).unwrap_or(u16::MAX),
            value,
            false,
            stamp.map(stamp_of).transpose()?,
            slot,
            upper,
            None,
        )?;
        let pending = Pending {
            op,
            key: key.try_into().map_err(|_| PyValueError::new_err("a key has 16 bytes"))?,
            slot_number: slot.map_or(0, |(_, number)| number),
            frame: frame.unbind(),
            switch,
            number,
            tries_left: tries - 1,
            lane,
            sent: None,
            timeout: 0,
            due: 0,
            repeated: false,
        };
        self.pending.insert(request, pending);
        self.ready.push_back((request, number));
        if let Some(lane) = lane {
            self.lanes.entry(lane).or_default().pending.insert(number);
        }
        Ok(request)
    }

    pub fn ready<'py>(
        &mut self,
        py: Python<'py>,
        now: Nanoseconds,
    ) -> PyResult<Bound<'py, PyList>> {
        let sent = PyList::empty(py);
        while let Some((request, number)) = self.ready.front().copied() {
            if self.usable(py, number) > now {
                break;
            }
            self.ready.pop_front();
            let Some(pending) = self.pending.get_mut(&request) else { continue };
            if let Some(lane) = pending.lane.and_then(|lane| self.lanes.get_mut(&lane)) {
                let oldest = lane.pending.first().copied().unwrap_or(number);
                if number - oldest >= i64::from(WINDOW) {
                    lane.held.push_back((request, number));
                    continue;
                }
            }
            pending.sent = Some(now);
            let timeout = round_trip(&mut self.round_trips, self.bounds, pending.op).timeout;
            wait(&mut self.queue, request, pending, now, timeout);
            sent.append(send_frame(py)?.call1((&pending.frame, 0, &pending.switch))?)?;
        }
        Ok(sent)
    }

    fn answered(&mut self, now: Nanoseconds, reply: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = reply.py();
        let request: u32 = reply.getattr(intern!(py, "request"))?.extract()?;
        let Some(pending) = self.pending.get(&request) else { return Ok(false) };
        let Some(sent) = pending.sent else { return Ok(false) };
        let op: u8 = reply.getattr(intern!(py, "op"))?.extract()?;
        if op != pending.op + 1
            || reply.getattr(intern!(py, "key"))?.extract::<&[u8]>()? != pending.key
        {
            return Ok(false);
        }
        let trip = round_trip(&mut self.round_trips, self.bounds, pending.op);
        if pending.repeated {
            trip.late(pending.timeout);
        } else {
            trip.sample(now - sent);
        }
        self.cancel(request);
        Ok(true)
    }

    fn cancel(&mut self, request: u32) {
        let Some(pending) = self.pending.remove(&request) else { return };
        self.leave_lane(&pending);
        if self.queue.len() > 2 * self.pending.len() + 64 {
            let sent = self.pending.iter().filter(|(_, each)| each.sent.is_some());
            self.queue = sent.map(|(request, each)| Reverse((each.due, *request))).collect();
        }
    }

    fn clear(&mut self) {
        self.pending.clear();
        self.ready.clear();
        self.lanes.clear();
        self.queue.clear();
    }

    fn next_expired(
        &mut self,
        py: Python<'_>,
        now: Nanoseconds,
    ) -> Option<(u32, Option<Py<PyBytes>>)> {
        while let Some(Reverse((due, request))) = self.queue.peek().copied() {
            if due > now {
                break;
            }
            self.queue.pop();
            let Some(pending) = self.pending.get_mut(&request).filter(|it| it.due == due) else {
                continue;
            };
            if pending.tries_left == 0 {
                self.cancel(request);
                return Some((request, None));
            }
            pending.tries_left -= 1;
            pending.repeated = true;
            let trip = round_trip(&mut self.round_trips, self.bounds, pending.op);
            let timeout = trip.back_off(pending.timeout);
            wait(&mut self.queue, request, pending, now, timeout);
            self.retries += 1;
            return Some((request, Some(pending.frame.clone_ref(py))));
        }
        None
    }

    pub fn deadline(&mut self, py: Python<'_>) -> Option<Nanoseconds> {
        let leaves = self.ready.front().map(|(_, number)| self.usable(py, *number));
        while let Some(Reverse((due, request))) = self.queue.peek() {
            if self.pending.get(request).is_some_and(|pending| pending.due == *due) {
                return Some(leaves.map_or(*due, |leaves| leaves.min(*due)));
            }
            self.queue.pop();
        }
        leaves
    }
}

impl Outstanding {
    /// Whether a frame is surely the reply to one of the requests. It may be one also otherwise: a
    /// reply may have another number in its slot header.
    pub fn awaits(&self, reply: &FrameView<'_>) -> bool {
        reply.sender() == CONTROLLER_SENDER
            && self.pending.get(&reply.request()).is_some_and(|pending| {
                pending.sent.is_some()
                    && reply.op().code() == pending.op + 1
                    && reply.key() == pending.key
                    && reply.slot().is_none_or(|slot| slot.number == pending.slot_number)
            })
    }

    fn usable(&self, py: Python<'_>, number: i64) -> Nanoseconds {
        self.numbers.bind(py).borrow().usable(number)
    }

    fn leave_lane(&mut self, pending: &Pending) {
        let Some(lane) = pending.lane.and_then(|lane| self.lanes.get_mut(&lane)) else { return };
        lane.pending.remove(&pending.number);
        // `ready` holds those again that are still beyond the window.
        for held in lane.held.drain(..).rev() {
            self.ready.push_front(held);
        }
    }
}

fn round_trip(of: &mut HashMap<u8, RoundTrip>, bounds: Bounds, op: u8) -> &mut RoundTrip {
    of.entry(op).or_insert_with(|| RoundTrip::within(bounds))
}

/// A request that was sent now waits for its reply.
fn wait(
    queue: &mut BinaryHeap<Reverse<(Nanoseconds, u32)>>,
    request: u32,
    pending: &mut Pending,
    now: Nanoseconds,
    timeout: Nanoseconds,
) {
    pending.timeout = timeout;
    pending.due = now + timeout;
    queue.push(Reverse((pending.due, request)));
}

/// The fields of a `CacheMetadata` of netkv/model/messages.py.
fn metadata_of(metadata: &Bound<'_, PyAny>) -> PyResult<(u32, u32, u8)> {
    let py = metadata.py();
    Ok((
        metadata.getattr(intern!(py, "generation"))?.extract()?,
        metadata.getattr(intern!(py, "version"))?.extract()?,
        metadata.getattr(intern!(py, "bitmap"))?.extract()?,
    ))
}

/// The fields of a `Stamp`, likewise.
fn stamp_of(stamp: &Bound<'_, PyAny>) -> PyResult<(u32, u32, u32, u8)> {
    let py = stamp.py();
    Ok((
        stamp.getattr(intern!(py, "incarnation"))?.extract()?,
        stamp.getattr(intern!(py, "number"))?.extract()?,
        stamp.getattr(intern!(py, "generation"))?.extract()?,
        stamp.getattr(intern!(py, "bits"))?.extract()?,
    ))
}

/// The fields of a `Slot`, likewise.
fn slot_of(slot: &Bound<'_, PyAny>) -> PyResult<(u16, u32)> {
    let py = slot.py();
    Ok((
        slot.getattr(intern!(py, "entry"))?.extract()?,
        slot.getattr(intern!(py, "number"))?.extract()?,
    ))
}
