//! The loop of the thread of a pipeline: each round moves frames from the ports of the pipeline,
//! and packets of other pipelines, through the pipeline to its ports and to other pipelines.

use std::io;
use std::iter::{once, repeat_n};
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::time::Duration;

use netkv_dataplane::{BATCH, DigestMessage, Output, Packet, pipeline_of};

use super::shared::{DIGEST_QUEUE, Lane, PORTS, Port, Shared};
use crate::backlog::Class;
use crate::clock;
use crate::impair::Direction;
use crate::impaired_links::{ImpairedLinks, Late};
use crate::lock::lock;
use crate::pipeline::{Pipeline, Pipelines};
use crate::record::{Passage, Recorder};
use crate::sys::{Carrier, Poller, Received, Sender};
use crate::worker::Signals;

/// Bytes of an Ethernet header.
const SHORTEST_FRAME: usize = 14;
/// Token of the waker in the poller; ports have their index.
const WAKER: u64 = u64::MAX;

/// The state of the thread.
pub struct Loop<'a, P> {
    shared: &'a Shared<P>,
    lane: &'a Lane,
    /// Number of the pipeline.
    pipeline: usize,
    ports: &'a [Port],
    signals: &'a Signals,
    poller: Poller,
    ready: Vec<u64>,
    received: Received,
    output: Output,
    sender: Sender,
    /// For each port, the ranges of its frames in `output`.
    leaving: Vec<Vec<(usize, usize)>>,
    /// Index of a port number in `ports`.
    index: [Option<usize>; PORTS],
    links: ImpairedLinks,
    /// Delayed frames from hosts that are due in this round.
    arriving: Vec<Late>,
    /// Number of delayed frames to hosts, at the head of `output`. They have crossed their link.
    late: usize,
    /// Frames of this round to the control plane.
    packet_ins: Vec<Vec<u8>>,
    digests: Vec<DigestMessage>,
    recorder: Option<Recorder>,
    crossing: Crossing,
}

/// Packets between this pipeline and others.
#[derive(Default)]
#[allow(clippy::vec_box)] // a packet is large, and boxes are cheap to move
struct Crossing {
    /// Packets of the last batch for other pipelines.
    leaving: Vec<Box<Packet>>,
    /// Packets from one of the pipelines.
    arriving: Vec<Box<Packet>>,
    /// For each pipeline, processed packets that go back to it.
    returning: Vec<Vec<Box<Packet>>>,
    /// Packets for reuse by this pipeline.
    spare: Vec<Box<Packet>>,
}

impl<'a, P: Pipelines> Loop<'a, P> {
    /// Watches the ports of a pipeline.
    pub fn new(
        shared: &'a Shared<P>,
        ports: &'a [Port],
        pipeline: usize,
        signals: &'a Signals,
    ) -> io::Result<Self> {
        let poller = Poller::new()?;
        poller.watch(&signals.waker, WAKER)?;
        let mut index = [None; PORTS];
        for (i, port) in ports.iter().enumerate() {
            poller.watch(&port.link, i as u64)?;
            index[usize::from(port.number)] = Some(i);
        }
        let lane = &shared.lanes[pipeline];
        let returning = (0..shared.crossings.pipelines()).map(|_| Vec::new()).collect();
        Ok(Self {
            shared,
            lane,
            pipeline,
            ports,
            signals,
            poller,
            ready: Vec::new(),
            received: Received::default(),
            output: Output::new(),
            sender: Sender::default(),
            leaving: vec![Vec::new(); ports.len()],
            index,
            links: ImpairedLinks::new(shared.seed, ports.iter().map(|port| port.number)),
            arriving: Vec::new(),
            late: 0,
            packet_ins: Vec::new(),
            digests: Vec::new(),
            recorder: lock(&lane.recorder).take(),
            crossing: Crossing { returning, ..Crossing::default() },
        })
    }

    /// Moves frames until the node is stopped.
    pub fn run(mut self) -> io::Result<()> {
        // A round clears the waker, so it may have taken the wake-up that asks the thread to end.
        while !self.signals.stopping() {
            let limit = if self.shared.crossings.may_sleep(self.pipeline) {
                clock::until(self.links.deadline())
            } else {
                Some(Duration::ZERO)
            };
            self.ready.clear();
            self.ready.extend(self.poller.wait(limit)?);
            self.shared.crossings.awake(self.pipeline);
            let mut at_work = lock(&self.lane.at_work);
            while self.shared.paused.load(Ordering::Acquire) {
                at_work = match self.lane.resumed.wait(at_work) {
                    Ok(guard) => guard,
                    Err(poisoned) => poisoned.into_inner(),
                };
            }
            if self.signals.stopping() {
                break;
            }
            self.round()?;
        }
        Ok(())
    }

