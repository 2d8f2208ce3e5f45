//! Model of one direction of the control channel between a switch and its controller.
//!
//! The channel sends one message after the other at its rate; others wait in a [`Backlog`].

use netkv_roles::Nanos;
use serde::Deserialize;

use crate::backlog::{Backlog, Class};
use crate::switch::DIGEST_QUEUE;

/// Model of the control channels.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelModel {
    /// Latency from one end to the other, in seconds.
    pub latency_s: f64,
    /// Messages a second in each direction.
    pub rate: f64,
    /// Maximum number of frames that wait at the sending end, without reports; further ones are
    /// dropped.
    pub queue: usize,
    /// Maximum number of waiting frames that report hot records or acknowledge reports.
    pub report_queue: usize,
}

/// A direction of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To the controller.
    Up,
    /// To the switch.
    Down,
}

/// A waiting message.
#[derive(Debug, Clone)]
struct Waiting<M> {
    message: M,
    /// When it was sent.
    from: Nanos,
    /// How long it occupies the channel.
    gap: Nanos,
}

/// The result of sending a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Sent<M> {
    /// It leaves, and arrives at this time.
    Leaves(Nanos, M),
    /// It waits for other messages, or until the channel is restored.
    Waits,
    /// The queue of its class is full.
    Dropped(M),
}

/// One direction of a control channel.
#[derive(Debug, Clone)]
pub struct Channel<M> {
    latency: Nanos,
    gap: Nanos,
    /// When the channel is free for the next message.
    free_at: Nanos,
    backlog: Backlog<Waiting<M>>,
    /// Whether the owner has scheduled a call of [`Channel::next`].
    wake_up_scheduled: bool,
    /// Incremented by [`Channel::clear`]; wake-ups of an earlier incarnation are ignored.
    incarnation: u16,
    cut: bool,
}

impl<M> Channel<M> {
    /// An idle channel.
    pub fn new(model: &ChannelModel) -> Self {
        Self {
            latency: (model.latency_s * 1e9).round() as Nanos,
            gap: (1e9 / model.rate).round() as Nanos,
            free_at: 0,
            backlog: Backlog::new([model.queue, model.report_queue, DIGEST_QUEUE]),
            wake_up_scheduled: false,
            incarnation: 0,
            cut: false,
        }
    }

    /// Sends a message at `now`. It occupies the channel for 1/`parts` of the time of a message,
    /// because it shares one with others. If the caller limits such messages (`limited`), the
    /// message is never dropped.
    pub fn send(
        &mut self,
        now: Nanos,
        class: Class,
        parts: u64,
        limited: bool,
        message: M,
    ) -> Sent<M> {
        let gap = self.gap / parts;
        if !self.cut && self.free_at <= now && self.backlog.is_empty() {
            return Sent::Leaves(self.leave(now, gap), message);
        }
        let waiting = Waiting { message, from: now, gap };
        if limited {
            self.backlog.put(class, waiting);
        } else if let Err(refused) = self.backlog.offer(class, waiting) {
            return Sent::Dropped(refused.message);
        }
        Sent::Waits
    }

    /// If a message waits and no wake-up is scheduled: when to call [`Channel::next`], and with
    /// which incarnation. The caller must schedule this call.
    pub fn schedule_wake_up(&mut self) -> Option<(Nanos, u16)> {
        if self.wake_up_scheduled || self.cut || self.backlog.is_empty() {
            return None;
        }
        self.wake_up_scheduled = true;
        Some((self.free_at, self.incarnation))
    }

    /// Removes the message that leaves now, and returns it with the time of its arrival.
    pub fn next(&mut self, incarnation: u16) -> Option<(Nanos, M)> {
        if incarnation != self.incarnation {
            return None;
        }
        self.wake_up_scheduled = false;
        if self.cut {
            return None;
        }
        let Waiting { message, from, gap } = self.backlog.pop()?;
        Some((self.leave(from, gap), message))
    }

    fn leave(&mut self, from: Nanos, gap: Nanos) -> Nanos {
        self.free_at = self.free_at.max(from) + gap;
        self.free_at + self.latency
    }

    /// Cuts the channel: no message leaves from now on. Removes and returns the waiting messages
    /// for which `keep` is false.
    pub fn cut(&mut self, keep: impl Fn(&M) -> bool) -> Vec<M> {
        self.cut = true;
        self.take_unless(keep)
    }

    /// Restores a channel that was cut.
    pub fn restore(&mut self, now: Nanos) {
        self.cut = false;
        self.free_at = self.free_at.max(now);
    }

