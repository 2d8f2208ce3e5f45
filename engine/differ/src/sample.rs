//! Packets and state for a file that goes to another switch.

use std::sync::Arc;

use netkv_dataplane::{Switch, SwitchOptions};
use netkv_ir::Program;

use crate::case::{Case, Step};
use crate::control::Request;
use crate::packets::Recorded;

/// The shortest frame that a network interface takes.
const SHORTEST: usize = 14;
/// Ports that such a switch is likely to have.
const PORTS: u16 = 8;

/// Random state as the lines of an STF file, as far as STF can say it and any switch takes it,
/// and `count` random frames that a network interface can send.
pub fn sample(program: &Arc<Program>, seed: u64, count: usize) -> (String, Vec<Recorded>) {
    let case = Case::new(program.clone(), seed, count * 4 + 16, &[]);
    let mut switch = Switch::new(program.clone(), SwitchOptions::default()).ok();
    let (mut setup, mut frames) = (String::new(), Vec::new());
    for step in &case.steps {
        match step {
            Step::Control(request) if frames.is_empty() => {
                if let Some(switch) = &mut switch
                    && portable(request)
                    && request.apply(switch).is_ok()
                {
                    setup.push_str(&request.to_stf(program));
                    setup.push('\n');
                }
            }
            Step::Control(_) => {}
            Step::Frames { port, frames: some, .. } => {
                let fit = some.iter().filter(|frame| frame.len() >= SHORTEST);
                frames.extend(fit.map(|frame| (*port % PORTS, frame.clone())));
            }
        }
    }
    frames.truncate(count);
    (setup, frames)
}

/// Requests that STF has a command for, and that mean the same everywhere.
fn portable(request: &Request) -> bool {
    match request {
        // Switches disagree on which of two priorities is the higher one.
        Request::Insert(entry) => {
            entry.priority == 0
                && entry.idle_timeout_ns == 0
                && matches!(entry.action, netkv_dataplane::EntryAction::Direct { .. })
        }
        Request::SetDefault { .. } | Request::WriteRegister { index: Some(_), .. } => true,
        Request::InsertSession { to, .. } => {
            to.replicas.len() == 1 && to.packet_length_bytes == 0 && to.replicas[0].1 == 0
        }
        _ => false,
    }
}