    /// Moves the frames that are ready.
    fn round(&mut self) -> io::Result<()> {
        if self.lane.changed.load(Ordering::Acquire) {
            self.change_links();
        }
        if self.links.deadline().is_some() {
            self.release();
        }
        for from in 0..self.shared.crossings.pipelines() {
            if from != self.pipeline {
                self.packets_of(from);
            }
        }
        for at in 0..self.ready.len() {
            match self.ready[at] {
                WAKER => self.woken(),
                index => self.port_batch(index as usize)?,
            }
        }
        self.lane.counters.batches.add(1);
        if self.links.impairs_to() {
            self.distribute_impaired();
        } else {
            self.distribute();
        }
        self.send();
        if let Some(recorder) = &mut self.recorder {
            recorder.flush();
        }
        self.output.clear();
        self.late = 0;
        self.deliver();
        Ok(())
    }

    /// Another thread has work for this one: a packet for its pipeline, or a frame for its CPU
    /// port.
    fn woken(&mut self) {
        self.signals.waker.clear();
        let lanes = self.shared.lanes.len();
        if pipeline_of(self.shared.cpu_port, lanes) == self.pipeline {
            self.packet_outs();
        }
    }

    fn packet_outs(&mut self) {
        let mut waiting = lock(&self.shared.packet_outs);
        let frames: Vec<Vec<u8>> = std::iter::from_fn(|| waiting.pop()).collect();
        drop(waiting);
        self.lane.counters.packet_outs.add(frames.len() as u64);
        let frames = frames.iter().map(Vec::as_slice);
        let mut pipeline = self.shared.pipelines.lock(self.pipeline);
        pipeline.batch(clock::now(), self.shared.cpu_port, frames, &mut self.output);
        finish(pipeline, &mut self.digests, &mut self.crossing);
        self.hand_over();
    }

    /// Processes the packets that another pipeline has handed over.
    fn packets_of(&mut self, from: usize) {
        let Crossing { arriving, returning, .. } = &mut self.crossing;
        self.shared.crossings.take(from, self.pipeline, arriving, &mut returning[from]);
        if arriving.is_empty() {
            return;
        }
        let mut arriving = std::mem::take(arriving);
        let mut losses = 0;
        let mut packets = arriving.drain(..);
        while packets.len() > 0 {
            let batch = packets.by_ref().take(BATCH);
            let returning = &mut self.crossing.returning[from];
            let mut pipeline = self.shared.pipelines.lock(self.pipeline);
            losses += pipeline.receive_crossing(batch, returning, &mut self.output);
            finish(pipeline, &mut self.digests, &mut self.crossing);
            self.hand_over();
        }
        drop(packets);
        self.crossing.arriving = arriving;
        self.lane.counters.crossing_losses.add(losses);
    }

    /// Hands over the packets of the last batch for other pipelines.
    fn hand_over(&mut self) {
        let Crossing { leaving, spare, .. } = &mut self.crossing;
        if leaving.is_empty() {
            return;
        }
        let (all, lanes) = (leaving.len(), &self.shared.lanes);
        let wake = |to: usize| lanes[to].signals.waker.wake();
        let dropped = self.shared.crossings.send(self.pipeline, leaving, spare, wake);
        let crossed = all - dropped;
        self.lane.counters.crossings.add(crossed as u64);
        self.lane.counters.crossing_drops.add(dropped as u64);
    }

    fn port_batch(&mut self, index: usize) -> io::Result<()> {
        let port = &self.ports[index];
        let received = port.link.receive(&mut self.received)?;
        if let Some(recorder) = &mut self.recorder {
            let frames = self.received.frames().flatten();
            let failed = frames.filter(|frame| !recorder.frame(index, Passage::In, frame)).count();
            self.lane.counters.unrecorded.add(failed as u64);
        }
        if self.lane.capture.is_on() {
            self.lane.capture.batch(port.number, self.received.frames().flatten());
        }
        let (mut bytes, mut malformed) = (0, 0);
        let frames = self.received.frames().filter_map(|frame| {
            let whole = frame.filter(|frame| frame.len() >= SHORTEST_FRAME);
            match whole {
                Some(frame) => bytes += frame.len() as u64,
                None => malformed += 1,
            }
            whole
        });
        let mut pipeline = self.shared.pipelines.lock(self.pipeline);
        let now = clock::now();
        if self.links.impairs_from(index) {
            let links = &mut self.links;
            let passing = frames
                .flat_map(|frame| repeat_n(frame, links.pass(now, index, Direction::From, frame)));
            pipeline.batch(now, port.number, passing, &mut self.output);
        } else {
            pipeline.batch(now, port.number, frames, &mut self.output);
        }
        finish(pipeline, &mut self.digests, &mut self.crossing);
        self.hand_over();
        port.counters.received.add(received as u64);
        port.counters.received_bytes.add(bytes);
        self.lane.counters.malformed.add(malformed);
        if self.links.impairs_from(index) {
            self.count_links();
        }
        Ok(())
    }

