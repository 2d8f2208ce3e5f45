//! Detection of copies of requests that are under way or were just answered.

use std::collections::VecDeque;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::Nanos;

/// The state of a request.
#[derive(Debug, Clone, Copy)]
enum Progress {
    /// It arrived at this time and is not answered.
    UnderWay(Nanos),
    /// It is answered, and copies are ignored until this time.
    Answered(Nanos),
}

/// The requests that a server is processing, by their identity.
///
/// A copy of a request under way is ignored: its answer is on its way already. So a queue never
/// holds a request twice, and copies do not delay other requests, however often clients retransmit
/// a slow request. A copy that arrives after the answer was sent may have been sent before the
/// client got the answer, or because the answer was lost. Copies are ignored for as long as the
/// request took; the loss of an answer thus costs at most that time more. Ignoring a frame is
/// always safe: it might have been lost.
#[derive(Debug)]
pub(crate) struct Copies<K> {
    known: FxHashMap<K, Progress>,
    /// Answered requests in the order of their answers, with the time at which they are removed.
    answered: VecDeque<(Nanos, K)>,
}

impl<K> Default for Copies<K> {
    fn default() -> Self {
        Self { known: FxHashMap::default(), answered: VecDeque::new() }
    }
}

impl<K: Copy + Eq + Hash> Copies<K> {
    /// Whether a frame that arrives at `now` is a copy to be ignored. Otherwise its request is
    /// under way from then on, until [`Copies::end`] or [`Copies::forget`].
    pub(crate) fn is_copy(&mut self, now: Nanos, request: K) -> bool {
        while let Some((until, oldest)) = self.answered.front()
            && *until <= now
        {
            if matches!(self.known.get(oldest), Some(Progress::Answered(it)) if it == until) {
                self.known.remove(oldest);
            }
            self.answered.pop_front();
        }
        match self.known.insert(request, Progress::UnderWay(now)) {
            None => false,
            Some(Progress::Answered(until)) if until <= now => false,
            Some(known) => {
                self.known.insert(request, known);
                true
            }
        }
    }

    /// The request is answered, or other protection from its copies begins.
    pub(crate) fn end(&mut self, now: Nanos, request: K) {
        let Some(Progress::UnderWay(since)) = self.known.remove(&request) else { return };
        if now > since {
            let until = now + (now - since);
            self.known.insert(request, Progress::Answered(until));
            self.answered.push_back((until, request));
        }
    }

    /// The request is not served, and its next copy is accepted.
    pub(crate) fn forget(&mut self, request: K) {
        self.known.remove(&request);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_ignored_until_twice_the_time_of_the_request() {
        let mut copies = Copies::default();
        assert!(!copies.is_copy(10, 'a'));
        assert!(copies.is_copy(10, 'a') && copies.is_copy(500, 'a'));
        assert!(!copies.is_copy(20, 'b'), "another request");
        copies.end(110, 'a');
        assert!(copies.is_copy(209, 'a'));
        assert!(!copies.is_copy(210, 'a'), "its answer may be lost");
        copies.end(211, 'a');
        assert!(copies.is_copy(211, 'a'));
        copies.forget('b');
        assert!(!copies.is_copy(30, 'b'));
    }

    #[test]
    fn answered_requests_are_removed() {
        let mut copies = Copies::default();
        for request in 0..1000u64 {
            assert!(!copies.is_copy(10 * request, request));
            copies.end(10 * request + 5, request);
        }
        assert!(copies.known.len() <= 2 && copies.answered.len() <= 2);
        assert!(!copies.is_copy(20_000, 0));
        copies.end(20_000, 0);
        assert!(copies.known.is_empty(), "answered at once, there were no copies to wait for");
    }
}
