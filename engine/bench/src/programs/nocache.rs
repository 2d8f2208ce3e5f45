//! `nocache.p4`: the switch forwards every request to the server of its key.

use netkv_wire::{MAX_VALUE, mac_of, padded, partition_range, server_ip};

use super::nocache_by_hand::NoCache as ByHand;
use super::{Subject, no_path, rack};
use crate::case::Case;
use crate::control::Control;
use crate::error::BenchError;
use crate::handwritten::Pipeline;
use crate::traffic::{Frames, Traffic, uniform};

/// The program `nocache.p4`.
pub(super) struct NoCache;

impl Subject for NoCache {
    fn name(&self) -> &'static str {
        "nocache"
    }

    fn paths(&self) -> Vec<&'static str> {
        vec!["read", "write"]
    }

    fn fill(&self, _case: &Case, control: &mut Control<'_>) -> Result<(), BenchError> {
        rack::fill(control)
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
        let others = rack::others(case);
        Ok(Traffic { others, ..Traffic::new(rack::CLIENT_PORT, frames, output_ports, bytes) })
    }

    fn handwritten(&self, _case: &Case) -> Option<Box<dyn Pipeline>> {
        let mut pipeline = ByHand::new(rack::CLIENT_PORT);
        for server in 0..rack::SERVERS {
            let ip = server_ip(server);
            pipeline.own(partition_range(server, rack::SERVERS), mac_of(ip), ip);
        }
        rack::routes().for_each(|(ip, port)| pipeline.route(ip, port));
        Some(Box::new(pipeline))
    }

    fn counts(&self, _case: &Case, control: &mut Control<'_>) -> Result<Vec<u64>, BenchError> {
        control.counter("NetkvIngress.drop.reasons")
    }
}
