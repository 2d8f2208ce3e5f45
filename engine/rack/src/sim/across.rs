//! Frames from one part of a rack to another.

use netkv_roles::Nanos;

/// A frame that leaves a part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crossing {
    /// When the part has sent it: the time of the event that did.
    pub sent: Nanos,
    /// When it reaches the end of its link.
    pub arrival: Nanos,
    pub link: u32,
    length: u16,
    /// Whether the processor of the receiving host takes it into account from `sent` on, and not
    /// only when it arrives.
    pub announced: bool,
}

/// Frames from one part to another, in the order in which they were sent.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    frames: Vec<Crossing>,
    bytes: Vec<u8>,
}

impl Outbox {
    #[inline]
    pub(super) fn push(
        &mut self,
        sent: Nanos,
        (link, announced): (u32, bool),
        arrival: Nanos,
        frame: &[u8],
    ) {
        let length = frame.len() as u16;
        self.frames.push(Crossing { sent, arrival, link, length, announced });
        self.bytes.extend_from_slice(frame);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Calls `take` with each frame and its bytes, and removes them.
    pub(super) fn drain(&mut self, mut take: impl FnMut(Crossing, &[u8])) {
        let mut rest = &self.bytes[..];
        for crossing in &self.frames {
            let (bytes, others) = rest.split_at(crossing.length.into());
            rest = others;
            take(*crossing, bytes);
        }
        self.clear();
    }

    /// Removes all frames and keeps the memory.
    fn clear(&mut self) {
        self.frames.clear();
        self.bytes.clear();
    }

    /// Moves all frames of another outbox behind those of this one.
    pub(super) fn append(&mut self, other: &mut Self) {
        if self.is_empty() {
            std::mem::swap(self, other);
        } else {
            self.frames.append(&mut other.frames);
            self.bytes.append(&mut other.bytes);
        }
    }
}

/// Frames from one part whose time of sending the receiving part has not reached.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    frames: Outbox,
    /// Number of frames, and of their bytes, that were taken.
    taken: usize,
    bytes_taken: usize,
}

impl Inbox {
    /// Takes all frames of an outbox.
    pub(super) fn add(&mut self, outbox: &mut Outbox) {
        if self.taken == self.frames.frames.len() {
            self.frames.clear();
            (self.taken, self.bytes_taken) = (0, 0);
        }
        self.frames.append(outbox);
    }

    /// When the next frame was sent.
    #[inline]
    pub(super) fn due(&self) -> Nanos {
        self.frames.frames.get(self.taken).map_or(Nanos::MAX, |crossing| crossing.sent)
    }

    /// Removes the next frame.
    #[inline]
    pub(super) fn take(&mut self) -> Option<(Crossing, &[u8])> {
        let crossing = *self.frames.frames.get(self.taken)?;
        let start = self.bytes_taken;
        self.taken += 1;
        self.bytes_taken += usize::from(crossing.length);
        Some((crossing, &self.frames.bytes[start..self.bytes_taken]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(outbox: &mut Outbox, at: Nanos) {
        outbox.push(at, (at as u32, true), 100 - at, &vec![at as u8; at as usize]);
    }

    fn taken(inbox: &mut Inbox) -> (Nanos, Nanos, Vec<u8>) {
        let due = inbox.due();
        let (crossing, bytes) = inbox.take().unwrap();
        assert_eq!(crossing.sent, due);
        (due, crossing.arrival, bytes.to_vec())
    }

    #[test]
    fn frames_are_taken_in_the_order_in_which_they_were_sent() {
        let (mut outbox, mut inbox) = (Outbox::default(), Inbox::default());
        for at in 1..4 {
            sent(&mut outbox, at);
        }
        inbox.add(&mut outbox);
        assert!(outbox.is_empty());
        assert_eq!(taken(&mut inbox), (1, 99, vec![1]));
        sent(&mut outbox, 5);
        inbox.add(&mut outbox);
        assert_eq!(taken(&mut inbox), (2, 98, vec![2, 2]));
        assert_eq!(taken(&mut inbox), (3, 97, vec![3; 3]));
        assert_eq!(taken(&mut inbox), (5, 95, vec![5; 5]));
        assert_eq!(inbox.due(), Nanos::MAX);
        assert!(inbox.take().is_none());
        sent(&mut outbox, 6);
        inbox.add(&mut outbox);
        assert_eq!(taken(&mut inbox), (6, 94, vec![6; 6]));
    }

    #[test]
    fn mail_that_was_not_taken_comes_first() {
        let (mut mail, mut outbox) = (Outbox::default(), Outbox::default());
        sent(&mut mail, 1);
        sent(&mut outbox, 2);
        mail.append(&mut outbox);
        let mut seen = Vec::new();
        mail.drain(|crossing, bytes| seen.push((crossing.sent, bytes.to_vec())));
        assert_eq!(seen, [(1, vec![1]), (2, vec![2, 2])]);
        assert!(mail.is_empty() && outbox.is_empty());
    }
}
