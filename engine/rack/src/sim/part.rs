//! A part of a rack ([`Division`]): its nodes, its links to all nodes, and its events.

use netkv_dataplane::Output;
use netkv_roles::{Actions, Nanos};

use super::across::Inbox;
use super::config::RackConfig;
use super::control::Controls;
use super::division::Division;
use super::frames::FrameId;
use super::network::Network;
use super::nodes::Nodes;
use super::timeline::Timeline;
use crate::generator::Generator;

/// See the module.
pub(super) struct Part {
    pub(super) timeline: Timeline,
    pub(super) network: Network,
    pub(super) nodes: Nodes,
    pub(super) controls: Controls,
    /// In the part of the clients.
    pub(super) generator: Option<Generator>,
    /// When the generator's next timer is due.
    pub(super) generator_due: Nanos,
    /// In the part of the clients: frames from each part.
    pub(super) inboxes: Vec<Inbox>,
    /// When the first frame in them was sent.
    pub(super) inbox_due: Nanos,
    /// Memory for reuse, in boxes: a move of a larger value waits for the stores to its fields.
    pub(super) output: Option<Box<Output>>,
    pub(super) actions: Option<Box<Actions>>,
    /// Events since the start.
    pub(super) events: u64,
    /// Why a role has failed.
    pub(super) failure: Option<String>,
}

impl Part {
    /// A part of a rack at time 0.
    ///
    /// # Errors
    ///
    /// A sentence about an invalid configuration.
    pub(super) fn new(
        config: &RackConfig,
        division: &Division,
        number: usize,
    ) -> Result<Self, String> {
        let mut nodes = Nodes::new(config, division, number)?;
        let network = Network::new(config, division, number, &mut nodes)?;
        let of_clients = division.of_clients() == number;
        let generator = of_clients.then(|| Generator::new(&config.load, 1, 0)).transpose()?;
        let mut timeline = Timeline::default();
        nodes.servers.wake_all(&mut timeline.queue);
        Ok(Self {
            timeline,
            network,
            nodes,
            controls: Controls::new(config),
            // Clients of some schemes register before any load.
            generator_due: generator.as_ref().and_then(Generator::deadline).unwrap_or(Nanos::MAX),
            generator,
            inboxes: (0..division.parts).map(|_| Inbox::default()).collect(),
            inbox_due: Nanos::MAX,
            output: None,
            actions: None,
            events: 0,
            failure: None,
        })
    }

    /// [`Network::put`] for the links of this part.
    #[inline]
    pub(super) fn put(&mut self, link: u32, at: Nanos, frame: FrameId) {
        self.network.put(&mut self.timeline, &mut self.nodes, link, at, frame);
    }

    /// [`Network::put_bytes`] for the links of this part.
    #[inline]
    pub(super) fn put_bytes(&mut self, link: u32, at: Nanos, bytes: &[u8]) -> bool {
        self.network.put_bytes(&mut self.timeline, &mut self.nodes, link, at, bytes)
    }
}
