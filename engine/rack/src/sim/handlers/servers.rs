//! Events of storage servers.

use crate::sim::frames::FrameId;
use crate::sim::part::Part;

impl Part {
    /// Handles a frame when a server's processor is done with it.
    pub fn served(&mut self, server: u16, incarnation: u16, frame: FrameId) {
        if self.nodes.servers.is_current(server, incarnation) {
            self.serve(server, frame);
        } else {
            self.timeline.frames.free(frame);
        }
    }

    /// Passes a frame to the role of a server.
    pub fn serve(&mut self, server: u16, frame: FrameId) {
        let bytes = self.timeline.frames.get(frame);
        let is_up = self.nodes.servers.on_frame(self.timeline.now, server, bytes);
        self.timeline.frames.free(frame);
        if is_up {
            // The time of the request includes one reply.
            self.after_role(server, 1);
        }
    }

    /// Handles a timer event of a server.
    pub fn server_timer(&mut self, server: u16, incarnation: u16) {
        if self.nodes.servers.on_timer(self.timeline.now, server, incarnation) {
            self.after_role(server, 0);
        }
    }

    /// Carries out the actions of the role and schedules its next timer event. The processor time
    /// of the first `paid` frames is already counted.
    #[inline]
    fn after_role(&mut self, server: u16, paid: usize) {
        let mut paid = paid;
        let now = self.timeline.now;
        while let Some(frames) = self.nodes.servers.execute(now, server) {
            for index in 0..frames {
                let (link, bytes) = self.nodes.servers.send(now, server, index, paid > 0);
                paid = paid.saturating_sub(1);
                if let Some(frame) = self.timeline.frames.add(bytes) {
                    self.put(link, now, frame);
                }
            }
        }
        if let Some(failure) = self.nodes.servers.take_failure() {
            self.failure.get_or_insert(failure);
        }
        self.nodes.servers.wake(&mut self.timeline.queue, server);
    }
}
