//! Layout of the state area: places of variables, headers, stacks and intrinsic metadata.

use serde::{Deserialize, Serialize};

use crate::{HeaderId, Word};

/// A named place in the state area.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Var {
    /// Dotted source name, e.g. `hdr.ipv4.ttl`, `meta.cached`, `Ingress.lookup.tmp`.
    pub name: String,
    /// Its place.
    pub place: Place,
}

/// Position and width of a scalar in the state area.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// First word.
    pub word: Word,
    /// Width in bits, at least 1.
    pub width: u32,
}

/// A header instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Dotted source name, e.g. `hdr.ipv4` or `hdr.v[3]`.
    pub name: String,
    /// Name of the header type.
    pub type_name: String,
    /// Word that holds the validity (0 or 1).
    pub valid: Word,
    /// Fields in the order of the packet.
    pub fields: Vec<HeaderField>,
    /// First word of the fields, which are contiguous.
    pub base: Word,
    /// Number of words of the fields, including the length word of a varbit.
    pub words: u32,
}

/// A field of a header instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeaderField {
    /// Field name without the header.
    pub name: String,
    /// Its place. A varbit has space for its maximum width, and the current bits are the lowest.
    pub place: Place,
    /// For `varbit<N>`: the word that holds the current width in bits.
    pub varbit_length: Option<Word>,
    /// Two's complement (`int<W>`). Only traces use it.
    pub signed: bool,
}

/// A header stack. Its elements are the headers `first .. first + size`, all with the same layout.
/// A field (or the validity) of element `i` is at its word in element 0 plus `i * stride`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stack {
    /// Dotted source name.
    pub name: String,
    /// First element.
    pub first: HeaderId,
    /// Number of elements.
    pub size: u32,
    /// Distance between two consecutive elements, in words.
    pub stride: u32,
    /// Word that holds `nextIndex`.
    pub next_index: Word,
}

macro_rules! standard_metadata {
    ($($field:ident: $width:literal,)*) => {
        /// Places of v1model's `standard_metadata_t` fields, in the order of `v1model.p4`.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[allow(missing_docs)]
        pub struct StandardMetadata { $(pub $field: Place,)* }

        impl StandardMetadata {
            /// Asks for the place of each field, by its name and width in bits, in order.
            pub fn new(mut place: impl FnMut(&'static str, u32) -> Place) -> Self {
                Self { $($field: place(stringify!($field), $width),)* }
            }

            /// The places of all fields, in order.
            pub fn places(&self) -> impl Iterator<Item = Place> + use<> {
                [$(self.$field,)*].into_iter()
            }
        }
    };
}

standard_metadata! {
    ingress_port: 9,
    egress_spec: 9,
    egress_port: 9,
    instance_type: 32,
    packet_length: 32,
    enq_timestamp: 32,
    enq_qdepth: 19,
    deq_timedelta: 32,
    deq_qdepth: 19,
    ingress_global_timestamp: 48,
    egress_global_timestamp: 48,
    mcast_grp: 16,
    egress_rid: 16,
    checksum_error: 1,
    parser_error: 16,
    priority: 3,
}

/// The metadata that one `@field_list` index preserves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FieldList {
    /// Index in the annotation.
    pub id: u32,
    /// Preserved fields of user and standard metadata.
    pub places: Vec<Place>,
    /// Preserved headers and stacks inside metadata, with validity: first word, number of words.
    pub regions: Vec<(Word, u32)>,
}

impl Place {
    /// Number of words that the scalar occupies.
    pub const fn words(self) -> u32 {
        self.width.div_ceil(64)
    }
}
