//! A journal of frames on links, as text. Users read it to find the cause of a violation.

use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::Arc;

use netkv_roles::{Frames, Nanos};
use netkv_wire::Key;

use super::config::End;

/// The outcome of sending a frame on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It arrives at this time.
    Sent(Nanos),
    /// An impairment lost it.
    Lost,
    /// An impairment flipped bits of a copy, which arrives; the frame is noted as it was sent.
    Corrupted,
    /// The queue of the link was full.
    QueueFull,
}

struct Entry {
    at: Nanos,
    from: End,
    to: End,
    outcome: Outcome,
    frame: Vec<u8>,
}

/// The latest frames about some keys.
pub(super) struct Journal {
    keys: Vec<Key>,
    /// The frames of the rack's protocol.
    frames: Arc<dyn Frames>,
    limit: usize,
    entries: VecDeque<Entry>,
}

impl Journal {
    /// A journal of the frames about these keys, or of all frames if there are no keys.
    pub(super) fn new(keys: Vec<Key>, limit: usize, frames: Arc<dyn Frames>) -> Self {
        Self { keys, frames, limit: limit.max(1), entries: VecDeque::new() }
    }

    pub(super) fn note(&mut self, at: Nanos, from: End, to: End, outcome: Outcome, bytes: &[u8]) {
        if !self.frames.is_about(bytes, &self.keys) {
            return;
        }
        if self.entries.len() == self.limit {
            self.entries.pop_front();
        }
        self.entries.push_back(Entry { at, from, to, outcome, frame: bytes.to_vec() });
    }

    /// A line for each of the latest frames of these journals, in the order in which they were
    /// sent.
    pub(super) fn lines<'a>(journals: impl Iterator<Item = &'a Self> + Clone) -> Vec<String> {
        let limit = journals.clone().map(|it| it.limit).max().unwrap_or(0);
        let of = |journal: &'a Self| journal.entries.iter().map(move |it| (it, journal));
        let mut entries: Vec<_> = journals.flat_map(of).collect();
        entries.sort_by_key(|(entry, _)| entry.at);
        let latest = entries.len().saturating_sub(limit);
        entries[latest..].iter().map(|(entry, it)| line(entry, it.frames.as_ref())).collect()
    }
}

fn line(entry: &Entry, frames: &dyn Frames) -> String {
    let frame = frames.describe(&entry.frame);
    let mut text = format!(
        "{:>14.6} ms  {:>16} → {:<16} {}",
        entry.at as f64 / 1e6,
        entry.from,
        entry.to,
        frame.as_deref().unwrap_or("not a frame of netkv")
    );
    match entry.outcome {
        Outcome::Sent(arrival) => {
            let _ = write!(text, "  (arrives {:.6} ms)", arrival as f64 / 1e6);
        }
        Outcome::Lost => text.push_str("  LOST"),
        Outcome::Corrupted => text.push_str("  CORRUPTED"),
        Outcome::QueueFull => text.push_str("  DROPPED, queue full"),
    }
    text
}
