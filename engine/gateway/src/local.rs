//! Commands about the connection and the server, which the gateway executes without the rack.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use crate::client::Client;
use crate::command::wrong_number;
use crate::glob;
use crate::reply::{Reply, Version, failure, ok, text};
use crate::request::MAX_WORD;
use crate::server::Server;
use crate::words::{Words, integer};

/// Version of Redis that the gateway reports; clients use it to choose commands.
const REDIS_VERSION: &str = "7.0.0";
/// Bytes of an option that an error shows.
const MAX_SHOWN: usize = 128;
const SECONDS_OF_A_DAY: u64 = 86_400;

/// PING [message].
pub fn ping(_: &mut Client, _: &Server, request: &Words<'_>) -> Reply {
    if request.len() == 2 {
        Reply::Bulk(request[1].to_vec())
    } else {
        Reply::Simple("PONG".to_owned())
    }
}

/// At most one message.
pub fn check_ping(request: &Words<'_>) -> Option<Reply> {
    (request.len() > 2).then(|| wrong_number("ping"))
}

/// ECHO message.
pub fn echo(_: &mut Client, _: &Server, request: &Words<'_>) -> Reply {
    Reply::Bulk(request[1].to_vec())
}

/// SELECT index: there is only 0.
pub fn select(_: &mut Client, _: &Server, request: &Words<'_>) -> Reply {
    match integer(&request[1]) {
        Some(0) => ok(),
        Some(_) => failure("ERR DB index is out of range"),
        None => failure("ERR value is not an integer or out of range"),
    }
}

/// QUIT.
pub fn quit(client: &mut Client, _: &Server, _: &Words<'_>) -> Reply {
    client.quits = true;
    ok()
}

/// RESET: the connection returns to its initial state.
pub fn reset(client: &mut Client, _: &Server, _: &Words<'_>) -> Reply {
    client.version = Version::Two;
    client.name.clear();
    Reply::Simple("RESET".to_owned())
}

/// AUTH [user] password: the only user is `default`, which has no password, as in a Redis without
/// one. Clients with a configured password send it.
pub fn auth(_: &mut Client, _: &Server, request: &Words<'_>) -> Reply {
    match request.len() {
        2 => failure(
            "ERR AUTH <password> called without any password configured for the default user. Are \
             you sure your configuration is correct?",
        ),
        3 => wrong_user(&request[1]).unwrap_or_else(ok),
        _ => failure("ERR syntax error"),
    }
}

/// The error for a user that does not exist.
fn wrong_user(name: &[u8]) -> Option<Reply> {
    (name != b"default")
        .then(|| failure("WRONGPASS invalid username-password pair or user is disabled."))
}

/// HELLO [version [AUTH user password] [SETNAME name]].
pub fn hello(client: &mut Client, _: &Server, request: &Words<'_>) -> Reply {
    let mut version = client.version;
    let mut name = None;
    if request.len() > 1 {
        version = match integer(&request[1]) {
            Some(2) => Version::Two,
            Some(3) => Version::Three,
            Some(_) => return failure("NOPROTO unsupported protocol version"),
            None => return failure("ERR Protocol version is not an integer or out of range"),
        };
        let mut at = 2;
        while at < request.len() {
            let (option, arguments) = (&request[at], request.len() - at - 1);
            if option.eq_ignore_ascii_case(b"AUTH") && arguments >= 2 {
                if let Some(error) = wrong_user(&request[at + 1]) {
                    return error;
                }
                at += 3;
                continue;
            }
            if !option.eq_ignore_ascii_case(b"SETNAME") || arguments == 0 {
                return failure([b"ERR Syntax error in HELLO option '", option, b"'"].concat());
            }
            let wanted = &request[at + 1];
            if !is_printable(wanted) {
                return bad_name();
            }
            name = Some(wanted.to_vec());
            at += 2;
        }
    }
    client.version = version;
    if let Some(name) = name {
        client.name = name;
    }
    Reply::Map(vec![
        ("server", text("netkv")),
        ("version", text(REDIS_VERSION)),
        ("proto", Reply::Integer(if version == Version::Two { 2 } else { 3 })),
        ("id", Reply::Integer(client.id as i64)),
        ("mode", text("standalone")),
        ("role", text("master")),
        ("modules", Reply::Array(Vec::new())),
    ])
}

/// CLIENT ID.
pub fn client_id(client: &mut Client, _: &Server, _: &Words<'_>) -> Reply {
    Reply::Integer(client.id as i64)
}

/// CLIENT GETNAME.
pub fn client_getname(client: &mut Client, _: &Server, _: &Words<'_>) -> Reply {
    if client.name.is_empty() { Reply::Null } else { Reply::Bulk(client.name.clone()) }
}

