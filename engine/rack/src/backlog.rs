//! What waits between a switch and its controller: a queue for each class of message, all limited.
//!
//! Rules
//! -----
//! 1. A class that is more urgent goes first; within a class messages stay in order.
//! 2. A message that finds the queue of its class full is dropped and counted. Answers are repeated
//!    by whoever waits for them, reports come again while their record is hot.
//! 3. Reports of hot records take neither the room nor the turn of answers. So what a controller
//!    does under a hot load, above all a recovery, takes as long as under a cold one.

use std::collections::VecDeque;

use netkv_wire::FrameView;

/// Bytes of the controller headers (`packet_in_t`, `packet_out_t`): a port of 9 bits and padding.
const CONTROLLER_HEADER: usize = 2;

/// Kinds of messages, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Whatever is no report: requests and answers of controllers, table writes.
    Answer,
    /// A frame that reports a hot record, or acknowledges one.
    Report,
    /// A digest.
    Digest,
}

const CLASSES: usize = 3;

impl Class {
    /// The class of a frame with a controller header in front. One that is not of netkv is no
    /// report.
    pub fn of(frame: &[u8]) -> Self {
        let parsed = frame.get(CONTROLLER_HEADER..).map(FrameView::parse);
        match parsed {
            Some(Ok(view)) if view.op().is_report() => Self::Report,
            _ => Self::Answer,
        }
    }
}

/// Messages that wait at most, and how many there were too many of.
#[derive(Debug, Clone)]
pub struct Backlog<M> {
    queues: [VecDeque<M>; CLASSES],
    limits: [usize; CLASSES],
    dropped: [u64; CLASSES],
    peak: usize,
}

impl<M> Backlog<M> {
    /// Empty queues that take so many messages of each class, the most urgent first.
    pub fn new(limits: [usize; CLASSES]) -> Self {
        Self { queues: Default::default(), limits, dropped: [0; CLASSES], peak: 0 }
    }

    /// Takes a message; gives it back if too many of its class wait.
    pub fn offer(&mut self, class: Class, message: M) -> Result<(), M> {
        if self.queues[class as usize].len() >= self.limits[class as usize] {
            self.dropped[class as usize] += 1;
            return Err(message);
        }
        self.put(class, message);
        Ok(())
    }

    /// Takes a message whose number its sender limits.
    pub fn put(&mut self, class: Class, message: M) {
        self.queues[class as usize].push_back(message);
        self.peak = self.peak.max(self.len());
    }

    /// The next message.
    pub fn pop(&mut self) -> Option<M> {
        self.queues.iter_mut().find_map(VecDeque::pop_front)
    }

    /// Keeps what `keep` says; gives the others back.
    pub fn take_unless(&mut self, keep: impl Fn(&M) -> bool) -> Vec<M> {
        let mut taken = Vec::new();
        for queue in &mut self.queues {
            let all = std::mem::take(queue);
            let (kept, others): (VecDeque<M>, VecDeque<M>) = all.into_iter().partition(&keep);
            *queue = kept;
            taken.extend(others);
        }
        taken
    }

    /// Messages that wait.
    pub fn len(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most that have waited at a time.
    pub fn peak(&self) -> usize {
        self.peak
    }

    /// Messages of a class that found its queue full.
    pub fn dropped(&self, class: Class) -> u64 {
        self.dropped[class as usize]
    }
}

#[cfg(test)]
mod tests {
    use netkv_wire::{CONTROLLER_IP, Message, Op, SERVICE_IP, Stamp, write_frame};

    use super::*;

    fn frame(op: Op) -> Vec<u8> {
        let message = Message::request(SERVICE_IP, CONTROLLER_IP, op, 200, 1, [7; 16])
            .with_stamp(Stamp::default());
        let mut bytes = vec![0; CONTROLLER_HEADER];
        write_frame(&mut bytes, &message);
        bytes
    }

    #[test]
    fn answers_go_first_and_reports_take_none_of_their_room() {
        let mut backlog = Backlog::new([2, 1, 3]);
        for number in 0..5 {
            let _ = backlog.offer(Class::Digest, ("digest", number));
            let _ = backlog.offer(Class::Report, ("report", number));
            let _ = backlog.offer(Class::Answer, ("answer", number));
        }
        assert_eq!(backlog.len(), 6);
        let dropped = [Class::Answer, Class::Report, Class::Digest].map(|it| backlog.dropped(it));
        assert_eq!(dropped, [3, 4, 2]);
        let order: Vec<_> = std::iter::from_fn(|| backlog.pop()).collect();
        assert_eq!(
            order,
            [
                ("answer", 0),
                ("answer", 1),
                ("report", 0),
                ("digest", 0),
                ("digest", 1),
                ("digest", 2)
            ]
        );
        assert_eq!(backlog.peak(), 6);
    }

    #[test]
    fn what_is_taken_out_leaves_the_others_in_order() {
        let mut backlog = Backlog::new([9, 9, 9]);
        for number in 0..6 {
            backlog.put(Class::Answer, number);
        }
        assert_eq!(backlog.take_unless(|number| number % 2 == 0), [1, 3, 5]);
        assert_eq!(std::iter::from_fn(|| backlog.pop()).collect::<Vec<_>>(), [0, 2, 4]);
    }

    #[test]
    fn only_offers_and_their_answers_are_reports() {
        for op in [Op::Offer, Op::OfferReply] {
            assert_eq!(Class::of(&frame(op)), Class::Report, "{op:?}");
        }
        for op in [Op::RestoreReply, Op::Original, Op::Hello, Op::Outgrown, Op::Collect] {
            assert_eq!(Class::of(&frame(op)), Class::Answer, "{op:?}");
        }
        assert_eq!(Class::of(&[0]), Class::Answer, "not a frame of netkv");
    }
}
