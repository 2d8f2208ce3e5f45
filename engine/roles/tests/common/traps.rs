//! The harness of traps.
//!
//! A *trap* is a script of events that harms users if a protection is missing. It is played with
//! all protections, where no harm may occur, and once without each of its protections, where the
//! harm in the table must occur. A cross test plays every script without every protection: exactly
//! the traps that the table names may fail.
//!
//! A protocol has a [`Rack`], which plays scripts, and a table of its traps (`traps!`).

use std::fmt::Debug;

use netkv_roles::Mutation;

use super::program::Edit;

/// A protection that can be disabled.
pub trait Protection: Copy + PartialEq + 'static {
    /// The difference without it, in the words of `docs/internals/traps.md`.
    fn text(&self) -> String;

    /// The protection of a role, if it is one.
    fn of_role(&self) -> Option<Mutation>;
}

impl Protection for Mutation {
    fn text(&self) -> String {
        format!("`{self:?}`")
    }

    fn of_role(&self) -> Option<Mutation> {
        Some(*self)
    }
}

/// How a protection of a rack is disabled. `S` has the errors of its controller or driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault<S> {
    /// The text of the switch program is changed.
    Program(Edit),
    /// A role runs without it.
    Role(Mutation),
    /// The controller or the driver makes this error.
    Script(S),
}

/// A rack without one protection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mutant<S> {
    /// The difference, in the words of `docs/internals/traps.md`.
    pub name: &'static str,
    pub fault: Fault<S>,
}

impl<S: Copy> Mutant<S> {
    pub const fn program(name: &'static str, find: &'static str, replace: &'static str) -> Self {
        Self { name, fault: Fault::Program(Edit { find, replace }) }
    }

    pub const fn role(name: &'static str, mutation: Mutation) -> Self {
        Self { name, fault: Fault::Role(mutation) }
    }

    pub const fn script(name: &'static str, script_fault: S) -> Self {
        Self { name, fault: Fault::Script(script_fault) }
    }
}

impl<S: Copy + PartialEq + 'static> Protection for Mutant<S> {
    fn text(&self) -> String {
        self.name.to_owned()
    }

    fn of_role(&self) -> Option<Mutation> {
        match self.fault {
            Fault::Role(mutation) => Some(mutation),
            Fault::Program(_) | Fault::Script(_) => None,
        }
    }
}

/// Plays the scripts of a protocol.
pub trait Rack: Sized + 'static {
    type Mutant: Protection;
    /// The harm that a script may do to users.
    type Harm: PartialEq + Debug + 'static;
    /// The setup of a trap's racks.
    type Setup: Copy + 'static;
    /// One of the racks of a setup: the executor of its switch, for example.
    type Kind: Copy + Debug + 'static;

    /// The setup of traps that name none.
    const USUAL: Self::Setup;

    /// The racks that a script is played on with all protections.
    fn kinds(setup: Self::Setup) -> Vec<Self::Kind>;

    /// The racks that it is played on without a protection.
    fn kinds_of_mutants(setup: Self::Setup) -> Vec<Self::Kind> {
        Self::kinds(setup)
    }

    /// Plays a script to its end. Returns the harm that occurred.
    fn play(trap: &Trap<Self>, kind: Self::Kind, mutant: Option<Self::Mutant>) -> Vec<Self::Harm>;
}

/// A row of a table of traps.
pub struct Trap<R: Rack> {
    pub name: &'static str,
    pub script: fn(&mut R),
    pub setup: R::Setup,
    pub own: &'static [Own<R>],
    /// Without these it fails, too: they protect assumptions of its script.
    pub also: &'static [R::Mutant],
}

/// A mutant that a trap is for.
pub struct Own<R: Rack> {
    pub mutant: R::Mutant,
    /// The harm that must occur; any harm if none is named.
    pub harm: Option<R::Harm>,
    /// The racks where it must occur; all of the setup if none are named.
    pub kinds: Option<&'static [R::Kind]>,
}

impl<R: Rack> Trap<R> {
    fn is_for(&self, mutant: R::Mutant) -> bool {
        self.own.iter().any(|own| own.mutant == mutant)
    }

