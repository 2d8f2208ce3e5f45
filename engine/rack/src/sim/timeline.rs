//! What all nodes of a part of a rack share: its time, its future events, and the frames in flight.

use netkv_roles::Nanos;

use super::event::Event;
use super::frames::Frames;
use super::queue::Queue;

#[derive(Default)]
pub(super) struct Timeline {
    pub now: Nanos,
    pub queue: Queue<Event>,
    pub frames: Frames,
}
