//! FPGA cards: designs whose clock advances with virtual time.
//!
//! Rules
//! 1. A design runs cycle by cycle while frames move through it, and for [`IdleModel::cycles`]
//!    after the last one, or as long as it says that it has a frame. Then its clock stands still
//!    until the next frame; a design that keeps times is told how long ([`IdleReport`]). So a
//!    second in which nothing happens costs nothing. What else changes with each cycle rests: the
//!    refresh of a memory model does not go on. (A harness that skips idle cycles is exact, but
//!    needs time for each of them.)
//! 2. A design may run ahead of virtual time, up to the moment at which a frame that no other node
//!    has sent yet could arrive: the time of the next event plus the shortest delay of its links.
//!    So running ahead changes no result.
//! 3. A design gets a frame when the last byte of it has arrived. Ports with a line rate send at
//!    that rate, and their links add the delay only.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use netkv_fpga::{Design, Error, PortSettings};
use netkv_roles::Nanos;
use serde_json::{Map, Value};

use crate::sim::config::{CardConfig, End, IdleModel, IdleReport, RackConfig};
use crate::sim::event::Event;
use crate::sim::frames::FrameId;
use crate::sim::link::{NO_LINK, bytes_on_line};
use crate::sim::timeline::Timeline;

/// Cycles within which a design must be ready after a reset.
const READY_CYCLES: u64 = 10_000_000;
/// Cycles of a reset.
const RESET_CYCLES: u32 = 16;
/// Time that a design has been idle before the first frame, in seconds.
const IDLE_BEFORE_S: f64 = 100.0;
/// Longest time that a design runs ahead.
const AHEAD: Nanos = 100_000;
const PICOS: u64 = 1000;

/// A frame on its way to a card: time of its first byte, order of insertion, port.
type Arrival = Reverse<(Nanos, u64, u16, FrameId)>;

struct Node {
    config: CardConfig,
    design: Design,
    /// The outgoing link of each port.
    links: Vec<u32>,
    /// Picoseconds of a cycle.
    period: u64,
    /// Virtual time in cycles is the cycle of the design plus this.
    offset: i64,
    /// Cycles in which the clock stood still and which the design does not know yet.
    unreported: u64,
    /// The cycle, in virtual time, at which the clock stops unless a frame moves.
    run_until: u64,
    /// Whether the clock stands still.
    sleeps: bool,
    arrivals: BinaryHeap<Arrival>,
    arrived: u64,
    /// When its next event is due.
    due: Nanos,
    /// Number of that event; others are ignored.
    turn: u32,
    /// Shortest delay of the links to it, at least a cycle.
    nearest: Nanos,
    up: bool,
    restarts: u64,
    /// Frames to ports without a link.
    unrouted: u64,
}

pub struct Cards(Vec<Node>);

impl Cards {
    pub fn new(config: &RackConfig) -> Result<Self, String> {
        let mut nodes = Vec::with_capacity(config.cards.len());
        for (index, card) in config.cards.iter().enumerate() {
            let links = config.links.iter();
            let ends = |end| matches!(end, End::Card(number, _) if usize::from(number) == index);
            let nearest = links
                .filter(|link| ends(link.a) || ends(link.b))
                .map(|link| (link.model.delay_s * 1e9) as Nanos)
                .min();
            let node = Node::new(card, nearest.unwrap_or(0))
                .map_err(|error| format!("Card {index}: {error}"))?;
            nodes.push(node);
        }
        Ok(Self(nodes))
    }

    /// The field for the number of the link from a port.
    pub fn plug(&mut self, card: u16, port: u16) -> Option<&mut u32> {
        self.0.get_mut(usize::from(card))?.links.get_mut(usize::from(port))
    }

    /// Whether a port sends at a line rate.
    pub fn has_rate(&self, card: u16, port: u16) -> bool {
        let node = self.0.get(usize::from(card));
        node.and_then(|node| node.config.rates.get(usize::from(port))).is_some_and(|it| *it > 0.0)
    }

