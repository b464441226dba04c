//! One source file as its tokens tell it: modules, names that it defines or imports, and every path in its code.
//!
//! Tokens are enough, and reading them takes a fraction of the time of a parser. Code that only tests
//! compile is left out.

use super::use_tree::{Leaf, Names, add_leaves, is_punct, local_names, plain, statement_length};
use proc_macro2::{Delimiter, Ident, Spacing, Span, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};

/// Keywords that are followed by the name of an item.
const DEFINING: [&str; 8] = [
    "const", "enum", "fn", "static", "struct", "trait", "type", "union",
];

/// The content of a module: a file, or a block inside of one.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// The names of the items that the module defines.
    pub(super) defined: BTreeSet<String>,
    /// The macros that the module exports at the root of its crate.
    pub(super) macros: BTreeSet<String>,
    /// The names that `use` declares, with the paths that they stand for.
    pub(super) bindings: BTreeMap<String, Vec<Names>>,
    /// The modules of which all names are imported.
    pub(super) globs: Vec<Names>,
    /// Every path in the code, with the first line that has it.
    pub(super) imports: BTreeMap<Import, usize>,
    /// The modules that are declared inside of this one.
    pub(super) children: Vec<Child>,
}

/// A path in the code of a module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Import {
    pub(super) names: Names,
    pub(super) kind: Kind,
}

/// The ways in which code names something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A path in the code, or a `use` for the module itself.
    Own,
    /// A `pub use`: the module passes it on.
    PassedOn,
    /// All names of a module, for the module itself.
    Glob,
    /// All names of a module, passed on.
    GlobPassedOn,
    /// The name of a macro, with `!` after it.
    Macro,
    /// One name, which may be of those that a glob imports.
    Name,
}

/// A module that is declared inside of another one.
#[derive(Debug)]
pub(super) struct Child {
    pub(super) name: String,
    pub(super) line: usize,
    /// The content between braces; `None` for a file of its own.
    pub(super) content: Option<Source>,
    /// The value of the attribute `path`.
    pub(super) path: Option<String>,
}

/// The attributes of the item that follows.
#[derive(Default)]
struct Attributes {
    is_public: bool,
    is_exported: bool,
    path: Option<String>,
}

impl Source {
    /// Reads the text of a file. `None`: all of it is for tests.
    ///
    /// # Errors
    /// If the text does not consist of Rust's tokens; the error names the line.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, (usize, String)> {
        let tokens: TokenStream = text.parse().map_err(|error: proc_macro2::LexError| {
            (error.span().start().line, error.to_string())
        })?;
        Ok(Self::from_tokens(tokens, text.contains("::*")))
    }

    fn from_tokens(tokens: TokenStream, has_globs: bool) -> Option<Self> {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let inner = tokens.windows(3).filter(|three| {
            matches!(three, [TokenTree::Punct(hash), TokenTree::Punct(mark), TokenTree::Group(_)]
                if hash.as_char() == '#' && mark.as_char() == '!')
        });
        for attribute in inner {
            if let [_, _, TokenTree::Group(group)] = attribute
                && is_for_tests(&group.stream())
            {
                return None;
            }
        }
        let mut reader = Reader {
            has_globs,
            ..Reader::default()
        };
        reader.walk(&tokens, true);
        Some(reader.source)
    }

    fn add(&mut self, names: Names, kind: Kind, span: Span) {
        let import = Import { names, kind };
        self.imports
            .entry(import)
            .or_insert_with(|| span.start().line);
    }
}

/// Walks through the tokens of a module.
#[derive(Default)]
struct Reader {
    source: Source,
    /// The file imports all names of some module: any name in it can be one of them.
    has_globs: bool,
    /// The names that `use` declares in the blocks around the current token.
    scopes: Vec<BTreeMap<String, Names>>,
    /// The path so far, with the place of its first name.
    path: Names,
    start: Option<Span>,
    /// Colons since the last name.
    colons: usize,
}

