//! The table of all commands.

use crate::catalogue;
use crate::command::{Action, Command, KeyWords, Stored};
use crate::local;
use crate::work;

const READ: &[&str] = &["readonly", "fast"];
const CONNECTION: &[&str] = &["noscript", "loading", "stale", "fast"];
const SERVER: &[&str] = &["loading", "stale"];

/// All commands in order; with MSET or without.
pub fn commands(mset: bool) -> impl Iterator<Item = &'static Command> {
    let mset = if mset { &MSET[..] } else { &[] };
    DATA.iter().chain(mset).chain(OTHER)
}

/// A command of one key that the rack executes as a read.
const fn read(
    name: &'static str,
    summary: &'static str,
    since: &'static str,
    group: &'static str,
    stored: Stored,
) -> Command {
    Command {
        name,
        arity: 2,
        summary,
        since,
        group,
        action: Action::Stored(stored),
        check: None,
        flags: READ,
        keys: KeyWords::First,
        subcommands: &[],
    }
}

/// A command that the gateway answers itself.
const fn own(
    name: &'static str,
    arity: i64,
    summary: &'static str,
    since: &'static str,
    group: &'static str,
    action: Action,
    flags: &'static [&'static str],
) -> Command {
    let (check, keys) = (None, KeyWords::None);
    Command { name, arity, summary, since, group, action, check, flags, keys, subcommands: &[] }
}

const fn help(name: &'static str) -> Command {
    let (summary, since) = ("List the subcommands.", "5.0.0");
    own(name, 2, summary, since, "server", Action::Catalogue(catalogue::help), SERVER)
}

const EXPIRY: &str = "Return -1 for an existing key, which never expires, else -2.";

static DATA: [Command; 11] = [
    read("get", "Return the value of a key, or null.", "1.0.0", "string", Stored::Get),
    read("strlen", "Return the length of a value in bytes.", "2.2.0", "string", Stored::Length),
    read(
        "type",
        "Return the type of a value: string, or none without a value.",
        "1.0.0",
        "generic",
        Stored::Kind,
    ),
    read("ttl", EXPIRY, "1.0.0", "generic", Stored::Expiry),
    read("pttl", EXPIRY, "2.6.0", "generic", Stored::Expiry),
    own(
        "dbsize",
        1,
        "Return the number of keys that were stored through this gateway.",
        "1.0.0",
        "server",
        Action::Stored(Stored::Count),
        READ,
    ),
    Command {
        name: "set",
        arity: -3,
        summary: "Set the value of a key; no options are supported.",
        since: "1.0.0",
        group: "string",
        action: Action::Stored(Stored::Put),
        check: Some(work::check_set),
        flags: &["write"],
        keys: KeyWords::First,
        subcommands: &[],
    },
    Command {
        name: "mget",
        arity: -2,
        summary: "Return the values of several keys, or an error if one read fails.",
        since: "1.0.0",
        group: "string",
        action: Action::Stored(Stored::Multiget),
        check: Some(work::check_keys),
        flags: READ,
        keys: KeyWords::All,
        subcommands: &[],
    },
    Command {
        name: "exists",
        arity: -2,
        summary: "Return how many of the keys exist.",
        since: "1.0.0",
        group: "generic",
        action: Action::Stored(Stored::Exists),
        check: Some(work::check_keys),
        flags: READ,
        keys: KeyWords::All,
        subcommands: &[],
    },
    delete("del", "1.0.0", &["write"]),
    delete("unlink", "4.0.0", &["write", "fast"]),
];

const fn delete(
    name: &'static str,
    since: &'static str,
    flags: &'static [&'static str],
) -> Command {
    Command {
        name,
        arity: -2,
        summary: "Delete keys.",
        since,
        group: "generic",
        action: Action::Stored(Stored::Delete),
        check: Some(work::check_keys),
        flags,
        keys: KeyWords::All,
        subcommands: &[],
    }
}

/// For `netkv gateway --mset separate`.
static MSET: [Command; 1] = [Command {
    name: "mset",
    arity: -3,
    summary: "Set the values of several keys, each separately: not atomic.",
    since: "1.0.1",
    group: "string",
    action: Action::Stored(Stored::PutEach),
    check: Some(work::check_pairs),
    flags: &["write"],
    keys: KeyWords::Pairs,
    subcommands: &[],
}];

