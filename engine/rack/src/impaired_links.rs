//! The links at a switch node's ports: their impairments, and the frames that are delayed.
//!
//! The loop checks once a batch whether a link is impaired; other links have no further cost.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use netkv_roles::Nanos;

use crate::impair::{Arrival, Direction, Impairer, Impairment};

/// Maximum number of delayed and corrupted frames that wait, over all links; further ones are lost
/// and counted.
pub const LATE_LIMIT: usize = 65_536;
/// Maximum number of free buffers that are kept for later frames.
const SPARE: usize = 4096;

/// A change of a link's impairment in one direction.
#[derive(Debug, Clone, Copy)]
pub struct Change {
    /// Index of the port.
    pub port: usize,
    /// The direction.
    pub direction: Direction,
    /// The new impairment.
    pub impairment: Impairment,
}

/// Counts of the impairments of frames.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// Frames that were lost.
    pub lost: u64,
    /// Frames that arrived twice.
    pub duplicated: u64,
    /// Copies with flipped bits.
    pub corrupted: u64,
    /// Copies that were delayed.
    pub delayed: u64,
    /// Copies that were lost because too many frames waited.
    pub dropped: u64,
}

/// A frame that waits: it is delayed or corrupted. Frames that are due at the same time keep their
/// order.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Late {
    due: Nanos,
    sequence: u64,
    /// Index of the port.
    pub port: usize,
    to_host: bool,
    /// The whole frame.
    pub frame: Vec<u8>,
}

impl Late {
    /// The direction of the frame.
    pub fn direction(&self) -> Direction {
        if self.to_host { Direction::To } else { Direction::From }
    }
}

/// The links of one switch.
pub struct ImpairedLinks {
    /// For each port: to the host, from the host.
    links: Vec<[Impairer; 2]>,
    /// Whether any link is impaired in the direction to its host.
    impaired_to: bool,
    late: BinaryHeap<Reverse<Late>>,
    sequence: u64,
    spare: Vec<Vec<u8>>,
    tally: Tally,
}

fn side(direction: Direction) -> usize {
    match direction {
        Direction::To => 0,
        Direction::From => 1,
    }
}

