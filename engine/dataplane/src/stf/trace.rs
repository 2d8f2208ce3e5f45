//! Runs an STF file, and traces some of its packets.

use super::command::{self, Command, PACKET_GAP_NS};
use super::error::StfError;
use super::setup;
use crate::output::Output;
use crate::switch::Switch;
use crate::trace::Trace;

/// A traced packet of a file.
#[derive(Debug, Clone)]
pub struct TracedPacket {
    /// Line of the packet, from 1.
    pub line: usize,
    /// Port that received it.
    pub port: u16,
    /// The received frame.
    pub frame: Vec<u8>,
    /// The transmitted frames, each with its port.
    pub out: Vec<(u16, Vec<u8>)>,
    /// Its trace.
    pub trace: Trace,
}

/// Executes the commands of a file on a switch, and traces the packets whose lines satisfy
/// `wanted`. Packets have the same times as in [`super::run`], and expectations are skipped.
/// `name` is the file name in messages.
///
/// # Errors
///
/// [`StfError`] for a line that is not a command, a name that the program does not have, or a
/// request that the switch rejects.
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
        let fail = |message: String| StfError::new(name, line, message);
        match command::parse_line(source).map_err(fail)? {
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
