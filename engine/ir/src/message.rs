//! Messages about text of users.

/// Maximum number of characters of a message.
const MAX_MESSAGE: usize = 1000;
/// Characters that remain of its end.
const END: usize = 200;

/// A message without its middle if it is very long: it quotes a name or number of the user, which
/// may have a million characters.
pub fn shortened(message: String) -> String {
    let length = message.chars().count();
    if length <= MAX_MESSAGE {
        return message;
    }
    let start: String = message.chars().take(MAX_MESSAGE - END).collect();
    let end: String = message.chars().skip(length - END).collect();
    format!("{start} ... {end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_long_message_is_shortened() {
        let short = "é".repeat(MAX_MESSAGE);
        assert_eq!(shortened(short.clone()), short);
        let long = shortened(format!("'{}' is not a port.", "9".repeat(1_000_000)));
        assert!(long.starts_with("'999") && long.ends_with("999' is not a port."));
        assert_eq!(long.chars().count(), MAX_MESSAGE + 5);
    }
}
