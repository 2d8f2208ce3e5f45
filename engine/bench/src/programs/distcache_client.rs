//! `distcache/client.p4`: the switch of the clients, which sends each read towards the copy in the
//! less loaded switch.

use netkv_ir::{Match, Value};
use netkv_wire::{Load, MAX_VALUE, Message, Op, client_ip, padded, partition, server_ip};

use super::distcache::{
    LAST, SWITCHES, UPPER, fill_upper_copies, leaf_of_server, spine_of, spine_port,
};
use super::rack;
use super::subject::{Subject, no_path};
use crate::case::Case;
use crate::control::Control;
use crate::error::BenchError;
use crate::traffic::{Frames, Traffic, uniform, value_of};

/// The program `client.p4` of DistCache.
pub(super) struct DistCacheClient;

/// A half-life of loads, in units of 1024 us, within which a measurement ends. So the loads count
/// in full, as those of switches that answer often.
const NEVER_AGED: u128 = 1 << 29;

/// The layers in turn: that of the `n`-th reply.
fn layer_of(n: u32) -> u8 {
    if n.is_multiple_of(2) { LAST } else { UPPER }
}

/// A switch's reply to the read of a key.
fn reply(request: u32, key: u32, load: Load, value_size: u32) -> Vec<u8> {
    let value = value_of(key, value_size);
    let key = rack::key(key);
    let (server, client) = (server_ip(partition(&key, rack::SERVERS)), client_ip(rack::CLIENT));
    let message = Message::request(server, client, Op::GetReply, rack::CLIENT, request, key);
    let upper = load.layer == UPPER;
    let message = Message { cache_hit: true, upper, load: Some(load), ..message };
    rack::frame(&message.with_value(&value))
}

impl Subject for DistCacheClient {
    fn name(&self) -> &'static str {
        "distcache-client"
    }

    fn paths(&self) -> Vec<&'static str> {
        vec!["read", "write", "reply"]
    }

    /// Fills the tables, and the loads by replies. The `n`-th switches of both layers have equal
    /// loads, and those of switches with a higher number are larger. So half of the reads go to
    /// each layer.
    fn fill(&self, case: &Case, control: &mut Control<'_>) -> Result<(), BenchError> {
        rack::fill(case, control)?;
        fill_upper_copies(control, "NetkvIngress.choice.upper_copy", None)?;
        let (table, action) = ("NetkvIngress.choice.settings", "NetkvIngress.choice.configure");
        control.set_default(table, action, &[NEVER_AGED])?;
        for server in 0..rack::SERVERS {
            let address = Match::Exact(Value::from_bytes(32, &server_ip(server)));
            let (table, action) = ("NetkvIngress.choice.servers", "NetkvIngress.choice.at");
            control.insert(table, address, 0, action, &[leaf_of_server(server).into()])?;
        }
        for number in 0..SWITCHES {
            for layer in [LAST, UPPER] {
                let load = Load { layer, switch: number as u8, reads: 100 * u32::from(number + 1) };
                control.send(rack::SERVER_PORT, &reply(0, 0, load, case.value_size));
            }
        }
        Ok(())
    }

    fn traffic(&self, case: &Case) -> Result<Traffic, BenchError> {
        rack::check(case, u32::MAX, MAX_VALUE as u32)?;
        let requests = (1..).zip(uniform(case.entries));
        let value = padded(case.value_size as usize);
        let mut frames = Frames::default();
        let (input_port, output_ports, added) = match case.path.as_str() {
            "read" => {
                requests.for_each(|(request, key)| frames.push(&rack::get(request, key)));
                (rack::CLIENT_PORT, rack::SERVER_PORT..=spine_port(SWITCHES - 1), 0)
            }
            "write" => {
                let put = |(request, key)| rack::put(request, key, case.value_size);
                requests.map(put).for_each(|frame| frames.push(&frame));
                (rack::CLIENT_PORT, rack::SERVER_PORT..=rack::SERVER_PORT, value)
            }
            "reply" => {
                for (request, number) in requests {
                    let key = rack::key(number);
                    let layer = layer_of(request);
                    let switch = if layer == UPPER {
                        spine_of(&key)
                    } else {
                        leaf_of_server(partition(&key, rack::SERVERS))
                    };
                    let load = Load { layer, switch: switch as u8, reads: request };
                    frames.push(&reply(request, number, load, case.value_size));
                }
                (rack::SERVER_PORT, rack::CLIENT_PORT..=rack::CLIENT_PORT, value)
            }
            _ => return Err(no_path(case, self)),
        };
        let bytes = rack::MIN_FRAME_BYTES + added;
        Ok(Traffic::new(input_port, frames, output_ports, bytes))
    }
}
