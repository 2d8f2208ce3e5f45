//! Request numbers of the emulated clients.

use std::collections::VecDeque;

use crate::ClientConfig;

/// Gives out (client, request number) pairs and keeps each client within its window.
#[derive(Debug)]
pub(crate) struct Senders {
    first_client: u16,
    first_request: u32,
    /// How far the next number of a client may be above its oldest one under way when an operation
    /// starts. The rest of the window is for the second numbers of read-modify-writes under way,
    /// and for the further numbers of the operation.
    reach: u32,
    clients: Vec<Sender>,
    selected: usize,
}

#[derive(Debug)]
struct Sender {
    next: u32,
    /// Request numbers, oldest first, and whether each is under way; ended ones stay until they are
    /// the oldest.
    open: VecDeque<(u32, bool)>,
}

impl Sender {
    /// Whether an operation may start.
    fn has_room(&self, reach: u32) -> bool {
        self.open.front().is_none_or(|(oldest, _)| self.next.wrapping_sub(*oldest) < reach)
    }
}

impl Senders {
    /// Operations take up to `at_once` numbers when they start, and may take as many again.
    pub(crate) fn new(config: &ClientConfig, at_once: u32) -> Self {
        let ClientConfig { first_client, clients, first_request, window, .. } = *config;
        let sender = |_| Sender { next: first_request, open: VecDeque::new() };
        let clients = (0..clients).map(sender).collect();
        let reach = (window - (at_once - 1)) / 2;
        Self { first_client, first_request, reach, clients, selected: 0 }
    }

    /// Whether some client may start a request. Selects such a client for [`Senders::take`].
    pub(crate) fn has_room(&mut self) -> bool {
        for _ in 0..self.clients.len() {
            if self.clients[self.selected].has_room(self.reach) {
                return true;
            }
            self.selected = (self.selected + 1) % self.clients.len();
        }
        false
    }

    /// The next number of the selected client; the one after it is selected then.
    pub(crate) fn take(&mut self) -> (u16, u32) {
        let selected = self.selected;
        self.selected = (selected + 1) % self.clients.len();
        (self.first_client + selected as u16, self.take_of(selected))
    }

    /// The next number of the same client, for the second half of an operation.
    pub(crate) fn take_again(&mut self, client: u16) -> (u16, u32) {
        (client, self.take_of(usize::from(client - self.first_client)))
    }

    fn take_of(&mut self, at: usize) -> u32 {
        let sender = &mut self.clients[at];
        let request = sender.next;
        sender.next = request.wrapping_add(1);
        sender.open.push_back((request, true));
        request
    }

    /// A request is over, answered or given up.
    pub(crate) fn end(&mut self, client: u16, request: u32) {
        let sender = &mut self.clients[usize::from(client - self.first_client)];
        let Some(&(oldest, _)) = sender.open.front() else { return };
        // Numbers are consecutive, so the difference is the index.
        if let Some(entry) = sender.open.get_mut(request.wrapping_sub(oldest) as usize) {
            entry.1 = false;
        }
        while sender.open.front().is_some_and(|(_, open)| !open) {
            sender.open.pop_front();
        }
    }

    /// Whether this process emulates the client.
    pub(crate) fn owns(&self, client: u16) -> bool {
        client >= self.first_client && usize::from(client - self.first_client) < self.clients.len()
    }

    /// Whether this pair has been given out.
    pub(crate) fn issued(&self, client: u16, request: u32) -> bool {
        self.owns(client) && {
            let sender = &self.clients[usize::from(client - self.first_client)];
            request.wrapping_sub(self.first_request) < sender.next.wrapping_sub(self.first_request)
        }
    }
}

#[cfg(test)]
mod tests {
    use netkv_workload::Arrivals;

    use super::*;

    #[test]
    fn a_client_stops_before_its_oldest_request_is_forgotten() {
        for window in [2, 1024, crate::WINDOW] {
            stops_within(window);
        }
    }

    fn stops_within(window: u32) {
        let config = ClientConfig::new(2, Arrivals::Closed { outstanding: 1 });
        let first_request = u32::MAX - 100;
        let config = ClientConfig { first_client: 5, first_request, window, ..config };
        let mut senders = Senders::new(&config, 1);
        let first = senders.take();
        assert_eq!(first, (5, u32::MAX - 100));
        let mut given = 1;
        while senders.has_room() {
            let (client, request) = senders.take();
            if client == 6 {
                senders.end(client, request);
                if given > 3 * window {
                    break;
                }
            } else {
                senders.end(client, request);
                assert!(request.wrapping_sub(first.1) < window);
            }
            given += 1;
        }
        assert!(given > 3 * window, "the other client went on");
        senders.end(first.0, first.1);
        assert!(senders.clients[0].has_room(window / 2));
        assert!(senders.issued(6, u32::MAX - 96));
        assert!(window < 200 || senders.issued(5, u32::MAX) && senders.issued(5, 3));
        assert!(!senders.issued(7, 3) && !senders.issued(5, u32::MAX - 101));
    }
}
