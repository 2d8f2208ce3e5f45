//! Records the steps of the interpreter as trace events, with their source positions.

use std::collections::HashMap;

use netkv_ir::{Expr, Match, Op, Place, Program, Span, Terminator, Value};

use crate::graph::Graph;
use crate::interpreter::execute_step::Flow;
use crate::interpreter::prepare_expr::ExprPreparer;
use crate::interpreter::prepared_program::PreparedProgram;
use crate::objects::Objects;
use crate::packet::Packet;
use crate::packet::State;
use crate::tables::BoundAction;
use crate::trace::{Event, EventKind, Named, Trace};

/// Position of an operation in the program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpPosition {
    pub(crate) graph: Graph,
    pub(crate) block: u32,
    pub(crate) op: u32,
}

/// Collects the events of one frame.
#[derive(Debug)]
pub struct Recorder {
    trace: Trace,
    /// Names of variables by first word and width.
    names: HashMap<(u32, u32), String>,
    files: Vec<String>,
    /// Inputs of the current operation or terminator before it runs: an index or an old value, a
    /// condition, the keys of a table, and its position.
    index: u64,
    flag: bool,
    keys: Vec<Named>,
    graph: Graph,
    span: Span,
}

/// The recorder of a traced packet; `None` if the packet is not traced.
pub(crate) type Tracing<'a> = Option<&'a mut Recorder>;

pub(crate) fn record_event(tracing: &mut Tracing<'_>, event: impl FnOnce() -> EventKind) {
    if let Some(recorder) = tracing {
        recorder.record_event(event());
    }
}

impl Recorder {
    pub(crate) fn new(program: &Program) -> Self {
        let mut names = HashMap::new();
        for var in &program.vars {
            let key = (var.place.word, var.place.width);
            names.entry(key).or_insert_with(|| var.name.clone());
        }
        for header in &program.headers {
            names.entry((header.valid, 1)).or_insert_with(|| format!("{}.isValid", header.name));
        }
        Self {
            trace: Trace::default(),
            names,
            files: program.files.clone(),
            index: 0,
            flag: false,
            keys: Vec::new(),
            graph: Graph::Parser,
            span: Span::default(),
        }
    }

    pub(crate) fn finish(self) -> Trace {
        self.trace
    }

    /// Records an event between graphs.
    pub(crate) fn record_event(&mut self, kind: EventKind) {
        self.trace.events.push(Event { graph: None, file: String::new(), line: 0, kind });
    }

    fn push(&mut self, graph: Graph, span: Span, kind: EventKind) {
        let file = self.files.get(span.file as usize).filter(|_| span.line > 0);
        self.trace.events.push(Event {
            graph: Some(graph),
            file: file.cloned().unwrap_or_default(),
            line: span.line,
            kind,
        });
    }

    fn variable_name(&self, place: Place) -> String {
        let known = self.names.get(&(place.word, place.width));
        known.cloned().unwrap_or_else(|| format!("state[{}]", place.word))
    }

    pub(crate) fn record_block_start(&mut self, prepared: &PreparedProgram, position: OpPosition) {
        let block = &position.graph.of(&prepared.program).blocks[position.block as usize];
        if !block.label.is_empty() {
            let span = block.spans.first().copied().unwrap_or(block.terminator_span);
            let label = block.label.clone();
            self.push(position.graph, span, EventKind::Enter { label });
        }
    }

    /// Stores the inputs of an operation, which it may overwrite.
    pub(crate) fn store_inputs(
        &mut self,
        prepared: &PreparedProgram,
        position: OpPosition,
        packet: &mut Packet,
    ) {
        let state = &mut packet.state;
        match operation(prepared, position) {
            Op::RegisterRead { index, .. }
            | Op::RegisterWrite { index, .. }
            | Op::Count { index, .. }
            | Op::SetValidElement { index, .. }
            | Op::StoreElement { index, .. }
            | Op::ExecuteMeter { index, .. } => self.index = evaluate_u64(prepared, index, state),
            Op::ExtractNext(stack) => {
                self.index = state.words[prepared.stacks[*stack as usize].next_index as usize];
            }
            Op::Assert { cond, .. } => self.flag = evaluate_u64(prepared, cond, state) == 1,
            Op::VerifyChecksum { cond, .. } => {
                self.flag = evaluate_u64(prepared, cond, state) == 1;
                self.index = packet.get(prepared.standard.checksum_error);
            }
            Op::UpdateChecksum { cond, .. } => self.flag = evaluate_u64(prepared, cond, state) == 1,
            _ => {}
        }
    }