    /// Counters of each card since its last start.
    pub fn counts(&mut self) -> Result<Vec<Value>, Error> {
        self.0.iter_mut().map(Node::counts).collect()
    }

    /// A frame whose last byte reaches a port of a card at `arrival`, now or later.
    pub fn admit(
        &mut self,
        timeline: &mut Timeline,
        card: u16,
        port: u16,
        arrival: Nanos,
        frame: FrameId,
    ) {
        let node = &mut self.0[usize::from(card)];
        if !node.up {
            timeline.frames.free(frame);
            return;
        }
        // The MAC takes a frame from its first byte on, and presents it to the design after the
        // last one. A link that is faster than the port leaves the rest of that time to the MAC.
        let on_line = node.time_on_line(port, timeline.frames.len(frame));
        let first = arrival.saturating_sub(on_line).max(arrival.min(timeline.now + node.nearest));
        node.arrived += 1;
        node.arrivals.push(Reverse((first, node.arrived, port, frame)));
        if first < node.due {
            node.wake(timeline, card, first);
        }
    }

    /// Begins an event of a card; false if the event is ignored.
    pub fn begin(&mut self, card: u16, turn: u32) -> bool {
        let node = &mut self.0[usize::from(card)];
        let begins = node.turn == turn && node.up;
        if begins {
            node.due = Nanos::MAX;
        }
        begins
    }

    /// Runs the design of a card (rule 2) until it may have sent a frame. Returns false if it does
    /// not run now. `others`: the time of the next timer of the load generator, or of
    /// the next message of a control channel.
    pub fn run(
        &mut self,
        timeline: &mut Timeline,
        card: u16,
        others: Nanos,
    ) -> Result<bool, Error> {
        let limit = timeline.now + AHEAD;
        let other = timeline.queue.next(limit).unwrap_or(limit).min(others).min(limit);
        let node = &mut self.0[usize::from(card)];
        let horizon = other + node.nearest;
        if node.sleeps {
            node.sleeps = false;
            node.sleep_until(node.cycle_of(timeline.now))?;
        }
        let next = node.arrivals.peek().map(|Reverse(arrival)| arrival.0);
        if !node.is_busy() && node.has_frame()? {
            node.keep_running();
        }
        if !node.is_busy() {
            node.sleeps = true;
            match next {
                None => return Ok(false),
                Some(at) if at > horizon => {
                    node.wake(timeline, card, at);
                    return Ok(false);
                }
                Some(at) => {
                    node.sleeps = false;
                    node.sleep_until(node.cycle_of(at))?;
                }
            }
        }
        while let Some(&Reverse((at, _, port, frame))) = node.arrivals.peek()
            && node.cycle_of(at) <= node.cycle()
        {
            node.arrivals.pop();
            node.receive(port, timeline.frames.get(frame))?;
            timeline.frames.free(frame);
        }
        let next = node.arrivals.peek().map_or(Nanos::MAX, |Reverse(arrival)| arrival.0);
        let until = node.cycle_of(horizon.min(next)).max(node.cycle());
        let cycles = until - node.cycle();
        if cycles == 0 {
            // Virtual time catches up first.
            node.wake(timeline, card, horizon);
            return Ok(false);
        }
        let cycles = if node.moves() {
            cycles
        } else {
            cycles.min(node.run_until.saturating_sub(node.cycle()).max(1))
        };
        node.design.step_to_frame(cycles)?;
        Ok(true)
    }

    /// The ports of a card with frames that its design has sent.
    pub fn ready(&self, card: u16) -> impl Iterator<Item = u32> + use<> {
        self.0[usize::from(card)].design.ready()
    }

