//! Questions of the server to switch and controller: asked again until they are answered.

use netkv_wire::{CONTROLLER_IP, FrameView, Key, Mark, Message, Op, SERVICE_IP, Stamp, capacity};

use super::Server;
use super::state::{Question, Step, Timer};
use crate::mutation::Mutation;
use crate::{Actions, Nanos};

impl Server {
    /// Whether `frame` answers a question of this server that is still open.
    pub(super) fn is_answer(&mut self, frame: &FrameView<'_>, op: Op) -> bool {
        let answers = |question: &Question| question.op == op && question.key == frame.key();
        let mut open = frame.sender() == self.sender()
            && self.questions.get(&frame.request()).is_some_and(answers);
        if self.mutated.by(Mutation::MatchAnswersByKey) {
            open = self.questions.values().any(answers);
            self.questions.retain(|_, question| !answers(question));
        }
        if !open {
            self.stats.unexpected += 1;
        }
        open
    }

    /// Opens a question, which is asked again until it is answered.
    pub(super) fn ask(&mut self, now: Nanos, op: Op, key: &Key, generation: u32) -> u32 {
        let request = self.take_request();
        self.questions.insert(request, Question { op, key: *key, generation, attempts: 1 });
        self.timers.set(now + self.config.retry.wait(1), Timer::Question(request));
        request
    }

    pub(super) fn ask_again(&mut self, now: Nanos, request: u32, out: &mut Actions) {
        let Some(question) = self.questions.get_mut(&request) else { return };
        let once = match question.op {
            Op::Update => self.mutated.by(Mutation::UpdateOnce),
            Op::Invalidate => self.mutated.by(Mutation::InvalidateOnce),
            Op::Offer => self.mutated.by(Mutation::OfferOnce),
            _ => self.mutated.by(Mutation::OutgrownOnce),
        };
        if once {
            return;
        }
        question.attempts += 1;
        self.timers.set(now + self.config.retry.wait(question.attempts), Timer::Question(request));
        self.stats.retries += 1;
        self.send_question(request, out);
    }

    pub(super) fn send_question(&self, request: u32, out: &mut Actions) {
        let Some(question) = self.questions.get(&request) else { return };
        let to_controller = matches!(question.op, Op::Outgrown | Op::Offer);
        let destination = if to_controller { CONTROLLER_IP } else { SERVICE_IP };
        let message = Message::request(
            self.address(),
            destination,
            question.op,
            self.sender(),
            request,
            question.key,
        );
        match question.op {
            Op::Outgrown => {
                let generation = question.generation;
                out.send(&message.with_mark(Mark { generation, version: 0, bitmap: 0 }));
            }
            Op::Offer => {
                let Some((sequence, value)) = self.offers.record(&question.key) else { return };
                let stamp = Stamp { sequence, ..Stamp::default() };
                out.send(&message.with_stamp(stamp).with_value(value));
            }
            Op::Update => {
                let Some(Step::Updating { mark, value, .. }) =
                    self.keys.get(&question.key).map(|state| &state.step)
                else {
                    return;
                };
                let message = message.with_mark(*mark).with_value(value);
                out.send(&Message { room: capacity(mark.bitmap), ..message });
            }
            _ => out.send(&message),
        }
    }
}