    /// Records the effect of an operation.
    pub(crate) fn record_effect(
        &mut self,
        prepared: &PreparedProgram,
        position: OpPosition,
        packet: &mut Packet,
        objects: &Objects,
        flow: Flow,
    ) {
        let program = &*prepared.program;
        let block = &position.graph.of(program).blocks[position.block as usize];
        let span = block.spans.get(position.op as usize).copied().unwrap_or_default();
        if let Flow::Error(error) = flow {
            let error = program.errors.get(error as usize).cloned().unwrap_or_default();
            self.push(position.graph, span, EventKind::ParserError { error });
            return;
        }
        let kind = match operation(prepared, position) {
            Op::Assign { to, .. } | Op::AssignSlice { to, .. } | Op::Lookahead { to, .. } => {
                EventKind::Assign {
                    name: self.variable_name(*to),
                    value: value_text(*to, &packet.state),
                }
            }
            Op::StoreElement { stack, place, value, .. } => {
                let stack = &program.stacks[*stack as usize];
                let name =
                    self.variable_name(*place).replacen("[0]", &format!("[{}]", self.index), 1);
                let value = if self.index < u64::from(stack.size) {
                    let word = place.word + self.index as u32 * stack.stride;
                    value_text(Place { word, width: value.width() }, &packet.state)
                } else {
                    "nothing (out of range)".to_owned()
                };
                EventKind::Assign { name, value }
            }
            Op::SetValid(header) => validity_event(program, *header, true),
            Op::SetInvalid(header) => validity_event(program, *header, false),
            Op::SetValidElement { stack, valid, .. } => {
                let stack = &program.stacks[*stack as usize];
                if self.index >= u64::from(stack.size) {
                    return;
                }
                validity_event(program, stack.first + self.index as u32, *valid)
            }
            Op::Extract(header) | Op::ExtractVarbit { header, .. } => {
                extract_event(program, *header, &packet.state)
            }
            Op::ExtractNext(stack) => {
                let first = program.stacks[*stack as usize].first;
                extract_event(program, first + self.index as u32, &packet.state)
            }
            Op::Emit(header) => {
                if !prepared.headers[*header as usize].is_valid(&packet.state.words) {
                    return;
                }
                EventKind::Emit { header: program.headers[*header as usize].name.clone() }
            }
            Op::EmitStack(stack) => {
                EventKind::Emit { header: program.stacks[*stack as usize].name.clone() }
            }
            Op::RegisterRead { register, .. } => {
                let (register, index, value) = self.register_access(program, objects, *register);
                EventKind::RegisterRead { register, index, value }
            }
            Op::RegisterWrite { register, .. } => {
                let (register, index, value) = self.register_access(program, objects, *register);
                EventKind::RegisterWrite { register, index, value }
            }
            Op::Count { counter, .. } => EventKind::Count {
                counter: program.counters[*counter as usize].identity.name.clone(),
                index: self.index,
            },
            Op::ExecuteMeter { meter, to, .. } | Op::ReadDirectMeter { meter, to } => {
                EventKind::Meter {
                    meter: program.meters[*meter as usize].identity.name.clone(),
                    colour: packet.get(*to),
                }
            }
            Op::Hash { to, .. } => self.computed_event("hash", *to, packet),
            Op::Random { to, .. } => self.computed_event("random", *to, packet),
            Op::UpdateChecksum { to, .. } if self.flag => {
                self.computed_event("checksum", *to, packet)
            }
            Op::UpdateChecksum { .. } => return,
            Op::VerifyChecksum { .. } if self.flag => {
                let error = packet.get(prepared.standard.checksum_error);
                EventKind::ChecksumVerified { ok: error == self.index }
            }
            Op::VerifyChecksum { .. } => return,
            Op::MarkToDrop => EventKind::Request { text: "mark to drop".to_owned() },
            Op::Clone { .. } => {
                let session = packet.requests.clone_session;
                EventKind::Request { text: format!("asks for a clone to session {session}") }
            }
            Op::Resubmit { .. } => EventKind::Request { text: "asks for a resubmit".to_owned() },
            Op::Recirculate { .. } => {
                EventKind::Request { text: "asks for a recirculation".to_owned() }
            }
            Op::Digest { digest, .. } => {
                let name = &program.digests[*digest as usize].identity.name;
                EventKind::Request { text: format!("asks for a digest {name}") }
            }
            Op::Truncate(_) => {
                let bytes = packet.requests.truncate;
                EventKind::Request { text: format!("truncate to {bytes} bytes") }
            }
            Op::Log { format, args } => EventKind::Log {
                message: format_log_message(prepared, format, args, &mut packet.state),
            },
            Op::Assert { .. } if self.flag => return,
            Op::Assert { .. } => EventKind::AssertionFailed,
            Op::CopyHeader { to, from } => EventKind::Operation {
                text: format!(
                    "{} = {}",
                    program.headers[*to as usize].name, program.headers[*from as usize].name
                ),
            },
            Op::PushFront { stack, count } => EventKind::Operation {
                text: format!("{}.push_front({count})", program.stacks[*stack as usize].name),
            },
            Op::PopFront { stack, count } => EventKind::Operation {
                text: format!("{}.pop_front({count})", program.stacks[*stack as usize].name),
            },
            Op::Advance(_) => {
                EventKind::Operation { text: format!("advance to bit {}", packet.cursor) }
            }
            Op::Reject => EventKind::Operation { text: "reject".to_owned() },
            // Copies that the compiler added, and successful checks, are not recorded.
            Op::CopyWords { .. }
            | Op::ZeroWords { .. }
            | Op::Verify { .. }
            | Op::CheckStackLast(_) => return,
        };
        self.push(position.graph, span, kind);
    }

