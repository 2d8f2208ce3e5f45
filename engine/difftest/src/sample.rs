//! State and packets for a test of another switch.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use netkv_dataplane::{EntryAction, Switch, SwitchOptions};
use netkv_ir::Program;

use crate::case::{Case, Step};
use crate::packets::Recorded;
use crate::request::Request;

/// Minimum length of a frame that a network interface accepts.
const MIN_FRAME_BYTES: usize = 14;
/// Number of ports that such a switch has.
const PORTS: u16 = 8;
/// Ids of groups and clone sessions are below this in bmv2.
const BMV2_GROUPS: u32 = 1 << 15;

/// How the other switch gets its state and its packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// The lines are an STF file, whose frames go to network interfaces.
    Stf,
    /// The lines become requests of P4Runtime, which has no access to bmv2's registers. Frames may
    /// go to any port.
    P4Runtime,
}

/// Random state as the lines of an STF file, and `count` random frames. The state consists of
/// requests that the medium supports and every switch accepts.
pub fn sample(
    program: &Arc<Program>,
    seed: u64,
    count: usize,
    medium: Medium,
) -> (String, Vec<Recorded>) {
    let case = Case::new(program.clone(), seed, count * 4 + 16, &[]);
    let mut switch = Switch::new(program.clone(), SwitchOptions::default()).ok();
    let mut setup = Setup { medium, priorities: HashSet::new(), nodes: 0, text: String::new() };
    let mut frames = Vec::new();
    for step in &case.steps {
        match step {
            Step::Control(request) if frames.is_empty() => {
                if let Some(switch) = &mut switch
                    && setup.takes(program, request)
                    && request.apply(switch).is_ok()
                {
                    setup.push(program, request);
                }
            }
            Step::Control(_) => {}
            Step::Frames { port, frames: some, .. } => {
                let port = if medium == Medium::Stf { *port % PORTS } else { *port };
                let fit = some.iter().filter(|frame| frame.len() >= MIN_FRAME_BYTES);
                frames.extend(fit.map(|frame| (port, frame.clone())));
            }
        }
    }
    frames.truncate(count);
    (setup.text, frames)
}

/// The lines so far.
struct Setup {
    medium: Medium,
    /// Table and priority of the entries so far.
    priorities: HashSet<(u32, u32)>,
    /// Nodes of multicast groups so far.
    nodes: usize,
    text: String,
}

impl Setup {
    /// Whether the medium has a command for the request, and all switches interpret it equally.
    fn takes(&mut self, program: &Program, request: &Request) -> bool {
        match request {
            Request::Insert(entry) => {
                // Switches disagree on the direction of priorities outside of P4Runtime, and on the
                // order of equal ones.
                let decided = entry.priority == 0
                    || self.medium == Medium::P4Runtime
                        && self.priorities.insert((entry.table_id, entry.priority));
                decided
                    && entry.idle_timeout_ns == 0
                    && matches!(entry.action, EntryAction::Direct { .. })
            }
            Request::WriteRegister { index: Some(_), .. } => self.medium == Medium::Stf,
            Request::SetDefault { table, .. } => {
                program.tables.iter().any(|it| it.identity.id == *table && !it.const_default)
            }
            Request::InsertSession { session, to } => {
                *session < BMV2_GROUPS
                    && to.replicas.len() == 1
                    && to.packet_length_bytes == 0
                    && to.replicas[0].1 == 0
            }
            Request::InsertMulticast { group, replicas } => {
                *group < BMV2_GROUPS && !replicas.is_empty()
            }
            _ => false,
        }
    }

    fn push(&mut self, program: &Program, request: &Request) {
        let _ = writeln!(self.text, "{}", request.to_stf(program));
        if let Request::InsertMulticast { group, replicas } = request {
            for _ in replicas {
                let _ = writeln!(self.text, "mc_node_associate {group} {}", self.nodes);
                self.nodes += 1;
            }
        }
    }
}
