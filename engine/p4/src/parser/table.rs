//! Parses tables.

use super::{ParseFailed, ParseResult, Parser};
use crate::ast::{
    ActionRef, Annotation, Decl, DeclKind, Entry, Expr, Key, Name, Property, PropertyValue,
};
use crate::diagnostics::did_you_mean;

impl Parser<'_> {
    pub(super) fn table(&mut self, annotations: Vec<Annotation>) -> ParseResult<Decl> {
        let span = self.bump().span;
        let name = self.name("the name of a table")?;
        self.expect("{", "before the properties of a table")?;
        let mut properties = Vec::new();
        while !self.eat("}") {
            if self.at_end() {
                return self.unexpected("'}' to close the table");
            }
            let (from, depth) = (self.at, self.depth);
            match self.property() {
                Ok(property) => properties.push(property),
                Err(ParseFailed) => {
                    self.depth = depth;
                    self.recover_in_block(from);
                }
            }
        }
        Ok(Decl { annotations, kind: DeclKind::Table { name, properties }, span })
    }

    fn property(&mut self) -> ParseResult<Property> {
        self.annotations()?;
        let constant = self.eat_word("const");
        let name = self.name("a table property such as key, actions, size or default_action")?;
        self.expect("=", "after the name of a table property")?;
        let value = match &*name.text {
            "key" => PropertyValue::Keys(self.braced_items(Self::key)?),
            "actions" => PropertyValue::Actions(self.braced_items(Self::action_ref)?),
            "entries" => PropertyValue::Entries(self.braced_items(Self::entry)?),
            text => {
                if self.peek().is("{") {
                    let hint = did_you_mean(text, ["key", "actions", "entries"].into_iter());
                    if !hint.is_empty() {
                        let message = format!("'{text}' is not a table property.{hint}");
                        return self.error(name.span, message);
                    }
                }
                let value = self.expr()?;
                self.expect(";", "after the value of a table property")?;
                PropertyValue::Expr(value)
            }
        };
        Ok(Property { constant, name, value })
    }

    /// Parses `{ item item ... }` and an optional `;`.
    fn braced_items<T>(
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

    fn key(&mut self) -> ParseResult<Key> {
        let expr = self.expr()?;
        self.expect(":", "between a key and its match kind")?;
        let kind = self.name("a match kind")?;
        let annotations = self.annotations()?;
        self.expect(";", "after the match kind")?;
        Ok(Key { expr, kind, annotations })
    }

    fn action_ref(&mut self) -> ParseResult<ActionRef> {
        let annotations = self.annotations()?;
        self.eat(".");
        let name: Name = self.name("the name of an action")?;
        let args = if self.peek().is("(") { self.args()? } else { Vec::new() };
        self.expect(";", "after an action")?;
        Ok(ActionRef { annotations, name, args })
    }

    fn entry(&mut self) -> ParseResult<Entry> {
        self.eat_word("const");
        let mut priority = None;
        if self.peek().is_word("priority") && self.ahead(1).is("=") {
            self.bump();
            self.bump();
            priority = Some(self.expr()?);
            self.expect(":", "after the priority of an entry")?;
        }
        let keys: Expr = self.key_set()?;
        self.expect(":", "between the keys and the action of an entry")?;
        let action = self.expr()?;
        let annotations = self.annotations()?;
        self.expect(";", "after the action of an entry")?;
        Ok(Entry { priority, keys, action, annotations })
    }
}
