//! What P4Info says of a program beyond its objects: types, annotations, and the package.
//!
//! Types and structured annotations have the JSON form of P4Runtime's protobuf messages, except for
//! the values of enum members, which are decimal numbers.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use crate::annotations::Annotations;
use crate::ast::StructKind;
use crate::types::{Ty, Types};

/// See the module.
#[derive(Debug, Clone, Default, Serialize)]
pub struct P4InfoDetails {
    /// The `P4TypeInfo`; null if no object has a type.
    pub types: Json,
    /// Whether a control calls an extern function: p4c then has a `type_info` without types, too.
    pub calls_externs: bool,
    /// Keys of each table without those of match kind selector.
    pub tables: Vec<Vec<FieldDetails>>,
    /// Annotations of each action in the list of a table, plain and structured.
    pub action_refs: Vec<Vec<(Vec<String>, Vec<Json>)>>,
    /// Parameters of each action.
    pub actions: Vec<Vec<FieldDetails>>,
    /// Keys of each value set.
    pub value_sets: Vec<Vec<FieldDetails>>,
    /// Fields of each controller header.
    pub controller_headers: Vec<Vec<FieldDetails>>,
    /// Type of an element of each register.
    pub registers: Vec<Json>,
    /// Type of the data of each digest.
    pub digests: Vec<Json>,
    /// Structured annotations of objects, by control-plane name.
    pub structured: BTreeMap<String, Vec<Json>>,
    /// The pairs of `@pkginfo` and `@platform_property`, by annotation.
    pub package_info: BTreeMap<String, Map<String, Json>>,
    /// Other annotations of the package.
    pub package_annotations: Vec<String>,
    /// Structured annotations of the package.
    pub package_structured: Vec<Json>,
}

/// A match key, parameter or field in P4Info.
#[derive(Debug, Clone, Serialize)]
pub struct FieldDetails {
    /// Id within its object: `@id`, or its position from 1.
    pub id: u32,
    /// Width for the control plane; 0 for a string.
    pub width: u32,
    /// Name of a new type.
    pub type_name: Option<String>,
    /// Source text of its annotations.
    pub annotations: Vec<String>,
    /// Its structured annotations.
    pub structured: Vec<Json>,
    /// `@hidden`: P4Info does not have it.
    pub hidden: bool,
}

impl FieldDetails {
    pub(crate) fn new(types: &Types, ty: &Ty, annotations: &Annotations, place: u32) -> Self {
        let (width, type_name) = match ty {
            Ty::NewType(id) => {
                let translation = &types.new_type_annotations[*id].translation;
                let width = match translation {
                    Some((_, width)) => width.unwrap_or(0),
                    None => types.width(ty).unwrap_or(0),
                };
                (width, Some(types.new_types[*id].0.to_string()))
            }
            _ => (types.width(ty).unwrap_or(0), None),
        };
        FieldDetails {
            id: annotations.id.unwrap_or(place),
            width,
            type_name,
            annotations: annotations.others.clone(),
            structured: annotations.structured.clone(),
            hidden: annotations.hidden,
        }
    }
}

/// Collects the types that the objects of P4Info use.
pub(crate) struct TypeCollector<'a> {
    types: &'a Types,
    used: bool,
    has_errors: bool,
    kinds: BTreeMap<&'static str, Map<String, Json>>,
}

impl<'a> TypeCollector<'a> {
    pub fn new(types: &'a Types) -> Self {
        TypeCollector { types, used: false, has_errors: false, kinds: BTreeMap::new() }
    }

    fn add(&mut self, kind: &'static str, name: &str, of: impl FnOnce(&mut Self) -> Json) {
        if !self.kinds.entry(kind).or_default().contains_key(name) {
            let value = of(self);
            self.kinds.entry(kind).or_default().insert(name.to_string(), value);
        }
    }

