//! State and packets for a test of another switch.

use std::sync::Arc;

use netkv_dataplane::{Switch, SwitchOptions};
use netkv_ir::Program;

use crate::case::{Case, Step};
use crate::packets::Recorded;
use crate::request::Request;

/// Minimum length of a frame that a network interface accepts.
const MIN_FRAME_BYTES: usize = 14;
/// Number of ports that such a switch has.
const PORTS: u16 = 8;

/// Random state as the lines of an STF file, and `count` random frames for a network interface. The
/// state consists of requests that STF supports and every switch accepts.
pub fn sample(program: &Arc<Program>, seed: u64, count: usize) -> (String, Vec<Recorded>) {
    let case = Case::new(program.clone(), seed, count * 4 + 16, &[]);
    let mut switch = Switch::new(program.clone(), SwitchOptions::default()).ok();
    let (mut setup, mut frames) = (String::new(), Vec::new());
    for step in &case.steps {
        match step {
            Step::Control(request) if frames.is_empty() => {
                if let Some(switch) = &mut switch
                    && is_portable(request)
                    && request.apply(switch).is_ok()
                {
                    setup.push_str(&request.to_stf(program));
                    setup.push('\n');
                }
            }
            Step::Control(_) => {}
            Step::Frames { port, frames: some, .. } => {
                let fit = some.iter().filter(|frame| frame.len() >= MIN_FRAME_BYTES);
                frames.extend(fit.map(|frame| (*port % PORTS, frame.clone())));
            }
        }
    }
    frames.truncate(count);
    (setup, frames)
}

/// Whether STF has a command for the request, and all switches interpret it equally.
fn is_portable(request: &Request) -> bool {
    match request {
        // Switches disagree on the order of priorities.
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
