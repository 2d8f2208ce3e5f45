//! Allocates variables in the state area.

use std::rc::Rc;

use netkv_ir::{Header, HeaderField, HeaderId, Op, Place, Stack, StackId, Var, Word};

use super::Lowerer;
use crate::types::Ty;

/// Maximum size of the state area, in words.
const MAX_WORDS: u32 = 1 << 22;

/// The storage of a variable.
#[derive(Debug, Clone)]
pub(super) enum Storage {
    Scalar(Place),
    /// Place of the value, and the word with its current width.
    Varbit(Place, Word),
    Header(HeaderId),
    Stack(StackId),
    Struct(Rc<StructStorage>),
}

#[derive(Debug)]
pub(super) struct StructStorage {
    pub base: Word,
    pub words: u32,
    pub fields: Vec<Storage>,
}

/// First word and number of words.
pub(super) type Range = (Word, u32);

pub(super) fn overlap(a: Range, b: Range) -> bool {
    a.0 < b.0 + b.1 && b.0 < a.0 + a.1
}

impl Lowerer<'_> {
    fn allocate_words(&mut self, count: u32) -> Word {
        let at = self.program.state_words;
        if count > MAX_WORDS - at {
            if !self.limit_reported {
                self.limit_reported = true;
                let span = self.span;
                self.reporter.error(span, "The program needs too much state.");
            }
            return 0;
        }
        self.program.state_words += count;
        at
    }

    fn add_var(&mut self, name: &str, place: Place) {
        self.program.vars.push(Var { name: name.to_string(), place });
    }

    pub(super) fn allocate_scalar(&mut self, width: u32) -> Place {
        let width = width.max(1);
        Place { word: self.allocate_words(width.div_ceil(64)), width }
    }

    /// Allocates a temporary, which is written once before it is read.
    pub(super) fn new_temp(&mut self, width: u32) -> Place {
        let place = self.allocate_scalar(width);
        self.temps.insert(place.word);
        place
    }

    /// Allocates a variable of any type in contiguous words.
    pub(super) fn allocate(&mut self, ty: &Ty, name: &str) -> Storage {
        if let Some(width) = self.hir.types.width(ty) {
            let place = self.allocate_scalar(width);
            self.add_var(name, place);
            return Storage::Scalar(place);
        }
        match self.hir.types.base(ty) {
            Ty::Varbit(max) => {
                let length = self.allocate_words(1);
                let place = self.allocate_scalar(max);
                self.add_var(name, place);
                Storage::Varbit(place, length)
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
                Storage::Struct(Rc::new(StructStorage { base, words, fields }))
            }
            Ty::Tuple(parts) => {
                let base = self.program.state_words;
                let fields = parts
                    .iter()
                    .enumerate()
                    .map(|(i, part)| self.allocate(part, &format!("{name}[{i}]")))
                    .collect();
                let words = self.program.state_words - base;
                Storage::Struct(Rc::new(StructStorage { base, words, fields }))
            }
            Ty::Stack(element, size) => {
                let next_index = self.allocate_words(1);
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
                Storage::Stack(id)
            }
            _ => {
                let span = self.span;
                let shown = self.hir.types.show(ty);
                self.reporter.unsupported(span, &format!("A variable of type {shown}"));
                Storage::Scalar(self.allocate_scalar(1))
            }
        }
    }

    fn allocate_header(&mut self, id: usize, name: &str) -> Storage {
        let hir = self.hir;
        let def = &hir.types.structs[id];
        let header = self.program.headers.len() as HeaderId;
        let valid = self.allocate_words(1);
        let base = self.program.state_words;
        let mut fields = Vec::new();
        for field in &def.fields {
            let full = join(name, &field.name);
            let (place, varbit_length) = match self.allocate(&field.ty, &full) {
                Storage::Scalar(place) => (place, None),
                Storage::Varbit(place, length) => (place, Some(length)),
                // The checker rejects structs in headers.
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
        Storage::Header(header)
    }

    pub(super) fn range(&self, storage: &Storage) -> Range {
        match storage {
            Storage::Scalar(place) => (place.word, place.words()),
            Storage::Varbit(place, length) => (*length, 1 + place.words()),
            Storage::Header(id) => {
                let header = &self.program.headers[*id as usize];
                (header.valid, header.words + 1)
            }
            Storage::Stack(id) => {
                let stack = &self.program.stacks[*id as usize];
                (stack.next_index, 1 + stack.size * stack.stride)
            }
            Storage::Struct(fields) => (fields.base, fields.words),
        }
    }

    /// Storage of a struct member or header field.
    pub(super) fn field(&self, storage: &Storage, index: usize) -> Option<Storage> {
        match storage {
            Storage::Struct(fields) => fields.fields.get(index).cloned(),
            Storage::Header(id) => {
                let field = self.program.headers[*id as usize].fields.get(index)?;
                Some(match field.varbit_length {
                    Some(length) => Storage::Varbit(field.place, length),
                    None => Storage::Scalar(field.place),
                })
            }
            _ => None,
        }
    }

    /// Resets a variable to its initial value: 0, or an invalid header.
    pub(super) fn zero(&mut self, storage: &Storage) {
        match storage {
            Storage::Header(id) => self.push_op(Op::SetInvalid(*id)),
            _ => {
                let (to, words) = self.range(storage);
                if words > 0 {
                    self.push_op(Op::ZeroWords { to, words });
                }
            }
        }
    }
}

/// `a.b`, or `b` when `a` is empty.
pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_string() } else { format!("{path}.{name}") }
}
