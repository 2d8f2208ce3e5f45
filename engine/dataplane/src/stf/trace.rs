//! A file as the way to a state: its set-up and packets are done, some packets step by step.

use super::command::{self, Command};
use super::{PACKET_GAP_NS, StfError, setup};
use crate::output::Output;
use crate::switch::Switch;
use crate::trace::Trace;

/// What one packet of a file did.
#[derive(Debug, Clone)]
pub struct TracedPacket {
    /// Its line, from 1.
    pub line: usize,
    /// Port at which it came in.
    pub port: u16,
    /// The frame that came in.
    pub frame: Vec<u8>,
    /// The frames that left, each with its port.
    pub out: Vec<(u16, Vec<u8>)>,
    /// Every step.
    pub trace: Trace,
}

/// Does what a file says to a switch, and traces the packets of the lines that `wanted` takes.
/// Packets enter at the times at which [`super::run`] sends them; expectations are skipped.
/// `name` is for messages.
///
/// # Errors
///
/// [`StfError`] for a line that is no command, a name that the program does not have, or a
/// request that the switch refuses.
pub fn trace(
    switch: &mut Switch,
    text: &str,
    name: &str,
    wanted: impl Fn(usize) -> bool,
) -> Result<Vec<TracedPacket>, StfError> {
    let mut traced = Vec::new();
    let mut setup = setup::Setup::default();
    let mut output = Output::new();
    let mut now_ns = 0;
    for (line, source) in (1..).zip(text.lines()) {
        let fail = |message: String| StfError { name: name.to_owned(), line, message };
        match command::parse(source).map_err(fail)? {
            Some(Command::Packet { port, bytes }) => {
                output.clear();
                if wanted(line) {
                    let trace = switch.trace(now_ns, port, &bytes, &mut output);
                    let out = output.frames().map(|(port, frame)| (port, frame.to_vec())).collect();
                    traced.push(TracedPacket { line, port, frame: bytes, out, trace });
                } else {
                    switch.process(now_ns, port, &bytes, &mut output);
                }
                now_ns += PACKET_GAP_NS;
            }
            Some(Command::Expect { .. }) | None => {}
            Some(command) => setup.run(switch, command).map_err(fail)?,
        }
    }
    Ok(traced)
}