    /// The next frame that a design has sent to a port.
    pub fn sent(
        &mut self,
        timeline: &mut Timeline,
        card: u16,
        port: u32,
    ) -> Result<Option<Sent>, Error> {
        let node = &mut self.0[usize::from(card)];
        let link = node.links[port as usize];
        let Some(sent) = node.design.transmitted(port)? else { return Ok(None) };
        let frame = if link == NO_LINK { None } else { timeline.frames.add(sent.frame) };
        let wire_cycle = sent.wire_cycle;
        node.keep_running();
        node.unrouted += u64::from(frame.is_none());
        let at = node.time_of(wire_cycle).max(timeline.now);
        Ok(Some(Sent { link, at, frame }))
    }

    /// Stops or starts a card: all frames in it are lost, and its design begins with a reset.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such card, or its design has failed.
    pub fn set(&mut self, timeline: &mut Timeline, card: u16, up: bool) -> Result<(), String> {
        let count = self.0.len();
        let Some(node) = self.0.get_mut(usize::from(card)) else {
            return Err(format!("There is no card {card}: the rack has {count}, from 0."));
        };
        for Reverse((.., frame)) in node.arrivals.drain() {
            timeline.frames.free(frame);
        }
        node.due = Nanos::MAX;
        node.turn = node.turn.wrapping_add(1);
        node.up = up;
        if !up {
            return Ok(());
        }
        let mut restart = || {
            node.design.reset(RESET_CYCLES)?;
            node.drain()?;
            node.prepare()
        };
        restart().map_err(|error| format!("Card {card} cannot be started: {error}"))?;
        node.restarts += 1;
        node.unreported = 0;
        node.sleeps = true;
        node.set_time(node.cycle_of(timeline.now));
        node.run_until = 0;
        Ok(())
    }
}

/// A frame that a design has sent.
pub struct Sent {
    pub link: u32,
    /// When it leaves.
    pub at: Nanos,
    /// `None` if there is no link at its port, or the frame is longer than all frames of netkv.
    pub frame: Option<FrameId>,
}

impl Node {
    fn new(config: &CardConfig, nearest: Nanos) -> Result<Self, Error> {
        let mut design = Design::open(&config.library, config.seed)?;
        let period = (1e12 / config.clock_hz).round() as u64;
        for (port, rate) in config.rates.iter().enumerate() {
            let bits_per_1000_cycles = (rate * period as f64 * 1e-9).round() as u32;
            let settings = PortSettings { bits_per_1000_cycles, ..PortSettings::default() };
            design.set_port(port as u32, &settings)?;
        }
        let mut node = Self {
            links: vec![NO_LINK; design.ports() as usize],
            config: config.clone(),
            design,
            period,
            offset: 0,
            unreported: 0,
            run_until: 0,
            sleeps: true,
            arrivals: BinaryHeap::new(),
            arrived: 0,
            due: Nanos::MAX,
            turn: 0,
            nearest: nearest.max(period.div_ceil(PICOS)),
            up: true,
            restarts: 0,
            unrouted: 0,
        };
        node.prepare()?;
        for (port, frame) in std::mem::take(&mut node.config.preload) {
            node.design.preload(u32::from(port), &frame)?;
        }
        node.drain()?;
        node.set_time(0);
        node.unreported = (IDLE_BEFORE_S * config.clock_hz) as u64;
        node.report_idle_time()?;
        node.set_time(0);
        node.run_until = 0;
        Ok(node)
    }

    /// Waits for the design after a reset, and changes its settings.
    fn prepare(&mut self) -> Result<(), Error> {
        if let Some((register, mask)) = self.config.ready
            && !self.design.step_until_set(register, mask, READY_CYCLES)?
        {
            let text = format!("It was not ready {READY_CYCLES} cycles after its reset.");
            return Err(Error::Design(text));
        }
        for (register, value) in &self.config.settings {
            self.design.write_register(*register, *value)?;
        }
        Ok(())
    }

    /// Lets the design complete its work, and drops what it sends.
    fn drain(&mut self) -> Result<(), Error> {
        self.design.step(self.config.idle.cycles)?;
        self.design.drop_sent()
    }

    /// Virtual time in cycles.
    fn cycle(&self) -> u64 {
        self.design.cycle().saturating_add_signed(self.offset)
    }

