//! The parts of a rack, which are simulated one after the other or at the same time.
//!
//! A part is one of up to [`MAX_GROUPS`] groups of switches with the servers behind them, or the
//! clients with the load generator. A frame from one part to another is under way for the delay of
//! its link at least. So each part can advance for that long before it must know what the others
//! have sent (conservative lookahead). The parts follow from the configuration alone, and so do all
//! results, however many threads there are.

use netkv_roles::Nanos;

use super::config::{End, RackConfig};
use super::link::delay_of;

/// Maximum number of groups of switches.
const MAX_GROUPS: usize = 3;
/// With a shorter lookahead a rack has one part: there would be few events in it.
const MIN_LOOKAHEAD: Nanos = 100;

/// Which part has which node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Division {
    switches: Vec<u8>,
    servers: Vec<u8>,
    coordinator: u8,
    clients: u8,
    /// Number of parts; the last one has the clients.
    pub parts: usize,
    /// Shortest time from the sending of a frame by a client to its arrival in another part.
    pub from_clients: Nanos,
    /// The same between two groups of switches, also by way of a controller.
    pub between_switches: Nanos,
}

impl Division {
    /// The parts of a rack. Cards run ahead of all other nodes, so a rack with cards has one part.
    pub(super) fn new(config: &RackConfig) -> Self {
        if config.cards.is_empty() {
            for groups in (1..=MAX_GROUPS.min(config.switches.len())).rev() {
                let division = Self::with_groups(config, groups);
                if division.from_clients.min(division.between_switches) >= MIN_LOOKAHEAD {
                    return division;
                }
            }
        }
        Self {
            switches: vec![0; config.switches.len()],
            servers: vec![0; config.load.keyspace.servers.into()],
            coordinator: 0,
            clients: 0,
            parts: 1,
            from_clients: Nanos::MAX,
            between_switches: Nanos::MAX,
        }
    }

    fn with_groups(config: &RackConfig, groups: usize) -> Self {
        let count = config.switches.len();
        let mut division = Self {
            switches: (0..count).map(|switch| (switch * groups / count) as u8).collect(),
            servers: vec![0; config.load.keyspace.servers.into()],
            coordinator: 0,
            clients: groups as u8,
            parts: groups + 1,
            from_clients: Nanos::MAX,
            between_switches: Nanos::MAX,
        };
        for (end, at) in config.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]) {
            let End::Switch(switch, _) = at else { continue };
            let Some(&part) = division.switches.get(usize::from(switch)) else { continue };
            match end {
                End::Server(server) => {
                    if let Some(of_server) = division.servers.get_mut(usize::from(server)) {
                        *of_server = part;
                    }
                }
                End::Coordinator => division.coordinator = part,
                _ => {}
            }
        }
        for link in &config.links {
            let delay = delay_of(&link.model);
            if division.of(link.a) == division.of(link.b) {
                continue;
            }
            let clients = [link.a, link.b].iter().any(|end| matches!(end, End::Client(_)));
            let shortest =
                if clients { &mut division.from_clients } else { &mut division.between_switches };
            *shortest = delay.min(*shortest);
        }
        if groups > 1 {
            let latency = (config.control.latency_s * 1e9).round() as Nanos;
            division.between_switches = division.between_switches.min(latency);
        }
        division
    }

    /// The part of a node; the first one, if there is no such node.
    pub(super) fn of(&self, end: End) -> usize {
        let of = |parts: &[u8], number: u16| parts.get(usize::from(number)).copied().unwrap_or(0);
        usize::from(match end {
            End::Switch(switch, _) => of(&self.switches, switch),
            End::Server(server) => of(&self.servers, server),
            End::Coordinator => self.coordinator,
            End::Client(_) => self.clients,
            End::Card(..) => 0,
        })
    }

    /// The part of a switch; the first one, if there is no such switch.
    pub(super) fn of_switch(&self, switch: u16) -> usize {
        self.of(End::Switch(switch, 0))
    }

    /// The part of the clients.
    pub(super) fn of_clients(&self) -> usize {
        self.clients.into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::LinkConfig;
    use super::super::config::tests::rack;
    use super::super::link::LinkModel;
    use super::*;

    const DELAY: f64 = 2e-6;

    fn cable(a: End, b: End, delay_s: f64) -> LinkConfig {
        let model = LinkModel { bandwidth_bps: 1e10, delay_s, queue_bytes: 10_000 };
        LinkConfig { a, b, model, kind: String::new() }
    }

    /// Switches in a row with a server each; the client is at the first one.
    fn row(switches: u16, of_client: f64, between: f64) -> RackConfig {
        let mut config = rack(switches, switches.into());
        config.control.latency_s = 1e-3;
        config.links.push(cable(End::Client(1), End::Switch(0, 0), of_client));
        for switch in 0..switches {
            config.links.push(cable(End::Switch(switch, 1), End::Server(switch), 0.0));
        }
        for switch in 1..switches {
            config.links.push(cable(End::Switch(switch - 1, 2), End::Switch(switch, 3), between));
        }
        config
    }

    #[test]
    fn a_switch_and_its_servers_are_a_part_and_the_clients_another() {
        let division = Division::new(&row(1, DELAY, DELAY));
        assert_eq!(division.parts, 2);
        let ends = [End::Switch(0, 5), End::Server(0), End::Client(1)];
        assert_eq!(ends.map(|end| division.of(end)), [0, 0, 1]);
        assert_eq!([division.from_clients, division.between_switches], [2000, Nanos::MAX]);
    }

    #[test]
    fn there_are_at_most_three_groups_of_switches() {
        let division = Division::new(&row(5, 2.0 * DELAY, DELAY));
        assert_eq!(division.parts, 4);
        let switches: Vec<_> = (0..5).map(|switch| division.of_switch(switch)).collect();
        let servers: Vec<_> = (0..5).map(|server| division.of(End::Server(server))).collect();
        assert_eq!(switches, [0, 0, 1, 1, 2]);
        assert_eq!(servers, switches);
        assert_eq!([division.of_clients(), division.of(End::Client(1))], [3, 3]);
        assert_eq!([division.from_clients, division.between_switches], [4000, 2000]);
    }

    #[test]
    fn groups_know_of_each_other_by_their_controllers_too() {
        let mut config = row(2, DELAY, DELAY);
        config.control.latency_s = 1e-6;
        assert_eq!(Division::new(&config).between_switches, 1000);
    }

    #[test]
    fn nodes_with_too_short_a_delay_are_in_one_part() {
        let near = 50e-9;
        let division = Division::new(&row(5, DELAY, near));
        assert_eq!([division.parts, division.of_switch(4)], [2, 0]);
        assert_eq!(Division::new(&row(5, near, DELAY)).parts, 1);
        assert_eq!(Division::new(&row(5, near, DELAY)).of(End::Client(1)), 0);
    }

    #[test]
    fn a_rack_with_cards_has_one_part() {
        let mut config = row(2, DELAY, DELAY);
        let card = serde_json::json!({"library": "none", "clock_hz": 1e8, "seed": 1, "rates": []});
        config.cards.push(serde_json::from_value(card).unwrap());
        assert_eq!(Division::new(&config).parts, 1);
    }
}
