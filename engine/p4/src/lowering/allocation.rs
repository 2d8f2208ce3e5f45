//! Allocates variables in the state area.

use std::rc::Rc;

use netkv_ir::{Header, HeaderField, HeaderId, Op, Place, Stack, StackId, Var, Word};

use super::lowerer::Lowerer;
use super::storage::{Range, Storage, StructStorage, UnionStack, join};
use crate::types::Ty;

/// Maximum size of the state area, in words.
const MAX_WORDS: u32 = 1 << 22;

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
            Ty::Stack(element, size) if self.hir.types.is_union(&element) => {
                self.allocate_union_stack(&element, size, name)
            }
            Ty::Struct(id) => {
                let hir = self.hir;
                let base = self.program.state_words;
                let fields = hir.types.structs[id]
                    .fields
                    .iter()
                    .map(|f| self.allocate(&f.ty, &join(name, &f.name)))
                    .collect();
                let words = self.program.state_words - base;
                let storage = Rc::new(StructStorage { base, words, fields });
                if self.hir.types.is_union(ty) {
                    self.register_union(&storage.fields);
                    return Storage::Union(storage);
                }
                Storage::Struct(storage)
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
        self.check_whole_bytes(id);
        let def = &hir.types.structs[id];
        let header = self.program.headers.len() as HeaderId;
        let valid = self.allocate_words(1);
        let base = self.program.state_words;
        let mut fields = Vec::new();
        let mut members = Vec::new();
        for field in &def.fields {
            let member = self.allocate(&field.ty, &join(name, &field.name));
            self.add_header_fields(header, &field.name, &field.ty, &member, &mut fields);
            members.push(member);
        }
        self.header_members.insert(header, members.into());
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

    /// Reports a header whose size is not a multiple of 8 bits, with and without its varbit. A type
    /// of which there is no header may have any size.
    fn check_whole_bytes(&mut self, id: usize) {
        let def = &self.hir.types.structs[id];
        let Some((least, most)) = self.hir.types.size(&Ty::Struct(id)) else { return };
        if let Some(bits) = [least, most].into_iter().find(|bits| !bits.is_multiple_of(8)) {
            let message = format!(
                "The fields of header '{}' take {bits} bits, but v1model's headers take whole \
                 bytes: add {} bits of padding.",
                def.name,
                8 - bits % 8
            );
            self.reporter.error(def.span, message);
        }
    }

    /// Appends the packet fields of one member of a header. A struct has several.
    fn add_header_fields(
        &mut self,
        header: HeaderId,
        name: &str,
        ty: &Ty,
        member: &Storage,
        fields: &mut Vec<HeaderField>,
    ) {
        let (place, varbit_length) = match member {
            Storage::Scalar(place) => (*place, None),
            Storage::Varbit(place, length) => (*place, Some(*length)),
            Storage::Struct(inner) => {
                let Ty::Struct(id) = self.hir.types.base(ty) else { return };
                let hir = self.hir;
                for (field, member) in hir.types.structs[id].fields.iter().zip(&inner.fields) {
                    let name = join(name, &field.name);
                    self.add_header_fields(header, &name, &field.ty, member, fields);
                }
                return;
            }
            _ => return,
        };
        self.header_of.insert(place.word, header);
        let signed = self.hir.types.is_signed(ty);
        fields.push(HeaderField { name: name.to_string(), place, varbit_length, signed });
    }

    /// Allocates a stack of header unions as one stack for each header of the union.
    fn allocate_union_stack(&mut self, union: &Ty, size: u32, name: &str) -> Storage {
        let hir = self.hir;
        let Ty::Struct(id) = union else { return Storage::Scalar(self.allocate_scalar(1)) };
        let base = self.program.state_words;
        let mut stacks = Vec::new();
        for field in &hir.types.structs[*id].fields {
            let next_index = self.allocate_words(1);
            let first = self.program.headers.len() as HeaderId;
            let start = self.program.state_words;
            let mut stride = 0;
            for i in 0..size {
                self.allocate(&field.ty, &format!("{name}[{i}].{}", field.name));
                if i == 0 {
                    stride = self.program.state_words - start;
                }
            }
            stacks.push(self.program.stacks.len() as StackId);
            let name = format!("{name}.{}", field.name);
            self.program.stacks.push(Stack { name, first, size, stride, next_index });
        }
        let words = self.program.state_words - base;
        let stack = UnionStack { base, words, stacks };
        for i in 0..size {
            self.register_union(&self.union_element(&stack, i).fields);
        }
        for id in &stack.stacks {
            let others = stack.stacks.iter().copied().filter(|other| other != id).collect();
            self.union_stacks.insert(*id, others);
        }
        Storage::UnionStack(Rc::new(stack))
    }

    /// Records that one at most of some headers can be valid.
    fn register_union(&mut self, headers: &[Storage]) {
        let ids = |storage: &Storage| match storage {
            Storage::Header(id) => Some(*id),
            _ => None,
        };
        let headers: Vec<HeaderId> = headers.iter().filter_map(ids).collect();
        for id in &headers {
            let others = headers.iter().copied().filter(|other| other != id).collect();
            self.union_headers.insert(*id, others);
        }
    }

    /// Element of a stack of header unions.
    pub(super) fn union_element(&self, stack: &UnionStack, index: u32) -> StructStorage {
        let header =
            |id: &StackId| Storage::Header(self.program.stacks[*id as usize].first + index);
        let fields = stack.stacks.iter().map(header).collect();
        StructStorage { base: stack.base, words: stack.words, fields }
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
            Storage::Struct(fields) | Storage::Union(fields) => (fields.base, fields.words),
            Storage::UnionStack(stack) => (stack.base, stack.words),
        }
    }

    /// Storage of a struct member or header field.
    pub(super) fn field(&self, storage: &Storage, index: usize) -> Option<Storage> {
        match storage {
            Storage::Struct(fields) | Storage::Union(fields) => fields.fields.get(index).cloned(),
            Storage::Header(id) => self.header_members.get(id)?.get(index).cloned(),
            _ => None,
        }
    }

    /// Resets a variable to its initial value: 0, or an invalid header.
    pub(super) fn zero(&mut self, storage: &Storage) {
        match storage {
            Storage::Header(id) => self.push_op(Op::SetInvalid(*id)),
            // The words of a union in a stack are not consecutive.
            Storage::Union(headers) => {
                headers.fields.clone().iter().for_each(|header| self.zero(header));
            }
            _ => {
                let (to, words) = self.range(storage);
                if words > 0 {
                    self.push_op(Op::ZeroWords { to, words });
                }
            }
        }
    }
}
