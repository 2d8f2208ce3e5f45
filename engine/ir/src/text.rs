//! Text of a whole program, for `netkv p4 ir` and the file tests of the front end.
//!
//! Places have the names of their variables: `hdr.ipv4.ttl`. A word without a variable, such as a
//! temporary of the compiler, is `%` and its number. `h.$valid` is the validity of a header and
//! `s.$next` the `nextIndex` of a stack.

use std::collections::HashMap;
use std::fmt::{self, Write};

use crate::{
    Apply, BinaryOp, Cfg, Expr, HashInput, HeaderId, Match, Op, Pattern, Place, Program, StackId,
    Table, Terminator, UnaryOp, Value, Word,
};

/// Returns the text of a program.
pub fn program_text(program: &Program) -> String {
    let mut printer = Printer { program, names: names(program), out: String::new() };
    // Writing to a string does not fail.
    let _ = printer.program();
    printer.out
}

fn names(program: &Program) -> HashMap<Word, String> {
    let mut names = HashMap::new();
    for header in &program.headers {
        names.insert(header.valid, format!("{}.$valid", header.name));
    }
    for stack in &program.stacks {
        names.insert(stack.next_index, format!("{}.$next", stack.name));
    }
    for var in &program.vars {
        names.entry(var.place.word).or_insert_with(|| var.name.clone());
    }
    names
}

struct Printer<'a> {
    program: &'a Program,
    names: HashMap<Word, String>,
    out: String,
}

