//! The load generator: the client role, the phases of a run, and timed shifts of popularity. It has
//! no I/O; the live node and the simulator drive it.

use std::any::Any;

use netkv_roles::{Actions, ClientStats, LoadClient, Nanos, Summary, VerifyReport, Violation};
use netkv_workload::{Arrivals, Shift, Turn, Workload};
use serde_json::{Value, json};

use crate::command::{Command, PhaseName};
use crate::config::LoadConfig;
use crate::sample;
use crate::saturation::Saturation;

/// The clients of a process and the phase of the run.
pub struct Generator {
    client: Box<dyn LoadClient>,
    /// Frames to send, until the driver takes them.
    actions: Box<Actions>,
    phase: PhaseName,
    sampled_at: Nanos,
    /// Reads of the verification that were sent, up to the last sample.
    verification_reads: u64,
    /// Memory of the previous sample's counts, for reuse.
    spare: ClientStats,
    shifts: Option<Shifts>,
    saturation: Option<Saturation>,
    /// Completed and lost operations up to the last sample.
    sampled: (u64, u64),
    /// Servers in the rack.
    servers: u16,
}

/// Periodic popularity shifts during the phase `measure`.
struct Shifts {
    shift: Shift,
    every: Nanos,
    next: Nanos,
}

/// The counts of an interval, before they become a JSON document.
pub struct Sample {
    stats: ClientStats,
    interval: Nanos,
    phase: PhaseName,
    outstanding: usize,
    verified: Option<VerifyReport>,
    read_back: u64,
    /// Findings of the checker since the start.
    history: Option<(Summary, Vec<Violation>)>,
}

impl Sample {
    /// The sample as JSON, which `_engine.pyi` describes, without the counts of the socket; and the
    /// memory of the counts, for [`Generator::give_back`].
    pub fn document(self) -> (Value, ClientStats) {
        let mut document = sample::document(&self.stats, self.interval, self.verified);
        sample::add_history(&mut document, self.history);
        document["phase"] = json!(self.phase);
        document["outstanding"] = json!(self.outstanding);
        if self.phase == PhaseName::Verify {
            document["verified"] = json!(self.read_back);
        }
        (document, self.stats)
    }
}

impl Generator {
    /// An idle generator at time `now`; `first_request` as in [`netkv_roles::first_request`].
    ///
    /// # Errors
    ///
    /// A sentence about an invalid setting.
    pub fn new(config: &LoadConfig, first_request: u32, now: Nanos) -> Result<Self, String> {
        let options = config.options(first_request)?;
        let workload = Workload::new(config.workload())?;
        let shifts = config.shifts()?;
        Ok(Self {
            client: (config.role.load)(&options, workload)?,
            actions: Box::default(),
            phase: PhaseName::Idle,
            sampled_at: now,
            verification_reads: 0,
            spare: ClientStats::default(),
            shifts: shifts.map(|(shift, every)| Shifts { shift, every, next: Nanos::MAX }),
            saturation: config.saturation()?,
            sampled: (0, 0),
            servers: config.keyspace.servers,
        })
    }

    /// Executes a command and returns the JSON reply.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with the command.
    pub fn carry_out(&mut self, now: Nanos, command: Command) -> Result<Value, String> {
        match command {
            Command::Phase { name } => self.begin(name, now),
            Command::Rate { .. } | Command::Outstanding { .. } | Command::Throttle { .. } => {
                let arrivals = command.arrivals()?;
                // A commanded rate replaces the search for the saturation throughput.
                self.saturation = None;
                self.client.set_arrivals(now, arrivals, &mut self.actions);
            }
            Command::Crash {} => self.client.crash(now, &mut self.actions),
            Command::Shift(shift) => self.client.load_mut().workload.shift(shift.into())?,
            Command::Turn { first, other } => {
                let turn = Turn { servers: self.servers, first, other };
                self.client.load_mut().workload.set_turn(Some(turn))?;
            }
            Command::Hottest { n } => {
                let hex = |key: [u8; 16]| key.map(|byte| format!("{byte:02x}")).concat();
                let keys: Vec<String> = self.client.load().workload.hottest(n).map(hex).collect();
                return Ok(json!({ "keys": keys }));
            }
        }
        Ok(json!({ "ok": true }))
    }

