//! Functions that compiled code calls, for operations that are rare, or long compared to a call.
//!
//! A new extern that needs no inline code gets a function here and a call in `code/externs.rs`. The
//! first parameter of every function is the [`Context`] of the running call.
#![allow(unsafe_code)]
// SAFETY of all functions here: compiled code passes the context it was called with, whose pointers
// are valid and unaliased for the call (see `Context`). Lengths come from the plan that also sized
// the buffers, so every slice below lies within its buffer.

use std::slice;

use netkv_dataplane::{binary_wide, shift_wide};
use netkv_ir::{BinaryOp, HashAlgorithm};

use crate::context::Context;

/// Operators that helpers compute, by the number that code passes.
pub(crate) const WIDE_OPS: [BinaryOp; 8] = [
    BinaryOp::Mul,
    BinaryOp::SatAddUnsigned,
    BinaryOp::SatSubUnsigned,
    BinaryOp::SatAddSigned,
    BinaryOp::SatSubSigned,
    BinaryOp::Shl,
    BinaryOp::Shr,
    BinaryOp::SarSigned,
];

/// Hash algorithms by the number that code passes.
pub(crate) const ALGORITHMS: [HashAlgorithm; 8] = [
    HashAlgorithm::Crc32,
    HashAlgorithm::Crc32Custom,
    HashAlgorithm::Crc16,
    HashAlgorithm::Crc16Custom,
    HashAlgorithm::Random,
    HashAlgorithm::Identity,
    HashAlgorithm::Csum16,
    HashAlgorithm::Xor16,
];

/// Looks up a table with the keys in `keys`, and sets `action_data` to the action's parameters.
/// Returns the action's index, with bit 32 set for a hit.
pub(crate) unsafe extern "C" fn apply(
    context: *mut Context,
    table: u64,
    key_words: u64,
    selector_bytes: u64,
) -> u64 {
    unsafe {
        let keys = slice::from_raw_parts((*context).keys, key_words as usize);
        let selector = slice::from_raw_parts((*context).hash, selector_bytes as usize);
        let (bytes, now_ns) = ((*context).ingress_length as u32, (*context).now_ns);
        let applied = (*(*context).objects).apply(table as u32, keys, selector, bytes, now_ns);
        (*context).action_data = applied.data().as_ptr();
        u64::from(applied.index) | (u64::from(applied.hit) << 32)
    }
}

/// Whether the keys of a select are in a value set.
pub(crate) unsafe extern "C" fn value_set(context: *mut Context, set: u64, key_words: u64) -> u64 {
    unsafe {
        let keys = slice::from_raw_parts((*context).keys, key_words as usize);
        u64::from((*(*context).objects).value_set_holds(set as u32, keys))
    }
}

/// The hash of the first `length` bytes of `hash`.
pub(crate) unsafe extern "C" fn hash(context: *mut Context, algorithm: u64, length: u64) -> u64 {
    unsafe {
        let data = slice::from_raw_parts((*context).hash, length as usize);
        (*(*context).objects).hash(ALGORITHMS[algorithm as usize], data)
    }
}

/// Starts the input of a hash of variable length.
pub(crate) unsafe extern "C" fn bits_start(context: *mut Context) {
    unsafe { (*(*context).helpers).writer.clear() }
}

/// Appends the low `width` bits of the value at `words` to the input.
pub(crate) unsafe extern "C" fn bits_push(context: *mut Context, words: *const u64, width: u64) {
    unsafe {
        let words = slice::from_raw_parts(words, width.div_ceil(64) as usize);
        (*(*context).helpers).writer.push_words(words, width as u32);
    }
}

/// Appends the payload, which starts at byte `cursor` of the frame, to the input.
pub(crate) unsafe extern "C" fn bits_payload(context: *mut Context, cursor: u64, limit: u64) {
    unsafe {
        let end = (*context).frame_length.min(cursor.saturating_add(limit));
        let frame = slice::from_raw_parts((*context).frame, end as usize);
        (*(*context).helpers).writer.push_rest(frame, cursor as usize * 8);
    }
}

/// The hash of the input.
pub(crate) unsafe extern "C" fn bits_hash(context: *mut Context, algorithm: u64) -> u64 {
    unsafe {
        let writer = &(*(*context).helpers).writer;
        (*(*context).objects).hash(ALGORITHMS[algorithm as usize], writer.bytes())
    }
}

/// Executes a meter. Returns the colour, or all ones if the index is out of range.
pub(crate) unsafe extern "C" fn meter(context: *mut Context, meter: u64, index: u64) -> u64 {
    unsafe {
        let (bytes, now_ns) = ((*context).ingress_length as u32, (*context).now_ns);
        let objects = &mut *(*context).objects;
        objects.execute_meter(meter as usize, index, bytes, now_ns).unwrap_or(u64::MAX)
    }
}

