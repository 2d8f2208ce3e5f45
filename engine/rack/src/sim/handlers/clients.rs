//! Events of clients: of their hosts, and of the load generator.

use netkv_roles::Nanos;

use crate::sim::frames::FrameId;
use crate::sim::part::Part;

impl Part {
    /// Passes a frame to the load generator.
    pub fn receive(&mut self, host: u16, frame: FrameId) {
        if self.nodes.hosts.is_up(host) {
            if let Some(generator) = &mut self.generator {
                generator.on_frame(self.timeline.now, self.timeline.frames.get(frame));
            }
            self.timeline.frames.free(frame);
            self.after_generator();
        } else {
            self.timeline.frames.free(frame);
        }
    }

    /// Sends the frames of the generator, each from the host of its client, and schedules its next
    /// timer.
    pub fn after_generator(&mut self) {
        let Some(generator) = &mut self.generator else { return };
        generator.end_finished_phase();
        self.generator_due = generator.deadline().unwrap_or(Nanos::MAX);
        if generator.actions().is_empty() {
            return;
        }
        let empty = self.actions.take().unwrap_or_default();
        let mut actions = generator.take_actions(empty);
        for bytes in actions.frames() {
            if let Some((link, leaves)) = self.nodes.hosts.send(self.timeline.now, bytes) {
                self.put_bytes(link, leaves, bytes);
            }
        }
        actions.clear();
        self.actions = Some(actions);
    }
}
