//! Switches: the timing of their pipelines, and the links at their ports.

use netkv_roles::Nanos;

use crate::sim::config::{RackConfig, SwitchConfig};
use crate::sim::link::NO_LINK;
use crate::sim::pipes::Pipes;

/// v1model's ports have 9 bits; port 511 means drop.
const PORTS: usize = 511;

/// Whether a port number is valid.
pub fn is_port(port: u16) -> bool {
    usize::from(port) < PORTS
}

struct Node {
    config: SwitchConfig,
    pipes: Pipes,
    /// The outgoing link of each port.
    links: Box<[u32; PORTS]>,
    up: bool,
    /// Incremented at each stop; messages to and from an earlier incarnation are discarded.
    incarnation: u16,
    unrouted: u64,
    /// Frames that an event will put on the link of each port.
    leaving: Box<[u32; PORTS]>,
}

pub struct Switches(Vec<Node>);

impl Switches {
    pub fn new(config: &RackConfig) -> Self {
        let node = |config: &SwitchConfig| Node {
            pipes: Pipes::new(config),
            config: config.clone(),
            links: Box::new([NO_LINK; PORTS]),
            up: true,
            incarnation: 0,
            unrouted: 0,
            leaving: Box::new([0; PORTS]),
        };
        Self(config.switches.iter().map(node).collect())
    }

    /// The field for the number of the link from a port.
    pub fn plug(&mut self, switch: u16, port: u16) -> Option<&mut u32> {
        let node = self.0.get_mut(usize::from(switch)).filter(|_| is_port(port))?;
        Some(&mut node.links[usize::from(port)])
    }

    pub fn is_up(&self, switch: u16) -> bool {
        self.node(switch).up
    }

    pub fn incarnation(&self, switch: u16) -> u16 {
        self.node(switch).incarnation
    }

    /// Packets dropped because their pipeline's queue was full, and frames for ports without a
    /// cable.
    pub fn drops(&self) -> (u64, u64) {
        self.0.iter().fold((0, 0), |(full, unrouted), node| {
            (full + node.pipes.dropped, unrouted + node.unrouted)
        })
    }

    /// A packet arrives at a port. Returns when it leaves; `None` if it is dropped.
    #[inline]
    pub fn enter(&mut self, now: Nanos, switch: u16, port: u16) -> Option<Nanos> {
        let node = self.node_mut(switch);
        if node.up { node.pipes.enter(now, port) } else { None }
    }

    /// The timing of a switch.
    #[inline]
    pub fn pipes(&mut self, switch: u16) -> &mut Pipes {
        &mut self.node_mut(switch).pipes
    }

    /// The outgoing link of a port, or [`NO_LINK`].
    #[inline]
    pub fn link(&self, switch: u16, port: u16) -> u32 {
        self.node(switch).links.get(usize::from(port)).copied().unwrap_or(NO_LINK)
    }

    /// Frames that an event will put on the link of a port: [`Switches::will_leave`] and
    /// [`Switches::has_left`] count them. A port with a link is valid.
    #[inline]
    pub fn leaving(&self, switch: u16, port: u16) -> u32 {
        self.node(switch).leaving[usize::from(port)]
    }

    /// An event will put a frame on the link of a port.
    pub fn will_leave(&mut self, switch: u16, port: u16) {
        self.node_mut(switch).leaving[usize::from(port)] += 1;
    }

    /// The event has put the frame on its link.
    pub fn has_left(&mut self, switch: u16, port: u16) {
        self.node_mut(switch).leaving[usize::from(port)] -= 1;
    }

    /// A frame was for a port without a cable.
    pub fn count_unrouted(&mut self, switch: u16) {
        self.node_mut(switch).unrouted += 1;
    }

    /// Powers a switch off.
    pub fn stop(&mut self, switch: u16) {
        let node = self.node_mut(switch);
        node.up = false;
        node.incarnation = node.incarnation.wrapping_add(1);
    }

    /// Powers a switch on, with idle pipelines.
    pub fn start(&mut self, switch: u16) {
        let node = self.node_mut(switch);
        node.up = true;
        let dropped = node.pipes.dropped;
        node.pipes = Pipes::new(&node.config);
        node.pipes.dropped = dropped;
    }

    #[inline]
    fn node(&self, switch: u16) -> &Node {
        &self.0[usize::from(switch)]
    }

    #[inline]
    fn node_mut(&mut self, switch: u16) -> &mut Node {
        &mut self.0[usize::from(switch)]
    }
}
