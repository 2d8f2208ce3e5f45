//! What a command of the rack uses of the gateway, and the tokens of its operations.

use netkv_rack::session::OwnedOp;

use crate::failure::RackTexts;
use crate::known::Known;
use crate::order::CommandId;
use crate::server::Counters;

/// The part of the gateway that a command of the rack uses.
pub struct Operating<'a> {
    /// The texts of errors.
    pub texts: &'a RackTexts,
    /// The keys that DBSIZE counts.
    pub known: &'a mut Known,
    /// The counters of INFO.
    pub counters: &'a mut Counters,
    /// Operations to submit, with their tokens.
    pub operations: &'a mut Vec<(u64, OwnedOp)>,
    /// The command.
    pub command: CommandId,
}

impl Operating<'_> {
    /// Submits an operation of the command.
    pub(super) fn submit(&mut self, part: usize, op: OwnedOp) {
        self.operations.push((token(self.command, part as u32), op));
    }
}

fn token(command: CommandId, part: u32) -> u64 {
    u64::from(command) << 32 | u64::from(part)
}

/// The command of a token, and the part of it that the operation was.
pub fn of_token(token: u64) -> (CommandId, u32) {
    ((token >> 32) as CommandId, token as u32)
}
