//! Values that matter to a program: few of them, shared between tables and packets, so that
//! packets hit entries and take the rare branches.

use std::collections::HashMap;

use netkv_ir::{BinaryOp, Expr, Match, Pattern, Program, Terminator, UnaryOp, Value, Word};

use crate::bits::BitString;
use crate::rng::Rng;
use crate::visit;

/// Values of one width that a case draws from.
const VALUES_PER_WIDTH: usize = 8;

/// The values of one case.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    constants: Vec<Value>,
    by_width: HashMap<u32, Vec<Value>>,
    by_word: HashMap<Word, Vec<Value>>,
    /// Values that entries have for what a word holds.
    in_tables: HashMap<Word, Vec<Value>>,
    ingress_port: Option<Word>,
    /// One sample of each member of each value set, a value per key.
    pub(crate) value_sets: HashMap<u32, Vec<Vec<Value>>>,
}

/// A value with another width: cut, or with zeros before it.
pub(crate) fn resized(value: &Value, width: u32) -> Value {
    Value::from_words(width, value.words.clone())
}

impl Pool {
    /// Collects the constants of a program.
    pub fn new(program: &Program) -> Self {
        let ingress_port = Some(program.standard_metadata.ingress_port.word);
        let mut pool = Self { ingress_port, ..Self::default() };
        for block in visit::blocks(program) {
            for expr in visit::expressions(block) {
                pool.harvest(expr);
            }
            if let Terminator::Select { keys, cases, .. } = &block.terminator {
                for case in cases {
                    for (key, pattern) in keys.iter().zip(&case.patterns) {
                        pool.pattern(key, pattern);
                    }
                }
            }
        }
        for apply in visit::applies(program) {
            let table = &program.tables[apply.table as usize];
            for entry in &table.entries {
                for (key, one) in apply.keys.iter().zip(&entry.matches) {
                    pool.matched(key, one);
                }
            }
        }
        pool
    }

    fn harvest(&mut self, expr: &Expr) {
        let mut found = Vec::new();
        visit::parts(expr, &mut |part| match part {
            Expr::Const(value) => found.push((None, value.clone())),
            Expr::Binary { op, left, right, .. } if compares(*op) => {
                if let (place, Expr::Const(value)) | (Expr::Const(value), place) =
                    (&**left, &**right)
                {
                    found.push((Some(place), value.clone()));
                }
            }
            _ => {}
        });
        for (place, value) in found {
            self.learn(place, value);
        }
    }

    fn pattern(&mut self, key: &Expr, pattern: &Pattern) {
        match pattern {
            Pattern::Value(value) | Pattern::Mask(value, _) => self.learn(Some(key), value.clone()),
            Pattern::Range(low, high) => {
                self.learn(Some(key), low.clone());
                self.learn(Some(key), high.clone());
            }
            Pattern::Any | Pattern::ValueSet(_) => {}
        }
    }

    /// Remembers what an entry says of a key.
    pub(crate) fn inserted(&mut self, key: &Expr, one: &Match) {
        match one {
            Match::Exact(value)
            | Match::Lpm(value, _)
            | Match::Ternary(value, _)
            | Match::Optional(Some(value)) => self.in_table(key, value),
            Match::Range(low, high) => {
                self.in_table(key, low);
                self.in_table(key, high);
            }
            Match::Optional(None) => {}
        }
    }

    fn in_table(&mut self, key: &Expr, value: &Value) {
        match key {
            Expr::Load(place) => {
                let list = self.in_tables.entry(place.word).or_default();
                if list.len() < 64 && !list.contains(value) {
                    list.push(value.clone());
                }
            }
            Expr::Concat(left, right) => {
                let mut bits = BitString::default();
                bits.append(value);
                self.in_table(left, &bits.value(0, left.width()));
                self.in_table(right, &bits.value(left.width() as usize, right.width()));
            }
            Expr::Unary { op: UnaryOp::ZeroExtend, arg, .. } => {
                self.in_table(arg, &resized(value, arg.width()));
            }
            _ => {}
        }
    }

    /// Remembers a value that a recorded packet has in a field.
    pub(crate) fn recorded(&mut self, word: Word, value: Value) {
        let list = self.by_word.entry(word).or_default();
        if list.len() < 64 && !list.contains(&value) {
            list.push(value);
        }
    }

    /// Remembers a value that others of its width may be compared with.
    pub(crate) fn used(&mut self, rng: &mut Rng, value: &Value) {
        self.of_width(rng, value.width);
        if let Some(list) = self.by_width.get_mut(&value.width)
            && list.len() < 32
            && !list.contains(value)
        {
            list.push(value.clone());
        }
    }

    fn matched(&mut self, key: &Expr, one: &Match) {
        match one {
            Match::Exact(value)
            | Match::Lpm(value, _)
            | Match::Ternary(value, _)
            | Match::Optional(Some(value)) => self.learn(Some(key), value.clone()),
            Match::Range(low, high) => {
                self.learn(Some(key), low.clone());
                self.learn(Some(key), high.clone());
            }
            Match::Optional(None) => {}
        }
    }

    fn learn(&mut self, place: Option<&Expr>, value: Value) {
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

    /// Constants of a width that fit below a limit.
    pub(crate) fn small_constants(&self, width: u32, limit: u64) -> Vec<u64> {
        let fits =
            |value: &&Value| value.width == width && value.words[1..].iter().all(|w| *w == 0);
        let values = self.constants.iter().filter(fits).map(|value| value.words[0]);
        values.filter(|value| *value < limit).collect()
    }

    fn of_width(&mut self, rng: &mut Rng, width: u32) -> &[Value] {
        if !self.by_width.contains_key(&width) {
            let ones = Value::from_words(width, vec![u64::MAX; width.div_ceil(64) as usize]);
            let mut made = vec![
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
                made.push(Value::from_words(width, high));
            }
            let known: Vec<&Value> = self.constants.iter().filter(|c| c.width == width).collect();
            for _ in 0..VALUES_PER_WIDTH {
                if let Some(value) = rng.pick_any(&known) {
                    made.push((*value).clone());
                }
            }
            // Its sign bit alone.
            let mut sign = vec![0; width.div_ceil(64) as usize];
            sign[(width as usize - 1) / 64] = 1 << ((width - 1) % 64);
            made.push(Value::from_words(width, sign));
            self.by_width.insert(width, made);
        }
        &self.by_width[&width]
    }

    /// A value for a place of a width, known words first.
    pub fn value(&mut self, rng: &mut Rng, width: u32, word: Option<Word>) -> Value {
        let choice = rng.below(100);
        if rng.chance(40)
            && let Some(list) = word.and_then(|word| self.in_tables.get(&word))
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
                let list = self.of_width(rng, width).len();
                let at = rng.below(list);
                self.by_width[&width][at].clone()
            }
            75..90 => Value::new(width, u128::from(rng.below(8) as u64)),
            _ => rng.value(width),
        }
    }

    /// A port on which a frame may come in; those that the program names more often.
    pub(crate) fn port(&mut self, rng: &mut Rng) -> u16 {
        let named = self.ingress_port.and_then(|word| self.by_word.get(&word));
        match named {
            Some(ports) if !ports.is_empty() && rng.chance(50) => rng.pick(ports).words[0] as u16,
            _ => rng.below(5) as u16,
        }
    }

    /// A value that an expression is likely to have.
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

fn compares(op: BinaryOp) -> bool {
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
