//! The nodes of a part of a rack: their processors, roles and state.
//!
//! A node schedules its own events. What it sends is put on its link by the part
//! ([`super::handlers`]).

pub mod cards;
pub mod coordinators;
pub mod hosts;
pub mod servers;
pub mod switches;

use std::sync::Arc;

use netkv_roles::Frames as Protocol;

use super::config::{End, RackConfig};
use super::division::Division;
use cards::Cards;
use coordinators::Coordinators;
use hosts::Hosts;
use servers::Servers;
use switches::Switches;

/// The nodes of a part. There is a place for every switch and card of the rack; only those of the
/// part are used.
pub struct Nodes {
    pub switches: Switches,
    pub servers: Servers,
    pub hosts: Hosts,
    pub coordinators: Coordinators,
    pub cards: Cards,
}

impl Nodes {
    /// The nodes of this part of a rack.
    ///
    /// # Errors
    ///
    /// A sentence about an invalid configuration.
    pub fn new(config: &RackConfig, division: &Division, part: usize) -> Result<Self, String> {
        let protocol: Arc<dyn Protocol> = (config.servers.role.frames)(config.load.keyspace).into();
        let has = |end| division.of(end) == part;
        let servers =
            Servers::new(config, Arc::clone(&protocol), |server| has(End::Server(server)))?;
        Ok(Self {
            switches: Switches::new(config),
            servers,
            hosts: Hosts::new(config, Arc::clone(&protocol), division.of_clients() == part),
            coordinators: Coordinators::new(config, protocol, has(End::Coordinator))?,
            cards: Cards::new(config)?,
        })
    }

    /// The field for the number of the link from this end, if it exists.
    pub fn plug(&mut self, end: End) -> Option<&mut u32> {
        match end {
            End::Switch(switch, port) => self.switches.plug(switch, port),
            End::Client(client) => self.hosts.plug(client),
            End::Server(server) => self.servers.plug(server),
            End::Coordinator => self.coordinators.plug(),
            End::Card(card, port) => self.cards.plug(card, port),
        }
    }

    /// Checks that each client, each server and the coordinator has a link.
    ///
    /// # Errors
    ///
    /// A sentence about the first one without.
    pub fn check_plugged(&self) -> Result<(), String> {
        for (what, missing) in
            [("client", self.hosts.unplugged()), ("server", self.servers.unplugged())]
        {
            if let Some(number) = missing {
                return Err(format!("No cable leads to {what} {number}."));
            }
        }
        if self.coordinators.is_unplugged() {
            return Err("No cable leads to the coordinator.".to_owned());
        }
        Ok(())
    }
}