    fn begin(&mut self, name: PhaseName, now: Nanos) {
        match name {
            PhaseName::Warmup | PhaseName::Measure => {
                // Between these two phases the load continues.
                if !matches!(self.phase, PhaseName::Warmup | PhaseName::Measure) {
                    self.client.start(now, &mut self.actions);
                }
            }
            PhaseName::Drain | PhaseName::Idle => self.client.load_mut().pause(),
            PhaseName::Verify => {
                self.verification_reads = 0;
                self.client.verify(now, &mut self.actions);
            }
            PhaseName::End => self.client.leave(now, &mut self.actions),
        }
        if let Some(shifts) = &mut self.shifts {
            let measuring = name == PhaseName::Measure;
            shifts.next = if measuring { now + shifts.every } else { Nanos::MAX };
        }
        let (completed, lost) = self.ended();
        if let Some(saturation) = &mut self.saturation {
            match name {
                PhaseName::Warmup => saturation.start(now, completed, lost),
                PhaseName::Measure if saturation.next() == Nanos::MAX => {
                    saturation.start(now, completed, lost);
                }
                PhaseName::Measure => {}
                _ => saturation.stop(),
            }
        }
        self.phase = name;
        self.end_finished_phase();
    }

    /// Operations completed and lost since the start.
    fn ended(&self) -> (u64, u64) {
        let counts = self.client.counts();
        (self.sampled.0 + counts.completed, self.sampled.1 + counts.lost)
    }

    /// Changes to the phase `idle` if the present phase has ended by itself.
    pub fn end_finished_phase(&mut self) {
        let finished = match self.phase {
            PhaseName::Drain => self.client.outstanding() == 0,
            PhaseName::Verify => self.client.verified().is_some(),
            PhaseName::End => self.client.has_left(),
            _ => false,
        };
        if finished {
            self.phase = PhaseName::Idle;
        }
    }

    /// Handles a frame.
    pub fn on_frame(&mut self, now: Nanos, frame: &[u8]) {
        self.client.on_frame(now, frame, &mut self.actions);
    }

    /// As [`netkv_roles::Client::state_of`].
    pub fn state_of(&self, frame: &[u8]) -> Option<&dyn Any> {
        self.client.state_of(frame)
    }

    /// Runs the timers that are due.
    ///
    /// # Errors
    ///
    /// A sentence, if popularity cannot shift as configured or the role has failed.
    pub fn poll(&mut self, now: Nanos) -> Result<(), String> {
        if let Some(shifts) = self.shifts.as_mut().filter(|shifts| shifts.next <= now) {
            shifts.next += shifts.every;
            let shift = shifts.shift;
            self.client.load_mut().workload.shift(shift)?;
        }
        let (completed, lost) = self.ended();
        if let Some(saturation) = self.saturation.as_mut().filter(|it| it.next() <= now)
            && let Some(rate) = saturation.adjust(completed, lost)
        {
            self.client.set_arrivals(now, Arrivals::Poisson { rate }, &mut self.actions);
        }
        if self.client.deadline().is_some_and(|deadline| deadline <= now) {
            self.client.poll(now, &mut self.actions);
        }
        self.actions.take_failure().map_or(Ok(()), Err)
    }

    /// When to call [`Generator::poll`], if no frame or command comes before.
    pub fn deadline(&self) -> Option<Nanos> {
        let shift = self.shifts.as_ref().map(|shifts| shifts.next);
        let saturation = self.saturation.as_ref().map(Saturation::next);
        let due = [self.client.deadline(), shift, saturation].into_iter().flatten().min();
        due.filter(|at| *at != Nanos::MAX)
    }

    /// The frames to send. The driver sends and clears them.
    pub fn actions(&mut self) -> &mut Actions {
        &mut self.actions
    }

    /// Takes the frames to send, and keeps `empty` for later ones.
    pub fn take_actions(&mut self, empty: Box<Actions>) -> Box<Actions> {
        std::mem::replace(&mut self.actions, empty)
    }

    /// The counts since the last call.
    pub fn take_sample(&mut self, now: Nanos) -> Sample {
        let interval = now - std::mem::replace(&mut self.sampled_at, now);
        self.sampled = self.ended();
        self.client.take_stats(&mut self.spare);
        let counts = &self.spare.counts;
        if self.phase == PhaseName::Verify {
            self.verification_reads += counts.requests - counts.retries;
        }
        let outstanding = self.client.outstanding();
        let judge = &self.client.load().judge;
        Sample {
            interval,
            phase: self.phase,
            outstanding,
            verified: self.client.verified(),
            read_back: self.verification_reads.saturating_sub(outstanding as u64),
            history: judge.history().map(|summary| (summary, judge.violations())),
            stats: std::mem::take(&mut self.spare),
        }
    }