static OTHER: &[Command] = &[
    Command {
        check: Some(local::check_ping),
        ..own(
            "ping",
            -1,
            "Return PONG, or the given message.",
            "1.0.0",
            "connection",
            Action::Local(local::ping),
            &["fast"],
        )
    },
    own(
        "echo",
        2,
        "Return the given message.",
        "1.0.0",
        "connection",
        Action::Local(local::echo),
        &["fast"],
    ),
    own(
        "select",
        2,
        "Select a database; the only one is 0.",
        "1.0.0",
        "connection",
        Action::Local(local::select),
        &["loading", "stale", "fast"],
    ),
    own(
        "quit",
        -1,
        "Close the connection.",
        "1.0.0",
        "connection",
        Action::Local(local::quit),
        CONNECTION,
    ),
    own(
        "reset",
        1,
        "Reset the connection to its initial state.",
        "6.2.0",
        "connection",
        Action::Local(local::reset),
        CONNECTION,
    ),
    own(
        "auth",
        -2,
        "Authenticate; the only user is default, which needs no password.",
        "1.0.0",
        "connection",
        Action::Local(local::auth),
        &["noscript", "loading", "stale", "fast", "no_auth", "allow_busy"],
    ),
    own(
        "hello",
        -1,
        "Select version 2 or 3 of the protocol.",
        "6.0.0",
        "connection",
        Action::Local(local::hello),
        CONNECTION,
    ),
    own(
        "info",
        -1,
        "Return information and counters of the gateway.",
        "1.0.0",
        "server",
        Action::Local(local::info),
        SERVER,
    ),
    Command {
        subcommands: CLIENT,
        ..own(
            "client",
            -2,
            "Container of the commands for connections.",
            "2.4.0",
            "connection",
            Action::Container,
            &[],
        )
    },
    Command {
        subcommands: CONFIG,
        ..own(
            "config",
            -2,
            "Container of the commands for settings.",
            "2.0.0",
            "server",
            Action::Container,
            &[],
        )
    },
    Command {
        subcommands: COMMAND,
        ..own(
            "command",
            -1,
            "Return the descriptions of all commands for client libraries.",
            "2.8.13",
            "server",
            Action::Catalogue(catalogue::all_commands),
            SERVER,
        )
    },
];

static CLIENT: &[Command] = &[
    own(
        "client|id",
        2,
        "Return the id of the connection.",
        "5.0.0",
        "connection",
        Action::Local(local::client_id),
        CONNECTION,
    ),
    own(
        "client|getname",
        2,
        "Return the name of the connection.",
        "2.6.9",
        "connection",
        Action::Local(local::client_getname),
        CONNECTION,
    ),
    own(
        "client|setname",
        3,
        "Set the name of the connection.",
        "2.6.9",
        "connection",
        Action::Local(local::client_setname),
        CONNECTION,
    ),
    own(
        "client|setinfo",
        4,
        "Set the name or version of the client library.",
        "7.2.0",
        "connection",
        Action::Local(local::client_setinfo),
        CONNECTION,
    ),
    help("client|help"),
];

static CONFIG: &[Command] = &[
    own(
        "config|get",
        -3,
        "Return the settings whose names match a pattern.",
        "2.0.0",
        "server",
        Action::Local(local::config_get),
        SERVER,
    ),
    help("config|help"),
];

static COMMAND: &[Command] = &[
    own(
        "command|count",
        2,
        "Return the number of commands.",
        "2.8.13",
        "server",
        Action::Catalogue(catalogue::count),
        SERVER,
    ),
    own(
        "command|docs",
        -2,
        "Return the documentation of commands.",
        "7.0.0",
        "server",
        Action::Catalogue(catalogue::docs),
        SERVER,
    ),
    own(
        "command|info",
        -2,
        "Return the descriptions of some commands for client libraries.",
        "2.8.13",
        "server",
        Action::Catalogue(catalogue::info),
        SERVER,
    ),
    own(
        "command|list",
        2,
        "Return the names of the commands.",
        "7.0.0",
        "server",
        Action::Catalogue(catalogue::names),
        SERVER,
    ),
    help("command|help"),
];
