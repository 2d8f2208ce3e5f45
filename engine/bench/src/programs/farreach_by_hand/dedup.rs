//! The deduplication window: the last 1024 requests of each of 64 clients, and their sequence
//! numbers, if the switch has applied them.

use crate::handwritten::Counts;

const CELLS: usize = 65_536;
const CLIENTS: u16 = 64;
/// The request numbers of one window.
const WINDOW: u32 = 1024;
/// A request is late if it is older by less than this many windows.
const LATE_WINDOWS: u32 = 0x4_0000;
/// The number of windows in 32 bits.
const WINDOWS: u32 = u32::MAX / WINDOW + 1;

/// A remembered request.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// The request number without the bits of the place.
    window: u32,
    is_used: bool,
    is_applied: bool,
    /// The lowest bits of the incarnation in which it was applied.
    incarnation: u8,
}

/// What the window knows about a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Copy {
    /// It arrives for the first time, and has this place in the window.
    First(u16),
    /// A copy was applied with this incarnation and sequence number.
    Applied { incarnation: u32, sequence: u32 },
    /// A copy was forwarded, or the client has no window.
    Forwarded,
    /// The client has sent much later requests.
    Late,
}

pub(super) struct Dedup {
    seen: Box<[Seen]>,
    /// The sequence numbers of applied writes.
    applied: Box<[u32]>,
}

impl Dedup {
    pub(super) fn new() -> Self {
        Self { seen: vec![Seen::default(); CELLS].into(), applied: vec![0; CELLS].into() }
    }

    /// Whether a request of a sender has arrived before.
    #[inline]
    pub(super) fn find(&self, sender: u16, request: u32, incarnation: u32) -> Copy {
        let client = sender.wrapping_sub(1);
        if client >= CLIENTS {
            return Copy::Forwarded;
        }
        let place = client * WINDOW as u16 + (request % WINDOW) as u16;
        let seen = self.seen[usize::from(place)];
        let ahead = seen.window.wrapping_sub(request / WINDOW) % WINDOWS;
        if !seen.is_used || ahead >= LATE_WINDOWS {
            Copy::First(place)
        } else if ahead > 0 {
            Copy::Late
        } else if seen.is_applied {
            let age = (incarnation as u8).wrapping_sub(seen.incarnation);
            let incarnation = incarnation.wrapping_sub(age.into());
            Copy::Applied { incarnation, sequence: self.applied[usize::from(place)] }
        } else {
            Copy::Forwarded
        }
    }

    /// Remembers the first copy of a request, with its sequence number if it is applied.
    #[inline]
    pub(super) fn remember(
        &mut self,
        place: u16,
        request: u32,
        incarnation: u32,
        applied: Option<u32>,
    ) {
        self.seen[usize::from(place)] = Seen {
            window: request / WINDOW,
            is_used: true,
            is_applied: applied.is_some(),
            incarnation: incarnation as u8,
        };
        if let Some(sequence) = applied {
            self.applied[usize::from(place)] = sequence;
        }
    }

    /// The cells of the window.
    pub(super) fn counts(&self) -> Counts {
        let cell = |seen: &Seen| {
            u64::from(seen.window) << 10
                | u64::from(seen.is_used) << 9
                | u64::from(seen.is_applied) << 8
                | u64::from(seen.incarnation)
        };
        vec![
            ("NetkvEgress.dedup.cells", self.seen.iter().map(cell).collect()),
            (
                "NetkvEgress.applied_sequence.cells",
                self.applied.iter().map(|cell| u64::from(*cell)).collect(),
            ),
        ]
    }
}