    /// The `P4DataTypeSpec` of a type. Collects the types that it names.
    pub fn spec(&mut self, ty: &Ty) -> Json {
        self.used = true;
        let types = self.types;
        match ty {
            Ty::Bit(width) => json!({ "bitstring": { "bit": { "bitwidth": width } } }),
            Ty::Int(width) => json!({ "bitstring": { "int": { "bitwidth": width } } }),
            Ty::Varbit(width) => json!({ "bitstring": { "varbit": { "maxBitwidth": width } } }),
            Ty::Bool => json!({ "bool": {} }),
            Ty::Error => {
                self.has_errors = true;
                json!({ "error": {} })
            }
            Ty::Tuple(parts) => {
                let members: Vec<Json> = parts.iter().map(|part| self.spec(part)).collect();
                json!({ "tuple": { "members": members } })
            }
            Ty::Struct(id) => {
                let def = &types.structs[*id];
                let name = def.annotations.name.as_ref().unwrap_or(&def.name).to_string();
                let (kind, key) = match def.kind {
                    StructKind::Struct => ("structs", "struct"),
                    StructKind::Header => ("headers", "header"),
                    StructKind::Union => ("headerUnions", "headerUnion"),
                };
                self.add(kind, &name, |this| {
                    let members = def.fields.iter().map(|field| {
                        let spec = this.spec(&field.ty);
                        let name = field.annotations.name.as_ref().unwrap_or(&field.name);
                        match def.kind {
                            StructKind::Struct => json!({ "name": &**name, "typeSpec": spec }),
                            StructKind::Header => {
                                json!({ "name": &**name, "typeSpec": spec["bitstring"] })
                            }
                            StructKind::Union => {
                                json!({ "name": &**name, "header": spec["header"] })
                            }
                        }
                    });
                    let members: Vec<Json> = members.collect();
                    json!({ "members": members })
                });
                json!({ key: { "name": name } })
            }
            Ty::Stack(element, size) => {
                let of = self.spec(element);
                match of.get("header") {
                    Some(header) => json!({ "headerStack": { "header": header, "size": size } }),
                    None => {
                        let union = &of["headerUnion"];
                        json!({ "headerUnionStack": { "headerUnion": union, "size": size } })
                    }
                }
            }
            Ty::Enum(id) => self.enum_spec(*id),
            Ty::NewType(id) => self.new_type_spec(*id),
            _ => json!({}),
        }
    }

    fn enum_spec(&mut self, id: usize) -> Json {
        let def = &self.types.enums[id];
        let name = def.name.to_string();
        let Some(repr) = &def.repr else {
            self.add("enums", &name, |_| {
                let members = def.members.iter().map(|(name, _)| json!({ "name": &**name }));
                json!({ "members": members.collect::<Vec<_>>() })
            });
            return json!({ "enum": { "name": name } });
        };
        let width = self.types.width(repr);
        self.add("serializableEnums", &name, |_| {
            let members = def
                .members
                .iter()
                .map(|(name, value)| json!({ "name": &**name, "value": value.to_string() }));
            let members = members.collect::<Vec<_>>();
            json!({ "underlyingType": { "bitwidth": width }, "members": members })
        });
        json!({ "serializableEnum": { "name": name } })
    }

    fn new_type_spec(&mut self, id: usize) -> Json {
        let (name, _) = &self.types.new_types[id];
        let annotations = &self.types.new_type_annotations[id];
        self.add("newTypes", name, |this| {
            let original = this.spec(&this.types.base(&Ty::NewType(id)));
            let listed = |text: &&String| !text.starts_with("@p4runtime_translation(");
            let others: Vec<&String> = annotations.others.iter().filter(listed).collect();
            let mut spec = match &annotations.translation {
                None => json!({ "originalType": original }),
                Some((uri, Some(width))) => {
                    json!({ "translatedType": { "uri": &**uri, "sdnBitwidth": width } })
                }
                Some((uri, None)) => {
                    json!({ "translatedType": { "uri": &**uri, "sdnString": {} } })
                }
            };
            if !others.is_empty() {
                spec["annotations"] = json!(others);
            }
            if !annotations.structured.is_empty() {
                spec["structuredAnnotations"] = json!(annotations.structured);
            }
            spec
        });
        json!({ "newType": { "name": &**name } })
    }

    /// The `P4TypeInfo`; null if no object has a type.
    pub fn finish(self) -> Json {
        if !self.used {
            return Json::Null;
        }
        let mut info = json!(self.kinds);
        if self.has_errors {
            let names: Vec<&str> = self.types.errors.iter().map(|name| &**name).collect();
            info["error"] = json!({ "members": names });
        }
        info
    }
}