    /// Whether the channel is cut.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Resets the channel when its sender has stopped. Removes and returns all waiting messages.
    pub fn clear(&mut self) -> Vec<M> {
        self.free_at = 0;
        self.wake_up_scheduled = false;
        self.incarnation = self.incarnation.wrapping_add(1);
        self.take_unless(|_| false)
    }

    fn take_unless(&mut self, keep: impl Fn(&M) -> bool) -> Vec<M> {
        let taken = self.backlog.take_unless(|waiting| keep(&waiting.message));
        taken.into_iter().map(|waiting| waiting.message).collect()
    }

    /// Number of waiting messages: now, and the maximum since the start.
    pub fn backlog(&self) -> (usize, usize) {
        (self.backlog.len(), self.backlog.peak())
    }

    /// Number of messages of a class that were dropped because its queue was full.
    pub fn dropped(&self, class: Class) -> u64 {
        self.backlog.dropped(class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel() -> Channel<&'static str> {
        let model = ChannelModel { latency_s: 50e-6, rate: 10_000.0, queue: 2, report_queue: 1 };
        Channel::new(&model)
    }

    fn send(channel: &mut Channel<&'static str>, now: Nanos, class: Class) -> Sent<&'static str> {
        channel.send(now, class, 1, false, "it")
    }

    #[test]
    fn messages_queue_and_digests_of_a_list_share_a_message() {
        let mut channel = channel();
        assert_eq!(send(&mut channel, 0, Class::Answer), Sent::Leaves(150_000, "it"));
        assert_eq!(send(&mut channel, 0, Class::Answer), Sent::Waits, "behind the first");
        assert_eq!(channel.schedule_wake_up(), Some((100_000, 0)));
        assert_eq!(channel.schedule_wake_up(), None, "it is scheduled once");
        assert_eq!(channel.next(0), Some((250_000, "it")));
        assert_eq!(
            channel.send(1_000_000, Class::Digest, 50, false, "part"),
            Sent::Leaves(1_052_000, "part")
        );
    }

    #[test]
    fn reports_do_not_delay_answers() {
        let mut channel = channel();
        let _ = send(&mut channel, 0, Class::Report);
        let reports: Vec<_> = (0..50).map(|_| send(&mut channel, 0, Class::Report)).collect();
        assert_eq!(reports[0], Sent::Waits);
        assert!(reports[1..].iter().all(|sent| *sent == Sent::Dropped("it")));
        assert_eq!(channel.dropped(Class::Report), 49);
        assert_eq!(channel.send(10, Class::Answer, 1, false, "answer"), Sent::Waits);
        assert_eq!(channel.next(0), Some((250_000, "answer")), "before all reports");
        assert_eq!(channel.backlog(), (1, 2));
        for _ in 0..9 {
            assert_eq!(channel.send(10, Class::Answer, 1, true, "write"), Sent::Waits);
        }
        assert_eq!(send(&mut channel, 10, Class::Answer), Sent::Dropped("it"));
    }

    #[test]
    fn a_message_does_not_wait_for_those_of_a_stopped_sender() {
        let mut channel = channel();
        for _ in 0..3 {
            let _ = send(&mut channel, 0, Class::Answer);
        }
        assert_eq!(channel.clear(), ["it"; 2]);
        assert_eq!(send(&mut channel, 10, Class::Answer), Sent::Leaves(150_010, "it"));
        assert_eq!(send(&mut channel, 20, Class::Answer), Sent::Waits);
        assert_eq!(channel.next(0), None, "the wake-up of the stopped sender is ignored");
        assert_eq!(channel.schedule_wake_up(), Some((100_010, 1)));
        assert_eq!(channel.next(1), Some((250_010, "it")));
    }

    #[test]
    fn a_cut_channel_sends_what_it_kept_when_it_is_restored() {
        let mut channel = channel();
        let _ = send(&mut channel, 0, Class::Answer);
        let _ = channel.send(0, Class::Answer, 1, true, "write");
        let _ = channel.send(0, Class::Answer, 1, false, "frame");
        assert_eq!(channel.schedule_wake_up(), Some((100_000, 0)));
        assert_eq!(channel.cut(|message| *message == "write"), ["frame"]);
        assert_eq!(channel.next(0), None);
        assert_eq!(channel.send(500_000, Class::Answer, 1, true, "write"), Sent::Waits);
        assert_eq!(channel.schedule_wake_up(), None);
        channel.restore(1_000_000);
        assert_eq!(channel.schedule_wake_up(), Some((1_000_000, 0)));
        assert_eq!(channel.next(0), Some((1_150_000, "write")));
        assert_eq!(channel.schedule_wake_up(), Some((1_100_000, 0)));
        assert_eq!(channel.next(0), Some((1_250_000, "write")));
    }
}
