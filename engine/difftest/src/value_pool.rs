//! The pool of values of a case: constants of the program, keys of its tables, and corner cases.
//!
//! Tables and packets draw from the same small pool, so that packets hit entries and take rare
//! branches.

use std::collections::HashMap;

use netkv_ir::{BinaryOp, Expr, Match, Pattern, Program, Terminator, UnaryOp, Value, Word};

use crate::bits::BitString;
use crate::rng::Rng;
use crate::traversal;

/// Number of constants of the program among the values of one width.
const VALUES_PER_WIDTH: usize = 8;

/// The values of one case.
#[derive(Debug, Clone, Default)]
pub struct ValuePool {
    constants: Vec<Value>,
    by_width: HashMap<u32, Vec<Value>>,
    by_word: HashMap<Word, Vec<Value>>,
    /// Values of a word in table entries.
    table_values: HashMap<Word, Vec<Value>>,
    ingress_port: Option<Word>,
    /// For each value set, a sample of each member, with one value per key.
    pub(crate) value_sets: HashMap<u32, Vec<Vec<Value>>>,
}

/// A value truncated or zero-extended to another width.
pub(crate) fn resized(value: &Value, width: u32) -> Value {
    Value::from_words(width, value.words.clone())
}

impl ValuePool {
    /// Collects the constants of a program.
    pub fn new(program: &Program) -> Self {
        let ingress_port = Some(program.standard_metadata.ingress_port.word);
        let mut pool = Self { ingress_port, ..Self::default() };
        for block in traversal::blocks(program) {
            for expr in traversal::expressions(block) {
                pool.add_constants_of(expr);
            }
            if let Terminator::Select { keys, cases, .. } = &block.terminator {
                for case in cases {
                    for (key, pattern) in keys.iter().zip(&case.patterns) {
                        pool.add_pattern(key, pattern);
                    }
                }
            }
        }
        for apply in traversal::applies(program) {
            let table = &program.tables[apply.table as usize];
            for entry in &table.entries {
                for (key, one) in apply.keys.iter().zip(&entry.matches) {
                    pool.add_match(key, one);
                }
            }
        }
        pool
    }

    fn add_constants_of(&mut self, expr: &Expr) {
        let mut found = Vec::new();
        traversal::subexpressions(expr, &mut |part| match part {
            Expr::Const(value) => found.push((None, value.clone())),
            Expr::Binary { op, left, right, .. } if is_comparison(*op) => {
                if let (place, Expr::Const(value)) | (Expr::Const(value), place) =
                    (&**left, &**right)
                {
                    found.push((Some(place), value.clone()));
                }
            }
            _ => {}
        });
        for (place, value) in found {
            self.add_constant(place, value);
        }
    }

    fn add_pattern(&mut self, key: &Expr, pattern: &Pattern) {
        match pattern {
            Pattern::Value(value) | Pattern::Mask(value, _) => {
                self.add_constant(Some(key), value.clone())
            }
            Pattern::Range(low, high) => {
                self.add_constant(Some(key), low.clone());
                self.add_constant(Some(key), high.clone());
            }
            Pattern::Any | Pattern::ValueSet(_) => {}
        }
    }

    /// Adds the value of a key in a table entry.
    pub(crate) fn add_entry_key(&mut self, key: &Expr, one: &Match) {
        match one {
            Match::Exact(value)
            | Match::Lpm(value, _)
            | Match::Ternary(value, _)
            | Match::Optional(Some(value)) => self.add_table_value(key, value),
            Match::Range(low, high) => {
                self.add_table_value(key, low);
                self.add_table_value(key, high);
            }
            Match::Optional(None) => {}
        }
    }

    fn add_table_value(&mut self, key: &Expr, value: &Value) {
        match key {
            Expr::Load(place) => {
                let list = self.table_values.entry(place.word).or_default();
                if list.len() < 64 && !list.contains(value) {
                    list.push(value.clone());
                }
            }
            Expr::Concat(left, right) => {
                let mut bits = BitString::default();
                bits.append(value);
                self.add_table_value(left, &bits.value(0, left.width()));
                self.add_table_value(right, &bits.value(left.width() as usize, right.width()));
            }
            Expr::Unary { op: UnaryOp::ZeroExtend, arg, .. } => {
                self.add_table_value(arg, &resized(value, arg.width()));
            }
            _ => {}
        }
    }

    /// Adds the value of a field in a recorded packet.
    pub(crate) fn add_recorded(&mut self, word: Word, value: Value) {
        let list = self.by_word.entry(word).or_default();
        if list.len() < 64 && !list.contains(&value) {
            list.push(value);
        }
    }

    /// Adds a value that may be compared with others of its width.
    pub(crate) fn add_used(&mut self, rng: &mut Rng, value: &Value) {
        self.values_of_width(rng, value.width);
        if let Some(list) = self.by_width.get_mut(&value.width)
            && list.len() < 32
            && !list.contains(value)
        {
            list.push(value.clone());
        }
    }