impl Reader {
    fn walk(&mut self, tokens: &[TokenTree], is_module: bool) {
        let mut attributes = Attributes::default();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let rest = &tokens[at + 1..];
            at += 1;
            match token {
                TokenTree::Punct(punct) if punct.as_char() == '#' => {
                    self.flush();
                    if let Some(TokenTree::Group(group)) = rest.first() {
                        at += 1;
                        let stream = group.stream();
                        if is_for_tests(&stream) {
                            at += item_length(&tokens[at..], is_module);
                            attributes = Attributes::default();
                        } else {
                            self.attribute(stream, &mut attributes);
                        }
                    }
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => {
                    if self.colons == 0 && punct.spacing() == Spacing::Alone {
                        self.flush();
                    } else {
                        self.colons += 1;
                    }
                }
                TokenTree::Punct(punct) => {
                    let is_call = matches!(rest.first(), Some(TokenTree::Group(_)));
                    if punct.as_char() == '!' && is_call {
                        self.flush_macro();
                    }
                    self.flush();
                    if punct.as_char() == ';' {
                        attributes = Attributes::default();
                    }
                }
                TokenTree::Literal(_) => self.flush(),
                TokenTree::Group(group) => {
                    self.flush();
                    let is_block = group.delimiter() == Delimiter::Brace;
                    // The items in the call of a macro are most likely items that it makes.
                    let has_items = is_module && at > 1 && is_punct(tokens.get(at - 2), '!');
                    self.group(group.stream(), is_block, has_items);
                    if is_block {
                        attributes = Attributes::default();
                    }
                }
                TokenTree::Ident(ident) => {
                    at += self.ident(ident, rest, is_module, &mut attributes);
                }
            }
        }
        self.flush();
    }

