//! Events of FPGA cards.

use netkv_fpga::Error;
use serde_json::Value;

use crate::sim::nodes::cards::Sent;
use crate::sim::part::Part;

impl Part {
    /// Runs the design of a card, and puts the frames that it sends on their links.
    pub fn card_event(&mut self, card: u16, turn: u32) {
        if !self.nodes.cards.begin(card, turn) {
            return;
        }
        if let Err(error) = self.run_card(card) {
            self.failure.get_or_insert(format!("the design of card {card} has failed: {error}"));
        }
    }

    fn run_card(&mut self, card: u16) -> Result<(), Error> {
        loop {
            let others = self.generator_due.min(self.controls.due());
            let Self { nodes, timeline, .. } = self;
            if !nodes.cards.run(timeline, card, others)? {
                return Ok(());
            }
            for port in self.nodes.cards.ready(card) {
                while let Some(sent) = self.nodes.cards.sent(&mut self.timeline, card, port)? {
                    let Sent { link, at, frame } = sent;
                    if let Some(frame) = frame {
                        self.put(link, at, frame);
                    }
                }
            }
        }
    }

    /// Counters of the cards.
    pub fn card_counts(&mut self) -> Value {
        match self.nodes.cards.counts() {
            Ok(counts) => counts.into(),
            Err(error) => {
                self.failure.get_or_insert(format!("a card cannot be read: {error}"));
                Value::Null
            }
        }
    }
}
