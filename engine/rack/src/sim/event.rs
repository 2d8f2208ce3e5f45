//! The events of a simulation.

use super::channel::Way;
use super::frames::FrameId;
use super::queue::Packed;

/// A future event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// A frame has reached the end of a link.
    Arrive { link: u32, frame: FrameId },
    /// A frame from another part of the rack has reached the end of a link.
    ArriveFromOutside { link: u32, frame: FrameId },
    /// A frame leaves a switch: a recirculated one, or one behind such a frame.
    Leave { switch: u16, port: u16, frame: FrameId },
    /// A server's processor is done with a frame.
    Served { server: u16, incarnation: u16, frame: FrameId },
    /// A timer of a server is due.
    ServerTimer { server: u16, incarnation: u16 },
    /// A client's processor is done with a frame.
    Received { host: u16, frame: FrameId },
    /// The coordinator's processor is done with a frame.
    Coordinated { incarnation: u16, frame: FrameId },
    /// The clock of a card runs.
    Card { card: u16, turn: u32 },
    /// A timer of the coordinator is due.
    CoordinatorTimer { incarnation: u16 },
    /// A frame from the controller has reached a switch.
    PacketOut { switch: u16, incarnation: u16, frame: FrameId },
    /// A control channel may send the next message.
    ChannelFree { switch: u16, way: Way, incarnation: u16 },
}

impl Event {
    /// The frame of the event.
    pub(super) fn frame(self) -> Option<FrameId> {
        match self {
            Self::Arrive { frame, .. }
            | Self::ArriveFromOutside { frame, .. }
            | Self::Leave { frame, .. }
            | Self::Served { frame, .. }
            | Self::Received { frame, .. }
            | Self::Coordinated { frame, .. }
            | Self::PacketOut { frame, .. } => Some(frame),
            Self::ServerTimer { .. }
            | Self::CoordinatorTimer { .. }
            | Self::Card { .. }
            | Self::ChannelFree { .. } => None,
        }
    }
}

/// Maximum number of switches, and of servers: [`Packed`] has 12 bits for them.
pub(super) const MAX_NODES: usize = 1 << NODE_BITS;
/// Maximum number of links.
pub(super) const MAX_LINKS: usize = 1 << LINK_BITS;

const NODE_BITS: u32 = 12;
const LINK_BITS: u32 = 28;
/// The kind of [`Event::ArriveFromOutside`].
const FROM_OUTSIDE: u64 = 15;

/// The link of an arrival.
fn link_of(bits: u64) -> u32 {
    (bits >> 32) as u32 & (MAX_LINKS - 1) as u32
}

/// An event in the queue, from the lowest bit: a frame or another number of 32 bits; a node of 12
/// bits and another number of 16 bits, or a link of 28 bits; the kind.
///
/// It is in a register until it is written to its place. A struct whose fields were just written to
/// the stack, one by one, could be copied only after all of these stores.
impl Packed for Event {
    #[inline(always)]
    fn pack(self) -> u64 {
        let (kind, other, node, low) = match self {
            Self::Arrive { link, frame } => {
                return u64::from(link) << 32 | u64::from(frame.bits());
            }
            Self::ArriveFromOutside { link, frame } => {
                let kind = FROM_OUTSIDE << 60;
                return kind | u64::from(link) << 32 | u64::from(frame.bits());
            }
            Self::Leave { switch, port, frame } => (1, port, switch, frame.bits()),
            Self::Served { server, incarnation, frame } => (2, incarnation, server, frame.bits()),
            Self::ServerTimer { server, incarnation } => (3, incarnation, server, 0),
            Self::Received { host, frame } => (4, host, 0, frame.bits()),
            Self::Coordinated { incarnation, frame } => (5, incarnation, 0, frame.bits()),
            Self::Card { card, turn } => (6, card, 0, turn),
            Self::CoordinatorTimer { incarnation } => (7, incarnation, 0, 0),
            Self::PacketOut { switch, incarnation, frame } => {
                (8, incarnation, switch, frame.bits())
            }
            Self::ChannelFree { switch, way, incarnation } => {
                (9, incarnation, switch, u32::from(way == Way::Up))
            }
        };
        debug_assert!(usize::from(node) < MAX_NODES);
        kind << 60 | u64::from(other) << (32 + NODE_BITS) | u64::from(node) << 32 | u64::from(low)
    }

    /// Frames from outside come first, by their link: when such a frame is added to the queue
    /// depends on how far the parts of the rack advance at a time.
    #[inline]
    fn rank(bits: u64) -> u32 {
        if bits >> 60 == FROM_OUTSIDE { link_of(bits) } else { u32::MAX }
    }

    #[inline(always)]
    fn unpack(bits: u64) -> Self {
        let low = bits as u32;
        let frame = FrameId::from_bits(low);
        let node = (bits >> 32) as u16 & (MAX_NODES - 1) as u16;
        let other = (bits >> (32 + NODE_BITS)) as u16;
        match bits >> 60 {
            0 => Self::Arrive { link: link_of(bits), frame },
            1 => Self::Leave { switch: node, port: other, frame },
            2 => Self::Served { server: node, incarnation: other, frame },
            3 => Self::ServerTimer { server: node, incarnation: other },
            4 => Self::Received { host: other, frame },
            5 => Self::Coordinated { incarnation: other, frame },
            6 => Self::Card { card: other, turn: low },
            7 => Self::CoordinatorTimer { incarnation: other },
            8 => Self::PacketOut { switch: node, incarnation: other, frame },
            FROM_OUTSIDE => Self::ArriveFromOutside { link: link_of(bits), frame },
            _ => {
                let way = if low == 0 { Way::Down } else { Way::Up };
                Self::ChannelFree { switch: node, way, incarnation: other }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_unpacked_as_it_was() {
        let (switch, server) = (MAX_NODES as u16 - 1, MAX_NODES as u16 - 2);
        let frame = FrameId::from_bits(u32::MAX - 5);
        let incarnation = u16::MAX;
        let events = [
            Event::Arrive { link: MAX_LINKS as u32 - 1, frame },
            Event::Leave { switch, port: 511, frame },
            Event::Served { server, incarnation, frame },
            Event::ServerTimer { server, incarnation },
            Event::Received { host: u16::MAX, frame },
            Event::Coordinated { incarnation, frame },
            Event::Card { card: u16::MAX, turn: u32::MAX },
            Event::CoordinatorTimer { incarnation },
            Event::PacketOut { switch, incarnation, frame },
            Event::ArriveFromOutside { link: MAX_LINKS as u32 - 1, frame },
            Event::ChannelFree { switch, way: Way::Up, incarnation },
            Event::ChannelFree { switch, way: Way::Down, incarnation },
        ];
        for event in events {
            assert_eq!(Event::unpack(event.pack()), event);
        }
    }
}
