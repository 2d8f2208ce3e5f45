//! Edits that make a program's text smaller, without knowledge of the language.
//!
//! An edit removes a statement or a block, replaces a block by its body, or an operation by an
//! operand. Most results do not compile; those that do are smaller programs.

use std::ops::Range;

/// A range of a text and its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    range: Range<usize>,
    replacement: String,
}

impl Edit {
    pub(crate) fn apply(&self, text: &str) -> String {
        format!("{}{}{}", &text[..self.range.start], self.replacement, &text[self.range.end..])
    }
}

/// All edits of a text, the largest removals first.
pub(crate) fn edits(text: &str) -> Vec<Edit> {
    let mut found = Vec::new();
    add_edits_of_statements(text, 0..text.len(), &mut found);
    add_edits_of_operands(text, &mut found);
    found.sort_by_key(|edit| edit.replacement.len() as isize - edit.range.len() as isize);
    found
}

/// The position after the bracket that closes the one at `open`.
fn closing_bracket(bytes: &[u8], open: usize, end: usize) -> usize {
    let mut depth = 0;
    for (at, byte) in bytes.iter().enumerate().take(end).skip(open) {
        match byte {
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    end
}

/// The range between the bracket at `open` and the closing one, which may be missing.
fn bracket_content(bytes: &[u8], open: usize, end: usize) -> Range<usize> {
    let closed = end > open + 1 && matches!(bytes[end - 1], b')' | b'}' | b']');
    open + 1..if closed { end - 1 } else { end }
}

/// Adds edits for statements and declarations, which end at a `;` or after a block and its `else`.
fn add_edits_of_statements(text: &str, range: Range<usize>, found: &mut Vec<Edit>) {
    let bytes = text.as_bytes();
    let mut start = range.start;
    let mut bodies: Vec<Range<usize>> = Vec::new();
    let mut at = range.start;
    while at < range.end {
        match bytes[at] {
            b'#' if text[..at].lines().last().is_none_or(|line| line.trim().is_empty()) => {
                at = text[at..].find('\n').map_or(range.end, |length| at + length + 1);
                start = at;
                continue;
            }
            b'(' | b'[' => {
                at = closing_bracket(bytes, at, range.end);
                continue;
            }
            b'{' => {
                let end = closing_bracket(bytes, at, range.end);
                bodies.push(bracket_content(bytes, at, end));
                at = end;
                let rest = text[at..range.end].trim_start();
                if rest.starts_with("else") || rest.starts_with(';') {
                    continue;
                }
                add_statement_edits(text, start..at, &mut bodies, found);
                start = at;
                continue;
            }
            b';' => {
                add_statement_edits(text, start..at + 1, &mut bodies, found);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
}

fn add_statement_edits(
    text: &str,
    whole: Range<usize>,
    bodies: &mut Vec<Range<usize>>,
    found: &mut Vec<Edit>,
) {
    found.push(Edit { range: whole.clone(), replacement: String::new() });
    for body in bodies.drain(..) {
        found.push(Edit { range: whole.clone(), replacement: text[body.clone()].to_owned() });
        add_edits_of_statements(text, body, found);
    }
}

/// Adds edits of operations: `(a + b)` becomes `a` or `b`.
fn add_edits_of_operands(text: &str, found: &mut Vec<Edit>) {
    let bytes = text.as_bytes();
    for open in (0..bytes.len()).filter(|at| bytes[*at] == b'(') {
        let end = closing_bracket(bytes, open, bytes.len());
        let inner = &text[bracket_content(bytes, open, end)];
        for word in words(inner) {
            let is_operand =
                word.starts_with(|c: char| c.is_ascii_alphanumeric() || "(~-".contains(c));
            if word.len() > 1 && is_operand && word.len() < inner.len() {
                found.push(Edit { range: open..end, replacement: word.to_owned() });
            }
        }
    }
}

/// Words between blanks outside of brackets.
fn words(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let (mut found, mut start, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'(' | b'[' | b'{' => at = closing_bracket(bytes, at, bytes.len()),
            b' ' => {
                found.push(&text[start..at]);
                at += 1;
                start = at;
            }
            _ => at += 1,
        }
    }
    found.push(&text[start.min(text.len())..]);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_ends_in_the_middle_can_be_edited_too() {
        for text in ["(\u{65e5}", "{ a; \u{65e5}", "x [\u{65e5}\u{65e5}", "(", "{", "a(b]c) {"] {
            for edit in edits(text) {
                assert!(edit.apply(text).len() <= text.len());
            }
        }
    }

    #[test]
    fn every_statement_block_and_operand_can_be_removed() {
        let text = "#include <x>\nif (a) { b = (c + d); } else { e; }\nf(g, {h;});";
        let results: Vec<String> = edits(text).iter().map(|edit| edit.apply(text)).collect();
        for wanted in [
            "#include <x>\n\nf(g, {h;});",
            "#include <x>\n b = (c + d); \nf(g, {h;});",
            "#include <x>\n e; \nf(g, {h;});",
            "#include <x>\nif (a) { } else { e; }\nf(g, {h;});",
            "#include <x>\nif (a) { b = (c + d); } else { e; }",
        ] {
            assert!(results.iter().any(|result| result == wanted), "{wanted}\n{results:#?}");
        }
        let add_edits_of_operands = edits("x = (ab + (cd * e));");
        let results: Vec<String> =
            add_edits_of_operands.iter().map(|edit| edit.apply("x = (ab + (cd * e));")).collect();
        assert!(results.contains(&"x = ab;".to_owned()), "{results:?}");
        assert!(results.contains(&"x = (cd * e);".to_owned()));
        assert!(results.contains(&"x = (ab + cd);".to_owned()));
    }
}