impl Printer<'_> {
    fn program(&mut self) -> fmt::Result {
        let program = self.program;
        for header in &program.controller_headers {
            let fields: Vec<String> =
                header.fields.iter().map(|f| format!("{}: {}", f.name, f.width)).collect();
            writeln!(
                self.out,
                "controller_header {} ({})",
                header.identity.name,
                fields.join(", ")
            )?;
        }
        for register in &program.registers {
            let (name, width, size) = (&register.identity.name, register.width, register.size);
            writeln!(self.out, "register {name}: {width}[{size}]")?;
        }
        for counter in &program.counters {
            let unit = format!("{:?}", counter.unit).to_lowercase();
            writeln!(self.out, "counter {}: {unit}[{}]", counter.identity.name, counter.size)?;
        }
        for meter in &program.meters {
            let unit = format!("{:?}", meter.unit).to_lowercase();
            writeln!(self.out, "meter {}: {unit}[{}]", meter.identity.name, meter.size)?;
        }
        for profile in &program.action_profiles {
            let selector = profile.selector.map_or(String::new(), |hash| format!(" by {hash:?}"));
            writeln!(self.out, "profile {}[{}]{selector}", profile.identity.name, profile.size)?;
        }
        for set in &program.value_sets {
            let keys: Vec<String> = set.keys.iter().map(|k| k.width.to_string()).collect();
            let name = &set.identity.name;
            writeln!(self.out, "value_set {name} ({})[{}]", keys.join(", "), set.size)?;
        }
        for digest in &program.digests {
            let members: Vec<String> =
                digest.members.iter().map(|m| format!("{}: {}", m.name, m.width)).collect();
            writeln!(self.out, "digest {} ({})", digest.identity.name, members.join(", "))?;
        }
        for table in &program.tables {
            self.table(table)?;
        }
        for (name, graph) in [
            ("parser", &program.parser),
            ("verify_checksum", &program.verify_checksum),
            ("ingress", &program.ingress),
            ("egress", &program.egress),
            ("compute_checksum", &program.compute_checksum),
            ("deparser", &program.deparser),
        ] {
            self.graph(name, graph)?;
        }
        Ok(())
    }

    fn table(&mut self, table: &Table) -> fmt::Result {
        let program = self.program;
        writeln!(self.out, "table {}[{}]", table.identity.name, table.size)?;
        for key in &table.keys {
            let kind = format!("{:?}", key.kind).to_lowercase();
            writeln!(self.out, "    key {}: {} {kind}", key.name, key.width)?;
        }
        for action in &table.actions {
            let def = &program.actions[action.action as usize];
            let params: Vec<String> =
                def.params.iter().map(|p| format!("{}: {}", p.name, p.width)).collect();
            let only = match (action.table_only, action.default_only) {
                (true, _) => " in entries only",
                (_, true) => " as default only",
                _ => "",
            };
            let name = &def.identity.name;
            writeln!(self.out, "    action {name}({}){only}", params.join(", "))?;
        }
        let name = |index: u32| {
            let action = table.actions[index as usize].action;
            program.actions[action as usize].identity.name.as_str()
        };
        let (default, data) = (name(table.default_action.action), &table.default_action.data);
        let constant = if table.const_default { "const " } else { "" };
        writeln!(self.out, "    {constant}default {default}({})", join(data))?;
        for entry in &table.entries {
            let matches: Vec<String> = entry.matches.iter().map(match_text).collect();
            let (action, data) = (name(entry.action.action), join(&entry.action.data));
            let constant = if table.const_entries { "const " } else { "" };
            let priority = match entry.priority {
                0 => String::new(),
                priority => format!(" priority {priority}"),
            };
            let matches = matches.join(", ");
            writeln!(self.out, "    {constant}entry ({matches}){priority}: {action}({data})")?;
        }
        Ok(())
    }

    fn graph(&mut self, name: &str, graph: &Cfg) -> fmt::Result {
        writeln!(self.out, "\n{name}:")?;
        for (id, block) in graph.blocks.iter().enumerate() {
            let label = if block.label.is_empty() { "" } else { " " };
            writeln!(self.out, "  b{id}:{label}{}", block.label)?;
            for op in &block.ops {
                let text = self.op(op);
                writeln!(self.out, "    {text}")?;
            }
            self.terminator(&block.terminator)?;
        }
        Ok(())
    }

    fn terminator(&mut self, terminator: &Terminator) -> fmt::Result {
        match terminator {
            Terminator::Jump(to) => writeln!(self.out, "    jump b{to}"),
            Terminator::Exit => writeln!(self.out, "    exit"),
            Terminator::Branch { cond, then, otherwise } => {
                let cond = self.expr(cond);
                writeln!(self.out, "    if {cond} jump b{then} else b{otherwise}")
            }
            Terminator::Select { keys, cases, default } => {
                let keys: Vec<String> = keys.iter().map(|key| self.expr(key)).collect();
                writeln!(self.out, "    select {}", keys.join(", "))?;
                for case in cases {
                    let patterns: Vec<String> =
                        case.patterns.iter().map(|p| self.pattern(p)).collect();
                    writeln!(self.out, "      {}: b{}", patterns.join(", "), case.target)?;
                }
                writeln!(self.out, "      default: b{default}")
            }
            Terminator::Apply(apply) => self.apply(apply),
        }
    }

    fn apply(&mut self, apply: &Apply) -> fmt::Result {
        let program = self.program;
        let table = &program.tables[apply.table as usize];
        let keys: Vec<String> = apply.keys.iter().map(|key| self.expr(key)).collect();
        writeln!(self.out, "    apply {} ({})", table.identity.name, keys.join(", "))?;
        for (action, target) in table.actions.iter().zip(&apply.targets) {
            let name = &program.actions[action.action as usize].identity.name;
            let params: Vec<String> = target.params.iter().map(|p| self.place(*p)).collect();
            writeln!(self.out, "      {name}({}): b{}", params.join(", "), target.block)?;
        }
        Ok(())
    }

    fn pattern(&self, pattern: &Pattern) -> String {
        match pattern {
            Pattern::Any => "_".to_string(),
            Pattern::Value(value) => value.to_string(),
            Pattern::Mask(value, mask) => format!("{value} &&& {mask}"),
            Pattern::Range(low, high) => format!("{low} .. {high}"),
            Pattern::ValueSet(set) => self.program.value_sets[*set as usize].identity.name.clone(),
        }
    }

    fn place(&self, place: Place) -> String {
        match self.names.get(&place.word) {
            Some(name) => name.clone(),
            None => format!("%{}", place.word),
        }
    }

    fn header(&self, id: HeaderId) -> &str {
        &self.program.headers[id as usize].name
    }

    fn stack(&self, id: StackId) -> &str {
        &self.program.stacks[id as usize].name
    }

    /// A field of stack element `index`; `place` is the one in element 0.
    fn element(&self, stack: StackId, index: &Expr, place: Place) -> String {
        let stack = self.stack(stack);
        let name = self.place(place);
        let field = name.strip_prefix(stack).and_then(|rest| rest.strip_prefix("[0]"));
        format!("{stack}[{}]{}", self.expr(index), field.unwrap_or(&name))
    }

    fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Const(value) => format!("{}w{value}", value.width),
            Expr::Load(place) => self.place(*place),
            Expr::LoadElement { stack, index, place } => self.element(*stack, index, *place),
            Expr::Unary { op, arg, width } => {
                let arg = self.expr(arg);
                match op {
                    UnaryOp::Not => format!("~{arg}"),
                    UnaryOp::Neg => format!("-{arg}"),
                    UnaryOp::ZeroExtend => format!("zero_extend<{width}>({arg})"),
                    UnaryOp::SignExtend => format!("sign_extend<{width}>({arg})"),
                }
            }
            Expr::Binary { op, left, right, .. } => {
                format!("({} {} {})", self.expr(left), operator(*op), self.expr(right))
            }
            Expr::Mux { cond, then, otherwise } => {
                let (cond, then) = (self.expr(cond), self.expr(then));
                format!("({cond} ? {then} : {})", self.expr(otherwise))
            }
            Expr::Slice { arg, high, low } => format!("{}[{high}:{low}]", self.expr(arg)),
            Expr::Concat(left, right) => {
                format!("({} ++ {})", self.expr(left), self.expr(right))
            }
            Expr::PacketLength => "packet.length".to_string(),
        }
    }

    fn data(&self, data: &[HashInput]) -> String {
        let parts: Vec<String> = data
            .iter()
            .map(|input| {
                let value = self.expr(&input.value);
                match input.varbit_length {
                    Some(length) => {
                        format!("{value}[..{}]", self.place(Place { word: length, width: 32 }))
                    }
                    None => value,
                }
            })
            .collect();
        format!("{{{}}}", parts.join(", "))
    }

    fn op(&self, op: &Op) -> String {
        let program = self.program;
        let list = |list: &Option<u32>| list.map_or(String::new(), |id| format!(" list {id}"));
        match op {
            Op::Assign { to, value } => format!("{} = {}", self.place(*to), self.expr(value)),
            Op::AssignSlice { to, high, low, value } => {
                format!("{}[{high}:{low}] = {}", self.place(*to), self.expr(value))
            }
            Op::StoreElement { stack, index, place, value } => {
                format!("{} = {}", self.element(*stack, index, *place), self.expr(value))
            }
            Op::CopyHeader { to, from } => {
                format!("copy_header {} = {}", self.header(*to), self.header(*from))
            }
            Op::CopyWords { to, from, words } => format!("copy %{to} = %{from}, {words} words"),
            Op::ZeroWords { to, words } => format!("zero %{to}, {words} words"),
            Op::SetValid(header) => format!("set_valid {}", self.header(*header)),
            Op::SetInvalid(header) => format!("set_invalid {}", self.header(*header)),
            Op::SetValidElement { stack, index, valid } => {
                let name = if *valid { "set_valid" } else { "set_invalid" };
                format!("{name} {}[{}]", self.stack(*stack), self.expr(index))
            }
            Op::PushFront { stack, count } => format!("push_front {} {count}", self.stack(*stack)),
            Op::PopFront { stack, count } => format!("pop_front {} {count}", self.stack(*stack)),
            Op::Extract(header) => format!("extract {}", self.header(*header)),
            Op::ExtractNext(stack) => format!("extract {}.next", self.stack(*stack)),
            Op::ExtractVarbit { header, bits } => {
                format!("extract {}, varbit {}", self.header(*header), self.expr(bits))
            }
            Op::Lookahead { to, skip, need } => {
                format!("{} = lookahead from bit {skip} of {need}", self.place(*to))
            }
            Op::Advance(bits) => format!("advance {}", self.expr(bits)),
            Op::Verify { cond, error } => {
                format!("verify {}, error {}", self.expr(cond), self.expr(error))
            }
            Op::CheckStackLast(stack) => format!("check_last {}", self.stack(*stack)),
            Op::Reject => "reject".to_string(),
            Op::Emit(header) => format!("emit {}", self.header(*header)),
            Op::EmitStack(stack) => format!("emit {}", self.stack(*stack)),
            Op::RegisterRead { register, index, to } => {
                let name = &program.registers[*register as usize].identity.name;
                format!("{} = read {name}[{}]", self.place(*to), self.expr(index))
            }
            Op::RegisterWrite { register, index, value } => {
                let name = &program.registers[*register as usize].identity.name;
                format!("write {name}[{}] = {}", self.expr(index), self.expr(value))
            }
            Op::Count { counter, index } => {
                let name = &program.counters[*counter as usize].identity.name;
                format!("count {name}[{}]", self.expr(index))
            }
            Op::ExecuteMeter { meter, index, to } => {
                let name = &program.meters[*meter as usize].identity.name;
                format!("{} = meter {name}[{}]", self.place(*to), self.expr(index))
            }
            Op::ReadDirectMeter { meter, to } => {
                let name = &program.meters[*meter as usize].identity.name;
                format!("{} = meter {name}", self.place(*to))
            }
            Op::Hash { to, algorithm, base, data, max } => format!(
                "{} = hash {algorithm:?} of {}, base {}, max {}",
                self.place(*to),
                self.data(data),
                self.expr(base),
                self.expr(max)
            ),
            Op::Random { to, low, high } => {
                format!("{} = random {} .. {}", self.place(*to), self.expr(low), self.expr(high))
            }
            Op::VerifyChecksum { cond, data, checksum, algorithm, with_payload } => format!(
                "verify_checksum if {}: {algorithm:?} of {}{} == {}",
                self.expr(cond),
                self.data(data),
                payload(*with_payload),
                self.expr(checksum)
            ),
            Op::UpdateChecksum { cond, data, to, algorithm, with_payload, .. } => format!(
                "update_checksum if {}: {} = {algorithm:?} of {}{}",
                self.expr(cond),
                self.place(*to),
                self.data(data),
                payload(*with_payload)
            ),
            Op::MarkToDrop => "mark_to_drop".to_string(),
            Op::Clone { ingress, session, field_list } => {
                let kind = if *ingress { "I2E" } else { "E2E" };
                format!("clone {kind} session {}{}", self.expr(session), list(field_list))
            }
            Op::Resubmit { field_list } => format!("resubmit{}", list(field_list)),
            Op::Recirculate { field_list } => format!("recirculate{}", list(field_list)),
            Op::Digest { digest, values } => {
                let name = &program.digests[*digest as usize].identity.name;
                let values: Vec<String> = values.iter().map(|value| self.expr(value)).collect();
                format!("digest {name} ({})", values.join(", "))
            }
            Op::Truncate(bytes) => format!("truncate {}", self.expr(bytes)),
            Op::Log { format, args } => {
                let args: Vec<String> = args.iter().map(|arg| self.expr(arg)).collect();
                format!("log {format:?} ({})", args.join(", "))
            }
            Op::Assert { cond, .. } => format!("assert {}", self.expr(cond)),
        }
    }
}

fn payload(with_payload: bool) -> &'static str {
    if with_payload { " and the payload" } else { "" }
}

fn join(values: &[Value]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn match_text(of: &Match) -> String {
    match of {
        Match::Exact(value) => value.to_string(),
        Match::Lpm(value, prefix) => format!("{value}/{prefix}"),
        Match::Ternary(value, mask) => format!("{value} &&& {mask}"),
        Match::Range(low, high) => format!("{low} .. {high}"),
        Match::Optional(Some(value)) => value.to_string(),
        Match::Optional(None) => "_".to_string(),
    }
}

fn operator(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::SatAddUnsigned => "|+|",
        BinaryOp::SatSubUnsigned => "|-|",
        BinaryOp::SatAddSigned => "|+|s",
        BinaryOp::SatSubSigned => "|-|s",
        BinaryOp::And => "&",
        BinaryOp::Or => "|",
        BinaryOp::Xor => "^",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::SarSigned => ">>s",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::LtUnsigned => "<",
        BinaryOp::LeUnsigned => "<=",
        BinaryOp::LtSigned => "<s",
        BinaryOp::LeSigned => "<=s",
    }
}
