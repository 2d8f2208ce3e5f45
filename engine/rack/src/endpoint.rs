//! The link of a node's thread: the thread waits for frames, receives them, and sends those of its
//! role, in batches.

use std::io;

use netkv_roles::{Actions, Nanos};

use crate::clock;
use crate::sys::{Carrier, Poller, Received, Sender, Sent};
use crate::worker::Signals;

/// Tokens in the poller.
const WAKER: u64 = 0;
const LINK: u64 = 1;

/// A link and the buffers of the thread that uses it.
pub struct Endpoint<'a, C> {
    link: &'a C,
    signals: &'a Signals,
    poller: Poller,
    /// The last batch of received frames.
    pub received: Received,
    /// The frames to send.
    pub actions: Actions,
    sender: Sender,
}

impl<'a, C: Carrier> Endpoint<'a, C> {
    /// An endpoint of a thread that alone waits for frames of the link.
    pub fn new(link: &'a C, signals: &'a Signals) -> io::Result<Self> {
        let endpoint = Self::without_link(link, signals)?;
        endpoint.poller.watch(link, LINK)?;
        Ok(endpoint)
    }

    /// An endpoint of one of several threads that wait for frames of the link.
    pub fn with_others(link: &'a C, signals: &'a Signals) -> io::Result<Self> {
        let endpoint = Self::without_link(link, signals)?;
        endpoint.poller.watch_with_others(link, LINK)?;
        Ok(endpoint)
    }

    fn without_link(link: &'a C, signals: &'a Signals) -> io::Result<Self> {
        let poller = Poller::new()?;
        poller.watch(&signals.waker, WAKER)?;
        Ok(Self {
            link,
            signals,
            poller,
            received: Received::default(),
            actions: Actions::new(),
            sender: Sender::default(),
        })
    }

    /// True once the thread should end.
    pub fn stopping(&self) -> bool {
        self.signals.stopping()
    }

    /// Waits for a frame, a wake-up or the deadline; returns whether frames wait.
    pub fn wait(&mut self, deadline: Option<Nanos>) -> io::Result<bool> {
        let mut ready = false;
        for token in self.poller.wait(clock::until(deadline))? {
            match token {
                WAKER => self.signals.waker.clear(),
                _ => ready = true,
            }
        }
        Ok(ready)
    }

    /// Receives a batch of waiting frames into `received`; returns their number.
    pub fn receive(&mut self) -> io::Result<u64> {
        Ok(self.link.receive(&mut self.received)? as u64)
    }

    /// Sends the frames of `actions`, and removes them.
    pub fn send(&mut self) -> Sent {
        let sent =
            self.link.transmit(&mut self.sender, self.actions.bytes(), self.actions.ranges());
        self.actions.clear();
        sent
    }
}
