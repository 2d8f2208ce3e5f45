//! Checks table entries in the source, and assigns their priorities.

use netkv_ir::{MatchKind, Span};

use super::state::Checker;
use crate::ast::Entry;
use crate::hir::{HEntry, HTable, KeySet};
use crate::types::Ty;

/// The priority that the source declares for an entry.
struct DeclaredPriority {
    /// `priority = N:` before the entry.
    priority: Option<u32>,
    /// `@priority(N)` after the entry.
    annotation: Option<u32>,
    span: Span,
}

impl Checker<'_> {
    pub(super) fn check_entries(&mut self, table: &mut HTable, entries: &[Entry]) {
        let types: Vec<Ty> = table.keys.iter().map(|k| k.expr.ty.clone()).collect();
        let before = self.reporter.errors();
        let mut declared = Vec::new();
        for entry in entries {
            if let Some(checked) = self.check_entry(table, entry, &types) {
                declared.push(DeclaredPriority {
                    priority: self.given_priority(entry),
                    annotation: self.annotated_priority(entry),
                    span: entry.keys.span,
                });
                table.entries.push(checked);
            }
        }
        if self.reporter.errors() > before || !self.needs_priorities(table, &declared) {
            return;
        }
        let given = match table.const_entries {
            true => None,
            false => self.explicit_priorities(table, &declared),
        };
        let annotated = declared.iter().any(|entry| entry.annotation.is_some());
        let priorities = match given {
            Some(priorities) if !annotated => priorities,
            given => rank_entries(&declared, given),
        };
        for (entry, priority) in table.entries.iter_mut().zip(priorities) {
            entry.priority = priority;
        }
    }

    fn check_entry(&mut self, table: &HTable, entry: &Entry, types: &[Ty]) -> Option<HEntry> {
        let keys = self.check_key_sets(&entry.keys, types)?;
        for (set, key) in keys.iter().zip(&table.keys) {
            if let (KeySet::Mask(value, _) | KeySet::Range(value, _), MatchKind::Exact) =
                (set, key.kind)
            {
                let message = format!("Key '{}' is exact, so an entry has one value.", key.name);
                self.error(value.span, message);
            }
            if let KeySet::Range(low, high) = set
                && low.as_const() > high.as_const()
            {
                self.error(low.span, "No value is in this range: its lower end is greater.");
            }
        }
        let (action, data) = self.check_action_call(table, &entry.action, false)?;
        Some(HEntry { priority: 0, keys, action, data, span: entry.keys.span })
    }

    fn given_priority(&mut self, entry: &Entry) -> Option<u32> {
        entry.priority.as_ref().and_then(|expr| self.const_u32(expr, "A priority"))
    }

    fn annotated_priority(&mut self, entry: &Entry) -> Option<u32> {
        let annotation = entry.annotations.iter().find(|a| &*a.name == "priority")?;
        match annotation.exprs.as_slice() {
            [expr] => self.const_u32(expr, "A priority"),
            _ => {
                self.error(annotation.span, "Expected one number: @priority(3).");
                None
            }
        }
    }

    /// True if several entries may match, so that they need priorities. Reports declared
    /// priorities that have no effect.
    fn needs_priorities(&mut self, table: &HTable, declared: &[DeclaredPriority]) -> bool {
        let given = declared.iter().find(|entry| entry.priority.is_some());
        if let (Some(entry), true) = (given, table.const_entries) {
            self.error(
                entry.span,
                "Entries of 'const entries' have no priority: the first that matches wins. \
                 With 'entries' they can have one.",
            );
        }
        let needs_priority =
            |kind| matches!(kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional);
        if table.keys.iter().any(|key| needs_priority(key.kind)) {
            if let Some(entry) = declared.iter().find(|entry| entry.annotation.is_some()) {
                self.reporter.warning(
                    entry.span,
                    "'@priority' is not part of P4. As on bmv2 the entry with the smallest number \
                     wins, and an entry without one has its place in the list as its number.",
                );
            }
            return true;
        }
        if let (Some(entry), false) = (given, table.const_entries) {
            let message = format!(
                "No key of table '{}' is ternary, range or optional: its entries take no priority.",
                table.name
            );
            self.error(entry.span, message);
        }
        false
    }

    /// Priorities of mutable entries: the declared one, or the one that follows the entry before.
    /// In the result, the largest priority wins, whatever `largest_priority_wins` is.
    fn explicit_priorities(
        &mut self,
        table: &HTable,
        declared: &[DeclaredPriority],
    ) -> Option<Vec<u32>> {
        let (count, delta) = (declared.len() as u64, u64::from(table.priority_delta));
        let largest_wins = table.largest_priority_wins;
        let given = declared.iter().any(|entry| entry.priority.is_some());
        let mut next = match (given, largest_wins) {
            (false, true) => Some(1 + count.saturating_sub(1) * delta),
            (false, false) => Some(1),
            (true, _) => None,
        };
        let mut checked: Vec<u32> = Vec::new();
        for entry in declared {
            let Some(priority) = entry.priority.map(u64::from).or(next) else {
                self.error(entry.span, "The first entry needs a priority when another has one.");
                return None;
            };
            match u32::try_from(priority) {
                Ok(priority) if priority > 0 || !largest_wins => checked.push(priority),
                _ => {
                    self.error(
                        entry.span,
                        "The priority of this entry is out of range: 1 to 4294967295 are possible.",
                    );
                    return None;
                }
            }
            next = Some(match largest_wins {
                true => priority.saturating_sub(delta),
                false => priority + delta,
            });
        }
        if !largest_wins {
            let top = checked.iter().max().copied().unwrap_or(0);
            checked.iter_mut().for_each(|priority| *priority = (top - *priority).saturating_add(1));
        }
        Some(checked)
    }
}

/// Priorities from the number of entries down to 1, in bmv2's order.
///
/// 1. If there are `given` priorities, the list is sorted by them, largest first.
/// 2. The list is then sorted by `@priority`, smallest first. The number of an entry without
///    `@priority` is its position in the list. Entries with equal numbers keep their order.
fn rank_entries(declared: &[DeclaredPriority], given: Option<Vec<u32>>) -> Vec<u32> {
    let mut order: Vec<usize> = (0..declared.len()).collect();
    if let Some(given) = given {
        order.sort_by_key(|at| std::cmp::Reverse(given[*at]));
    }
    let mut numbered: Vec<(u32, usize)> = (1..)
        .zip(order)
        .map(|(place, at)| (declared[at].annotation.unwrap_or(place), at))
        .collect();
    numbered.sort_by_key(|(number, _)| *number);
    let mut priorities = vec![0; declared.len()];
    for (rank, (_, at)) in numbered.iter().enumerate() {
        priorities[*at] = (declared.len() - rank) as u32;
    }
    priorities
}
