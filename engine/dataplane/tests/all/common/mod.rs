//! Builds small IR programs by hand, for tests of the data plane without the front end.

use std::sync::Arc;

use netkv_dataplane::{Output, Switch, SwitchOptions};
use netkv_ir::*;

/// A program under construction.
pub struct ProgramBuilder {
    pub program: Program,
}

/// A constant expression.
pub fn constant(width: u32, value: u128) -> Expr {
    Expr::Const(Value::new(width, value))
}

/// An expression that loads a place.
pub fn load(place: Place) -> Expr {
    Expr::Load(place)
}

/// A binary operation. The result of a comparison has one bit.
pub fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    use BinaryOp::*;
    let compare = matches!(op, Eq | Ne | LtUnsigned | LeUnsigned | LtSigned | LeSigned);
    let width = if compare { 1 } else { left.width() };
    Expr::Binary { op, left: Box::new(left), right: Box::new(right), width }
}

pub fn equal(place: Place, value: u128) -> Expr {
    binary(BinaryOp::Eq, load(place), constant(place.width, value))
}

pub fn set(to: Place, value: u128) -> Op {
    Op::Assign { to, value: constant(to.width, value) }
}

pub fn copy(to: Place, from: Place) -> Op {
    Op::Assign { to, value: load(from) }
}

pub fn block(ops: Vec<Op>, terminator: Terminator) -> Block {
    let spans = (1..=ops.len() as u32).map(|line| Span { file: 0, line, column: 1 }).collect();
    let terminator_span = Span { file: 0, line: 100, column: 1 };
    Block { label: String::new(), ops, spans, terminator, terminator_span }
}

pub fn straight(ops: Vec<Op>) -> Cfg {
    Cfg { blocks: vec![block(ops, Terminator::Exit)] }
}

pub fn identity(name: &str, id: u32) -> Identity {
    let alias = name.rsplit('.').next().unwrap_or(name).to_owned();
    Identity { name: name.to_owned(), alias, id, annotations: Vec::new() }
}

impl ProgramBuilder {
    pub fn new() -> Self {
        let none = Place { word: 0, width: 1 };
        let mut build = Self {
            program: Program {
                name: "hand.p4".into(),
                files: vec!["hand.p4".into()],
                state_words: 0,
                vars: Vec::new(),
                headers: Vec::new(),
                stacks: Vec::new(),
                errors: [
                    "NoError",
                    "PacketTooShort",
                    "NoMatch",
                    "StackOutOfBounds",
                    "HeaderTooShort",
                    "ParserTimeout",
                    "ParserInvalidArgument",
                ]
                .map(String::from)
                .to_vec(),
                standard_metadata: StandardMetadata::new(|_, _| none),
                field_lists: Vec::new(),
                tables: Vec::new(),
                actions: Vec::new(),
                registers: Vec::new(),
                counters: Vec::new(),
                meters: Vec::new(),
                digests: Vec::new(),
                action_profiles: Vec::new(),
                value_sets: Vec::new(),
                assertions: Vec::new(),
                controller_headers: Vec::new(),
                parser: straight(Vec::new()),
                verify_checksum: straight(Vec::new()),
                ingress: straight(Vec::new()),
                egress: straight(Vec::new()),
                compute_checksum: straight(Vec::new()),
                deparser: straight(Vec::new()),
            },
        };
        let standard = StandardMetadata::new(|name, width| {
            build.place(&format!("standard_metadata.{name}"), width)
        });
        build.program.standard_metadata = standard;
        build
    }

    pub fn standard(&self) -> StandardMetadata {
        self.program.standard_metadata.clone()
    }

    pub fn place(&mut self, name: &str, width: u32) -> Place {
        let place = Place { word: self.program.state_words, width };
        self.program.state_words += place.words();
        self.program.vars.push(Var { name: name.to_owned(), place });
        place
    }

