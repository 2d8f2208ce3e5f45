//! The messages that wait between a switch and its controller: one bounded queue for each class.
//!
//! Rules
//! -----
//! 1. A more urgent class is sent first; within a class messages stay in order.
//! 2. If the queue of its class is full, a message is dropped and counted. A node that waits for an
//!    answer repeats its request, and a record that stays hot is reported again.
//! 3. Reports of hot records neither delay answers nor occupy their queue. So the work of a
//!    controller, above all a recovery, does not take longer while many records are hot.

use std::collections::VecDeque;

use netkv_wire::FrameView;

/// Bytes of the controller headers (`packet_in_t`, `packet_out_t`): a port of 9 bits and padding.
const CONTROLLER_HEADER: usize = 2;

/// Kinds of messages, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// All messages but reports: requests and answers of controllers, table writes.
    Answer,
    /// A frame that reports a hot record, or acknowledges a report.
    Report,
    /// A digest.
    Digest,
}

const CLASSES: usize = 3;

impl Class {
    /// The class of a frame with a controller header in front. A frame of another protocol is
    /// [`Class::Answer`].
    pub fn of(frame: &[u8]) -> Self {
        let parsed = frame.get(CONTROLLER_HEADER..).map(FrameView::parse);
        match parsed {
            Some(Ok(view)) if view.op().is_report() => Self::Report,
            _ => Self::Answer,
        }
    }
}

/// Bounded queues of messages, and counts of dropped messages.
#[derive(Debug, Clone)]
pub struct Backlog<M> {
    queues: [VecDeque<M>; CLASSES],
    limits: [usize; CLASSES],
    dropped: [u64; CLASSES],
    peak: usize,
}

impl<M> Backlog<M> {
    /// Empty queues with these limits, the most urgent class first.
    pub fn new(limits: [usize; CLASSES]) -> Self {
        Self { queues: Default::default(), limits, dropped: [0; CLASSES], peak: 0 }
    }

    /// Adds a message; returns it if the queue of its class is full.
    pub fn offer(&mut self, class: Class, message: M) -> Result<(), M> {
        if self.queues[class as usize].len() >= self.limits[class as usize] {
            self.dropped[class as usize] += 1;
            return Err(message);
        }
        self.put(class, message);
        Ok(())
    }

    /// Adds a message without a limit: the sender limits the number of such messages.
    pub fn put(&mut self, class: Class, message: M) {
        self.queues[class as usize].push_back(message);
        self.peak = self.peak.max(self.len());
    }

    /// Removes the next message.
    pub fn pop(&mut self) -> Option<M> {
        self.queues.iter_mut().find_map(VecDeque::pop_front)
    }

    /// Removes and returns the messages for which `keep` is false.
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

    /// Number of messages that wait.
    pub fn len(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    /// Whether no message waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Maximum number of messages that have waited at the same time.
    pub fn peak(&self) -> usize {
        self.peak
    }

    /// Messages of a class that were dropped because its queue was full.
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
    fn answers_go_first_and_reports_do_not_use_their_queue() {
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
    fn messages_that_stay_keep_their_order() {
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