/// The colour of a direct meter at the last hit.
pub(crate) unsafe extern "C" fn direct_meter(context: *mut Context, meter: u64) -> u64 {
    unsafe { (*(*context).objects).direct_colour(meter as usize) }
}

/// `random(low, high)`.
pub(crate) unsafe extern "C" fn random(context: *mut Context, low: u64, high: u64) -> u64 {
    unsafe { (*(*context).objects).random.between(low, high) }
}

/// Applies an operator to two values of `width` bits. The result replaces the left one.
pub(crate) unsafe extern "C" fn wide(
    context: *mut Context,
    operator: u64,
    left: *mut u64,
    right: *const u64,
    width: u64,
) {
    unsafe {
        let words = width.div_ceil(64) as usize;
        let left = slice::from_raw_parts_mut(left, words);
        let scratch = &mut (*(*context).helpers).wide;
        scratch.clear();
        scratch.extend_from_slice(left);
        scratch.extend_from_slice(slice::from_raw_parts(right, words));
        binary_wide(WIDE_OPS[operator as usize], scratch, 0, width as u32);
        left.copy_from_slice(&scratch[..words]);
    }
}

/// Shifts a value of `width` bits in place.
pub(crate) unsafe extern "C" fn shift(
    _context: *mut Context,
    operator: u64,
    value: *mut u64,
    amount: u64,
    width: u64,
) {
    unsafe {
        let value = slice::from_raw_parts_mut(value, width.div_ceil(64) as usize);
        shift_wide(WIDE_OPS[operator as usize], value, amount, width as u32);
    }
}

/// Reads a header with a varbit of `bits` bits, at byte `cursor` of a frame, into the state. The
/// code has checked the length of the frame, which is not that of the context if the code looks
/// ahead.
pub(crate) unsafe extern "C" fn extract(
    context: *mut Context,
    header: u64,
    cursor: u64,
    bits: u64,
    frame: *const u8,
    length: u64,
) {
    unsafe {
        let scratch = &*(*context).helpers;
        let frame = slice::from_raw_parts(frame, length as usize);
        let state = slice::from_raw_parts_mut((*context).state, scratch.state_words);
        let plan = &scratch.headers[header as usize];
        plan.read(frame, cursor as usize * 8, bits as u32, state);
    }
}

/// Writes a header with a varbit to `out`, if it is valid. Returns its number of bytes. Extraction
/// checks that a varbit has whole bytes, and the front end that the other fields have.
pub(crate) unsafe extern "C" fn emit(context: *mut Context, header: u64, out: *mut u8) -> u64 {
    unsafe {
        let scratch = &mut *(*context).helpers;
        let state = slice::from_raw_parts((*context).state, scratch.state_words);
        scratch.writer.clear();
        scratch.headers[header as usize].emit(state, &mut scratch.writer);
        let bytes = scratch.writer.bytes();
        slice::from_raw_parts_mut(out, bytes.len()).copy_from_slice(bytes);
        bytes.len() as u64
    }
}

/// Appends the frame in `out` to the output. The next one has new memory in `out`.
pub(crate) unsafe extern "C" fn commit(context: *mut Context) {
    unsafe {
        let context = &mut *context;
        let room = (context.frame_length + context.header_room) as usize;
        // No calls if there is room, so that nothing has to be saved for them.
        match (*context.output).has_room(context.out_length as usize, room) {
            true => commit_in_room(context, room),
            false => commit_and_grow(context, room),
        }
    }
}

#[inline(always)]
unsafe fn commit_in_room(context: &mut Context, room: usize) {
    unsafe {
        let output = &mut *context.output;
        output.commit(context.egress_port as u16, context.out_length as usize);
        output.note_passes(context.passes as u32);
        context.out = output.room(room).as_mut_ptr();
    }
}

#[cold]
#[inline(never)]
unsafe fn commit_and_grow(context: &mut Context, room: usize) {
    unsafe { commit_in_room(context, room) }
}

/// The sum of the 16-bit words of `length` bytes of a frame, as they are in memory. The result is a
/// sum of 32-bit words, which has the same remainder.
pub(crate) unsafe extern "C" fn sum_words(from: *const u8, length: u64) -> u64 {
    let bytes = unsafe { slice::from_raw_parts(from, length as usize) };
    let (words, rest) = bytes.as_chunks::<4>();
    let sum: u64 = words.iter().map(|word| u64::from(u32::from_le_bytes(*word))).sum();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    sum + u64::from(u32::from_le_bytes(last))
}

/// Copies `length` bytes of a frame to the memory of another one.
pub(crate) unsafe extern "C" fn copy(out: *mut u8, from: *const u8, length: u64) {
    unsafe { std::ptr::copy_nonoverlapping(from, out, length as usize) }
}
