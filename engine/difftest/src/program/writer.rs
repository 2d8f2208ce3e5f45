//! The program text under construction, and the names in scope.

use super::features::Features;
use super::layout::Layout;
use super::scope::{Action, Array, CodeKind, Function, Table, Ty, Variable};
use crate::rng::Rng;

/// Writes a line with the current indentation.
macro_rules! line {
    ($writer:expr, $($arg:tt)*) => {{
        let text = format!($($arg)*);
        $writer.line(&text);
    }};
}
pub(super) use line;

/// Writes one program.
pub(super) struct Writer {
    pub(super) seed: u64,
    pub(super) features: Features,
    pub(super) rng: Rng,
    pub(super) text: String,
    pub(super) layout: Layout,
    pub(super) code_kind: CodeKind,
    /// Whether the code is in ingress; some externs are allowed in ingress or egress only.
    pub(super) ingress: bool,
    /// Whether both pipelines instantiate the control: it cannot send copies back or clone.
    pub(super) shared: bool,
    pub(super) variables: Vec<Variable>,
    pub(super) registers: Vec<Array>,
    pub(super) counters: Vec<Array>,
    pub(super) meters: Vec<Array>,
    pub(super) actions: Vec<Action>,
    pub(super) tables: Vec<Table>,
    pub(super) functions: Vec<Function>,
    /// Whether the sent packet contains the complete state. Without it, more assignments are dead.
    pub(super) has_dump: bool,
    /// Whether a recirculated packet has the headers, in the same order, that the parser extracts,
    /// and no pass needs its bytes before that. Compiled code goes on with the fields of such
    /// packets.
    pub(super) keeps_fields: bool,
    /// Checksums that are verified and computed alike: `(condition, data, field, algorithm)`.
    pub(super) checksums: Vec<String>,
    /// Instances of the nested control in scope.
    pub(super) nested: Vec<String>,
    pub(super) nested_has_tables: bool,
    indent: usize,
    unique_name: usize,
}

impl Writer {
    pub(super) fn new(seed: u64, features: Features) -> Self {
        let mut rng = Rng::new(seed, "program");
        let keeps_fields = Rng::new(seed, "keeps fields").chance(15);
        let layout = Layout::new(&mut rng, keeps_fields, features.unions);
        let has_dump = rng.chance(85);
        Self {
            seed,
            features,
            rng,
            has_dump,
            keeps_fields,
            checksums: Vec::new(),
            text: String::new(),
            layout,
            code_kind: CodeKind::Control,
            ingress: true,
            shared: false,
            variables: Vec::new(),
            registers: Vec::new(),
            counters: Vec::new(),
            meters: Vec::new(),
            actions: Vec::new(),
            tables: Vec::new(),
            functions: Vec::new(),
            nested: Vec::new(),
            nested_has_tables: false,
            indent: 0,
            unique_name: 0,
        }
    }

    /// Writes a line. After a line that ends in `{` the indentation increases; at a line that
    /// starts with `}` it decreases.
    pub(super) fn line(&mut self, text: &str) {
        if text.starts_with('}') {
            self.indent = self.indent.saturating_sub(1);
        }
        for _ in 0..self.indent {
            self.text.push_str("    ");
        }
        self.text.push_str(text);
        self.text.push('\n');
        if text.ends_with('{') {
            self.indent += 1;
        }
    }

    /// A unique name.
    pub(super) fn unique_name(&mut self, prefix: &str) -> String {
        self.unique_name += 1;
        format!("{prefix}{}", self.unique_name)
    }

    /// Adds a variable to the scope.
    pub(super) fn declare_variable(&mut self, text: impl Into<String>, ty: Ty, writable: bool) {
        self.variables.push(Variable { text: text.into(), ty, writable });
    }

    /// A random width, preferably a small one.
    pub(super) fn width(&mut self) -> u32 {
        if self.rng.chance(60) {
            *self.rng.pick(&[1, 2, 3, 4, 7, 8, 8, 8, 9, 12, 13, 16, 16, 24, 31, 32, 32])
        } else {
            *self.rng.pick(&[
                33, 40, 48, 63, 64, 64, 65, 72, 96, 100, 127, 128, 128, 129, 192, 200, 256, 512,
                1000, 1024,
            ])
        }
    }

    /// A random scalar type.
    pub(super) fn ty(&mut self) -> Ty {
        match self.rng.below(20) {
            0 => Ty::Bool,
            1..5 => Ty::Int(self.width()),
            _ => Ty::Bit(self.width()),
        }
    }

    /// A random variable that satisfies a predicate, if there is one.
    pub(super) fn variable(&mut self, fits: impl Fn(&Variable) -> bool) -> Option<Variable> {
        let fitting: Vec<&Variable> = self.variables.iter().filter(|v| fits(v)).collect();
        self.rng.pick_any(&fitting).map(|variable| (*variable).clone())
    }
}
