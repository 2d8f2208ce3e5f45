//! Diagnostics: errors and warnings with their position and source line.

use std::fmt;

use netkv_ir::{Span, shortened};
use serde::Serialize;

/// Severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Compilation fails.
    Error,
    /// Compilation succeeds, but the source may be wrong.
    Warning,
}

/// An error or a warning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// Source file.
    pub file: String,
    /// Line from 1; 0 if the diagnostic concerns the whole file.
    pub line: u32,
    /// Column from 1, in characters.
    pub column: u32,
    /// What is wrong, and what would be right, in sentences.
    pub message: String,
    /// Text of the line; empty if there is none.
    pub source_line: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        if self.line == 0 {
            return write!(f, "{}: {kind}: {}", self.file, self.message);
        }
        write!(f, "{}:{}:{}: {kind}: {}", self.file, self.line, self.column, self.message)?;
        if !self.source_line.is_empty() {
            // The padding keeps tabs, so that the caret is below its column.
            let before = self.source_line.chars().take(self.column.saturating_sub(1) as usize);
            let pad: String = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
            write!(f, "\n    {}\n    {pad}^", self.source_line)?;
        }
        Ok(())
    }
}

/// All diagnostics of a failed compilation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, diagnostic) in self.0.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

/// Maximum number of diagnostics of a compilation; further ones are dropped.
const MAX_DIAGNOSTICS: usize = 100;

/// A source file, or the part of one that follows a line marker.
#[derive(Debug)]
struct SourceFile {
    name: String,
    /// Number of the first of `lines`.
    first_line: u32,
    lines: Vec<String>,
}

/// Collects the source files and the diagnostics of a compilation.
#[derive(Debug, Default)]
pub(crate) struct Reporter {
    files: Vec<SourceFile>,
    found: Vec<Diagnostic>,
    errors: usize,
}

impl Reporter {
    /// Adds a source file, and returns its number in spans.
    pub fn add_file(&mut self, name: &str, text: &str) -> u32 {
        self.add_part_of_file(name, 1, text)
    }

    /// Adds the part of a source file that starts at line `first_line`.
    pub fn add_part_of_file(&mut self, name: &str, first_line: u32, text: &str) -> u32 {
        let lines = text.lines().map(|l| l.chars().take(400).collect()).collect();
        self.files.push(SourceFile { name: name.to_string(), first_line, lines });
        (self.files.len() - 1) as u32
    }

    /// Names of all files, by number.
    pub fn file_names(&self) -> Vec<String> {
        self.files.iter().map(|file| file.name.clone()).collect()
    }

    /// Name of the file of a span.
    pub fn file_name(&self, span: Span) -> String {
        self.files.get(span.file as usize).map(|f| f.name.clone()).unwrap_or_default()
    }

    fn add(&mut self, severity: Severity, span: Span, message: String) {
        let found = self.files.get(span.file as usize);
        let file = found.map(|file| file.name.clone()).unwrap_or_default();
        let line = |of: &SourceFile| {
            let index = span.line.checked_sub(of.first_line)?;
            of.lines.get(index as usize).cloned()
        };
        let source_line = found.and_then(line).unwrap_or_default();
        let found = Diagnostic {
            severity,
            file,
            line: span.line,
            column: span.column,
            message: shortened(message),
            source_line,
        };
        if self.found.len() < MAX_DIAGNOSTICS && !self.found.contains(&found) {
            self.found.push(found);
        }
    }

    /// Reports an error.
    pub fn error(&mut self, span: Span, message: impl Into<String>) {
        self.errors += 1;
        self.add(Severity::Error, span, message.into());
    }

    /// Reports a language construct that is not implemented.
    pub fn unsupported(&mut self, span: Span, what: &str) {
        self.error(span, format!("{what} is not supported yet."));
    }

    /// Reports a warning.
    pub fn warning(&mut self, span: Span, message: impl Into<String>) {
        self.add(Severity::Warning, span, message.into());
    }

    /// Number of errors so far.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// All diagnostics: errors first, then warnings, each in the order of their report.
    pub fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|d| d.severity == Severity::Warning);
        self.found
    }
}

/// The text ` Did you mean ...?` with the candidate that is most similar to a misspelt name. Empty
/// if no candidate is similar.
pub(crate) fn did_you_mean<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> String {
    // A name of one letter is similar to every other one.
    let limit = match name.chars().count() {
        0 | 1 => 0,
        length => (length / 3).clamp(1, 3),
    };
    let best = candidates
        .filter(|c| *c != name && !c.is_empty())
        .map(|c| (distance(name, c), c))
        .filter(|(d, _)| *d <= limit)
        .min();
    match best {
        Some((_, candidate)) => format!(" Did you mean '{candidate}'?"),
        None => String::new(),
    }
}

/// Edit distance without regard to case. A swap of neighbouring letters is one edit.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().take(64).collect();
    let b: Vec<char> = b.to_lowercase().chars().take(64).collect();
    let mut older: Vec<usize> = Vec::new();
    let mut old: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let replaced = old[j] + usize::from(a[i] != b[j]);
            let mut best = replaced.min(old[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                best = best.min(older[j - 1] + 1);
            }
            row.push(best);
        }
        older = std::mem::replace(&mut old, row);
    }
    old[b.len()]
}
