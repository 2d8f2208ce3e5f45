//! What a switch with a write-back cache remembers of clients.

use crate::ClientConfig;

/// Clients for which a switch remembers the last requests.
pub(crate) const MAX_CLIENTS: u16 = 64;
/// Requests of a client that a switch remembers.
pub const WINDOW: u32 = 1024;

/// Checks that the switches of a scheme remember so many clients and requests.
///
/// # Errors
///
/// A sentence for users.
pub(crate) fn check_clients(config: &ClientConfig, scheme: &str) -> Result<(), String> {
    let ClientConfig { first_client, clients, .. } = *config;
    if first_client + clients - 1 > MAX_CLIENTS {
        return Err(format!(
            "{clients} clients from number {first_client} on are too many for {scheme}; a switch \
             tells clients 1 to {MAX_CLIENTS} apart"
        ));
    }
    config.check_window(WINDOW, &format!("a switch of {scheme}"))
}
