//! Records an STF file: sends frames, and writes the transmitted frames as expectations.

use std::fmt::Write as _;

use super::command::{self, Command, PACKET_GAP_NS};
use super::error::StfError;
use super::setup;
use crate::output::Output;
use crate::switch::Switch;
use crate::trace::hex;

/// Configures a switch with the lines of `setup`, sends frames, and returns an STF file of both
/// with the transmitted frames as expectations. [`super::run`] passes the file on a new switch.
/// Frames and expectations in `setup` are omitted. `name` is the name of `setup` in messages.
///
/// # Errors
///
/// [`StfError`] for a line of `setup` that is not a command, or that the switch rejects.
pub fn record(
    switch: &mut Switch,
    setup: &str,
    frames: &[(u16, Vec<u8>)],
    name: &str,
) -> Result<String, StfError> {
    let mut text = String::new();
    let mut done = setup::Setup::default();
    for (line, source) in (1..).zip(setup.lines()) {
        let fail = |message: String| StfError::new(name, line, message);
        match command::parse_line(source).map_err(fail)? {
            Some(Command::Packet { .. } | Command::Expect { .. }) => continue,
            Some(command) => done.run(switch, command).map_err(fail)?,
            None => {}
        }
        let _ = writeln!(text, "{}", source.trim_end());
    }
    let mut output = Output::new();
    for (number, (port, frame)) in (0..).zip(frames) {
        output.clear();
        switch.process(number * PACKET_GAP_NS, *port, frame, &mut output);
        let _ = writeln!(text, "packet {port} {}", hex(frame));
        for (port, frame) in output.frames() {
            let _ = writeln!(text, "expect {port} {} $", hex(frame));
        }
    }
    Ok(text)
}

/// The frames of the `packet` commands in a file, each with its port.
///
/// # Errors
///
/// [`StfError`] for a line that is not a command.
pub fn frames(text: &str, name: &str) -> Result<Vec<(u16, Vec<u8>)>, StfError> {
    let mut frames = Vec::new();
    for (line, source) in (1..).zip(text.lines()) {
        let fail = |message: String| StfError::new(name, line, message);
        if let Some(Command::Packet { port, bytes }) = command::parse_line(source).map_err(fail)? {
            frames.push((port, bytes));
        }
    }
    Ok(frames)
}