    fn add_match(&mut self, key: &Expr, one: &Match) {
        match one {
            Match::Exact(value)
            | Match::Lpm(value, _)
            | Match::Ternary(value, _)
            | Match::Optional(Some(value)) => self.add_constant(Some(key), value.clone()),
            Match::Range(low, high) => {
                self.add_constant(Some(key), low.clone());
                self.add_constant(Some(key), high.clone());
            }
            Match::Optional(None) => {}
        }
    }

    fn add_constant(&mut self, place: Option<&Expr>, value: Value) {
        if self.constants.len() < 4096 && !self.constants.contains(&value) {
            self.constants.push(value.clone());
        }
        if let Some(Expr::Load(place)) = place {
            let list = self.by_word.entry(place.word).or_default();
            if list.len() < 64 && !list.contains(&value) {
                list.push(value);
            }
        }
    }

    /// Constants of a width that are below a limit.
    pub(crate) fn small_constants(&self, width: u32, limit: u64) -> Vec<u64> {
        let fits =
            |value: &&Value| value.width == width && value.words[1..].iter().all(|w| *w == 0);
        let values = self.constants.iter().filter(fits).map(|value| value.words[0]);
        values.filter(|value| *value < limit).collect()
    }

    fn values_of_width(&mut self, rng: &mut Rng, width: u32) -> &[Value] {
        if !self.by_width.contains_key(&width) {
            let ones = Value::from_words(width, vec![u64::MAX; width.div_ceil(64) as usize]);
            let mut values = vec![
                Value::new(width, 0),
                Value::new(width, 1),
                ones.clone(),
                Value::new(width, 1 << 63),
                rng.value(width),
                rng.value(width),
            ];
            if width > 64 {
                // A value whose halves differ in all words.
                let high = (0..width.div_ceil(64)).map(|at| u64::MAX >> (at % 64)).collect();
                values.push(Value::from_words(width, high));
            }
            let known: Vec<&Value> = self.constants.iter().filter(|c| c.width == width).collect();
            for _ in 0..VALUES_PER_WIDTH {
                if let Some(value) = rng.pick_any(&known) {
                    values.push((*value).clone());
                }
            }
            // Only the sign bit is set.
            let mut sign = vec![0; width.div_ceil(64) as usize];
            sign[(width as usize - 1) / 64] = 1 << ((width - 1) % 64);
            values.push(Value::from_words(width, sign));
            self.by_width.insert(width, values);
        }
        &self.by_width[&width]
    }

    /// A value for a place of a width, preferably one that is in the pool for its word.
    pub fn value(&mut self, rng: &mut Rng, width: u32, word: Option<Word>) -> Value {
        let choice = rng.below(100);
        if rng.chance(40)
            && let Some(list) = word.and_then(|word| self.table_values.get(&word))
            && !list.is_empty()
        {
            return resized(rng.pick(list), width);
        }
        if choice < 50
            && let Some(list) = word.and_then(|word| self.by_word.get(&word))
            && !list.is_empty()
        {
            return resized(rng.pick(list), width);
        }
        match choice {
            0..75 => {
                let list = self.values_of_width(rng, width).len();
                let at = rng.below(list);
                self.by_width[&width][at].clone()
            }
            75..90 => Value::new(width, u128::from(rng.below(8) as u64)),
            _ => rng.value(width),
        }
    }

    /// An ingress port, preferably one that is a constant of the program.
    pub(crate) fn port(&mut self, rng: &mut Rng) -> u16 {
        let named = self.ingress_port.and_then(|word| self.by_word.get(&word));
        match named {
            Some(ports) if !ports.is_empty() && rng.chance(50) => rng.pick(ports).words[0] as u16,
            _ => rng.below(5) as u16,
        }
    }

    /// A likely value of an expression.
    pub(crate) fn sample(&mut self, rng: &mut Rng, expr: &Expr) -> Value {
        let width = expr.width();
        match expr {
            Expr::Load(place) => self.value(rng, width, Some(place.word)),
            Expr::Concat(left, right) => {
                let (high, low) = (self.sample(rng, left), self.sample(rng, right));
                let mut bits = BitString::default();
                bits.append(&high);
                bits.append(&low);
                bits.value(0, width)
            }
            Expr::Slice { arg, low, .. } => {
                let whole = self.sample(rng, arg);
                let mut bits = BitString::default();
                bits.append(&whole);
                bits.value((whole.width - low - width) as usize, width)
            }
            Expr::Unary { op: UnaryOp::ZeroExtend, arg, .. } => {
                resized(&self.sample(rng, arg), width)
            }
            Expr::Mux { then, .. } => self.sample(rng, then),
            _ => self.value(rng, width, None),
        }
    }
}

fn is_comparison(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::LtUnsigned
            | BinaryOp::LeUnsigned
            | BinaryOp::LtSigned
            | BinaryOp::LeSigned
    )
}
