//! `#include` and its relatives, and line markers.

use std::path::{Component, Path, PathBuf};

use netkv_ir::Span;

use super::input::Marker;
use super::lexer::{Kind, Token, spelling};
use super::state::Preprocessor;
use crate::sources::{Includes, read_source};

const CORE: &str = include_str!("../../include/core.p4");
const V1MODEL: &str = include_str!("../../include/v1model.p4");
const MAX_DEPTH: usize = 64;
/// Line markers with larger numbers are ignored.
const MAX_MARKED_LINE: u32 = 1 << 30;

/// The operand of `#include`.
pub(super) struct Header {
    pub path: String,
    /// In quotation marks: the directory of the including file is searched first.
    pub local: bool,
}

/// Where a file is.
enum Place {
    BuiltIn(&'static str),
    /// The path, and the index of the include directory.
    File(PathBuf, Option<usize>),
}

/// The header that tokens after expansion name, and the number of these tokens.
pub(super) fn header(tokens: &[Token]) -> Option<(Header, usize)> {
    let first = tokens.first()?;
    match first.kind {
        Kind::Str | Kind::HeaderName => {
            let path = first.text[1..first.text.len() - 1].to_string();
            Some((Header { path, local: first.kind == Kind::Str }, 1))
        }
        _ if first.is("<") => {
            let close = tokens.iter().position(|token| token.is(">"))?;
            let path = spelling(&tokens[1..close]);
            Some((Header { path, local: false }, close + 1))
        }
        _ => None,
    }
}

impl Preprocessor<'_> {
    pub(super) fn include(&mut self, word: &str, rest: &[Token], span: Span) {
        let expanded;
        let tokens = match header(rest) {
            Some(_) => rest,
            None => {
                expanded = self.expand_list(rest);
                &expanded
            }
        };
        let Some((header, length)) = header(tokens).filter(|(it, _)| !it.path.is_empty()) else {
            let message = format!("Expected <file> or \"file\" after '#{word}'.");
            return self.reporter.error(span, message);
        };
        self.expect_end(word, &tokens[length..]);
        let path = &header.path;
        if self.inputs.len() > MAX_DEPTH {
            let message = format!(
                "Includes are nested more than {MAX_DEPTH} deep; '{path}' is left out. \
                 Does a file include itself?"
            );
            return self.reporter.error(span, message);
        }
        match self.find(&header, word == "include_next") {
            Some(Place::BuiltIn(text)) => self.open(path, None, text),
            Some(Place::File(path, found_in)) => {
                let canonical = path.canonicalize().unwrap_or(path.clone());
                if self.once.contains(&canonical) {
                    return;
                }
                if word == "import" {
                    self.once.insert(canonical);
                }
                match read_source(&path) {
                    Ok(text) => self.open(&path.to_string_lossy(), found_in, &text),
                    Err(error) => {
                        let message = format!("{} cannot be read: {error}.", path.display());
                        self.reporter.error(span, message);
                    }
                }
            }
            None if self.is_outside(&header) => {
                let message = format!(
                    "'{path}' cannot be included: name a file below a directory that is searched, \
                     without '..'."
                );
                self.reporter.error(span, message);
            }
            None => {
                let places = self.places(&header, word == "include_next");
                let places: Vec<String> =
                    places.iter().map(|(place, _)| format!("'{}'", place.display())).collect();
                let places = places.join(", ");
                let message = format!("There is no file '{path}' to include; searched: {places}.");
                self.reporter.error(span, message);
            }
        }
    }

    /// True if `#include` would find the file.
    pub(super) fn has_include(&self, header: &Header, next: bool) -> bool {
        self.find(header, next).is_some()
    }

    /// True for a path that this program may not name.
    fn is_outside(&self, header: &Header) -> bool {
        let below = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        self.includes == Includes::BelowDirectories
            && !Path::new(&header.path).components().all(below)
    }

    fn find(&self, header: &Header, next: bool) -> Option<Place> {
        match &*header.path {
            "core.p4" => return Some(Place::BuiltIn(CORE)),
            "v1model.p4" => return Some(Place::BuiltIn(V1MODEL)),
            _ => {}
        }
        if self.is_outside(header) {
            return None;
        }
        self.places(header, next)
            .into_iter()
            .map(|(place, index)| (place.join(&header.path), index))
            .find(|(path, _)| path.is_file())
            .map(|(path, index)| Place::File(path, index))
    }

    /// The directories to search, with their index among the include directories. `next`: only
    /// those after the one in which the including file was found.
    fn places(&self, header: &Header, next: bool) -> Vec<(PathBuf, Option<usize>)> {
        let including = self.inputs.last();
        let found_in = including.and_then(|input| input.found_in);
        // In the main file, which no directory led to, include_next is include.
        let next = next && self.inputs.len() > 1;
        let from = match (next, found_in) {
            (true, Some(index)) => index + 1,
            _ => 0,
        };
        let mut places = Vec::new();
        if header.local && !next {
            let beside = including.and_then(|input| input.path.parent());
            places.push((beside.unwrap_or(Path::new("")).to_path_buf(), None));
        }
        let directories = self.options.include_dirs.iter().enumerate().skip(from);
        places.extend(directories.map(|(index, place)| (place.clone(), Some(index))));
        places
    }

    /// A line marker `# 12 "file"` or `#line 12 "file"`: the lines after it are those of that file
    /// from that line on. `operands` are those after expansion.
    pub(super) fn line_marker(&mut self, line: &[Token], operands: &[Token], span: Span) {
        let named = line[1].is_name("line");
        let number = operands.first().and_then(|token| token.text.parse::<u32>().ok());
        let Some(number) = number.filter(|number| (1..MAX_MARKED_LINE).contains(number)) else {
            if named {
                let message = format!("Expected a line number from 1 to {MAX_MARKED_LINE}.");
                self.reporter.error(operands.first().map_or(span, |token| token.span), message);
            }
            return;
        };
        let name = match operands.get(1) {
            Some(token) if token.kind == Kind::Str => {
                token.text[1..token.text.len() - 1].replace("\\\"", "\"").replace("\\\\", "\\")
            }
            Some(token) if named => {
                let message = format!("Expected the name of a file, not {}.", token.describe());
                return self.reporter.error(token.span, message);
            }
            _ => self.reporter.file_name(span),
        };
        let Some(input) = self.inputs.last_mut() else { return };
        // The position in this file, which an earlier marker does not change.
        let after = line[0].span.line;
        // Only up to the next marker: preprocessed programs have many of them.
        let is_marker = |line: &&str| {
            let directive = line.trim_start().strip_prefix('#').map(str::trim_start);
            directive.is_some_and(|d| {
                d.starts_with("line") || d.starts_with(|c: char| c.is_ascii_digit())
            })
        };
        let rest = input.text_after_line(after);
        let part: Vec<&str> = rest.lines().take_while(|line| !is_marker(line)).collect();
        let part = part.join("\n");
        let file = self.reporter.add_part_of_file(&name, number, &part);
        input.marker = Some(Marker { file, line: number, after });
    }
}
