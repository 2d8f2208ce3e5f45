//! The socket of a guest's front end.
//!
//! Rules
//! 1. One front end has the function at a time; others are disconnected.
//! 2. A message that is malformed, or asks for something impossible, ends the connection. At the
//!    end of a connection the device is reset and the memory of the guest is unmapped.
//! 3. The effect of a message is complete before the next one, and before its reply. So a front end
//!    may free a ring as soon as its queue is stopped.
//! 4. Nothing here blocks: a front end that sends half a message delays no one.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use netkv_fpga::Design;

use super::connection::{Connection, Received};
use super::request::{Header, OWN_FEATURES, REPLY_ACK, Request};
use super::{Bar, Driver, Memory, Outcome, QUEUES};
use crate::sys::{Kick, Lent, Poller, Signal};

/// Tokens that a port has in the poller of its thread.
pub const TOKENS: u64 = 2 + QUEUES as u64;
const LISTENER: u64 = 0;
const CONNECTION: u64 = 1;
const KICKS: u64 = 2;

/// Messages that are handled before others have their turn.
const BATCH: usize = 32;

/// What has happened at a port.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// A front end has connected.
    Connected,
    /// The guest has put entries into a queue.
    Notified,
    /// A front end was disconnected, and why.
    Refused(String),
}

/// A port of a design at which a guest is.
pub struct Port {
    /// The function that the guest drives.
    pub function: u32,
    path: PathBuf,
    listener: UnixListener,
    first_token: u64,
    front_end: Option<FrontEnd>,
    driver: Driver,
    lent: Lent,
}

struct FrontEnd {
    connection: Connection,
    own_features: u64,
    /// The socket for requests of the back end, which has none.
    _channel: Option<File>,
}

