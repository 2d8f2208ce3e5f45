//! Events of switches: frames that arrive run through the program, and its output leaves by the
//! links.

use netkv_dataplane::Output;
use netkv_roles::Nanos;
use netkv_wire::CPU_PORT;

use crate::sim::engines::Engines;
use crate::sim::event::Event;
use crate::sim::frames::FrameId;
use crate::sim::link::NO_LINK;
use crate::sim::part::Part;

impl Part {
    /// Handles a frame that arrives at a switch.
    pub fn at_switch(&mut self, switch: u16, port: u16, frame: FrameId, engines: &mut Engines<'_>) {
        let now = self.timeline.now;
        let Some(out) = self.nodes.switches.enter(now, switch, port) else {
            self.timeline.frames.free(frame);
            return;
        };
        let engine = engines.of(switch);
        let mut output = self.output.take().unwrap_or_default();
        engine.process(now, port, self.timeline.frames.get(frame), &mut output);
        // Before the output is stored, which then reuses this slot of the frames' memory.
        self.timeline.frames.free(frame);
        self.send_output(switch, port, out, &output);
        output.clear();
        self.output = Some(output);
        if engine.has_digests() {
            for digest in engine.take_digests() {
                self.controls.digest(&mut self.timeline, switch, out, digest);
            }
        }
    }

    /// Handles a frame from the controller, packet-out header in front.
    pub fn packet_out_arrived(
        &mut self,
        switch: u16,
        incarnation: u16,
        frame: FrameId,
        engines: &mut Engines<'_>,
    ) {
        if self.nodes.switches.incarnation(switch) == incarnation {
            self.at_switch(switch, CPU_PORT, frame, engines);
        } else {
            self.timeline.frames.free(frame);
        }
    }

    /// Sends the program's output for a frame from `port`. Without recirculation it leaves at
    /// `out`.
    #[inline]
    fn send_output(&mut self, switch: u16, port: u16, out: Nanos, output: &Output) {
        let mut again = output.again().iter().peekable();
        self.nodes.switches.pipes(switch).begin(out, port);
        for (index, (port, bytes)) in output.frames().enumerate() {
            let passes = again.next_if(|(at, _)| *at == index).map_or(0, |(_, passes)| *passes);
            let at = match passes {
                0 => out,
                _ => self.nodes.switches.pipes(switch).recirculate(bytes.len(), passes),
            };
            if port == CPU_PORT {
                self.controls.packet_in(&mut self.timeline, switch, at, bytes);
                continue;
            }
            let link = self.nodes.switches.link(switch, port);
            let is_sent = if link == NO_LINK {
                false
            } else if passes == 0 && self.nodes.switches.leaving(switch, port) == 0 {
                self.put_bytes(link, at, bytes)
            } else if let Some(frame) = self.timeline.frames.add(bytes) {
                // A link takes frames in the order in which they are put on it, so a recirculated
                // frame is put on it when it leaves, and until then so are all frames for the same
                // link, which may leave after it.
                self.timeline.queue.push(at, Event::Leave { switch, port, frame });
                self.nodes.switches.will_leave(switch, port);
                true
            } else {
                false
            };
            if !is_sent {
                self.nodes.switches.count_unrouted(switch);
            }
        }
    }

    /// Sends a frame of which [`Part::send_output`] has made an event.
    pub fn leave(&mut self, switch: u16, port: u16, frame: FrameId) {
        self.nodes.switches.has_left(switch, port);
        if self.nodes.switches.is_up(switch) {
            self.put(self.nodes.switches.link(switch, port), self.timeline.now, frame);
        } else {
            self.timeline.frames.free(frame);
        }
    }
}
