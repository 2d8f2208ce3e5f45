//! Parses tables.

use super::state::{ParseFailed, ParseResult, Parser};
use crate::ast::{
    ActionRef, Annotation, Decl, DeclKind, Entry, Expr, Key, Name, Property, PropertyValue,
};
use crate::diagnostics::did_you_mean;

impl Parser<'_> {
    pub(super) fn parse_table(&mut self, annotations: Vec<Annotation>) -> ParseResult<Decl> {
        let span = self.bump().span;
        let name = self.parse_name("the name of a table")?;
        self.expect("{", "before the properties of a table")?;
        let mut properties = Vec::new();
        while !self.eat("}") {
            if self.at_end() {
                return self.error_unexpected("'}' to close the table");
            }
            let (from, depth) = (self.at, self.depth);
            match self.parse_property() {
                Ok(property) => properties.push(property),
                Err(ParseFailed) => {
                    self.depth = depth;
                    self.recover_in_block(from);
                }
            }
        }
        Ok(Decl { annotations, kind: DeclKind::Table { name, properties }, span })
    }

    fn parse_property(&mut self) -> ParseResult<Property> {
        let annotations = self.parse_annotations()?;
        let constant = self.eat_word("const");
        let name =
            self.parse_name("a table property such as key, actions, size or default_action")?;
        self.expect("=", "after the name of a table property")?;
        let value = match &*name.text {
            "key" => PropertyValue::Keys(self.parse_braced_items(Self::parse_key)?),
            "actions" => PropertyValue::Actions(self.parse_braced_items(Self::parse_action_ref)?),
            "entries" => PropertyValue::Entries(self.parse_braced_items(Self::parse_entry)?),
            text => {
                if self.peek().is("{") {
                    let hint = did_you_mean(text, ["key", "actions", "entries"].into_iter());
                    if !hint.is_empty() {
                        let message = format!("'{text}' is not a table property.{hint}");
                        return self.error(name.span, message);
                    }
                }
                let value = self.parse_expr()?;
                self.expect(";", "after the value of a table property")?;
                PropertyValue::Expr(value)
            }
        };
        Ok(Property { annotations, constant, name, value })
    }

    /// Parses `{ item item ... }` and an optional `;`.
    fn parse_braced_items<T>(
        &mut self,
        mut f: impl FnMut(&mut Self) -> ParseResult<T>,
    ) -> ParseResult<Vec<T>> {
        self.expect("{", "after '='")?;
        let mut items = Vec::new();
        while !self.eat("}") {
            items.push(f(self)?);
        }
        self.eat(";");
        Ok(items)
    }

    fn parse_key(&mut self) -> ParseResult<Key> {
        let expr = self.parse_expr()?;
        self.expect(":", "between a key and its match kind")?;
        let kind = self.parse_name("a match kind")?;
        let annotations = self.parse_annotations()?;
        self.expect(";", "after the match kind")?;
        Ok(Key { expr, kind, annotations })
    }

    fn parse_action_ref(&mut self) -> ParseResult<ActionRef> {
        let annotations = self.parse_annotations()?;
        self.eat(".");
        let name: Name = self.parse_name("the name of an action")?;
        let args = if self.peek().is("(") { self.parse_args()? } else { Vec::new() };
        self.expect(";", "after an action")?;
        Ok(ActionRef { annotations, name, args })
    }

    fn parse_entry(&mut self) -> ParseResult<Entry> {
        self.eat_word("const");
        let mut priority = None;
        if self.peek().is_word("priority") && self.ahead(1).is("=") {
            self.bump();
            self.bump();
            priority = Some(self.parse_expr()?);
            self.expect(":", "after the priority of an entry")?;
        }
        let keys: Expr = self.parse_key_set()?;
        self.expect(":", "between the keys and the action of an entry")?;
        let action = self.parse_expr()?;
        let annotations = self.parse_annotations()?;
        self.expect(";", "after the action of an entry")?;
        Ok(Entry { priority, keys, action, annotations })
    }
}
