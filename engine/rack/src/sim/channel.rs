//! The control channel between a switch and its controller, one direction of it.
//!
//! It sends one message after the other at its rate; what comes meanwhile waits in a [`Backlog`].

use netkv_roles::Nanos;
use serde::Deserialize;

use crate::backlog::{Backlog, Class};
use crate::switch::DIGEST_QUEUE;

/// What control channels are like.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelModel {
    /// From one end to the other, in seconds.
    pub latency_s: f64,
    /// Messages a second in each direction; more wait.
    pub rate: f64,
    /// Frames that wait at the sending end before further ones are dropped; reports apart.
    pub queue: usize,
    /// Frames that report hot records, or acknowledge reports, that wait there.
    pub report_queue: usize,
}

/// A message that waits.
#[derive(Debug, Clone)]
struct Waiting<M> {
    message: M,
    /// When it may leave.
    from: Nanos,
    /// How long the channel is busy with it.
    gap: Nanos,
}

/// What becomes of a message that is sent.
#[derive(Debug, PartialEq, Eq)]
pub enum Sent<M> {
    /// It leaves, and arrives at this time.
    Leaves(Nanos, M),
    /// It waits for others, or for the channel to be whole.
    Waits,
    /// Too many of its class wait.
    Dropped(M),
}

/// One direction.
#[derive(Debug, Clone)]
pub struct Channel<M> {
    latency: Nanos,
    gap: Nanos,
    /// When the last message that left has left.
    free_at: Nanos,
    backlog: Backlog<Waiting<M>>,
    /// Whether its owner knows when to call [`Channel::next`].
    woken: bool,
    /// How often its end has died: a wake of before means nothing.
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
            woken: false,
            incarnation: 0,
            cut: false,
        }
    }

    /// A message comes at `now`; it shares its place in the channel with `parts - 1` others. One
    /// that is `limited` elsewhere is never dropped.
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

    /// When to call [`Channel::next`], and with what, if its owner has not been told and something
    /// waits.
    pub fn wake(&mut self) -> Option<(Nanos, u16)> {
        if self.woken || self.cut || self.backlog.is_empty() {
            return None;
        }
        self.woken = true;
        Some((self.free_at, self.incarnation))
    }

    /// The message that leaves now, with the time of its arrival.
    pub fn next(&mut self, incarnation: u16) -> Option<(Nanos, M)> {
        if incarnation != self.incarnation {
            return None;
        }
        self.woken = false;
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

    /// Nothing leaves from now on. What waits and does not `stall` is given back.
    pub fn cut(&mut self, stalls: impl Fn(&M) -> bool) -> Vec<M> {
        self.cut = true;
        self.take_unless(stalls)
    }

    /// The channel is whole again.
    pub fn heal(&mut self, now: Nanos) {
        self.cut = false;
        self.free_at = self.free_at.max(now);
    }

    /// Whether nothing leaves.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Its end has died: what waits is given back, and the next one finds the channel idle.
    pub fn clear(&mut self) -> Vec<M> {
        self.free_at = 0;
        self.woken = false;
        self.incarnation = self.incarnation.wrapping_add(1);
        self.take_unless(|_| false)
    }

    fn take_unless(&mut self, keep: impl Fn(&M) -> bool) -> Vec<M> {
        let taken = self.backlog.take_unless(|waiting| keep(&waiting.message));
        taken.into_iter().map(|waiting| waiting.message).collect()
    }

    /// What waits.
    pub fn backlog(&self) -> (usize, usize) {
        (self.backlog.len(), self.backlog.peak())
    }

    /// Messages of a class that were dropped because too many waited.
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
    fn messages_queue_for_the_channel_and_lists_share_one() {
        let mut channel = channel();
        assert_eq!(send(&mut channel, 0, Class::Answer), Sent::Leaves(150_000, "it"));
        assert_eq!(send(&mut channel, 0, Class::Answer), Sent::Waits, "behind the first");
        assert_eq!(channel.wake(), Some((100_000, 0)));
        assert_eq!(channel.wake(), None, "once is enough");
        assert_eq!(channel.next(0), Some((250_000, "it")));
        assert_eq!(
            channel.send(1_000_000, Class::Digest, 50, false, "part"),
            Sent::Leaves(1_052_000, "part")
        );
    }

    #[test]
    fn a_full_queue_drops_reports_before_answers_wait() {
        let mut channel = channel();
        let _ = send(&mut channel, 0, Class::Report);
        let reports: Vec<_> = (0..50).map(|_| send(&mut channel, 0, Class::Report)).collect();
        assert_eq!(reports[0], Sent::Waits);
        assert!(reports[1..].iter().all(|sent| *sent == Sent::Dropped("it")));
        assert_eq!(channel.dropped(Class::Report), 49);
        assert_eq!(channel.send(10, Class::Answer, 1, false, "answer"), Sent::Waits);
        assert_eq!(channel.next(0), Some((250_000, "answer")), "behind the one under way only");
        assert_eq!(channel.backlog(), (1, 2));
        for _ in 0..9 {
            assert_eq!(channel.send(10, Class::Answer, 1, true, "write"), Sent::Waits);
        }
        assert_eq!(send(&mut channel, 10, Class::Answer), Sent::Dropped("it"));
    }

    #[test]
    fn a_message_waits_for_nothing_that_an_ended_sender_had_to_say() {
        let mut channel = channel();
        for _ in 0..3 {
            let _ = send(&mut channel, 0, Class::Answer);
        }
        assert_eq!(channel.clear(), ["it"; 2]);
        assert_eq!(send(&mut channel, 10, Class::Answer), Sent::Leaves(150_010, "it"));
        assert_eq!(send(&mut channel, 20, Class::Answer), Sent::Waits);
        assert_eq!(channel.next(0), None, "who was to be woken has died");
        assert_eq!(channel.wake(), Some((100_010, 1)));
        assert_eq!(channel.next(1), Some((250_010, "it")));
    }

    #[test]
    fn a_cut_channel_sends_what_it_kept_when_it_is_restored() {
        let mut channel = channel();
        let _ = send(&mut channel, 0, Class::Answer);
        let _ = channel.send(0, Class::Answer, 1, true, "write");
        let _ = channel.send(0, Class::Answer, 1, false, "frame");
        assert_eq!(channel.wake(), Some((100_000, 0)));
        assert_eq!(channel.cut(|message| *message == "write"), ["frame"]);
        assert_eq!(channel.next(0), None);
        assert_eq!(channel.send(500_000, Class::Answer, 1, true, "write"), Sent::Waits);
        assert_eq!(channel.wake(), None);
        channel.heal(1_000_000);
        assert_eq!(channel.wake(), Some((1_000_000, 0)));
        assert_eq!(channel.next(0), Some((1_150_000, "write")));
        assert_eq!(channel.wake(), Some((1_100_000, 0)));
        assert_eq!(channel.next(0), Some((1_250_000, "write")));
    }
}