    fn register_access(
        &self,
        program: &Program,
        objects: &Objects,
        register: u32,
    ) -> (String, u64, Option<String>) {
        let value = u32::try_from(self.index)
            .ok()
            .and_then(|index| objects.registers.value(register as usize, index));
        let name = program.registers[register as usize].identity.name.clone();
        (name, self.index, value.map(|value| value.to_string()))
    }

    fn computed_event(&self, what: &'static str, to: Place, packet: &Packet) -> EventKind {
        EventKind::Computed {
            what,
            name: self.variable_name(to),
            value: value_text(to, &packet.state),
        }
    }

    /// Stores the keys of an apply, which the action data may overwrite.
    pub(crate) fn store_keys(
        &mut self,
        prepared: &PreparedProgram,
        position: OpPosition,
        packet: &mut Packet,
    ) {
        let block = &position.graph.of(&prepared.program).blocks[position.block as usize];
        self.graph = position.graph;
        self.span = block.terminator_span;
        if let Terminator::Apply(apply) = &block.terminator {
            let keys = &prepared.program.tables[apply.table as usize].keys;
            self.keys = keys
                .iter()
                .zip(&apply.keys)
                .map(|(key, expr)| Named {
                    name: key.name.clone(),
                    value: evaluate(prepared, expr, &mut packet.state).to_string(),
                })
                .collect();
        }
    }

