//! What a client process and the controller of a write-back cache say to each other: HELLO and BYE,
//! asked by the process until they are answered; RELEASE, COLLECT and RECOVERED, answered as often
//! as they come, done once. All of it goes by the address of the first client of the process.

use netkv_wire::{
    CONTROLLER_IP, CONTROLLER_SENDER, FrameView, Message, Op, Sequence, Stamp, Status, client_ip,
    is_newer,
};

use super::frozen::Frozen;
use super::parts::{Parts, Taken};
use super::preserved::Records;
use crate::mutation::{Mutated, Mutation};
use crate::{Actions, Backoff, MILLISECOND, Nanos, SECOND};

/// From an answered HELLO to the next.
const HELLO_EVERY: Nanos = 60 * SECOND;
/// A BYE without answer is repeated for that long.
const BYE_PATIENCE: Nanos = 2 * SECOND;
/// Longest first wait before HELLO or BYE is repeated: until it is answered the switch's cache is of
/// no use, however patient a client is with its requests.
const FIRST_WAIT: Nanos = 50 * MILLISECOND;
/// Longest wait of all.
const LONGEST_WAIT: Nanos = SECOND;

/// What the process is at with HELLO and BYE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Talk {
    /// A HELLO or BYE waits for its answer; none is sent any more from then on.
    Asking(Op, Nanos),
    /// The controller knows the process.
    Known,
    /// BYE is over.
    Gone,
}

/// The process as the controller knows it.
#[derive(Debug)]
pub(super) struct Process {
    client: u16,
    retry: Backoff,
    talk: Talk,
    /// Number of the HELLO or BYE at hand; a line of its own, so that none holds up the window of
    /// the first client.
    number: u32,
    attempts: u32,
    /// When there is something to say.
    due: Nanos,
    /// Whether a HELLO was ever answered.
    welcome: bool,
    /// The newest life of the switch that was heard of; 0 for none.
    life: u32,
    /// The newest life for which records were collected, or are; 0 for none.
    collected: u32,
    frozen: Option<Frozen>,
    parts: Parts,
}

impl Process {
    /// A process that is going to say HELLO at once.
    pub(super) fn new(client: u16, first_request: u32, retry: Backoff) -> Self {
        Self {
            client,
            retry: Backoff { initial: retry.initial.min(FIRST_WAIT), cap: LONGEST_WAIT },
            talk: Talk::Asking(Op::Hello, Nanos::MAX),
            number: first_request,
            attempts: 0,
            due: 0,
            welcome: false,
            life: 0,
            collected: 0,
            frozen: None,
            parts: Parts::default(),
        }
    }

    /// The process has died, and another one begins in its place.
    pub(super) fn begin_again(&mut self) {
        *self = Self::new(self.client, self.number.wrapping_add(1), self.retry);
    }

    /// The life to stamp new requests with.
    pub(super) fn life(&self) -> u32 {
        self.life
    }

    /// Whether a switch whose record is of `life` has died with it: records are collected for a
    /// later life, or have been. That the life was raised says nothing: records keep theirs.
    pub(super) fn is_past(&self, life: u32, mutated: Mutated) -> bool {
        let eras = mutated.by(Mutation::ClientIgnoresEras);
        let begun = if eras { self.life } else { self.collected };
        begun != 0 && is_newer(begun, life)
    }

    /// Whether what the process keeps would be collected: the controller knows it.
    pub(super) fn is_welcome(&self) -> bool {
        self.welcome
    }

    /// Whether BYE is over.
    pub(super) fn is_gone(&self) -> bool {
        self.talk == Talk::Gone
    }

    /// Says HELLO, if it has said BYE before.
    pub(super) fn come_back(&mut self, now: Nanos) {
        if matches!(self.talk, Talk::Gone | Talk::Asking(Op::Bye, _)) {
            self.ask(now, Op::Hello, Nanos::MAX);
        }
    }

    /// Says BYE, unless it has.
    pub(super) fn leave(&mut self, now: Nanos) {
        if !matches!(self.talk, Talk::Gone | Talk::Asking(Op::Bye, _)) {
            self.ask(now, Op::Bye, now + BYE_PATIENCE);
        }
    }

    fn ask(&mut self, now: Nanos, op: Op, until: Nanos) {
        self.talk = Talk::Asking(op, until);
        self.number = self.number.wrapping_add(1);
        self.attempts = 0;
        self.due = now;
    }

    /// When to call [`Process::poll`].
    pub(super) fn due(&self) -> Nanos {
        self.due
    }

    /// Says what is due.
    pub(super) fn poll(&mut self, now: Nanos, out: &mut Actions, mutated: Mutated) {
        if now < self.due {
            return;
        }
        if self.talk == Talk::Known {
            self.ask(now, Op::Hello, Nanos::MAX);
        }
        let Talk::Asking(op, until) = self.talk else {
            self.due = Nanos::MAX;
            return;
        };
        if now >= until || self.attempts > 0 && mutated.by(Mutation::ClientHellosOnce) {
            self.rest(op);
            return;
        }
        self.attempts += 1;
        self.due = now.saturating_add(self.retry.wait(self.attempts)).min(until);
        let address = client_ip(self.client);
        let (client, number) = (self.client, self.number);
        out.send(&Message::request(address, CONTROLLER_IP, op, client, number, [0; 16]));
    }