/// CLIENT SETNAME name; an empty name removes it.
pub fn client_setname(client: &mut Client, _: &Server, request: &Words<'_>) -> Reply {
    if !is_printable(&request[2]) {
        return bad_name();
    }
    client.name = request[2].to_vec();
    ok()
}

/// CLIENT SETINFO LIB-NAME | LIB-VER value. The gateway reports them nowhere.
pub fn client_setinfo(_: &mut Client, _: &Server, request: &Words<'_>) -> Reply {
    let attribute = &request[2];
    let lower = attribute.to_ascii_lowercase();
    if !matches!(&lower[..], b"lib-name" | b"lib-ver") {
        let shown = &attribute[..attribute.len().min(MAX_SHOWN)];
        return failure([b"ERR Unrecognized option '", shown, b"'"].concat());
    }
    if !is_printable(&request[3]) {
        let why = b" cannot contain spaces, newlines or special characters.";
        return failure([b"ERR ", &lower[..], why].concat());
    }
    ok()
}

/// CONFIG GET pattern …: the settings of Redis that apply to the gateway.
pub fn config_get(_: &mut Client, server: &Server, request: &Words<'_>) -> Reply {
    let settings = [
        ("appendonly", "no".to_owned()),
        ("databases", "1".to_owned()),
        ("maxclients", server.max_clients.to_string()),
        ("port", server.port.to_string()),
        ("proto-max-bulk-len", MAX_WORD.to_string()),
        ("save", String::new()),
        ("timeout", "0".to_owned()),
    ];
    let patterns: Vec<_> = request.from(2).iter().map(<[u8]>::to_ascii_lowercase).collect();
    let is_wanted = |name: &str| patterns.iter().any(|it| glob::matches(it, name.as_bytes()));
    let found = settings.into_iter().filter(|(name, _)| is_wanted(name));
    Reply::Map(found.map(|(name, value)| (name, text(&value))).collect())
}

/// INFO [section …].
pub fn info(_: &mut Client, server: &Server, request: &Words<'_>) -> Reply {
    let wanted: Vec<_> = request.from(1).iter().map(<[u8]>::to_ascii_lowercase).collect();
    let all = wanted.is_empty()
        || wanted.iter().any(|it| matches!(&it[..], b"all" | b"default" | b"everything"));
    let mut shown = String::new();
    for (name, fields) in sections(server) {
        if !all && !wanted.iter().any(|it| it.eq_ignore_ascii_case(name.as_bytes())) {
            continue;
        }
        // Writing to a string does not fail.
        let _ = write!(shown, "{}# {name}\r\n", if shown.is_empty() { "" } else { "\r\n" });
        for (field, value) in fields {
            let _ = write!(shown, "{field}:{value}\r\n");
        }
    }
    Reply::Verbatim(shown)
}

fn sections(server: &Server) -> [(&'static str, Vec<(&'static str, String)>); 4] {
    let counters = &server.counters;
    let uptime = server.started.elapsed().as_secs();
    let of = |number: u64| number.to_string();
    [
        (
            "Server",
            vec![
                ("redis_version", REDIS_VERSION.to_owned()),
                ("redis_mode", "standalone".to_owned()),
                ("process_id", of(std::process::id().into())),
                ("tcp_port", of(server.port.into())),
                ("uptime_in_seconds", of(uptime)),
                ("uptime_in_days", of(uptime / SECONDS_OF_A_DAY)),
            ],
        ),
        (
            "Netkv",
            vec![
                ("netkv_version", server.version.clone()),
                ("netkv_lab", server.lab.clone()),
                ("netkv_scheme", server.scheme.clone()),
            ],
        ),
        (
            "Clients",
            vec![
                ("connected_clients", of(counters.connected as u64)),
                ("maxclients", of(server.max_clients as u64)),
            ],
        ),
        (
            "Stats",
            vec![
                ("total_connections_received", of(counters.connections)),
                ("rejected_connections", of(counters.rejected)),
                ("netkv_foreign_connections", of(counters.foreign.load(Ordering::Relaxed))),
                ("total_commands_processed", of(counters.commands)),
                ("total_error_replies", of(counters.errors)),
                ("total_net_input_bytes", of(counters.bytes_in)),
                ("total_net_output_bytes", of(counters.bytes_out)),
                ("keyspace_hits", of(counters.hits)),
                ("keyspace_misses", of(counters.misses)),
            ],
        ),
    ]
}

fn is_printable(word: &[u8]) -> bool {
    word.iter().all(u8::is_ascii_graphic)
}

fn bad_name() -> Reply {
    failure("ERR Client names cannot contain spaces, newlines or special characters.")
}