    /// Sets virtual time in cycles to `cycle`, without running the design.
    fn set_time(&mut self, cycle: u64) {
        self.offset = cycle as i64 - self.design.cycle() as i64;
    }

    /// The first cycle at `time` or later.
    fn cycle_of(&self, time: Nanos) -> u64 {
        (time * PICOS).div_ceil(self.period)
    }

    /// The time of a cycle of the design.
    fn time_of(&self, cycle: u64) -> Nanos {
        cycle.saturating_add_signed(self.offset) * self.period / PICOS
    }

    /// Whether a frame is at a port or crosses the bus of a virtio function.
    fn moves(&self) -> bool {
        let design = &self.design;
        design.pending_rx() > 0 || design.pending_tx() > 0 || design.pending_bus() > 0
    }

    fn is_busy(&self) -> bool {
        self.moves() || self.cycle() < self.run_until
    }

    /// Whether the design says that it has a frame.
    fn has_frame(&mut self) -> Result<bool, Error> {
        let Some((register, mask)) = self.config.idle.busy else { return Ok(false) };
        Ok(self.design.read_register(register)? & mask != 0)
    }

    /// Schedules the next event of the card.
    fn wake(&mut self, timeline: &mut Timeline, card: u16, at: Nanos) {
        self.due = at.max(timeline.now);
        self.turn = self.turn.wrapping_add(1);
        timeline.queue.push(self.due, Event::Card { card, turn: self.turn });
    }

    fn keep_running(&mut self) {
        self.run_until = self.cycle() + self.config.idle.cycles;
    }

    /// The clock stands still until `cycle`.
    fn sleep_until(&mut self, cycle: u64) -> Result<(), Error> {
        let now = self.cycle();
        if cycle <= now {
            return Ok(());
        }
        self.unreported += cycle - now;
        self.set_time(cycle);
        self.report_idle_time()
    }

    /// Tells the design how long its clock stood still.
    fn report_idle_time(&mut self) -> Result<(), Error> {
        let IdleModel { report: Some(report), .. } = self.config.idle else { return Ok(()) };
        let IdleReport { register, value, shift, unit_cycles } = report;
        let most = u64::from(u32::MAX >> shift);
        while self.unreported >= unit_cycles {
            let units = (self.unreported / unit_cycles).min(most);
            self.unreported -= units * unit_cycles;
            self.design.write_register(register, value | (units as u32) << shift)?;
        }
        Ok(())
    }

    /// How long a port receives a frame of `bytes` bytes, in nanoseconds.
    fn time_on_line(&self, port: u16, bytes: usize) -> Nanos {
        let rate = self.config.rates.get(usize::from(port)).copied().unwrap_or(0.0);
        if rate <= 0.0 {
            return 0;
        }
        (bytes_on_line(bytes) as f64 * 8.0 / rate * 1e9).round() as Nanos
    }

    /// Takes a frame whose first byte arrives now.
    fn receive(&mut self, port: u16, frame: &[u8]) -> Result<(), Error> {
        match self.design.receive(u32::from(port), frame, self.design.cycle()) {
            Ok(_) => {
                self.keep_running();
                Ok(())
            }
            // The MAC counts it.
            Err(Error::Full(_) | Error::Argument(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn counts(&mut self) -> Result<Value, Error> {
        let cycle = self.cycle();
        let mut counts = Map::new();
        for (name, register) in &self.config.counters {
            counts.insert(name.clone(), self.design.read_register(*register)?.into());
        }
        self.set_time(cycle);
        let mut drops = 0;
        for port in 0..self.design.ports() {
            let counters = self.design.counters(port)?;
            drops += counters.rx_drops + counters.tx_drops;
        }
        counts.insert("mac_drops".to_owned(), drops.into());
        counts.insert("restarts".to_owned(), self.restarts.into());
        counts.insert("unrouted".to_owned(), self.unrouted.into());
        counts.insert("cycles".to_owned(), self.design.cycle().into());
        Ok(counts.into())
    }
}