    /// Applies changes of the links' impairments.
    fn change_links(&mut self) {
        self.lane.changed.store(false, Ordering::Release);
        for change in lock(&self.lane.changes).drain(..) {
            self.links.apply(change);
        }
    }

    /// Delivers the delayed frames that are due: to the pipeline, or to the output.
    fn release(&mut self) {
        let now = clock::now();
        while let Some(late) = self.links.take_due(now) {
            match late.direction() {
                Direction::From => self.arriving.push(late),
                Direction::To => {
                    self.output.push(self.ports[late.port].number, &late.frame);
                    self.late += 1;
                    self.links.recycle(late);
                }
            }
        }
        if self.arriving.is_empty() {
            return;
        }
        let mut pipeline = self.shared.pipelines.lock(self.pipeline);
        for late in self.arriving.drain(..) {
            let frame = once(late.frame.as_slice());
            pipeline.batch(now, self.ports[late.port].number, frame, &mut self.output);
            self.links.recycle(late);
        }
        finish(pipeline, &mut self.digests, &mut self.crossing);
        self.hand_over();
    }

    /// Sorts the output of the pipeline by port; frames for the CPU port go to the control plane.
    fn distribute(&mut self) {
        let mut unrouted = 0;
        for (number, (start, end)) in self.output.ranges() {
            if number == self.shared.cpu_port {
                self.packet_ins.push(self.output.bytes()[start..end].to_vec());
            } else if let Some(&Some(index)) = self.index.get(usize::from(number)) {
                self.leaving[index].push((start, end));
            } else {
                unrouted += 1;
            }
        }
        self.lane.counters.unrouted.add(unrouted);
    }

    /// [`Loop::distribute`] for links that may lose, duplicate, corrupt or delay frames.
    fn distribute_impaired(&mut self) {
        let now = clock::now();
        let bytes = self.output.bytes();
        let mut unrouted = 0;
        for (at, (number, (start, end))) in self.output.ranges().enumerate() {
            if number == self.shared.cpu_port {
                self.packet_ins.push(bytes[start..end].to_vec());
            } else if let Some(&Some(index)) = self.index.get(usize::from(number)) {
                let copies = if at < self.late {
                    1
                } else {
                    self.links.pass(now, index, Direction::To, &bytes[start..end])
                };
                self.leaving[index].extend(repeat_n((start, end), copies));
            } else {
                unrouted += 1;
            }
        }
        self.lane.counters.unrouted.add(unrouted);
        self.count_links();
    }

    fn count_links(&mut self) {
        let (tally, counters) = (self.links.take_tally(), &self.lane.counters);
        counters.links_lost.add(tally.lost);
        counters.links_duplicated.add(tally.duplicated);
        counters.links_corrupted.add(tally.corrupted);
        counters.links_delayed.add(tally.delayed);
        counters.links_dropped.add(tally.dropped);
    }

    fn send(&mut self) {
        let counters = &self.lane.counters;
        for (index, (port, leaving)) in self.ports.iter().zip(&mut self.leaving).enumerate() {
            if !leaving.is_empty() {
                if let Some(recorder) = &mut self.recorder {
                    for &(start, end) in leaving.iter() {
                        let frame = &self.output.bytes()[start..end];
                        let written = recorder.frame(index, Passage::Out, frame);
                        counters.unrecorded.add(u64::from(!written));
                    }
                }
                let sent = port.link.transmit(&mut self.sender, self.output.bytes(), leaving);
                leaving.clear();
                port.counters.sent.add(sent.frames);
                port.counters.sent_bytes.add(sent.bytes);
                counters.send_drops.add(sent.dropped);
            }
        }
    }

    /// Passes the packet-ins and digests of the round to the caller of [`super::Node::wait`].
    fn deliver(&mut self) {
        if self.packet_ins.is_empty() && self.digests.is_empty() {
            return;
        }
        let counters = &self.lane.counters;
        counters.packet_ins.add(self.packet_ins.len() as u64);
        counters.digests.add(self.digests.len() as u64);
        let mut inbox = lock(&self.shared.inbox);
        for frame in self.packet_ins.drain(..) {
            let class = Class::of(&frame);
            if inbox.frames.offer(class, frame).is_err() {
                match class {
                    Class::Report => counters.report_drops.add(1),
                    _ => counters.cpu_queue_drops.add(1),
                }
            }
        }
        for digest in self.digests.drain(..) {
            if inbox.digests.len() < DIGEST_QUEUE {
                inbox.digests.push_back(digest);
            } else {
                counters.digest_drops.add(1);
            }
        }
        drop(inbox);
        self.shared.arrived.notify_all();
    }
}

/// Takes the digests and the packets for other pipelines after a batch, and unlocks the pipeline.
fn finish(
    mut pipeline: MutexGuard<'_, impl Pipeline>,
    digests: &mut Vec<DigestMessage>,
    crossing: &mut Crossing,
) {
    digests.append(&mut pipeline.take_digests());
    pipeline.take_crossing(&mut crossing.leaving, &mut crossing.spare);
}
