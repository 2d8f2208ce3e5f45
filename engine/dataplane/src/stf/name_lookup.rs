//! Finds objects of the program by full or abbreviated names.

use netkv_ir::Identity;

/// Index of the object whose control-plane name or alias is `wanted`, or the only one whose name
/// has `wanted` as a dotted suffix.
pub(super) fn find<'a>(
    what: &str,
    wanted: &str,
    identities: impl Iterator<Item = &'a Identity> + Clone,
) -> Result<usize, String> {
    let exact = |identity: &Identity| identity.name == wanted || identity.alias == wanted;
    if let Some(at) = identities.clone().position(exact) {
        return Ok(at);
    }
    let names: Vec<&str> = identities.map(|identity| identity.name.as_str()).collect();
    by_suffix(what, wanted, &names)
}

/// Index of the name `wanted`, or of the only name with `wanted` as a dotted suffix.
pub(super) fn by_suffix(what: &str, wanted: &str, names: &[&str]) -> Result<usize, String> {
    if let Some(at) = names.iter().position(|name| *name == wanted) {
        return Ok(at);
    }
    let is_suffix =
        |long: &str, short: &str| long.strip_suffix(short).is_some_and(|head| head.ends_with('.'));
    // The text may be longer than the name: `ingress.NoAction` for the global action.
    let fits = |name: &str| is_suffix(name, wanted) || is_suffix(wanted, name);
    let found: Vec<usize> =
        names.iter().enumerate().filter(|(_, name)| fits(name)).map(|(at, _)| at).collect();
    match found.as_slice() {
        [at] => Ok(*at),
        [] if names.is_empty() => Err(format!("There is no {what} '{wanted}'; there is none.")),
        [] => Err(format!("There is no {what} '{wanted}'; there are {}.", names.join(", "))),
        several => {
            let names: Vec<&str> = several.iter().map(|at| names[*at]).collect();
            Err(format!("'{wanted}' means more than one {what}: {}.", names.join(", ")))
        }
    }
}
