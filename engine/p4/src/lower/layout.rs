//! Places of variables in the state area.

use std::rc::Rc;

use netkv_ir::{Header, HeaderField, HeaderId, Op, Place, Stack, StackId, Var, Word};

use super::Lowerer;
use crate::types::Ty;

/// Words of state that a program may take.
const MAX_WORDS: u32 = 1 << 22;

/// Where a variable is.
#[derive(Debug, Clone)]
pub(super) enum Store {
    Scalar(Place),
    /// Value and the word with its current width.
    Varbit(Place, Word),
    Header(HeaderId),
    Stack(StackId),
    Struct(Rc<StructStore>),
}

#[derive(Debug)]
pub(super) struct StructStore {
    pub base: Word,
    pub words: u32,
    pub fields: Vec<Store>,
}

/// First word and number of words.
pub(super) type Range = (Word, u32);

pub(super) fn overlap(a: Range, b: Range) -> bool {
    a.0 < b.0 + b.1 && b.0 < a.0 + a.1
}

impl Lowerer<'_> {
    fn words(&mut self, count: u32) -> Word {
        let at = self.program.state_words;
        if count > MAX_WORDS - at {
            if !self.overflow {
                self.overflow = true;
                let span = self.span;
                self.reporter.error(span, "The program needs too much state.");
            }
            return 0;
        }
        self.program.state_words += count;
        at
    }

    fn var(&mut self, name: &str, place: Place) {
        self.program.vars.push(Var { name: name.to_string(), place });
    }

    pub(super) fn scalar_place(&mut self, width: u32) -> Place {
        let width = width.max(1);
        Place { word: self.words(width.div_ceil(64)), width }
    }

    /// A place that is written once and read afterwards only.
    pub(super) fn temp(&mut self, width: u32) -> Place {
        let place = self.scalar_place(width);
        self.temps.insert(place.word);
        place
    }

    /// Makes room for a variable; everything of it is contiguous.
    pub(super) fn allocate(&mut self, ty: &Ty, name: &str) -> Store {
        if let Some(width) = self.hir.types.width(ty) {
            let place = self.scalar_place(width);
            self.var(name, place);
            return Store::Scalar(place);
        }
        match self.hir.types.base(ty) {
            Ty::Varbit(max) => {
                let length = self.words(1);
                let place = self.scalar_place(max);
                self.var(name, place);
                Store::Varbit(place, length)
            }
            Ty::Struct(id) if self.hir.types.is_header(ty) => self.allocate_header(id, name),
            Ty::Struct(id) => {
                let hir = self.hir;
                let base = self.program.state_words;
                let fields = hir.types.structs[id]
                    .fields
                    .iter()
                    .map(|f| self.allocate(&f.ty, &join(name, &f.name)))
                    .collect();
                let words = self.program.state_words - base;
                Store::Struct(Rc::new(StructStore { base, words, fields }))
            }
            Ty::Tuple(parts) => {
                let base = self.program.state_words;
                let fields = parts
                    .iter()
                    .enumerate()
                    .map(|(i, part)| self.allocate(part, &format!("{name}[{i}]")))
                    .collect();
                let words = self.program.state_words - base;
                Store::Struct(Rc::new(StructStore { base, words, fields }))
            }
            Ty::Stack(element, size) => {
                let next_index = self.words(1);
                let first = self.program.headers.len() as HeaderId;
                let start = self.program.state_words;
                let mut stride = 0;
                for i in 0..size {
                    self.allocate(&element, &format!("{name}[{i}]"));
                    if i == 0 {
                        stride = self.program.state_words - start;
                    }
                }
                let id = self.program.stacks.len() as StackId;
                let name = name.to_string();
                self.program.stacks.push(Stack { name, first, size, stride, next_index });
                Store::Stack(id)
            }
            _ => {
                let span = self.span;
                let shown = self.hir.types.show(ty);
                self.reporter.unsupported(span, &format!("A variable of type {shown}"));
                Store::Scalar(self.scalar_place(1))
            }
        }
    }

    fn allocate_header(&mut self, id: usize, name: &str) -> Store {
        let hir = self.hir;
        let def = &hir.types.structs[id];
        let header = self.program.headers.len() as HeaderId;
        let valid = self.words(1);
        let base = self.program.state_words;
        let mut fields = Vec::new();
        for field in &def.fields {
            let full = join(name, &field.name);
            let (place, varbit_length) = match self.allocate(&field.ty, &full) {
                Store::Scalar(place) => (place, None),
                Store::Varbit(place, length) => (place, Some(length)),
                // Structs in headers are refused by the checker.
                _ => continue,
            };
            self.header_of.insert(place.word, header);
            let signed = hir.types.is_signed(&field.ty);
            fields.push(HeaderField { name: field.name.to_string(), place, varbit_length, signed });
        }
        let words = self.program.state_words - base;
        self.program.headers.push(Header {
            name: name.to_string(),
            type_name: def.name.to_string(),
            valid,
            fields,
            base,
            words,
        });
        Store::Header(header)
    }

    pub(super) fn range(&self, store: &Store) -> Range {
        match store {
            Store::Scalar(place) => (place.word, place.words()),
            Store::Varbit(place, length) => (*length, 1 + place.words()),
            Store::Header(id) => {
                let header = &self.program.headers[*id as usize];
                (header.valid, header.words + 1)
            }
            Store::Stack(id) => {
                let stack = &self.program.stacks[*id as usize];
                (stack.next_index, 1 + stack.size * stack.stride)
            }
            Store::Struct(fields) => (fields.base, fields.words),
        }
    }

    /// Member of a struct, or field of a header.
    pub(super) fn field(&self, store: &Store, index: usize) -> Option<Store> {
        match store {
            Store::Struct(fields) => fields.fields.get(index).cloned(),
            Store::Header(id) => {
                let field = self.program.headers[*id as usize].fields.get(index)?;
                Some(match field.varbit_length {
                    Some(length) => Store::Varbit(field.place, length),
                    None => Store::Scalar(field.place),
                })
            }
            _ => None,
        }
    }

    /// Sets a variable to what it is at its declaration: zeros and invalid headers.
    pub(super) fn zero(&mut self, store: &Store) {
        match store {
            Store::Header(id) => self.op(Op::SetInvalid(*id)),
            _ => {
                let (to, words) = self.range(store);
                if words > 0 {
                    self.op(Op::ZeroWords { to, words });
                }
            }
        }
    }
}

/// `a.b`, or `b` when `a` is empty.
pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_string() } else { format!("{path}.{name}") }
}
