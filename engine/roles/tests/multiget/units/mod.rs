//! Tests of the clients, servers and coordinator of multigets, each by itself: frames, counts and
//! refusals.

mod client;
mod coordinator;
mod load;
mod server;

use crate::Architecture;
use netkv_roles::kits::multiget::{Client, ClientConfig, Layout, Users};
use netkv_roles::{
    Actions, Backoff, Client as _, Completion, MILLISECOND, Nanos, Outcome, SECOND,
    UserClient as _, UserOp,
};
use netkv_wire::Ip;
use netkv_wire::multiget::{Addresses, Answer, ReplyWriter, View, owner};
use netkv_workload::{Arrivals, Mix, MultigetSize, Workload, WorkloadConfig};

const ALL: [Architecture; 3] = [Architecture::NetMc, Architecture::CliMc, Architecture::CoordiMc];

fn layout(servers: u16) -> Layout {
    Layout::one_rack(servers, 16)
}

fn load(outstanding: u32) -> netkv_roles::ClientConfig {
    netkv_roles::ClientConfig {
        first_request: 1001,
        retry: Backoff { initial: 10 * MILLISECOND, cap: 40 * MILLISECOND },
        deadline: SECOND,
        ..netkv_roles::ClientConfig::new(1, Arrivals::Closed { outstanding })
    }
}

fn workload(size: MultigetSize, mix: Mix) -> WorkloadConfig {
    WorkloadConfig { multiget: Some(size), ..WorkloadConfig::new(10_000, mix, 1) }
}

fn client(
    architecture: Architecture,
    layout: Layout,
    load: netkv_roles::ClientConfig,
    workload: WorkloadConfig,
) -> Client {
    let config = ClientConfig { load, architecture: architecture.role(), layout };
    Client::new(config, Workload::new(workload).unwrap()).unwrap()
}

fn user(
    architecture: Architecture,
    layout: Layout,
    load: netkv_roles::ClientConfig,
) -> Client<Users> {
    let config = ClientConfig { load, architecture: architecture.role(), layout };
    Client::of_users(config).unwrap()
}

/// For each of these servers, its first key that is not in the list yet.
fn keys_on(servers: &[u16], of: u16) -> Vec<Vec<u8>> {
    let mut keys: Vec<Vec<u8>> = Vec::new();
    for server in servers {
        let names = (0..).map(|number: u32| format!("key{number}x").into_bytes());
        let mut own = names.filter(|name| owner(name, of) == *server && !keys.contains(name));
        let key = own.next().expect("servers have keys");
        keys.push(key);
    }
    keys
}

fn get(client: &mut Client<Users>, now: Nanos, keys: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let names: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let mut out = Actions::new();
    client.submit(now, 7, &UserOp::Get(&names), &mut out).unwrap();
    out.frames().map(<[u8]>::to_vec).collect()
}

fn poll(client: &mut Client<Users>, now: Nanos) -> Vec<Vec<u8>> {
    let mut out = Actions::new();
    client.poll(now, &mut out);
    out.frames().map(<[u8]>::to_vec).collect()
}

/// A reply to `request` for `keys`, from position `first` on; each value is the key itself.
fn reply(from: Ip, request: &View<'_>, first: u8, keys: &[Vec<u8>]) -> Vec<u8> {
    let addresses =
        Addresses { source: from, destination: request.source(), fields: FIELDS.into() };
    let mut frame = Vec::new();
    let header = request.header().answer(first, 0);
    let mut reply = ReplyWriter::begin(&mut frame, &addresses, &header, Answer::Ok);
    keys.iter().for_each(|key| reply.entry(&mut frame, key, true, Some(key)));
    reply.finish(&mut frame);
    frame
}

const FIELDS: u8 = 4;

fn completion(client: &mut Client<Users>) -> Option<Outcome> {
    let mut completions: Vec<Completion> = Vec::new();
    client.completions(&mut completions);
    completions.pop().map(|completion| completion.outcome)
}