    /// A HELLO or BYE is over.
    fn rest(&mut self, op: Op) {
        self.talk = if op == Op::Bye { Talk::Gone } else { Talk::Known };
        self.due = Nanos::MAX;
    }

    /// Takes a frame of the controller; false if it is none that is expected.
    pub(super) fn on_frame(
        &mut self,
        now: Nanos,
        frame: &FrameView<'_>,
        records: &mut Records,
        out: &mut Actions,
        mutated: Mutated,
    ) -> bool {
        let Some(stamp) = frame.stamp() else {
            return frame.op() == Op::ByeReply && self.bye(frame);
        };
        match frame.op() {
            Op::HelloReply => return self.welcomed(now, frame, stamp.sequence.life),
            Op::ByeReply => return self.bye(frame),
            _ if frame.sender() != CONTROLLER_SENDER => return false,
            Op::Release => return self.release(frame, stamp, records, out, mutated),
            // There is no such life.
            _ if stamp.sequence.life == 0 => return false,
            Op::Collect => self.collect(frame, stamp.sequence, records, out, mutated),
            Op::Recovered => self.recovered(frame, stamp, records, out, mutated),
            _ => return false,
        }
        true
    }

    fn is_answer(&self, frame: &FrameView<'_>) -> bool {
        frame.sender() == self.client && frame.request() == self.number
    }

    fn welcomed(&mut self, now: Nanos, frame: &FrameView<'_>, life: u32) -> bool {
        if !self.is_answer(frame) || !matches!(self.talk, Talk::Asking(Op::Hello, _)) {
            // An answer to an earlier one, or a copy: its life may be over.
            return frame.sender() == self.client;
        }
        self.welcome = true;
        self.hear_of(life);
        self.rest(Op::Hello);
        self.due = now.saturating_add(HELLO_EVERY);
        true
    }

    fn bye(&mut self, frame: &FrameView<'_>) -> bool {
        if self.is_answer(frame) && matches!(self.talk, Talk::Asking(Op::Bye, _)) {
            self.rest(Op::Bye);
        }
        frame.sender() == self.client
    }

    fn hear_of(&mut self, life: u32) {
        if self.life == 0 || life != 0 && is_newer(life, self.life) {
            self.life = life;
        }
    }

    fn is_over(&self, life: u32) -> bool {
        self.life != 0 && is_newer(self.life, life)
    }

    fn release(
        &mut self,
        frame: &FrameView<'_>,
        stamp: Stamp,
        records: &mut Records,
        out: &mut Actions,
        mutated: Mutated,
    ) -> bool {
        let Sequence { life: snapshot, number } = stamp.sequence;
        let (part, parts) = ((number >> 16) as u16, number as u16);
        match self.parts.take(snapshot, part, parts, frame.value(), mutated) {
            Taken::Malformed => return false,
            Taken::Whole => records.release(snapshot, self.parts.list(), mutated),
            Taken::Noted => {}
        }
        out.send(&frame.reply(Status::Ok).with_stamp(stamp));
        true
    }

    /// COLLECT of a recovery that is over is not answered: what it asks for is no longer there, and
    /// nobody must take that for an answer.
    fn collect(
        &mut self,
        frame: &FrameView<'_>,
        wanted: Sequence,
        records: &mut Records,
        out: &mut Actions,
        mutated: Mutated,
    ) {
        let Sequence { life, number: from } = wanted;
        if self.is_over(life) && !mutated.by(Mutation::ClientTellsDeadControllers) {
            return;
        }
        let again = mutated.by(Mutation::ClientFreezesAgain);
        if self.collected != life || again {
            self.collected = life;
            self.hear_of(life);
            let all = mutated.by(Mutation::ClientFreezesTheLiving);
            // What the switch says in its new life is not lost.
            let told = |life_of: u32| is_newer(life, life_of) || all;
            self.frozen = Some(Frozen::new(records, |record| told(record.sequence.life)));
            if mutated.by(Mutation::ClientDropsAtCollect) {
                records.clear();
            }
        }
        let Some(frozen) = &self.frozen else { return };
        let sequence = Sequence { life, number: frozen.len() as u32 };
        let stamp = Stamp { sequence, ..Stamp::default() };
        let page = frozen.page(from as usize);
        out.send(&frame.reply(Status::Ok).with_stamp(stamp).with_value(page));
    }

    fn recovered(
        &mut self,
        frame: &FrameView<'_>,
        stamp: Stamp,
        records: &mut Records,
        out: &mut Actions,
        mutated: Mutated,
    ) {
        let life = stamp.sequence.life;
        out.send(&frame.reply(Status::Ok).with_stamp(stamp));
        let any = mutated.by(Mutation::ClientThawsForAnyLife);
        if self.is_over(life) && !any {
            return;
        }
        self.hear_of(life);
        let frozen = self.frozen.take();
        if self.collected != life && !any {
            // Nothing was told for this life, and nothing will be.
            self.collected = life;
            return;
        }
        for (key, sequence) in frozen.iter().flat_map(Frozen::records) {
            let newest = Sequence { life: life.wrapping_add(1), number: 0 };
            let newer = mutated.by(Mutation::ClientReleasesWhatIsNewer);
            records.remove_up_to(key, if newer { newest } else { sequence });
        }
    }
}
