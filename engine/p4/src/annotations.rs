//! Annotations of a declaration.

use std::rc::Rc;

/// `key = value` pairs of a structured annotation, in order.
pub(crate) type KeyValuePairs = Vec<(Rc<str>, serde_json::Value)>;

/// Annotations of a declaration.
#[derive(Debug, Clone, Default)]
pub(crate) struct Annotations {
    pub name: Option<Rc<str>>,
    pub id: Option<u32>,
    pub table_only: bool,
    pub default_only: bool,
    pub field_lists: Vec<u32>,
    pub controller_header: Option<Rc<str>>,
    /// Source text of all annotations that P4Info lists.
    pub others: Vec<String>,
    /// Structured annotations, as P4Info lists them.
    pub structured: Vec<serde_json::Value>,
    /// Key-value pairs of annotations that the compiler uses, by annotation.
    pub pairs: Vec<(Rc<str>, KeyValuePairs)>,
    pub translation: Option<(Rc<str>, Option<u32>)>,
    /// `@hidden`: not in P4Info.
    pub hidden: bool,
    /// `@match(kind)` of a field of a value set.
    pub match_kind: Option<Rc<str>>,
}