impl ImpairedLinks {
    /// Links without impairments at these ports. Each direction of each port has a random stream of
    /// its own, seeded by `seed`.
    pub fn new(seed: u64, ports: impl Iterator<Item = u16>) -> Self {
        let links = ports.map(|port| {
            [Direction::To, Direction::From]
                .map(|direction| Impairer::new(seed, 2 * u64::from(port) + side(direction) as u64))
        });
        Self {
            links: links.collect(),
            impaired_to: false,
            late: BinaryHeap::new(),
            sequence: 0,
            spare: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// Changes an impairment. Frames that are already delayed stay delayed.
    pub fn apply(&mut self, change: Change) {
        self.links[change.port][side(change.direction)].set(change.impairment);
        self.impaired_to = self.links.iter().any(|link| !link[side(Direction::To)].is_idle());
    }

    /// True if frames to some host have to go through [`ImpairedLinks::pass`].
    pub fn impairs_to(&self) -> bool {
        self.impaired_to
    }

    /// True if frames from the host at a port have to go through [`ImpairedLinks::pass`].
    pub fn impairs_from(&self, port: usize) -> bool {
        !self.links[port][side(Direction::From)].is_idle()
    }

    /// Puts a frame on a link; returns the number of copies that arrive as they are and without
    /// delay. Delayed copies are kept until they are due. Corrupted copies have bytes of their own,
    /// so they are kept, too: those without delay are due at once.
    pub fn pass(&mut self, now: Nanos, port: usize, direction: Direction, frame: &[u8]) -> usize {
        let fate = self.links[port][side(direction)].fate();
        self.tally.lost += u64::from(fate.is_lost());
        self.tally.duplicated += fate.duplicates();
        self.tally.corrupted += fate.corrupted();
        let mut at_once = 0;
        for arrival in fate.arrivals() {
            if arrival.is_untouched() {
                at_once += 1;
            } else if self.late.len() < LATE_LIMIT {
                self.tally.delayed += u64::from(arrival.delay > 0);
                self.keep(now, *arrival, port, direction, frame);
            } else {
                self.tally.dropped += 1;
            }
        }
        at_once
    }

    fn keep(
        &mut self,
        now: Nanos,
        arrival: Arrival,
        port: usize,
        direction: Direction,
        frame: &[u8],
    ) {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(frame);
        if let Some(burst) = arrival.burst {
            burst.strike(&mut buffer);
        }
        self.sequence += 1;
        let due = now + arrival.delay;
        self.late.push(Reverse(Late {
            due,
            sequence: self.sequence,
            port,
            to_host: direction == Direction::To,
            frame: buffer,
        }));
    }

    /// Time at which the next delayed frame is due.
    pub fn deadline(&self) -> Option<Nanos> {
        self.late.peek().map(|Reverse(late)| late.due)
    }

    /// Removes the next delayed frame that is due at `now`.
    pub fn take_due(&mut self, now: Nanos) -> Option<Late> {
        if self.deadline()? > now {
            return None;
        }
        self.late.pop().map(|Reverse(late)| late)
    }

    /// Keeps the buffer of a frame for later frames.
    pub fn recycle(&mut self, late: Late) {
        if self.spare.len() < SPARE {
            self.spare.push(late.frame);
        }
    }

    /// Counts since the last call.
    pub fn take_tally(&mut self) -> Tally {
        std::mem::take(&mut self.tally)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn impaired(impairment: Impairment) -> ImpairedLinks {
        let mut links = ImpairedLinks::new(1, [5, 9].into_iter());
        links.apply(Change { port: 1, direction: Direction::From, impairment });
        links
    }

    fn due(links: &mut ImpairedLinks, now: Nanos) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| links.take_due(now)).map(|late| late.frame).collect()
    }

    #[test]
    fn only_the_direction_that_was_named_is_impaired() {
        let cut = Impairment { loss: 1.0, ..Impairment::NONE };
        let mut links = impaired(cut);
        assert!(links.impairs_from(1) && !links.impairs_from(0) && !links.impairs_to());
        assert_eq!(links.pass(0, 1, Direction::From, b"a"), 0);
        assert_eq!(links.pass(0, 1, Direction::To, b"a"), 1);
        assert_eq!(links.pass(0, 0, Direction::From, b"a"), 1);
        links.apply(Change { port: 0, direction: Direction::To, impairment: cut });
        assert!(links.impairs_to());
        assert_eq!(links.take_tally(), Tally { lost: 1, ..Tally::default() });
    }

    #[test]
    fn an_even_delay_keeps_the_order_and_comes_when_it_is_due() {
        let mut links = impaired(Impairment { delay: 100, ..Impairment::NONE });
        for number in 0..50u8 {
            // Ten frames at a time.
            assert_eq!(links.pass(u64::from(number / 10), 1, Direction::From, &[number]), 0);
        }
        assert_eq!(links.deadline(), Some(100));
        assert!(due(&mut links, 99).is_empty());
        assert_eq!(due(&mut links, 102), (0..30u8).map(|n| vec![n]).collect::<Vec<_>>());
        assert_eq!(due(&mut links, 104).len(), 20);
        assert_eq!(links.deadline(), None);
    }

    #[test]
    fn later_frames_overtake_those_that_are_held_back() {
        let held = Impairment { reorder: 0.5, reorder_span: 1000, ..Impairment::NONE };
        let mut links = impaired(held);
        let at_once =
            (0..100).map(|n| links.pass(n, 1, Direction::From, &[n as u8])).sum::<usize>();
        let late = due(&mut links, 10_000);
        assert_eq!(at_once + late.len(), 100);
        assert!((20..80).contains(&at_once) && !late.is_sorted());
    }

    #[test]
    fn corrupted_copies_are_due_at_once_and_the_frame_stays() {
        let corrupt = Impairment { corrupt: 1.0, duplicate: 1.0, ..Impairment::NONE };
        let mut links = impaired(corrupt);
        let frame = [0; 60];
        assert_eq!(links.pass(7, 1, Direction::From, &frame), 0);
        assert_eq!((links.deadline(), frame), (Some(7), [0; 60]));
        let arrived = due(&mut links, 7);
        assert!(arrived.iter().all(|copy| copy.len() == 60 && copy[..] != frame));
        assert_ne!(arrived[0], arrived[1], "each copy has a burst of its own");
        let expected = Tally { duplicated: 1, corrupted: 2, ..Tally::default() };
        assert_eq!(links.take_tally(), expected);
    }

    #[test]
    fn a_link_that_is_late_for_ever_does_not_take_all_memory() {
        let mut links = impaired(Impairment { delay: 1, ..Impairment::NONE });
        for _ in 0..LATE_LIMIT + 7 {
            links.pass(0, 1, Direction::From, b"frame");
        }
        let tally = links.take_tally();
        assert_eq!((tally.delayed, tally.dropped), (LATE_LIMIT as u64, 7));
        assert_eq!(due(&mut links, 1).len(), LATE_LIMIT);
    }
}