    fn group(&mut self, stream: TokenStream, is_block: bool, has_items: bool) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        if is_block {
            self.scopes.push(local_names(&tokens));
        }
        self.walk(&tokens, has_items);
        if is_block {
            self.scopes.pop();
        }
    }

    /// Reads a name and, if it is a keyword, the declaration after it; returns the number of further tokens read.
    fn ident(
        &mut self,
        ident: &Ident,
        rest: &[TokenTree],
        is_module: bool,
        attributes: &mut Attributes,
    ) -> usize {
        let name = ident.to_string();
        if self.colons < 2 {
            self.flush();
            match (&*name, rest.first()) {
                ("use", next) if !is_punct(next, '<') => {
                    return self.declare_uses(rest, is_module, attributes);
                }
                ("pub", _) => attributes.is_public = true,
                ("static", Some(TokenTree::Ident(next))) if next == "mut" => {
                    let names = vec!["static mut".to_owned()];
                    self.source.add(names, Kind::Macro, ident.span());
                }
                ("extern", Some(TokenTree::Ident(next))) if next == "crate" => {
                    return self.declare_crate(rest, attributes);
                }
                ("mod", Some(TokenTree::Ident(child))) if is_module => {
                    return self.declare_module(child, rest, attributes);
                }
                _ => {}
            }
            if is_module {
                self.define(&name, rest, attributes);
            }
            self.start = Some(ident.span());
        } else if self.path.is_empty() {
            self.path.push("::".to_owned());
            self.start = Some(ident.span());
        }
        self.path.push(plain(name));
        self.colons = 0;
        0
    }

    /// Adds the item that a keyword begins.
    fn define(&mut self, keyword: &str, rest: &[TokenTree], attributes: &Attributes) {
        let is_macro = keyword == "macro_rules" && is_punct(rest.first(), '!');
        let mut rest = if is_macro { &rest[1..] } else { rest };
        if !is_macro && !DEFINING.contains(&keyword) {
            return;
        }
        if matches!(rest.first(), Some(TokenTree::Ident(next)) if next == "mut") {
            rest = &rest[1..];
        }
        let Some(TokenTree::Ident(ident)) = rest.first() else {
            return;
        };
        let name = ident.to_string();
        if DEFINING.contains(&&*name) {
            // `const fn`: the next keyword is followed by the name.
            return;
        }
        if is_macro && attributes.is_exported {
            self.source.macros.insert(name.clone());
        }
        self.source.defined.insert(plain(name));
    }

    fn declare_module(
        &mut self,
        ident: &Ident,
        rest: &[TokenTree],
        attributes: &mut Attributes,
    ) -> usize {
        let content = match rest.get(1) {
            Some(TokenTree::Group(group)) => {
                Source::from_tokens(group.stream(), self.has_globs).map(Some)
            }
            _ => Some(None),
        };
        let path = std::mem::take(attributes).path;
        if let Some(content) = content {
            self.source.children.push(Child {
                name: plain(ident.to_string()),
                line: ident.span().start().line,
                content,
                path,
            });
        }
        2
    }

    fn declare_crate(&mut self, rest: &[TokenTree], attributes: &mut Attributes) -> usize {
        let length = statement_length(rest);
        let mut leaves = Vec::new();
        add_leaves(&rest[1..length], &vec!["::".to_owned()], &mut |leaf| {
            leaves.push(leaf);
        });
        self.bind(leaves, true, attributes.is_public);
        *attributes = Attributes::default();
        length
    }

    fn declare_uses(
        &mut self,
        rest: &[TokenTree],
        is_module: bool,
        attributes: &mut Attributes,
    ) -> usize {
        let length = statement_length(rest);
        let mut leaves = Vec::new();
        add_leaves(&rest[..length], &Names::new(), &mut |leaf| {
            leaves.push(leaf);
        });
        self.bind(leaves, is_module, attributes.is_public);
        *attributes = Attributes::default();
        length
    }

    fn bind(&mut self, leaves: Vec<Leaf>, is_module: bool, is_public: bool) {
        for leaf in leaves {
            let kind = match (leaf.name.is_none(), is_public) {
                (false, false) => Kind::Own,
                (false, true) => Kind::PassedOn,
                (true, false) => Kind::Glob,
                (true, true) => Kind::GlobPassedOn,
            };
            match leaf.name {
                None => self.source.globs.push(leaf.names.clone()),
                Some(name) if is_module => {
                    let paths = self.source.bindings.entry(name).or_default();
                    paths.push(leaf.names.clone());
                }
                Some(_) => {}
            }
            self.source.add(leaf.names, kind, leaf.span);
        }
    }

    /// Adds the paths in an attribute, also those in its texts, such as `with = "crate::module"`.
    fn attribute(&mut self, stream: TokenStream, attributes: &mut Attributes) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        let Some(TokenTree::Ident(name)) = tokens.first() else {
            return;
        };
        if name == "doc" {
            return;
        }
        if name == "macro_export" {
            attributes.is_exported = true;
        }
        if let (true, Some(value)) = (name == "path", tokens.get(2)) {
            attributes.path = Some(value.to_string().trim_matches('"').to_owned());
            return;
        }
        self.walk(&tokens, false);
        self.texts(&tokens);
    }

    fn texts(&mut self, tokens: &[TokenTree]) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    self.texts(&inner);
                }
                TokenTree::Literal(literal) => {
                    let span = literal.span();
                    let text = literal.to_string();
                    let Some(text) = text.strip_prefix('"').filter(|text| text.contains("::"))
                    else {
                        continue;
                    };
                    let Ok(tokens) = text.trim_end_matches('"').parse::<TokenStream>() else {
                        continue;
                    };
                    let mut reader = Self::default();
                    reader.walk(&tokens.into_iter().collect::<Vec<_>>(), false);
                    for import in reader.source.imports.into_keys() {
                        self.source.add(import.names, import.kind, span);
                    }
                }
                _ => {}
            }
        }
    }

    fn flush_macro(&mut self) {
        let names = std::mem::take(&mut self.path);
        if let (false, Some(start)) = (names.is_empty(), self.start) {
            let names = self.in_scope(names);
            self.source.add(names, Kind::Macro, start);
        }
    }

    /// Ends a path. One name alone imports nothing, but for names that a glob brings.
    fn flush(&mut self) {
        self.colons = 0;
        if let Some(start) = self.start
            && (self.path.len() > 1 || self.has_globs && !self.path.is_empty())
        {
            let names = std::mem::take(&mut self.path);
            let kind = if names.len() > 1 {
                Kind::Own
            } else {
                Kind::Name
            };
            let names = self.in_scope(names);
            self.source.add(names, kind, start);
        }
        self.path.clear();
    }

    /// Replaces a first name that a `use` of a block declares.
    fn in_scope(&self, names: Names) -> Names {
        let declared = self.scopes.iter().rev();
        match declared.filter_map(|scope| scope.get(&names[0])).next() {
            Some(path) => path.iter().chain(&names[1..]).cloned().collect(),
            None => names,
        }
    }
}

/// Returns `true` for `test`, `cfg(test)`, `cfg(all(test, …))` and `cfg(doctest)`.
fn is_for_tests(attribute: &TokenStream) -> bool {
    let mut tokens = attribute.clone().into_iter();
    let Some(TokenTree::Ident(name)) = tokens.next() else {
        return false;
    };
    match tokens.next() {
        None => name == "test",
        Some(TokenTree::Group(group)) if name == "cfg" || name == "all" => {
            let mut inner = group.stream().into_iter();
            match inner.next() {
                Some(TokenTree::Ident(first)) if first == "test" || first == "doctest" => true,
                Some(TokenTree::Ident(first)) if first == "all" => is_for_tests(&group.stream()),
                _ => false,
            }
        }
        Some(_) => false,
    }
}

/// Returns the number of tokens up to the end of an item, or in a block also of a field or an arm.
fn item_length(tokens: &[TokenTree], is_module: bool) -> usize {
    let is_end = |token: &TokenTree| match token {
        TokenTree::Punct(punct) => punct.as_char() == ';' || (!is_module && punct.as_char() == ','),
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => false,
    };
    match tokens.iter().position(is_end) {
        Some(end) => end + 1,
        None => tokens.len(),
    }
}
