//! Switches: frames that arrive run through the program, and its output leaves by the links.

use netkv_dataplane::Output;
use netkv_roles::Nanos;
use netkv_wire::CPU_PORT;

use super::config::{RackConfig, SwitchConfig};
use super::engines::Engines;
use super::event::Event;
use super::fabric::{NO_LINK, is_port};
use super::frames::FrameId;
use super::part::Part;
use super::pipes::Pipes;

/// v1model's ports have 9 bits; port 511 means drop.
pub(super) const PORTS: usize = 511;

struct Node {
    config: SwitchConfig,
    pipes: Pipes,
    /// The outgoing link of each port.
    links: Box<[u32; PORTS]>,
    up: bool,
    /// Incremented at each stop; messages to and from an earlier incarnation are discarded.
    incarnation: u16,
    unrouted: u64,
}

pub(super) struct Switches(Vec<Node>);

impl Switches {
    pub(super) fn new(config: &RackConfig) -> Self {
        let node = |config: &SwitchConfig| Node {
            pipes: Pipes::new(config),
            config: config.clone(),
            links: Box::new([NO_LINK; PORTS]),
            up: true,
            incarnation: 0,
            unrouted: 0,
        };
        Self(config.switches.iter().map(node).collect())
    }

    /// The field for the number of the link from a port.
    pub(super) fn plug(&mut self, switch: u16, port: u16) -> Option<&mut u32> {
        let node = self.0.get_mut(usize::from(switch)).filter(|_| is_port(port))?;
        Some(&mut node.links[usize::from(port)])
    }

    pub(super) fn is_up(&self, switch: u16) -> bool {
        self.0.get(usize::from(switch)).is_some_and(|node| node.up)
    }

    pub(super) fn incarnation(&self, switch: u16) -> u16 {
        self.0[usize::from(switch)].incarnation
    }

    /// Packets dropped because their pipeline's queue was full, and frames for ports without a
    /// cable.
    pub(super) fn drops(&self) -> (u64, u64) {
        self.0.iter().fold((0, 0), |(full, unrouted), node| {
            (full + node.pipes.dropped, unrouted + node.unrouted)
        })
    }
}

impl Part {
    /// Handles a frame that arrives at a switch.
    pub(super) fn at_switch(
        &mut self,
        switch: u16,
        port: u16,
        frame: FrameId,
        engines: &mut Engines<'_>,
    ) {
        let node = &mut self.switches.0[usize::from(switch)];
        let out = if node.up { node.pipes.enter(self.now, port) } else { None };
        let Some(out) = out else {
            self.frames.free(frame);
            return;
        };
        let engine = engines.of(switch);
        let mut output = self.output.take().unwrap_or_default();
        engine.process(self.now, port, self.frames.get(frame), &mut output);
        // Before the output is stored, which then reuses this slot of the frames' memory.
        self.frames.free(frame);
        self.send_output(switch, port, out, &output);
        output.clear();
        self.output = Some(output);
        if engine.has_digests() {
            for digest in engine.take_digests() {
                let (queue, frames) = (&mut self.queue, &mut self.frames);
                self.controls.digest(queue, frames, switch, out, digest);
            }
        }
    }

    /// Handles a frame from the controller, packet-out header in front.
    pub(super) fn packet_out_arrived(
        &mut self,
        switch: u16,
        incarnation: u16,
        frame: FrameId,
        engines: &mut Engines<'_>,
    ) {
        if self.switches.incarnation(switch) == incarnation {
            self.at_switch(switch, CPU_PORT, frame, engines);
        } else {
            self.frames.free(frame);
        }
    }

    /// Sends the program's output for a frame from `port`. Without recirculation it leaves at
    /// `out`.
    #[inline]
    fn send_output(&mut self, switch: u16, port: u16, out: Nanos, output: &Output) {
        let mut again = output.again().iter().peekable();
        self.switches.0[usize::from(switch)].pipes.begin(out, port);
        for (index, (port, bytes)) in output.frames().enumerate() {
            let passes = again.next_if(|(at, _)| *at == index).map_or(0, |(_, passes)| *passes);
            let node = &mut self.switches.0[usize::from(switch)];
            let at = match passes {
                0 => out,
                _ => node.pipes.recirculate(bytes.len(), passes),
            };
            if port == CPU_PORT {
                let (queue, frames) = (&mut self.queue, &mut self.frames);
                self.controls.packet_in(queue, frames, switch, at, bytes);
                continue;
            }
            let link = node.links.get(usize::from(port)).copied().unwrap_or(NO_LINK);
            let is_sent = if link == NO_LINK {
                false
            } else if passes == 0 {
                self.put_bytes(link, at, bytes)
            } else if let Some(frame) = self.frames.add(bytes) {
                // Added to the link at `at`: frames that leave earlier must not wait for it.
                self.queue.push(at, Event::Leave { switch, port, frame });
                true
            } else {
                false
            };
            if !is_sent {
                self.switches.0[usize::from(switch)].unrouted += 1;
            }
        }
    }

    /// Sends a recirculated frame.
    pub(super) fn leave(&mut self, switch: u16, port: u16, frame: FrameId) {
        let node = &self.switches.0[usize::from(switch)];
        if node.up {
            self.put(node.links[usize::from(port)], self.now, frame);
        } else {
            self.frames.free(frame);
        }
    }

    /// Powers a switch off. It drops all frames, and messages between it and its controller are
    /// lost.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub(super) fn stop_switch(&mut self, switch: u16) -> Result<(), String> {
        let node = self.switch_node(switch)?;
        node.up = false;
        node.incarnation = node.incarnation.wrapping_add(1);
        self.controls.discard_messages(&mut self.frames, switch);
        Ok(())
    }

    /// Powers a switch on, with idle pipelines. The caller resets the state of its program.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such switch.
    pub(super) fn start_switch(&mut self, switch: u16) -> Result<(), String> {
        let node = self.switch_node(switch)?;
        node.up = true;
        let dropped = node.pipes.dropped;
        node.pipes = Pipes::new(&node.config);
        node.pipes.dropped = dropped;
        Ok(())
    }

    fn switch_node(&mut self, switch: u16) -> Result<&mut Node, String> {
        let count = self.switches.0.len();
        self.switches
            .0
            .get_mut(usize::from(switch))
            .ok_or_else(|| format!("There is no switch {switch}: the rack has {count}, from 0."))
    }
}
