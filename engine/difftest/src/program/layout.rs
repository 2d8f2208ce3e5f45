//! Chooses the headers, metadata and digests of a program.

use super::scope::Ty;
use crate::rng::Rng;

/// A header type.
#[derive(Debug, Clone)]
pub(super) struct HeaderType {
    pub(super) name: String,
    pub(super) fields: Vec<(String, Ty)>,
    /// Maximum width of its varbit field, if it has one.
    pub(super) varbit: Option<usize>,
}

/// A stack.
#[derive(Debug, Clone)]
pub(super) struct Stack {
    pub(super) name: String,
    pub(super) of: usize,
    pub(super) size: usize,
}

/// The state of a program: headers, stacks and metadata.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) types: Vec<HeaderType>,
    /// Name and type; without the varbit header.
    pub(super) headers: Vec<(String, usize)>,
    pub(super) stacks: Vec<Stack>,
    /// Types of the two headers of the union, if there is one.
    pub(super) union: Option<[usize; 2]>,
    /// The header with a varbit, if there is one.
    pub(super) varbit: Option<(String, usize)>,
    pub(super) meta: Vec<(String, Ty)>,
    pub(super) inner: Vec<(String, Ty)>,
    pub(super) digests: Vec<Vec<Ty>>,
    /// Whether the first header has a field `sum`, which only checksums access.
    pub(super) has_sum: bool,
    /// Type of a header within the metadata.
    pub(super) meta_header: Option<usize>,
}

const WIDTHS: &[u32] = &[
    1, 2, 3, 4, 5, 7, 8, 8, 8, 8, 9, 12, 13, 16, 16, 16, 20, 24, 31, 32, 32, 32, 33, 40, 48, 63,
    64, 64, 65, 100, 127, 128, 128, 129, 200, 256,
];

fn field_ty(rng: &mut Rng, widths: &[u32]) -> Ty {
    let width = *rng.pick(widths);
    if rng.chance(15) { Ty::Int(width) } else { Ty::Bit(width) }
}

pub(super) fn bits(fields: &[(String, Ty)]) -> u32 {
    let of = |ty: &Ty| match ty {
        Ty::Bool => 1,
        Ty::Bit(width) | Ty::Int(width) => *width,
    };
    fields.iter().map(|(_, ty)| of(ty)).sum()
}

fn header_type(rng: &mut Rng, number: usize) -> HeaderType {
    let mut fields = Vec::new();
    for field in 0..1 + rng.below(5) {
        let ty = if rng.chance(4) {
            Ty::Bit(*rng.pick(&[512, 1000, 1024]))
        } else if rng.chance(4) {
            Ty::Bool
        } else {
            field_ty(rng, WIDTHS)
        };
        fields.push((format!("f{field}"), ty));
    }
    let odd = bits(&fields) % 8;
    if odd > 0 {
        fields.push(("pad".to_owned(), Ty::Bit(8 - odd)));
    }
    let at = rng.below(fields.len());
    fields.rotate_left(at);
    HeaderType { name: format!("t{number}_t"), fields, varbit: None }
}

impl Layout {
    /// `keeps_fields`: as that of [`super::writer::Writer`].
    pub(super) fn new(rng: &mut Rng, keeps_fields: bool, unions: bool) -> Self {
        let mut types: Vec<HeaderType> =
            (0..1 + rng.below(3)).map(|number| header_type(rng, number)).collect();
        let count = types.len() + rng.below(3);
        let headers = (0..count)
            .map(|number| {
                let of = if number < types.len() { number } else { rng.below(types.len()) };
                (format!("h{number}"), of)
            })
            .collect();
        // Compiled code has common paths only for programs whose state is in no memory.
        let fixed = keeps_fields || rng.chance(35);
        let stacks = (0..if fixed { 0 } else { rng.below(3) })
            .map(|number| Stack {
                name: format!("st{number}"),
                of: rng.below(types.len()),
                size: 1 + rng.below(4),
            })
            .collect();
        let union = (unions && !fixed && rng.chance(25))
            .then(|| [rng.below(types.len()), rng.below(types.len())]);
        let varbit = (!fixed && rng.chance(35)).then(|| {
            let mut of = header_type(rng, types.len());
            of.varbit = Some(8 * (1 + rng.below(40)));
            types.push(of);
            ("v".to_owned(), types.len() - 1)
        });
        let named = |rng: &mut Rng, prefix: &str, count: usize| -> Vec<(String, Ty)> {
            (0..count)
                .map(|number| {
                    let ty = if rng.chance(10) { Ty::Bool } else { field_ty(rng, WIDTHS) };
                    (format!("{prefix}{number}"), ty)
                })
                .collect()
        };
        let count = 2 + rng.below(6);
        let meta = named(rng, "m", count);
        let count = 1 + rng.below(3);
        let inner = named(rng, "x", count);
        let digests = (0..rng.below(3))
            .map(|_| (0..1 + rng.below(4)).map(|_| field_ty(rng, WIDTHS)).collect())
            .collect();
        let meta_header = rng.chance(20).then_some(0);
        let has_sum = keeps_fields && rng.chance(70);
        Self { types, headers, stacks, union, varbit, meta, inner, digests, has_sum, meta_header }
    }

    /// The metadata that is written to the sent packet, so that every difference is observable.
    pub(super) fn metadata_in_packet(&self) -> Vec<(String, Ty)> {
        let hashes = ["m.di", "m.de"].map(|path| (path.to_owned(), Ty::Bit(32)));
        let mut all = vec![("m.rounds".to_owned(), Ty::Bit(8))];
        all.extend(hashes);
        all.extend(self.meta.iter().map(|(name, ty)| (format!("m.{name}"), *ty)));
        for inner in ["in1", "in2"] {
            all.extend(self.inner.iter().map(|(name, ty)| (format!("m.{inner}.{name}"), *ty)));
        }
        all
    }

    /// All header instances that an expression may use, including elements of stacks.
    pub(super) fn header_paths(&self) -> Vec<(String, usize)> {
        let mut paths: Vec<(String, usize)> =
            self.headers.iter().map(|(name, of)| (format!("h.{name}"), *of)).collect();
        for stack in &self.stacks {
            paths.extend((0..stack.size).map(|i| (format!("h.{}[{i}]", stack.name), stack.of)));
        }
        if let Some([a, b]) = self.union {
            paths.extend([("h.u.a".to_owned(), a), ("h.u.b".to_owned(), b)]);
        }
        paths.extend(self.meta_header.map(|of| ("m.hd".to_owned(), of)));
        paths
    }
}
