//! Control-plane requests for parser value sets.

use netkv_ir::{Match, Value};

use super::matches;
use super::pipeline_view::PipelineView;
use crate::error::{ControlCode, ControlError};
use crate::switch::Switch;

impl PipelineView<'_> {
    fn value_set_index(&self, id: u32) -> Result<usize, ControlError> {
        let sets = &self.program.value_sets;
        sets.iter().position(|set| set.identity.id == id).ok_or_else(|| {
            ControlError::not_found(format!("The program has no value set with id {id:#010x}."))
        })
    }

    /// Checks the members of a value set. Returns one match per key for each member.
    fn value_set_members(
        &self,
        at: usize,
        members: &[Vec<(u32, Match)>],
    ) -> Result<Vec<Vec<Match>>, ControlError> {
        let set = &self.program.value_sets[at];
        let label = format!("Value set '{}'", set.identity.name);
        if members.len() as u64 > set.size {
            return Err(ControlError::new(
                ControlCode::ResourceExhausted,
                format!("{label} has room for {} members, not {}.", set.size, members.len()),
            ));
        }
        members
            .iter()
            .map(|member| {
                let all = matches::complete_matches(&label, &set.keys, member)?;
                // The parser compares words, so each match must have the words of its key.
                let complete = all.into_iter().zip(&set.keys).map(|(one, key)| match one {
                    Match::Optional(None) => {
                        let zero = Value::new(key.width, 0);
                        Match::Ternary(zero.clone(), zero)
                    }
                    other => other,
                });
                Ok(complete.collect())
            })
            .collect()
    }
}

impl Switch {
    /// Replaces the members of a value set. Each member is a list of match fields by id (from 1).
    ///
    /// # Errors
    ///
    /// `NotFound`, `ResourceExhausted`, `InvalidArgument`.
    pub fn set_value_set(
        &mut self,
        id: u32,
        members: &[Vec<(u32, Match)>],
    ) -> Result<(), ControlError> {
        self.write(
            |view| {
                let at = view.value_set_index(id)?;
                Ok((at, view.value_set_members(at, members)?))
            },
            |objects, (at, members)| objects.value_sets[at] = members,
        )
    }

    /// The members of a value set.
    ///
    /// # Errors
    ///
    /// `NotFound`.
    pub fn read_value_set(&self, id: u32) -> Result<Vec<Vec<(u32, Match)>>, ControlError> {
        let view = self.view();
        let at = view.value_set_index(id)?;
        let is_restrictive = |one: &Match| match one {
            Match::Ternary(_, mask) => mask.words.iter().any(|word| *word != 0),
            Match::Lpm(_, length) => *length > 0,
            Match::Range(low, high) => {
                low.words.iter().any(|word| *word != 0) || *high != matches::all_ones(high.width)
            }
            Match::Exact(_) | Match::Optional(_) => true,
        };
        let members = view.objects.value_sets[at].iter().map(|member| {
            let fields = (1..).zip(member).filter(|(_, one)| is_restrictive(one));
            fields.map(|(id, one)| (id, one.clone())).collect()
        });
        Ok(members.collect())
    }
}
