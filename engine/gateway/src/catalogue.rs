//! COMMAND, which describes the commands to client libraries and to redis-cli, and HELP.

use crate::command::{Command, KeyWords};
use crate::reply::{Reply, text};
use crate::words::Words;

/// COMMAND.
pub fn all_commands(commands: &[&'static Command], _: &Words<'_>) -> Reply {
    Reply::Array(commands.iter().map(|it| entry(it)).collect())
}

/// COMMAND COUNT.
pub fn count(commands: &[&'static Command], _: &Words<'_>) -> Reply {
    Reply::Integer(commands.len() as i64)
}

/// COMMAND LIST.
pub fn names(commands: &[&'static Command], _: &Words<'_>) -> Reply {
    Reply::Array(commands.iter().map(|it| text(it.name)).collect())
}

/// COMMAND INFO [name …]: null for an unknown name.
pub fn info(commands: &[&'static Command], request: &Words<'_>) -> Reply {
    if request.len() == 2 {
        return all_commands(commands, request);
    }
    let found = request.from(2).iter().map(|name| named(commands, name));
    Reply::Array(found.map(|it| it.map_or(Reply::Null, entry)).collect())
}

/// COMMAND DOCS [name …]: unknown names are left out.
pub fn docs(commands: &[&'static Command], request: &Words<'_>) -> Reply {
    let of = |command: &'static Command| (command.name, docs_of(command));
    Reply::Map(if request.len() == 2 {
        commands.iter().map(|it| of(it)).collect()
    } else {
        request.from(2).iter().filter_map(|name| named(commands, name)).map(of).collect()
    })
}

/// HELP of a command with subcommands.
pub fn help(commands: &[&'static Command], request: &Words<'_>) -> Reply {
    let container = by_name(commands, &request[0]);
    let head = container.map_or(String::new(), |it| it.name.to_uppercase());
    let mut lines =
        vec![format!("{head} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")];
    for command in container.map_or(&[][..], |it| it.subcommands) {
        lines.push(command.own_name().to_uppercase());
        lines.push(format!("    {}", command.summary));
    }
    Reply::Array(lines.into_iter().map(Reply::Simple).collect())
}

/// A command by its name in any case.
fn by_name(commands: &[&'static Command], name: &[u8]) -> Option<&'static Command> {
    commands.iter().find(|it| it.name.as_bytes().eq_ignore_ascii_case(name)).copied()
}

/// `client|id` is a subcommand.
fn named(commands: &[&'static Command], name: &[u8]) -> Option<&'static Command> {
    let mut parts = name.splitn(2, |byte| *byte == b'|');
    let command = by_name(commands, parts.next()?)?;
    match parts.next() {
        Some(second) if !second.is_empty() => command.subcommand(second),
        _ => Some(command),
    }
}

fn entry(command: &'static Command) -> Reply {
    let (first, last, step) = match command.keys {
        KeyWords::None => (0, 0, 0),
        KeyWords::First => (1, 1, 1),
        KeyWords::All => (1, -1, 1),
        KeyWords::Pairs => (1, -1, 2),
    };
    Reply::Array(vec![
        text(command.name),
        Reply::Integer(command.arity),
        Reply::Words(command.flags.to_vec()),
        Reply::Integer(first),
        Reply::Integer(last),
        Reply::Integer(step),
        Reply::Words(categories(command)),
        Reply::Array(Vec::new()), // tips
        Reply::Array(Vec::new()), // key specifications: first, last and step are sufficient
        Reply::Array(command.subcommands.iter().map(entry).collect()),
    ])
}

/// ACL categories of Redis. Some clients use them to choose the commands for replicas.
fn categories(command: &Command) -> Vec<&'static str> {
    let mut found = Vec::new();
    if command.flags.contains(&"readonly") {
        found.push("@read");
    }
    if command.writes() {
        found.push("@write");
    }
    found.extend(match command.group {
        "string" => Some("@string"),
        "generic" => Some("@keyspace"),
        "connection" => Some("@connection"),
        _ => None,
    });
    found.push(if command.flags.contains(&"fast") { "@fast" } else { "@slow" });
    found
}

fn docs_of(command: &'static Command) -> Reply {
    let mut docs = vec![
        ("summary", text(command.summary)),
        ("since", text(command.since)),
        ("group", text(command.group)),
    ];
    if !command.subcommands.is_empty() {
        let each = command.subcommands.iter().map(|it| (it.name, docs_of(it)));
        docs.push(("subcommands", Reply::Map(each.collect())));
    }
    Reply::Map(docs)
}
