//! Addresses of the nodes, and the switch port of the controller.
//!
//! Service 10.0.0.100, controller 10.0.0.1, client `i` (from 1) 10.1.(i>>8).(i&255), server `i`
//! (from 0) 10.2.(i>>8).(i&255). A MAC is 02:00 and the four bytes of the IP address.

/// An IPv4 address in network order.
pub type Ip = [u8; 4];
/// A MAC address.
pub type Mac = [u8; 6];

/// The switch port of packet-in and packet-out.
pub const CPU_PORT: u16 = 510;
/// Service address: clients and servers send requests about a key to it, and the switch replaces it
/// by the address of the key's owner.
pub const SERVICE_IP: Ip = [10, 0, 0, 100];
/// Address of the controller.
pub const CONTROLLER_IP: Ip = [10, 0, 0, 1];
/// `sender` field of the controller.
pub const CONTROLLER_SENDER: u16 = 0xffff;
/// `sender` field of server 0; server `i` has this plus `i`.
pub const FIRST_SERVER_SENDER: u16 = 0x8000;
/// Largest number of a client; larger `sender` fields are those of servers and the controller.
pub const MAX_CLIENTS: u16 = FIRST_SERVER_SENDER - 1;

/// Address of client `client` (from 1), which is also its `sender` field.
pub const fn client_ip(client: u16) -> Ip {
    let [high, low] = client.to_be_bytes();
    [10, 1, high, low]
}

/// The client with this address; `None` if it is not the address of a client.
pub const fn client_of_ip(ip: Ip) -> Option<u16> {
    match ip {
        [10, 1, high, low] => Some(u16::from_be_bytes([high, low])),
        _ => None,
    }
}

/// Address of server `server` (from 0).
pub const fn server_ip(server: u16) -> Ip {
    let [high, low] = server.to_be_bytes();
    [10, 2, high, low]
}

/// `sender` field of server `server` (from 0).
pub const fn sender_of_server(server: u16) -> u16 {
    FIRST_SERVER_SENDER + server
}

/// The MAC address of the node with this IP address.
pub const fn mac_of(ip: Ip) -> Mac {
    [0x02, 0x00, ip[0], ip[1], ip[2], ip[3]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_that_the_switch_routes() {
        assert_eq!(client_ip(1), [10, 1, 0, 1]);
        assert_eq!(client_ip(258), [10, 1, 1, 2]);
        assert_eq!(client_of_ip([10, 1, 1, 2]), Some(258));
        assert_eq!(client_of_ip([10, 2, 1, 2]), None);
        assert_eq!(server_ip(0), [10, 2, 0, 0]);
        assert_eq!(server_ip(300), [10, 2, 1, 44]);
        assert_eq!(sender_of_server(3), 0x8003);
        assert_eq!(mac_of(SERVICE_IP), [2, 0, 10, 0, 0, 100]);
    }
}
