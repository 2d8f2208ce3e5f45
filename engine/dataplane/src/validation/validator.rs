//! Validates objects, blocks and places of a program.

use netkv_ir::{Block, Expr, Match, MatchKind, Pattern, Place, Program, Table, Terminator, Value};

/// Maximum size of all registers of a program together, in 64-bit words (4 GiB).
const MAX_REGISTER_WORDS: u64 = 1 << 29;

/// An error is a sentence without its full stop.
pub(super) type Validity = Result<(), String>;

pub(super) fn ensure(holds: bool, text: impl FnOnce() -> String) -> Validity {
    if holds { Ok(()) } else { Err(text()) }
}

pub(super) fn index<'a, T>(list: &'a [T], at: u32, what: &str) -> Result<&'a T, String> {
    list.get(at as usize).ok_or_else(|| format!("there is no {what} {at}"))
}

/// Validates a program.
pub(super) struct Validator<'a> {
    pub(super) program: &'a Program,
}

impl Validator<'_> {
    pub(super) fn validate_words(&self, word: u32, words: u32) -> Validity {
        let fits = word.checked_add(words).is_some_and(|end| end <= self.program.state_words);
        ensure(fits, || format!("words {word} to {word} + {words} lie outside of the state area"))
    }

    pub(super) fn validate_place(&self, place: Place) -> Validity {
        ensure(place.width > 0, || format!("the place at word {} has no width", place.word))?;
        self.validate_words(place.word, place.words())
    }

    /// Validates a place in element 0 of a stack, and the same place in the last element.
    pub(super) fn validate_element(&self, stack: u32, place: Place) -> Validity {
        let stack = index(&self.program.stacks, stack, "stack")?;
        let last = stack.size.saturating_sub(1).checked_mul(stack.stride);
        let last = last.and_then(|distance| place.word.checked_add(distance));
        let word = last.ok_or_else(|| format!("stack '{}' is too large", stack.name))?;
        self.validate_place(place)?;
        self.validate_place(Place { word, ..place })
    }

    pub(super) fn validate_objects(&self) -> Validity {
        let program = self.program;
        for place in program.standard_metadata.places() {
            self.validate_place(place)?;
        }
        for name in ["PacketTooShort", "StackOutOfBounds", "HeaderTooShort"] {
            ensure(program.errors.iter().any(|error| error == name), || {
                format!("error '{name}' of core.p4 is not among the program's errors")
            })?;
        }
        for var in &program.vars {
            self.validate_place(var.place)?;
        }
        for header in &program.headers {
            self.validate_words(header.valid, 1)?;
            self.validate_words(header.base, header.words)?;
            for field in &header.fields {
                self.validate_place(field.place)?;
                field.varbit_length.map_or(Ok(()), |word| self.validate_words(word, 1))?;
            }
            let fixed = header.fields.iter().filter(|field| field.varbit_length.is_none());
            let bits: u64 = fixed.map(|field| u64::from(field.place.width)).sum();
            ensure(bits.is_multiple_of(8), || {
                format!("header '{}' takes {bits} bits, not whole bytes", header.name)
            })?;
        }
        for stack in &program.stacks {
            self.validate_words(stack.next_index, 1)?;
            let end = stack.first.checked_add(stack.size);
            let fits = end.is_some_and(|end| end as usize <= program.headers.len());
            ensure(fits && stack.size > 0, || {
                format!("stack '{}' names headers that do not exist", stack.name)
            })?;
        }
        for list in &program.field_lists {
            list.places.iter().try_for_each(|place| self.validate_place(*place))?;
            list.regions.iter().try_for_each(|(word, words)| self.validate_words(*word, *words))?;
        }
        let registers = program.registers.iter();
        let total: u64 =
            registers.map(|r| u64::from(r.size) * u64::from(r.width.div_ceil(64))).sum();
        ensure(total <= MAX_REGISTER_WORDS, || {
            format!("its registers take {total} words of 64 bits; {MAX_REGISTER_WORDS} are allowed")
        })?;
        for table in &program.tables {
            self.validate_table(table)
                .map_err(|text| format!("table '{}': {text}", table.identity.name))?;
        }
        Ok(())
    }

    pub(super) fn validate_table(&self, table: &Table) -> Validity {
        let program = self.program;
        for action in &table.actions {
            index(&program.actions, action.action, "action")?;
        }
        if let Some(meter) = table.direct_meter {
            index(&program.meters, meter, "meter")?;
        }
        if let Some(profile) = table.action_profile {
            index(&program.action_profiles, profile, "action profile")?;
        }
        let entries = table.entries.iter().map(|entry| &entry.action);
        for call in entries.chain([&table.default_action]) {
            let action = index(&table.actions, call.action, "action in its list")?;
            let params = &program.actions[action.action as usize].params;
            ensure(params.len() == call.data.len(), || {
                let (want, got) = (params.len(), call.data.len());
                format!("an action takes {want} parameters, but {got} are given")
            })?;
            params
                .iter()
                .zip(&call.data)
                .try_for_each(|(param, value)| validate_constant(value, param.width))?;
        }
        let keys: Vec<_> =
            table.keys.iter().filter(|key| key.kind != MatchKind::Selector).collect();
        for entry in &table.entries {
            ensure(entry.matches.len() == keys.len(), || {
                "an entry has not one match per key".to_owned()
            })?;
            for (one, key) in entry.matches.iter().zip(&keys) {
                match one {
                    Match::Exact(value) | Match::Optional(Some(value)) => {
                        validate_constant(value, key.width)?;
                    }
                    Match::Lpm(value, length) => {
                        validate_constant(value, key.width)?;
                        ensure(*length <= key.width, || {
                            format!("prefix length {length} is over {}", key.width)
                        })?;
                    }
                    Match::Ternary(a, b) | Match::Range(a, b) => {
                        validate_constant(a, key.width)?;
                        validate_constant(b, key.width)?;
                    }
                    Match::Optional(None) => {}
                }
            }
        }
        Ok(())
    }

    pub(super) fn validate_block(&self, block: &Block, blocks: usize) -> Validity {
        for (at, op) in block.ops.iter().enumerate() {
            self.validate_op(op).map_err(|text| format!("operation {at}: {text}"))?;
        }
        let target =
            |block: u32| ensure((block as usize) < blocks, || format!("there is no block {block}"));
        match &block.terminator {
            Terminator::Exit => Ok(()),
            Terminator::Jump(block) => target(*block),
            Terminator::Branch { cond, then, otherwise } => {
                self.validate_expr_of_width(cond, 1)?;
                target(*then)?;
                target(*otherwise)
            }
            Terminator::Select { keys, cases, default } => {
                keys.iter().try_for_each(|key| self.validate_expr(key))?;
                for case in cases {
                    target(case.target)?;
                    self.validate_patterns(&case.patterns, keys)?;
                }
                target(*default)
            }
            Terminator::Apply(apply) => {
                let table = index(&self.program.tables, apply.table, "table")?;
                self.validate_words(apply.hit, 1)?;
                self.validate_words(apply.action_run, 1)?;
                ensure(apply.keys.len() == table.keys.len(), || {
                    format!("table '{}' is applied with other keys", table.identity.name)
                })?;
                for (expr, key) in apply.keys.iter().zip(&table.keys) {
                    self.validate_expr_of_width(expr, key.width)?;
                }
                ensure(apply.targets.len() == table.actions.len(), || {
                    format!("table '{}' is applied with other actions", table.identity.name)
                })?;
                for (one, action) in apply.targets.iter().zip(&table.actions) {
                    target(one.block)?;
                    let params = &self.program.actions[action.action as usize].params;
                    ensure(params.len() == one.params.len(), || {
                        "an action's data has not one place per parameter".to_owned()
                    })?;
                    for (place, param) in one.params.iter().zip(params) {
                        self.validate_place(*place)?;
                        same_width(place.width, param.width)?;
                    }
                }
                Ok(())
            }
        }
    }

    pub(super) fn validate_patterns(&self, patterns: &[Pattern], keys: &[Expr]) -> Validity {
        if let [Pattern::ValueSet(set)] = patterns {
            let set = index(&self.program.value_sets, *set, "value set")?;
            ensure(set.keys.len() == keys.len(), || "a value set has other keys".to_owned())?;
            return keys
                .iter()
                .zip(&set.keys)
                .try_for_each(|(k, s)| same_width(k.width(), s.width));
        }
        ensure(patterns.len() == keys.len(), || "a case has not one pattern per key".to_owned())?;
        patterns.iter().zip(keys).try_for_each(|(pattern, key)| match pattern {
            Pattern::Any => Ok(()),
            Pattern::Value(value) => validate_constant(value, key.width()),
            Pattern::Mask(a, b) | Pattern::Range(a, b) => {
                validate_constant(a, key.width())?;
                validate_constant(b, key.width())
            }
            Pattern::ValueSet(_) => Err("a value set is not the only pattern of its case".into()),
        })
    }
}

pub(super) fn validate_slice(high: u32, low: u32, width: u32) -> Validity {
    ensure(low <= high && high < width, || format!("[{high}:{low}] is no slice of {width} bits"))
}

pub(super) fn same_width(got: u32, want: u32) -> Validity {
    ensure(got == want, || format!("{got} bits where {want} are needed"))
}

/// Validates that a constant has this width, and no bits beyond it.
pub(super) fn validate_constant(value: &Value, width: u32) -> Validity {
    same_width(value.width, width)?;
    ensure(width > 0 && Value::from_words(width, value.words.clone()) == *value, || {
        format!("a constant of {width} bits has other words than that")
    })
}
