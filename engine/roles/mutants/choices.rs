//! Edits of source text, applied all at once: each is a choice at run time.

use std::collections::BTreeMap;
use std::ops::Range;

/// Protections that belong together.
#[derive(Debug, Clone, Copy)]
pub struct List {
    /// The name of its constant.
    pub name: &'static str,
    /// What it has.
    pub about: &'static str,
    /// Its mutants.
    pub mutants: &'static [Mutant],
}

/// A role without one protection.
#[derive(Debug, Clone, Copy)]
pub struct Mutant {
    /// The name of its constant.
    pub name: &'static str,
    /// What the role does without the protection.
    pub about: &'static str,
    /// How its source differs.
    pub edits: &'static [Edit],
}

/// A difference in a file of `engine/roles/src`.
#[derive(Debug, Clone, Copy)]
pub struct Edit {
    /// The path of the file below that folder.
    pub file: &'static str,
    /// The text that ships, between `«` and `»`. What is around them only makes the place unique;
    /// without them all of it is replaced. It is an expression, or whole statements.
    pub right: &'static str,
    /// What is there instead. `@` is the text that ships.
    pub wrong: &'static str,
    /// How it gets into the text.
    pub kind: Kind,
}

/// How an edit gets into the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// As a choice: the wrong text only runs if its mutant is chosen.
    Choice,
    /// In any case. It prepares a choice and changes nothing alone: a counter that it reads, a
    /// function that it calls.
    Always,
}

/// Declares lists of mutants.
macro_rules! mutants {
    ($($(#[doc = $about:literal])* $list:ident: [
        $($(#[doc = $doc:literal])* $name:ident {
            $($kind:ident $file:literal: $right:literal => $wrong:literal;)*
        })*
    ])*) => {
        pub const LISTS: &[$crate::choices::List] = &[$($crate::choices::List {
            name: stringify!($list),
            about: concat!($($about),*),
            mutants: &[$($crate::choices::Mutant {
                name: stringify!($name),
                about: concat!($($doc),*),
                edits: &[$($crate::choices::Edit {
                    file: $file,
                    right: $right,
                    wrong: $wrong,
                    kind: mutants!(@ $kind),
                }),*],
            }),*],
        }),*];
    };
    (@ choice) => { $crate::choices::Kind::Choice };
    (@ always) => { $crate::choices::Kind::Always };
}
pub(crate) use mutants;

/// The text with these edits, each with the name of its mutant.
///
/// # Errors
///
/// A sentence, if the place of an edit does not occur exactly once, or two of them overlap.
pub fn with_choices(text: &str, edits: &[(&str, &Edit)]) -> Result<String, String> {
    let mut places: BTreeMap<(usize, usize), Vec<(&str, &Edit)>> = BTreeMap::new();
    for (name, edit) in edits {
        let place = place_of(text, edit)?;
        places.entry((place.start, place.end)).or_default().push((name, edit));
    }
    let mut copy = String::with_capacity(2 * text.len());
    let mut end = 0;
    for ((from, to), mutants) in places {
        if from < end {
            let (name, Edit { file, right, .. }) = mutants[0];
            return Err(format!("{file}: the edit of {name} overlaps another: {right}"));
        }
        copy += &text[end..from];
        copy += &choice(&text[from..to], &mutants);
        end = to;
    }
    Ok(copy + &text[end..])
}

/// The place of the text that an edit replaces.
fn place_of(text: &str, edit: &Edit) -> Result<Range<usize>, String> {
    let Edit { file, right, .. } = edit;
    let whole = right.replace(['«', '»'], "");
    let found = text.matches(&whole).count();
    if found != 1 || whole.is_empty() {
        return Err(format!("src/{file} has {found} times, and not once: {whole}"));
    }
    let start = text.find(&whole).unwrap_or_default();
    let before = right.find('«').unwrap_or(0);
    let behind = right.find('»').map_or(0, |at| right.len() - at - '»'.len_utf8());
    Ok(start + before..start + whole.len() - behind)
}

/// The text that ships, and in its place what these mutants have.
fn choice(right: &str, mutants: &[(&str, &Edit)]) -> String {
    let mut text = right.to_owned();
    for (_, edit) in mutants.iter().filter(|(_, edit)| edit.kind == Kind::Always) {
        text = edit.wrong.replace('@', &text);
    }
    let mut chosen = String::new();
    for (name, edit) in mutants.iter().filter(|(_, edit)| edit.kind == Kind::Choice) {
        let wrong = edit.wrong.replace('@', right);
        chosen += &format!("if crate::mutation::is({name:?}) {{ {wrong} }} else ");
    }
    match right.ends_with([';', '}']) {
        _ if chosen.is_empty() => text,
        true => format!("{chosen}{{ {text} }}"),
        false => format!("({chosen}{{ {text} }})"),
    }
}