    /// Records the result of applying a table.
    pub(crate) fn record_apply(
        &mut self,
        prepared: &PreparedProgram,
        table: u32,
        hit: bool,
        chosen: &BoundAction,
        entry: Option<u32>,
        objects: &Objects,
    ) {
        let action = &prepared.program.actions[chosen.action as usize];
        let params = action
            .params
            .iter()
            .zip(chosen.params(&prepared.program))
            .map(|(param, value)| Named { name: param.name.clone(), value: value.to_string() })
            .collect();
        let entry = entry.map(|id| {
            let entry = objects.tables()[table as usize].entry(id);
            let matches: Vec<String> = entry.matches.iter().map(match_text).collect();
            matches.join(", ")
        });
        let kind = EventKind::Table {
            table: prepared.program.tables[table as usize].identity.name.clone(),
            keys: std::mem::take(&mut self.keys),
            hit,
            entry,
            action: action.identity.name.clone(),
            params,
        };
        self.push(self.graph, self.span, kind);
    }

    /// Records the end of a block, which continues at the block `next`.
    pub(crate) fn record_block_end(
        &mut self,
        prepared: &PreparedProgram,
        position: OpPosition,
        next: u32,
    ) {
        let block = &position.graph.of(&prepared.program).blocks[position.block as usize];
        if let Terminator::Branch { then, .. } = &block.terminator {
            self.push(position.graph, self.span, EventKind::Branch { taken: *then == next });
        }
        self.record_block_start(prepared, OpPosition { block: next, ..position });
    }
}

fn operation(prepared: &PreparedProgram, position: OpPosition) -> &Op {
    &position.graph.of(&prepared.program).blocks[position.block as usize].ops[position.op as usize]
}

fn validity_event(program: &Program, header: u32, valid: bool) -> EventKind {
    EventKind::Validity { header: program.headers[header as usize].name.clone(), valid }
}

fn extract_event(program: &Program, header: u32, state: &State) -> EventKind {
    let header = &program.headers[header as usize];
    let fields = header
        .fields
        .iter()
        .map(|field| {
            let mut value = value_at(field.place, state);
            if let Some(length) = field.varbit_length {
                value.width = (state.words[length as usize] as u32).min(field.place.width);
            }
            Named { name: field.name.clone(), value: value.to_string() }
        })
        .collect();
    EventKind::Extract { header: header.name.clone(), fields }
}

fn value_at(place: Place, state: &State) -> Value {
    let words = place.word as usize..(place.word + place.words()) as usize;
    Value { width: place.width, words: state.words[words].to_vec() }
}

fn value_text(place: Place, state: &State) -> String {
    value_at(place, state).to_string()
}

fn evaluate(prepared: &PreparedProgram, expr: &Expr, state: &mut State) -> Value {
    let start = ExprPreparer { stacks: &prepared.program.stacks }.prepare_wide(expr).push(state);
    let words = state.scratch.split_off(start);
    Value { width: expr.width(), words }
}

fn evaluate_u64(prepared: &PreparedProgram, expr: &Expr, state: &mut State) -> u64 {
    ExprPreparer { stacks: &prepared.program.stacks }.prepare_saturated(expr).eval(state)
}

fn format_log_message(
    prepared: &PreparedProgram,
    format: &str,
    args: &[Expr],
    state: &mut State,
) -> String {
    let mut message = String::new();
    let mut pieces = format.split("{}");
    message.push_str(pieces.next().unwrap_or(""));
    let mut args = args.iter();
    for piece in pieces {
        match args.next() {
            Some(arg) if arg.width() <= 64 => {
                message.push_str(&evaluate_u64(prepared, arg, state).to_string());
            }
            Some(arg) => message.push_str(&evaluate(prepared, arg, state).to_string()),
            None => message.push_str("{}"),
        }
        message.push_str(piece);
    }
    message
}

/// A match in the notation of P4.
fn match_text(one: &Match) -> String {
    match one {
        Match::Exact(value) | Match::Optional(Some(value)) => value.to_string(),
        Match::Lpm(value, length) => format!("{value}/{length}"),
        Match::Ternary(value, mask) => format!("{value} &&& {mask}"),
        Match::Range(low, high) => format!("{low} .. {high}"),
        Match::Optional(None) => "_".to_owned(),
    }
}
