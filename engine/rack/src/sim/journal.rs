//! What becomes of frames, written down for people: a violation is explained by it.

use std::collections::VecDeque;
use std::fmt::Write;

use netkv_roles::multiget::Layout;
use netkv_roles::{Nanos, read_writer};
use netkv_wire::{FrameView, Key};
use netkv_workload::key_id;

use super::config::End;
use super::fabric::name;
use super::journal_multiget as multiget;

/// What became of a frame on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It will arrive then.
    Sent(Nanos),
    /// It was lost on the way.
    Lost,
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
    /// Of servers, as multigets have to know it.
    layout: Layout,
    limit: usize,
    entries: VecDeque<Entry>,
}

impl Journal {
    /// Of these keys, or of all if there are none.
    pub(super) fn new(keys: Vec<Key>, limit: usize, layout: Layout) -> Self {
        Self { keys, layout, limit: limit.max(1), entries: VecDeque::new() }
    }

    fn is_about(&self, bytes: &[u8]) -> bool {
        let all = self.keys.is_empty();
        match (FrameView::parse(bytes), multiget::parse(bytes, &self.layout)) {
            (Ok(frame), _) => all || self.keys.contains(&frame.key()),
            (_, Some(frame)) => all || multiget::is_about(&frame, &self.layout, &self.keys),
            _ => false,
        }
    }

    pub(super) fn note(&mut self, at: Nanos, from: End, to: End, outcome: Outcome, bytes: &[u8]) {
        if !self.is_about(bytes) {
            return;
        }
        if self.entries.len() == self.limit {
            self.entries.pop_front();
        }
        self.entries.push_back(Entry { at, from, to, outcome, frame: bytes.to_vec() });
    }

    /// A line for each, in the order in which they were sent.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut entries: Vec<&Entry> = self.entries.iter().collect();
        entries.sort_by_key(|entry| entry.at);
        entries.into_iter().map(|entry| line(entry, &self.layout)).collect()
    }
}

fn line(entry: &Entry, layout: &Layout) -> String {
    let mut text = format!(
        "{:>14.6} ms  {:>16} → {:<16} {}",
        entry.at as f64 / 1e6,
        name(entry.from),
        name(entry.to),
        describe(&entry.frame, layout)
    );
    match entry.outcome {
        Outcome::Sent(arrival) => {
            let _ = write!(text, "  (arrives {:.6} ms)", arrival as f64 / 1e6);
        }
        Outcome::Lost => text.push_str("  LOST"),
        Outcome::QueueFull => text.push_str("  DROPPED, queue full"),
    }
    text
}

/// A frame in words: what it asks or answers, about which key, and whose value it carries.
fn describe(bytes: &[u8], layout: &Layout) -> String {
    if let Some(frame) = multiget::parse(bytes, layout) {
        return multiget::describe(&frame, layout);
    }
    let Ok(frame) = FrameView::parse(bytes) else { return "not a frame of netkv".to_owned() };
    let key = frame.key();
    let mut text = format!("{:?} {}:{}", frame.op(), frame.sender(), frame.request());
    match key_id(&key) {
        Some(id) => {
            let _ = write!(text, " key {id}");
        }
        None => {
            let _ = write!(text, " key {key:02x?}");
        }
    }
    if frame.op().is_reply() {
        let _ = write!(text, " {:?}", frame.status());
    }
    if let Some(mark) = frame.mark() {
        let _ = write!(text, " generation {} version {}", mark.generation, mark.version);
    }
    if let Some(writer) = read_writer(&key, frame.value()) {
        match writer.client {
            0 => text.push_str(" value: initial"),
            client => {
                let _ = write!(text, " value: {client}:{}", writer.request);
            }
        }
    }
    text
}
