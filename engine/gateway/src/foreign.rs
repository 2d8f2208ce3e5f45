//! Other protocols at the port of the gateway.
//!
//! A web page can make the browser of a user send a request to 127.0.0.1, with a body of its choice
//! (Cross Protocol Scripting, CVE-2016-10517). Its lines would be inline commands. So a connection
//! that speaks another protocol is closed before a line of it is executed:
//!
//! 1. A command POST or HOST:, in any form and case, as Redis does since 3.2.7. Every HTTP request
//!    of a browser has one of them before its body.
//! 2. An inline command that is the first line of HTTP or of a protocol like it (RTSP, SIP), of any
//!    method and version: PUT, OPTIONS, the preface of HTTP/2. Commands that the gateway has are no
//!    methods of HTTP, except GET.
//! 3. An inline command that begins with a control character, as TLS does, or with a byte beyond
//!    ASCII, as older versions of TLS and binary protocols do: a server that the page belongs to
//!    can choose bytes of the first message of TLS, line feeds included.

use crate::words::Words;

/// Whether a request is a line of another protocol (rules 1 and 2). `is_command`: whether the
/// gateway has a command of this name.
pub fn is_foreign(request: &Words<'_>, is_command: impl Fn(&[u8]) -> bool) -> bool {
    let name = &request[0];
    let begins = |prefix: &[u8]| {
        name.get(..prefix.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(prefix))
    };
    if name.eq_ignore_ascii_case(b"POST") || name.eq_ignore_ascii_case(b"HOST:") {
        return true;
    }
    let may_be_method = || name.eq_ignore_ascii_case(b"GET") || !is_command(name);
    request.inline
        && (begins(b"HOST:") || (request.len() == 3 && is_version(&request[2]) && may_be_method()))
}

/// Whether a line that begins with this byte is no inline command (rule 3). Blanks are skipped.
pub fn begins_foreign(byte: u8) -> bool {
    matches!(byte, 1..=8 | 14..=31 | 127..=255)
}

/// `HTTP/1.1`, `SIP/2.0`.
fn is_version(word: &[u8]) -> bool {
    let Some(slash) = word.iter().position(|&byte| byte == b'/') else { return false };
    let (name, number) = (&word[..slash], &word[slash + 1..]);
    (2..=8).contains(&name.len())
        && name.iter().all(u8::is_ascii_alphabetic)
        && number.first().is_some_and(u8::is_ascii_digit)
}
