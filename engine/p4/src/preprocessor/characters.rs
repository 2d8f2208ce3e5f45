//! Translation phases 1 and 2: source text to characters, with lines joined at backslashes.

use std::rc::Rc;

/// A character and its position.
#[derive(Debug, Clone, Copy)]
pub(super) struct Character {
    pub value: char,
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
}

/// The characters of a text, without the ends of joined lines.
///
/// A backslash joins its line to the next one, also if white space follows it (as in GCC). Line
/// ends are `\n`, `\r\n` and `\r` before a `\n`.
pub(super) fn characters(text: &str) -> Vec<Character> {
    let mut out: Vec<Character> = Vec::with_capacity(text.len());
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let content = line.trim_end_matches(['\n', '\r']);
        let ended = line.ends_with('\n');
        let kept = content.trim_end_matches([' ', '\t', '\u{b}', '\u{c}']);
        // At the end of the file, too, the backslash is dropped.
        let (content, joined) = match kept.strip_suffix('\\') {
            Some(kept) => (kept, true),
            None => (content, false),
        };
        let mut column = 0;
        for value in content.chars() {
            column += 1;
            out.push(Character { value, line: number, column });
        }
        if ended && !joined {
            out.push(Character { value: '\n', line: number, column: column + 1 });
        }
    }
    out
}

/// Text of some characters.
pub(super) fn text(characters: &[Character]) -> Rc<str> {
    characters.iter().map(|c| c.value).collect::<String>().into()
}
