//! Events of the coordinator.

use crate::sim::frames::FrameId;
use crate::sim::part::Part;

impl Part {
    /// Handles a frame when a worker of the coordinator has received it.
    pub fn coordinated(&mut self, incarnation: u16, frame: FrameId) {
        let bytes = self.timeline.frames.get(frame);
        self.nodes.coordinators.on_frame(self.timeline.now, incarnation, bytes);
        self.timeline.frames.free(frame);
        self.after_coordinator();
    }

    /// Handles a timer event of the coordinator.
    pub fn coordinator_timer(&mut self, incarnation: u16) {
        self.nodes.coordinators.on_timer(self.timeline.now, incarnation);
        self.after_coordinator();
    }

    /// Sends the frames of the role and schedules its next timer event.
    fn after_coordinator(&mut self) {
        let actions = self.nodes.coordinators.take_actions();
        for &(start, end) in actions.ranges() {
            let bytes = &actions.bytes()[start..end];
            let Some((link, leaves)) = self.nodes.coordinators.send(self.timeline.now, bytes)
            else {
                break;
            };
            if let Some(frame) = self.timeline.frames.add(bytes) {
                self.put(link, leaves, frame);
            }
        }
        self.nodes.coordinators.give_back(actions);
        self.nodes.coordinators.wake(&mut self.timeline.queue);
    }
}