impl Port {
    /// Listens at a socket, which must not exist, or be one that nobody listens at. An error is a
    /// sentence that begins with `owner`.
    pub fn open(owner: &str, path: &Path, function: u32) -> io::Result<Self> {
        let listener = listen(path).map_err(|error| {
            let text = format!("{owner} cannot listen at {}: {error}", path.display());
            io::Error::new(error.kind(), text)
        })?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            function,
            path: path.to_owned(),
            listener,
            first_token: 0,
            front_end: None,
            driver: Driver::default(),
            lent: Lent::default(),
        })
    }

    /// Watches the socket. The port has the tokens from `first_token` on.
    pub fn watch(&mut self, poller: &Poller, first_token: u64) -> io::Result<()> {
        self.first_token = first_token;
        poller.watch(&self.listener, first_token + LISTENER)
    }

    /// Handles what [`Poller::wait`] has reported for a token of this port.
    ///
    /// # Errors
    ///
    /// The design has failed.
    pub fn handle(
        &mut self,
        token: u64,
        design: &mut Design,
        poller: &Poller,
        report: &mut impl FnMut(Event),
    ) -> Outcome<()> {
        match token - self.first_token {
            LISTENER => {
                // A front end that is gone makes way for the next one.
                self.receive(design, poller, report)?;
                self.accept(poller, report);
                Ok(())
            }
            CONNECTION => self.receive(design, poller, report),
            queue => {
                report(Event::Notified);
                self.with(design, |driver, device| driver.kicked(device, (queue - KICKS) as usize))
            }
        }
    }

    /// Passes interrupts on. Bit 0 is a change of the configuration, then the queues follow.
    /// Returns whether the device needs a reset.
    pub fn interrupt(&mut self, bits: u64, design: &mut Design) -> Outcome<bool> {
        for queue in (0..QUEUES).filter(|queue| bits >> (1 + queue) & 1 == 1) {
            self.driver.interrupt(queue);
        }
        if bits & 1 == 0 {
            return Ok(false);
        }
        self.with(design, |driver, device| driver.configuration_changed(device))
    }

    /// Ends the connection: the design does not access the memory of the guest any more.
    pub fn release(&mut self, design: &mut Design) -> Outcome<()> {
        self.front_end = None;
        self.with(design, |driver, device| driver.release(device))
    }

    fn with<T>(
        &mut self,
        design: &mut Design,
        work: impl FnOnce(&mut Driver, &mut Bar<'_>) -> T,
    ) -> T {
        let mut bar = Bar { design, function: self.function, lent: &mut self.lent };
        work(&mut self.driver, &mut bar)
    }

    fn accept(&mut self, poller: &Poller, report: &mut impl FnMut(Event)) {
        // Else the front end is gone already, or there is no descriptor for it.
        let Ok((stream, _)) = self.listener.accept() else { return };
        if self.front_end.is_some() {
            report(Event::Refused("another front end has the function".to_owned()));
            return;
        }
        let token = self.first_token + CONNECTION;
        let opened = Connection::new(stream)
            .and_then(|connection| poller.watch(&connection.stream, token).map(|()| connection));
        match opened {
            Ok(connection) => {
                self.front_end = Some(FrontEnd { connection, own_features: 0, _channel: None });
                report(Event::Connected);
            }
            Err(error) => report(Event::Refused(error.to_string())),
        }
    }

    /// Handles the messages that have come.
    fn receive(
        &mut self,
        design: &mut Design,
        poller: &Poller,
        report: &mut impl FnMut(Event),
    ) -> Outcome<()> {
        for _ in 0..BATCH {
            let Some(front_end) = &mut self.front_end else { break };
            let handled = match front_end.connection.receive() {
                Ok(Received::Nothing) => break,
                Ok(Received::End) => return self.release(design),
                Ok(Received::Message(header, request)) => {
                    self.answer(&header, request, design, poller)
                }
                Err(problem) => Err(problem),
            };
            if let Err(problem) = handled {
                report(Event::Refused(problem));
                return self.release(design);
            }
        }
        Ok(())
    }

    fn answer(
        &mut self,
        header: &Header,
        request: Outcome<Request>,
        design: &mut Design,
        poller: &Poller,
    ) -> Outcome<()> {
        let done = request.and_then(|request| self.perform(request, design, poller));
        let Some(front_end) = &self.front_end else { return Ok(()) };
        let acknowledges = front_end.own_features & REPLY_ACK != 0 && header.needs_reply();
        let reply = match &done {
            Ok(Some(body)) => Some(header.reply(body)),
            Ok(None) => acknowledges.then(|| header.reply(&0u64.to_ne_bytes())),
            Err(_) => acknowledges.then(|| header.reply(&1u64.to_ne_bytes())),
        };
        let sent = reply.map_or(Ok(()), |reply| front_end.connection.send(&reply));
        done.and(sent)
    }

    /// Does what a message asks for; returns the body of its reply, if it has one.
    fn perform(
        &mut self,
        request: Request,
        design: &mut Design,
        poller: &Poller,
    ) -> Outcome<Option<Vec<u8>>> {
        let token = self.first_token + KICKS;
        let mut bar = Bar { design, function: self.function, lent: &mut self.lent };
        let (driver, device) = (&mut self.driver, &mut bar);
        match request {
            Request::Ignored => {}
            Request::GetFeatures => return driver.offered(device).map(long),
            Request::SetFeatures(features) => driver.set_features(device, features)?,
            Request::GetOwnFeatures => return Ok(long(OWN_FEATURES)),
            Request::SetOwnFeatures(features) => {
                if features & !OWN_FEATURES != 0 {
                    return Err(format!(
                        "the features of vhost-user {features:#x} are not offered"
                    ));
                }
                if let Some(front_end) = &mut self.front_end {
                    front_end.own_features = features;
                }
            }
            Request::SetChannel(file) => {
                if let Some(front_end) = &mut self.front_end {
                    front_end._channel = Some(file);
                }
            }
            Request::SetMemory(regions) => driver.set_memory(device, Memory::map(regions)?)?,
            Request::SetSize { queue, size } => driver.set_size(device, queue, size)?,
            Request::SetNext { queue, next } => driver.set_next(device, queue, next)?,
            Request::SetAddresses { queue, addresses } => {
                driver.set_addresses(device, queue, addresses)?;
            }
            Request::SetKick { queue, file } => {
                let kick = Kick::new(file, poller, token + u64::from(queue)).map_err(unusable)?;
                driver.set_kick(device, queue, kick)?;
            }
            Request::SetCall { queue, file } => driver.set_call(queue, signal(file)?)?,
            Request::SetError { queue, file } => driver.set_error(queue, signal(file)?)?,
            Request::Enable { queue, on } => driver.enable(device, queue, on)?,
            Request::Halt { queue } => {
                let next = driver.halt(device, queue)?;
                let words = [queue, u32::from(next)];
                return Ok(Some(words.iter().flat_map(|word| word.to_ne_bytes()).collect()));
            }
            Request::GetConfig { offset, length, mut head } => {
                head.extend(driver.config(device, offset, length)?);
                return Ok(Some(head));
            }
            Request::Reset => driver.release(device)?,
        }
        Ok(None)
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn long(value: u64) -> Option<Vec<u8>> {
    Some(value.to_ne_bytes().to_vec())
}

/// The signal of a queue; no descriptor: the guest does not want any.
fn signal(file: Option<File>) -> Outcome<Option<Signal>> {
    file.map(Signal::new).transpose().map_err(unusable)
}

fn unusable(error: io::Error) -> String {
    format!("a descriptor cannot be used: {error}")
}

/// Binds a socket. A process that was killed has left its socket; that is replaced.
fn listen(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            if !fs::symlink_metadata(path)?.file_type().is_socket() {
                return Err(io::Error::new(error.kind(), "it exists and is not a socket"));
            }
            if UnixStream::connect(path).is_ok() {
                return Err(io::Error::new(error.kind(), "another process listens there"));
            }
            fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        done => done,
    }
}
