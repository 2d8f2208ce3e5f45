//! Loads what the next events will access into the processor's caches.
//!
//! Tens of thousands of requests are under way, and the state of each is accessed only when it
//! arrives at a node. Nearly all of these accesses would wait for memory, one after the other. So
//! whenever a bucket of the event queue becomes the current one, the frames of the second bucket
//! after it are loaded, and the state that the frames of the first one refer to: these were loaded
//! a bucket earlier. No result depends on it.

use netkv_dataplane::Frame;

use super::config::End;
use super::engines::Engines;
use super::event::Event;
use super::part::Part;
use crate::sys::prefetch;

/// Maximum number of frames that are announced to a switch at a time.
const MAX_ANNOUNCED: usize = 16;

impl Part {
    /// Loads frames and state for the events of the next buckets.
    pub(super) fn prefetch(&self, engines: &mut Engines<'_>) {
        let [first, second] = self.timeline.queue.following();
        for frame in second.filter_map(Event::frame) {
            self.timeline.frames.prefetch(frame);
        }
        let mut arrivals = Arrivals::default();
        for event in first {
            match event {
                Event::Arrive { link, frame } | Event::ArriveFromOutside { link, frame } => {
                    if let End::Switch(switch, port) = self.network.end(link) {
                        let bytes = self.timeline.frames.get(frame);
                        arrivals.add(
                            switch,
                            Frame { bytes, port, now_ns: self.timeline.now },
                            engines,
                        );
                    }
                }
                Event::Received { frame, .. } => {
                    let bytes = self.timeline.frames.get(frame);
                    if let Some(state) = self.generator.as_ref().and_then(|it| it.state_of(bytes)) {
                        prefetch(state);
                    }
                }
                Event::Served { server, .. } => self.nodes.servers.prefetch(server),
                _ => {}
            }
        }
        arrivals.announce(engines);
    }
}

/// Frames that arrive at one pipeline of a switch.
struct Arrivals<'a> {
    switch: u16,
    frames: [Frame<'a>; MAX_ANNOUNCED],
    count: usize,
}

impl Default for Arrivals<'_> {
    fn default() -> Self {
        let none = Frame { bytes: &[], port: 0, now_ns: 0 };
        Self { switch: 0, frames: [none; MAX_ANNOUNCED], count: 0 }
    }
}

impl<'a> Arrivals<'a> {
    fn add(&mut self, switch: u16, frame: Frame<'a>, engines: &mut Engines<'_>) {
        if self.count == MAX_ANNOUNCED || switch != self.switch {
            self.announce(engines);
            self.switch = switch;
        }
        self.frames[self.count] = frame;
        self.count += 1;
    }

    fn announce(&mut self, engines: &mut Engines<'_>) {
        if self.count == 0 {
            return;
        }
        engines.of(self.switch).prefetch(&self.frames[..self.count]);
        self.count = 0;
    }
}
