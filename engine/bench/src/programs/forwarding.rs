//! `forwarding.p4`: the switch forwards every request to the server of its key.

use netkv_wire::{CPU_PORT, MAX_VALUE, Op, client_ip, padded};

use super::all_kinds::all_kinds;
use super::rack;
use super::subject::{Subject, no_path};
use crate::case::Case;
use crate::control::Control;
use crate::error::BenchError;
use crate::traffic::{Arrivals, Frames, Traffic, uniform, value_of};

/// The program `forwarding.p4`.
pub(super) struct Forwarding;

impl Subject for Forwarding {
    fn name(&self) -> &'static str {
        "forwarding"
    }

    fn paths(&self) -> Vec<&'static str> {
        vec!["read", "write"]
    }

    fn fill(&self, case: &Case, control: &mut Control<'_>) -> Result<(), BenchError> {
        rack::fill(case, control)
    }

    fn traffic(&self, case: &Case) -> Result<Traffic, BenchError> {
        rack::check(case, u32::MAX, MAX_VALUE as u32)?;
        let writes = match case.path.as_str() {
            "read" => false,
            "write" => true,
            _ => return Err(no_path(case, self)),
        };
        let mut frames = Frames::default();
        for (request, key) in (1..).zip(uniform(case.entries)) {
            frames.push(&if writes {
                rack::put(request, key, case.value_size)
            } else {
                rack::get(request, key)
            });
        }
        let bytes =
            rack::MIN_FRAME_BYTES + if writes { padded(case.value_size as usize) } else { 0 };
        let output_ports = rack::SERVER_PORT..=rack::SERVER_PORT;
        Ok(Traffic::new(rack::CLIENT_PORT, frames, output_ports, bytes))
    }

    fn all_kinds(&self, case: &Case) -> Vec<Arrivals> {
        let ports = [rack::CLIENT_PORT, rack::SERVER_PORT, CPU_PORT];
        all_kinds(&ports, |draw, _| {
            let number = draw.below(2 * u64::from(case.entries)) as u32;
            let op = draw.of(&[Op::Get, Op::Put, Op::Delete, Op::GetReply, Op::Stats, Op::Epoch]);
            let message = rack::to_service(
                client_ip(rack::CLIENT),
                op,
                rack::CLIENT,
                number,
                rack::key(number),
            );
            let value = value_of(number, draw.below(129) as u32);
            rack::frame(&message.with_value(&value))
        })
    }

    fn counted(&self) -> &'static [&'static str] {
        &["NetkvIngress.drop.reasons"]
    }
}
