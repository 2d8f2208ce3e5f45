//! Names and source positions for the sentences of the estimate.

use std::collections::HashMap;

use netkv_ir::{Program, Span, Word};

use crate::effects::{Kind, Object};
use crate::nodes::Node;
use crate::report::{ObjectKind, Position};

/// Names of a program's objects and fields.
pub(crate) struct Names<'a> {
    program: &'a Program,
    fields: HashMap<Word, String>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(program: &'a Program) -> Self {
        let mut fields = HashMap::new();
        for var in &program.vars {
            for word in var.place.word..var.place.word + var.place.words() {
                fields.insert(word, var.name.clone());
            }
        }
        for header in &program.headers {
            fields.insert(header.valid, format!("{}.isValid()", header.name));
        }
        Self { program, fields }
    }

    pub(crate) fn what(&self, object: Object) -> ObjectKind {
        match object {
            Object::Register(_) => ObjectKind::Register,
            Object::Counter(_) => ObjectKind::Counter,
            Object::Meter(_) => ObjectKind::Meter,
            Object::Table(_) => ObjectKind::Table,
        }
    }

    /// Control-plane name.
    pub(crate) fn name(&self, object: Object) -> &'a str {
        let program = self.program;
        let identity = match object {
            Object::Register(id) => &program.registers[id as usize].identity,
            Object::Counter(id) => &program.counters[id as usize].identity,
            Object::Meter(id) => &program.meters[id as usize].identity,
            Object::Table(id) => &program.tables[id as usize].identity,
        };
        &identity.name
    }

    /// The kind and the name of an object.
    pub(crate) fn title(&self, object: Object) -> String {
        let what = match object {
            Object::Register(_) => "register",
            Object::Counter(_) => "counter",
            Object::Meter(_) => "meter",
            Object::Table(_) => "table",
        };
        format!("{what} {}", self.name(object))
    }

    /// A phrase for a node.
    pub(crate) fn node(&self, node: &Node) -> String {
        if let Some(object) = node.kind.object() {
            return self.title(object);
        }
        let field = node.writes.first().and_then(|word| self.fields.get(word));
        let field = field.map_or("an intermediate value", String::as_str);
        match node.kind {
            Kind::Branch => "a condition".to_string(),
            Kind::Hash => format!("hash into {field}"),
            Kind::Signal => "what happens behind the last stage".to_string(),
            _ => format!("assignment to {field}"),
        }
    }

    /// The position of a node in the source.
    pub(crate) fn position(&self, node: &Node) -> Position {
        let what = match node.kind {
            Kind::Fetch(_) => "read",
            Kind::Store(_) => "write",
            Kind::Count(_) => "count",
            Kind::Meter(_) => "execute",
            Kind::Apply(_) => "apply",
            Kind::Branch => "condition",
            Kind::Hash => "hash",
            Kind::Signal => "signal",
            Kind::Compute | Kind::Move | Kind::Set => "assignment",
        };
        self.at(node.span, what)
    }

    fn at(&self, span: Span, what: &str) -> Position {
        let file = self.program.files.get(span.file as usize).cloned().unwrap_or_default();
        Position { file, line: span.line, column: span.column, what: what.to_string() }
    }
}
