//! Loads roles by their names, and keeps them for the registry.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use netkv_roles::kits::single_key::client::Users;
use netkv_roles::kits::single_key::{Client, SingleKeyFrames, foreign};
use netkv_roles::records::Keying;
use netkv_roles::registry::{Loader, set_loader};
use netkv_roles::{Applied, ClientEntry, ClientOptions, Load, Restore, ServerEntry, ServerOptions};
use pyo3::prelude::*;

use super::client::ClientRole;
use super::interned::interned;
use super::role::{PREFIX, load, module};
use super::server::WholeServer;
use super::single_key::ServerRole;

/// Registers the loader, so that configurations can name roles in Python.
pub fn register() {
    set_loader(Box::new(PythonRoles));
}

struct PythonRoles;

/// The roles that were loaded. Entries must live as long as the process.
static SERVERS: Mutex<BTreeMap<String, &'static ServerEntry>> = Mutex::new(BTreeMap::new());
static CLIENTS: Mutex<BTreeMap<String, &'static ClientEntry>> = Mutex::new(BTreeMap::new());

impl Loader for PythonRoles {
    fn server(&self, name: &str) -> Option<Result<&'static ServerEntry, String>> {
        name.starts_with(PREFIX).then(|| find_or_load(&SERVERS, name, server_entry))
    }

    fn client(&self, name: &str) -> Option<Result<&'static ClientEntry, String>> {
        name.starts_with(PREFIX).then(|| find_or_load(&CLIENTS, name, client_entry))
    }
}

fn find_or_load<T>(
    table: &Mutex<BTreeMap<String, &'static T>>,
    name: &str,
    make: impl FnOnce(&'static str) -> Result<T, String>,
) -> Result<&'static T, String> {
    let lock = || table.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(entry) = lock().get(name) {
        return Ok(entry);
    }
    // The table is not locked here, because this waits for the interpreter lock.
    let entry = make(interned(name))?;
    Ok(lock().entry(name.to_owned()).or_insert_with(|| Box::leak(Box::new(entry))))
}

fn server_entry(name: &'static str) -> Result<ServerEntry, String> {
    let (whole, keeps_sequences) = load("servers", name, |py, class| {
        let whole = class.is_subclass(&module(py)?.getattr("Server")?)?;
        Ok((whole, class.getattr("keeps_sequences")?.is_truthy()?))
    })?;
    let restore: &'static Restore = if whole {
        Box::leak(Box::new(move |options: &ServerOptions, now, applied: &Applied| {
            Ok(Box::new(WholeServer::new(name, options, now, applied)?) as _)
        }))
    } else {
        Box::leak(Box::new(move |options: &ServerOptions, now, applied: &Applied| {
            foreign::server(ServerRole::new(name, options, now)?, options, now, applied)
        }))
    };
    Ok(ServerEntry {
        name,
        keying: |_| Keying::Ranges,
        keeps_sequences,
        frames: |_| Box::new(SingleKeyFrames),
        restore,
    })
}

fn client_entry(name: &'static str) -> Result<ClientEntry, String> {
    load("clients", name, |_, _| Ok(()))?;
    let load = Box::leak(Box::new(move |options: &ClientOptions, workload| {
        let protocol = foreign::client(ClientRole::new(name)?, options)?;
        Ok(Box::new(Client::with(protocol, &options.load, Load::new(options.load, workload))?) as _)
    }));
    let users = Box::leak(Box::new(move |options: &ClientOptions| {
        let protocol = foreign::client(ClientRole::new(name)?, options)?;
        Ok(Box::new(Client::with(protocol, &options.load, Users::new(options.load))?) as _)
    }));
    Ok(ClientEntry { name, load, users })
}