    /// Adds a header. Returns its id and the places of its fields.
    pub fn header(&mut self, name: &str, fields: &[(&str, u32)]) -> (HeaderId, Vec<Place>) {
        let valid = self.place(&format!("{name}.$valid"), 1).word;
        let base = self.program.state_words;
        let fields: Vec<HeaderField> = fields
            .iter()
            .map(|(field, width)| HeaderField {
                name: (*field).to_owned(),
                place: self.place(&format!("{name}.{field}"), *width),
                varbit_length: None,
                signed: false,
            })
            .collect();
        let places = fields.iter().map(|field| field.place).collect();
        self.program.headers.push(Header {
            name: name.to_owned(),
            type_name: format!("{name}_t"),
            valid,
            fields,
            base,
            words: self.program.state_words - base,
        });
        (self.program.headers.len() as u32 - 1, places)
    }

    /// Makes the last field of a header a varbit with its width as the maximum.
    pub fn varbit(&mut self, header: HeaderId) {
        let length = self.place("varbit.length", 32).word;
        let header = &mut self.program.headers[header as usize];
        header.words += 1;
        header.fields.last_mut().unwrap().varbit_length = Some(length);
    }

    pub fn valid(&self, header: HeaderId) -> Place {
        Place { word: self.program.headers[header as usize].valid, width: 1 }
    }

    /// Adds a stack of headers with these fields. Returns its id and the places in element 0.
    pub fn stack(
        &mut self,
        name: &str,
        size: u32,
        fields: &[(&str, u32)],
    ) -> (StackId, Vec<Place>) {
        let mut first = None;
        for index in 0..size {
            let made = self.header(&format!("{name}[{index}]"), fields);
            first.get_or_insert(made);
        }
        let (first, places) = first.unwrap();
        let header = &self.program.headers[first as usize];
        let stride = header.words + 1;
        let next_index = self.place(&format!("{name}.nextIndex"), 32).word;
        let stack = Stack { name: name.to_owned(), first, size, stride, next_index };
        self.program.stacks.push(stack);
        (self.program.stacks.len() as u32 - 1, places)
    }

    /// Adds an action with `(name, width)` parameters.
    pub fn action(&mut self, name: &str, params: &[(&str, u32)]) -> ActionId {
        let id = self.program.actions.len() as u32;
        let params = params
            .iter()
            .map(|(name, width)| ActionParam { name: (*name).to_owned(), width: *width })
            .collect();
        self.program
            .actions
            .push(Action { identity: identity(name, 0x0100_0000 + id + 1), params });
        id
    }

    /// Adds a table. Its last action has no parameters and is the default action.
    pub fn table(
        &mut self,
        name: &str,
        keys: &[(&str, u32, MatchKind)],
        actions: &[ActionId],
        size: u64,
    ) -> TableId {
        let id = self.program.tables.len() as u32;
        self.program.tables.push(Table {
            identity: identity(name, 0x0200_0000 + id + 1),
            keys: keys
                .iter()
                .map(|(name, width, kind)| TableKey {
                    name: (*name).to_owned(),
                    width: *width,
                    kind: *kind,
                })
                .collect(),
            actions: actions
                .iter()
                .map(|action| TableAction {
                    action: *action,
                    table_only: false,
                    default_only: false,
                })
                .collect(),
            default_action: ActionCall { action: actions.len() as u32 - 1, data: Vec::new() },
            const_default: false,
            entries: Vec::new(),
            const_entries: false,
            size,
            direct_counter: None,
            direct_meter: None,
            action_profile: None,
            idle_timeout: false,
        });
        id
    }

    pub fn register(&mut self, name: &str, width: u32, size: u32) -> RegisterId {
        let id = self.program.registers.len() as u32;
        let identity = identity(name, 0x1600_0000 + id + 1);
        self.program.registers.push(Register { identity, width, size });
        id
    }

    pub fn switch(self) -> Switch {
        Switch::new(Arc::new(self.program), SwitchOptions { seed: 1, ..SwitchOptions::default() })
            .expect("a program that runs")
    }
}

/// Frames that the switch transmits for a received frame.
pub fn send(switch: &mut Switch, port: u16, frame: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut output = Output::new();
    switch.process(0, port, frame, &mut output);
    output.frames().map(|(port, frame)| (port, frame.to_vec())).collect()
}

pub mod cache_read;
pub mod router;
