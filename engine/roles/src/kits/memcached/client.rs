//! Clients: those of [`crate::kits::single_key`], with frames of memcached's protocol.

use netkv_wire::memcached::{CLIENT_PORT, Opcode, Reply, Request, status};
use netkv_wire::{
    FrameView, Key, Message, Op, Stamp, Status, client_of_ip, partition, server_ip, write_frame,
};
use netkv_workload::Workload;

use super::conditions::Conditions;
use super::items::{stamp_of, version_of};
use crate::common::timers::Backoff;
use crate::entries::Made;
use crate::kits::single_key::Client;
use crate::kits::single_key::client::{Protocol, Users};
use crate::options::ClientOptions;
use crate::{Actions, ClientConfig, LoadClient, UserClient, WINDOW};

/// The protocol.
#[derive(Debug)]
pub(super) struct Memcached {
    conditions: Conditions,
    /// Servers that share the keys.
    servers: u16,
}

/// Clients with a load.
pub(super) fn load_client(options: &ClientOptions, workload: Workload) -> Made<dyn LoadClient> {
    let conditional = workload.config().conditional > 0.0;
    let mut client = Client::<Memcached>::new(config(options), workload)?;
    client.protocol.conditions.enabled = conditional;
    client.protocol.servers = options.keyspace.servers;
    Ok(Box::new(client))
}

/// Clients of users.
pub(super) fn user_client(options: &ClientOptions) -> Made<dyn UserClient> {
    let mut client = Client::<Memcached, Users>::of_users(config(options))?;
    client.protocol.servers = options.keyspace.servers;
    Ok(Box::new(client))
}

/// Rule 1 of the protocol: the first retry would come after the deadline.
fn config(options: &ClientOptions) -> ClientConfig {
    let beyond = options.load.deadline.saturating_mul(4);
    ClientConfig { retry: Backoff { initial: beyond, cap: beyond }, ..options.load }
}

impl Protocol for Memcached {
    fn new(config: &ClientConfig) -> Result<Self, String> {
        config.check_window(WINDOW, "a server")?;
        Ok(Self { conditions: Conditions::default(), servers: 1 })
    }

    fn send(&self, message: &Message<'_>, out: &mut Actions) {
        let opcode = match message.op {
            Op::Get => Opcode::Get,
            Op::Put => Opcode::Set,
            Op::Delete => Opcode::Delete,
            _ => return,
        };
        out.send_written(|bytes| {
            Request {
                source: message.source,
                source_port: CLIENT_PORT,
                destination: server_ip(partition(&message.key, self.servers)),
                opcode,
                id: message.request as u16,
                opaque: message.request,
                cas: version_of(message.stamp),
                key: &message.key,
                value: message.value,
            }
            .write(bytes);
        });
    }

    /// What is no reply stays as it is, and is counted.
    fn receive<'a>(bytes: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
        let Ok(reply) = Reply::parse(bytes) else { return bytes };
        let Some(client) = client_of_ip(reply.destination) else { return bytes };
        let op = match reply.opcode {
            Opcode::Get => Op::GetReply,
            Opcode::Set => Op::PutReply,
            Opcode::Delete => Op::DeleteReply,
        };
        let result = match reply.status {
            status::OK => Status::Ok,
            // A SET that is refused: the item is not there, or has another version.
            status::NOT_FOUND if op == Op::PutReply => Status::Conflict,
            status::NOT_FOUND => Status::NotFound,
            status::EXISTS => Status::Conflict,
            status::TOO_LARGE => Status::TooLarge,
            status::BUSY => Status::Overloaded,
            _ => Status::Rejected,
        };
        let (source, destination) = (reply.source, reply.destination);
        // Replies have no key; clients find the request by its number.
        let message = Message::request(source, destination, op, client, reply.opaque, [0; 16])
            .with_status(result);
        let stamp = if result == Status::Ok { stamp_of(reply.cas) } else { None };
        let message = Message { stamp, ..message };
        let value = if op == Op::GetReply && result == Status::Ok { reply.value } else { &[] };
        buffer.clear();
        write_frame(buffer, &message.with_value(value));
        buffer
    }

    fn condition(&mut self, key: &Key) -> Option<Stamp> {
        self.conditions.take(key)
    }

    fn on_read(&mut self, key: &Key, frame: &FrameView<'_>) {
        self.conditions.note(key, frame);
    }

    fn crash(&mut self) {
        self.conditions.clear();
    }
}