    /// Keeps the memory of a sample's counts for reuse.
    pub fn give_back(&mut self, stats: ClientStats) {
        self.spare = stats;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use netkv_roles::MILLISECOND;
    use netkv_roles::registry::ClientRole;
    use netkv_wire::{FrameView, Message, Op, Sequence, Stamp, Status, write_frame};

    fn generator(role: &str) -> Generator {
        let config = json!({
            "role": role, "clients": 2, "seed": 1, "deadline_s": 1.0, "retry_s": 0.01,
            "keyspace": {"servers": 1, "racks": 1, "key_size": 16}, "verify": true,
            "workload": {
                "keys": 10, "zipf": 0.0, "writes": 1.0, "value_size": 64,
                "arrivals": { "outstanding": 2 },
            },
        });
        let config: LoadConfig = serde_json::from_value(config).unwrap();
        Generator::new(&config, 1, 0).unwrap()
    }

    /// Removes and returns the frames to send.
    fn sent(generator: &mut Generator) -> Vec<Vec<u8>> {
        let frames = generator.actions().frames().map(<[u8]>::to_vec).collect();
        generator.actions().clear();
        frames
    }

    fn answer(generator: &mut Generator, request: &[u8], sequence: Sequence, cache_hit: bool) {
        let stamp = Stamp { sequence, ..Stamp::default() };
        let reply = FrameView::parse(request).unwrap().reply(Status::Ok).with_stamp(stamp);
        let mut bytes = Vec::new();
        write_frame(&mut bytes, &Message { cache_hit, ..reply });
        generator.on_frame(MILLISECOND, &bytes);
        generator.end_finished_phase();
    }

    fn begin(generator: &mut Generator, name: &str) {
        let text = json!({ "do": "phase", "name": name }).to_string();
        generator.carry_out(MILLISECOND, Command::parse(&text).unwrap()).unwrap();
    }

    fn sample(generator: &mut Generator) -> Value {
        let (document, spare) = generator.take_sample(MILLISECOND).document();
        generator.give_back(spare);
        document
    }

    fn is_op(bytes: &[u8], op: Op) -> bool {
        FrameView::parse(bytes).is_ok_and(|frame| frame.op() == op)
    }

    /// A role of the registry whose clients register.
    pub(crate) fn registering_role() -> &'static str {
        let registers = |name: &&str| {
            let mut generator = generator(name);
            generator.poll(0).unwrap();
            sent(&mut generator).iter().any(|frame| is_op(frame, Op::Hello))
        };
        let mut names = ClientRole::all().map(|role| role.name);
        names.find(registers).expect("the registry has such a role")
    }

    #[test]
    fn clients_register_first_and_report_preserved_records() {
        let mut generator = generator(registering_role());
        assert_eq!(generator.deadline(), Some(0));
        generator.poll(0).unwrap();
        let hello = sent(&mut generator).remove(0);
        assert!(is_op(&hello, Op::Hello));
        answer(&mut generator, &hello, Sequence { incarnation: 3, number: 0 }, false);
        begin(&mut generator, "measure");
        let writes = sent(&mut generator);
        answer(&mut generator, &writes[0], Sequence { incarnation: 3, number: 7 }, true);
        let first = sample(&mut generator);
        let kept = ["preserved", "preserved_most", "preserved_peak"].map(|name| &first[name]);
        assert_eq!(kept, [1, 1, 1]);
        assert_eq!((&first["preserved_bytes"], &first["ignored"]), (&json!(88), &json!(0)));
        sent(&mut generator);
        generator.carry_out(MILLISECOND, Command::Crash {}).unwrap();
        let after = sent(&mut generator);
        assert!(after.iter().any(|frame| is_op(frame, Op::Hello)), "another process registers");
        let second = sample(&mut generator);
        assert_eq!((&second["preserved"], &second["preserved_peak"]), (&json!(0), &json!(1)));
        assert_eq!(second["lost"], 2, "the pending operations of the crashed process");
        begin(&mut generator, "end");
        assert_eq!(sample(&mut generator)["phase"], "end");
        let bye = sent(&mut generator).remove(0);
        assert!(is_op(&bye, Op::Bye));
        answer(&mut generator, &bye, Sequence::default(), false);
        assert_eq!(sample(&mut generator)["phase"], "idle");
    }

    #[test]
    fn clients_without_a_registration_send_nothing_at_the_end() {
        let mut generator = generator("plain");
        assert_eq!(generator.deadline(), None);
        begin(&mut generator, "end");
        assert!(sent(&mut generator).is_empty());
        assert_eq!(sample(&mut generator)["phase"], "idle");
    }
}
