//! Single keys without a cache: the switch only forwards, and servers and clients follow the rules
//! of [`single_key`] with nothing added.

use std::convert::Infallible;

use netkv_wire::{FrameView, Key};

use crate::common::request_numbers::WINDOW;
use crate::entries::Roles;
use crate::kits::single_key::client::{self, Protocol as ClientProtocol};
use crate::kits::single_key::server::state::Read;
use crate::kits::single_key::server::{self, Protocol as ServerProtocol, Write};
use crate::kits::single_key::{self, ServerConfig};
use crate::{Actions, ClientConfig, Load, Nanos, StoreResult};

/// A storage server.
pub type Server = single_key::Server<Plain>;
/// The clients of a process.
pub type Client<S = Load> = single_key::Client<Plain, S>;

const NAME: &str = "plain";

pub(crate) const ROLES: Roles = Roles {
    servers: &[server::role::<Plain>(NAME)],
    clients: &[client::role::<Plain>(NAME)],
    ..Roles::NONE
};

/// The protocol: requests and answers only.
#[derive(Debug)]
pub struct Plain;

/// A write is being stored.
#[derive(Debug)]
pub struct Storing(Write<()>);

impl ServerProtocol for Plain {
    type Config = ();
    type Tag = ();
    type Step = Storing;
    type KeyState = ();
    type Control = Infallible;
    type Query = Read;
    type Timer = ();

    fn new(_: &ServerConfig<()>, _: Nanos) -> Self {
        Self
    }

    fn on_get(
        server: &mut single_key::Server<Self>,
        _: Nanos,
        frame: &FrameView<'_>,
        out: &mut Actions,
    ) {
        server.read(frame, out);
    }

    fn tag(&self, _: &FrameView<'_>, _: Nanos) {}

    fn start_write(
        server: &mut single_key::Server<Self>,
        now: Nanos,
        key: &Key,
        write: Write<()>,
        out: &mut Actions,
    ) {
        server.store(now, key, &write, out);
        server.set_step(key, Storing(write));
    }

    fn on_queried(
        server: &mut single_key::Server<Self>,
        now: Nanos,
        read: Read,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        server.answer_read(now, &read, result, out);
    }

    fn on_step_stored(
        server: &mut single_key::Server<Self>,
        _: Nanos,
        key: &Key,
        Storing(write): Storing,
        result: StoreResult<'_>,
        out: &mut Actions,
    ) {
        server.end_write(key, &write, result, out);
        server.recycle(write.value);
    }
}

impl ClientProtocol for Plain {
    fn new(config: &ClientConfig) -> Result<Self, String> {
        config.check_window(WINDOW, "a server")?;
        Ok(Self)
    }
}
