//! Request numbers of the emulated clients.

use std::collections::VecDeque;

use crate::ClientConfig;

/// Gives out (client, request number) pairs and keeps each client within its window.
#[derive(Debug)]
pub struct Senders {
    first_client: u16,
    first_request: u32,
    /// How far the next number of a client may be above its oldest one under way when an operation
    /// starts. The rest of the window is for the second numbers of read-modify-writes under way,
    /// and for the further numbers of the operation.
    reach: usize,
    clients: Vec<Sender>,
    /// A bit for each client that may start an operation.
    with_room: Vec<u64>,
    selected: usize,
}

#[derive(Debug)]
struct Sender {
    next: u32,
    /// The owners of the numbers up to `next`, oldest first; ended ones stay until they are the
    /// oldest.
    open: VecDeque<u32>,
}

/// In place of an owner: the number has none yet.
const NO_OWNER: u32 = u32::MAX;
/// In place of an owner: the request has ended.
const ENDED: u32 = u32::MAX - 1;

impl Sender {
    /// The index of a number in `open`; beyond its end, if it is not there.
    fn index(&self, request: u32) -> usize {
        let oldest = self.next.wrapping_sub(self.open.len() as u32);
        request.wrapping_sub(oldest) as usize
    }
}

impl Senders {
    /// Operations take up to `at_once` numbers when they start, and may take as many again.
    pub(crate) fn new(config: &ClientConfig, at_once: u32) -> Self {
        let ClientConfig { first_client, clients, first_request, window, .. } = *config;
        let sender = |_| Sender { next: first_request, open: VecDeque::new() };
        let reach = ((window - (at_once - 1)) / 2) as usize;
        let mut senders = Self {
            first_client,
            first_request,
            reach,
            clients: (0..clients).map(sender).collect(),
            with_room: vec![0; usize::from(clients).div_ceil(64)],
            selected: 0,
        };
        (0..usize::from(clients)).for_each(|at| senders.update_room(at));
        senders
    }

    /// Whether some client may start a request. Selects such a client for [`Senders::take`].
    #[inline]
    pub(crate) fn has_room(&mut self) -> bool {
        let (first, bit) = (self.selected / 64, self.selected % 64);
        let words = self.with_room.len();
        for step in 0..=words {
            let word = (first + step) % words;
            let mut bits = self.with_room[word];
            if step == 0 {
                bits &= !0 << bit;
            } else if step == words {
                bits &= !(!0 << bit);
            }
            if bits != 0 {
                self.selected = word * 64 + bits.trailing_zeros() as usize;
                return true;
            }
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
        sender.open.push_back(NO_OWNER);
        self.update_room(at);
        request
    }

    fn update_room(&mut self, at: usize) {
        let bit = 1 << (at % 64);
        let open = self.clients[at].open.len();
        if open == 0 || open < self.reach {
            self.with_room[at / 64] |= bit;
        } else {
            self.with_room[at / 64] &= !bit;
        }
    }

    /// Sets the owner of an open number.
    pub(crate) fn set_owner(&mut self, client: u16, request: u32, owner: u32) {
        debug_assert!(owner < ENDED);
        let sender = &mut self.clients[usize::from(client - self.first_client)];
        let index = sender.index(request);
        if let Some(entry) = sender.open.get_mut(index) {
            *entry = owner;
        }
    }

    /// The owner of a number; `None` if there is none, or the request has ended.
    pub(crate) fn owner(&self, client: u16, request: u32) -> Option<u32> {
        let sender = self.clients.get(usize::from(client.checked_sub(self.first_client)?))?;
        sender.open.get(sender.index(request)).copied().filter(|owner| *owner < ENDED)
    }

    /// A request is over, answered or given up.
    pub(crate) fn end(&mut self, client: u16, request: u32) {
        let at = usize::from(client - self.first_client);
        let sender = &mut self.clients[at];
        let index = sender.index(request);
        let Some(entry) = sender.open.get_mut(index) else { return };
        *entry = ENDED;
        if sender.open.front() == Some(&ENDED) {
            while sender.open.front() == Some(&ENDED) {
                sender.open.pop_front();
            }
            self.update_room(at);
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

    #[test]
    fn clients_take_turns_except_those_without_room() {
        let config = ClientConfig::new(130, Arrivals::Closed { outstanding: 1 });
        let mut senders = Senders::new(&ClientConfig { window: 2, ..config }, 1);
        let take = |senders: &mut Senders| senders.has_room().then(|| senders.take());
        let taken: Vec<_> = (0..130).filter_map(|_| take(&mut senders)).collect();
        assert_eq!(taken, (1..=130).map(|client| (client, 1)).collect::<Vec<_>>());
        assert_eq!(take(&mut senders), None, "a window of 2 has one operation of each");
        for client in [128, 65, 3, 129] {
            senders.end(client, 1);
        }
        let next: Vec<_> = std::iter::from_fn(|| take(&mut senders)).collect();
        assert_eq!(next, [(3, 2), (65, 2), (128, 2), (129, 2)]);
        senders.end(3, 2);
        senders.end(129, 2);
        assert_eq!(
            take(&mut senders),
            Some((3, 3)),
            "130 is the next one in turn, but has no room"
        );
    }

    #[test]
    fn an_open_number_has_an_owner_until_it_ends() {
        let config = ClientConfig::new(2, Arrivals::Closed { outstanding: 1 });
        let config = ClientConfig { first_client: 5, first_request: u32::MAX, ..config };
        let mut senders = Senders::new(&config, 1);
        let numbers: Vec<_> = (0..4).map(|_| senders.take_again(6).1).collect();
        assert_eq!(numbers, [u32::MAX, 0, 1, 2]);
        for (owner, number) in (70..).zip(&numbers) {
            assert_eq!(senders.owner(6, *number), None);
            senders.set_owner(6, *number, owner);
        }
        senders.end(6, 0);
        senders.end(6, 0);
        let owners = |it: &Senders| numbers.iter().map(|at| it.owner(6, *at)).collect::<Vec<_>>();
        assert_eq!(owners(&senders), [Some(70), None, Some(72), Some(73)]);
        senders.end(6, u32::MAX);
        assert_eq!(owners(&senders), [None, None, Some(72), Some(73)]);
        for other in [(6, 3), (5, 1), (4, 1), (7, 1)] {
            assert_eq!(senders.owner(other.0, other.1), None);
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
        assert!(senders.has_room(), "the first client may go on");
        assert!(senders.clients[0].open.is_empty());
        assert!(senders.issued(6, u32::MAX - 96));
        assert!(window < 200 || senders.issued(5, u32::MAX) && senders.issued(5, 3));
        assert!(!senders.issued(7, 3) && !senders.issued(5, u32::MAX - 101));
    }
}