    pub fn check(&self) {
        for kind in R::kinds(self.setup) {
            let harm = R::play(self, kind, None);
            assert!(harm.is_empty(), "with all protections, {kind:?}: {harm:?}");
        }
        for Own { mutant, harm, kinds } in self.own {
            let kinds = kinds.map_or_else(|| R::kinds_of_mutants(self.setup), <[_]>::to_vec);
            for kind in kinds {
                let found = R::play(self, kind, Some(*mutant));
                let shows = harm.as_ref().map_or(!found.is_empty(), |harm| found.contains(harm));
                let what = mutant.text();
                assert!(shows, "{what}, {kind:?}: expected {harm:?}, found {found:?}");
            }
        }
    }
}

/// Plays every trap without every protection of the table. Without those in `fundamental` almost
/// nothing works: they are only judged by their own traps.
pub fn only_the_table_fails<R: Rack>(traps: &[Trap<R>], fundamental: &[R::Mutant]) {
    let mut mutants: Vec<R::Mutant> = Vec::new();
    for own in traps.iter().flat_map(|trap| trap.own) {
        if !mutants.contains(&own.mutant) {
            mutants.push(own.mutant);
        }
    }
    let mut wrong = String::new();
    for mutant in mutants {
        for trap in traps {
            let own = trap.is_for(mutant);
            if fundamental.contains(&mutant) && !own {
                continue;
            }
            let kinds = R::kinds_of_mutants(trap.setup);
            let mut found = kinds.iter().map(|kind| R::play(trap, *kind, Some(mutant)));
            let harm = found.find(|harm| !harm.is_empty());
            if (own || trap.also.contains(&mutant)) != harm.is_some() {
                wrong += &format!("{}: {}: {harm:?}\n", mutant.text(), trap.name);
            }
        }
    }
    assert!(wrong.is_empty(), "different from the table:\n{wrong}");
}

/// Every one of these protections of roles has a trap.
pub fn every_one_has_a_trap<R: Rack>(traps: &[Trap<R>], mutations: &[&[Mutation]]) {
    for mutation in mutations.iter().copied().flatten() {
        let mut own = traps.iter().flat_map(|trap| trap.own);
        let has_one = own.any(|own| own.mutant.of_role() == Some(*mutation));
        assert!(has_one, "{mutation:?} has no trap");
    }
}

/// `docs/internals/traps.md` has a row for every trap, with its mutants.
pub fn every_one_is_documented<R: Rack>(traps: &[Trap<R>]) {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/internals/traps.md");
    let text = std::fs::read_to_string(file).unwrap();
    for Trap { name, own, .. } in traps {
        let start = format!("| `{name}` |");
        let mut rows = text.lines().filter(|line| line.starts_with(&start));
        let has_all = |row: &str| own.iter().all(|own| row.contains(&own.mutant.text()));
        assert!(rows.any(has_all), "docs/internals/traps.md: no row for {name} with its mutants");
    }
}

/// A table of traps, and a test for each. A row is the name of a trap, its script, the setup of its
/// racks if it is not the usual one, its mutants with the harm and the racks where it occurs, and
/// the mutants that break assumptions of the script.
macro_rules! traps {
    (of $rack:ty; $($name:ident: $script:path $(, on $setup:expr)?,
        [$($mutant:ident $(=> $harm:ident $(in $kinds:expr)?)?),+ $(,)?]
        $(, also [$($also:ident),+ $(,)?])?;)+) => {
        const TRAPS: &[$crate::common::traps::Trap<$rack>] = &[$($crate::common::traps::Trap {
            name: stringify!($name),
            script: $script,
            setup: $crate::common::traps::first!(
                $($setup,)? <$rack as $crate::common::traps::Rack>::USUAL
            ),
            own: &[$($crate::common::traps::Own {
                mutant: $mutant,
                harm: $crate::common::traps::first!($(Some(Harm::$harm),)? None),
                kinds: $crate::common::traps::first!($($(Some($kinds),)?)? None),
            }),+],
            also: &[$($($also),+)?],
        }),+];
        $(
            #[test]
            fn $name() {
                let trap = TRAPS.iter().find(|trap| trap.name == stringify!($name));
                trap.expect("every trap is in the table").check();
            }
        )+
    };
}

/// The first of one or two expressions.
macro_rules! first {
    ($it:expr $(, $other:expr)?) => {
        $it
    };
}

pub(crate) use {first, traps};
