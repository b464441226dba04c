//! The declarations `use` as trees of tokens, and the names that they declare.

use proc_macro2::{Span, TokenTree};
use std::collections::BTreeMap;

/// The names of a path; the first is `::` if the path begins with the name of a crate.
pub(super) type Names = Vec<String>;

/// One name that a `use` declares.
pub(super) struct Leaf {
    pub(super) names: Names,
    /// The name in this module; `None` for all names of a module.
    pub(super) name: Option<String>,
    pub(super) span: Span,
}

pub(super) fn is_punct(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

/// Returns a name without the `r#` of a raw identifier.
pub(super) fn plain(name: String) -> String {
    match name.strip_prefix("r#") {
        Some(plain) => plain.to_owned(),
        None => name,
    }
}

/// Returns the number of tokens before the next semicolon.
pub(super) fn statement_length(tokens: &[TokenTree]) -> usize {
    let end = tokens.iter().position(|token| is_punct(Some(token), ';'));
    end.unwrap_or(tokens.len())
}

/// Returns the names that the `use` declarations of a block declare.
pub(super) fn local_names(tokens: &[TokenTree]) -> BTreeMap<String, Names> {
    let mut names = BTreeMap::new();
    for (at, token) in tokens.iter().enumerate() {
        let rest = &tokens[at + 1..];
        if matches!(token, TokenTree::Ident(ident) if ident == "use")
            && !is_punct(rest.first(), '<')
        {
            let rest = &rest[..statement_length(rest)];
            add_leaves(rest, &Names::new(), &mut |leaf| {
                if let Some(name) = leaf.name {
                    names.insert(name, leaf.names);
                }
            });
        }
    }
    names
}

/// Adds the names that a tree of `use` declares below a path.
pub(super) fn add_leaves(tokens: &[TokenTree], prefix: &Names, add: &mut dyn FnMut(Leaf)) {
    for part in tokens.split(|token| is_punct(Some(token), ',')) {
        let mut names = prefix.clone();
        let mut rename = None;
        let mut span = None;
        let mut is_done = false;
        if names.is_empty() && is_punct(part.first(), ':') {
            names.push("::".to_owned());
        }
        let mut tokens = part.iter();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Ident(ident) if ident == "as" => {
                    rename = tokens.next().map(ToString::to_string);
                }
                TokenTree::Ident(ident) => {
                    names.push(plain(ident.to_string()));
                    span = Some(ident.span());
                }
                TokenTree::Punct(punct) if punct.as_char() == '*' => {
                    let (names, name) = (std::mem::take(&mut names), None);
                    let span = punct.span();
                    add(Leaf { names, name, span });
                    is_done = true;
                }
                TokenTree::Group(group) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    add_leaves(&inner, &names, add);
                    is_done = true;
                }
                _ => {}
            }
        }
        let Some(span) = span.filter(|_| !is_done) else {
            continue;
        };
        if names.len() > 1 && names.last().is_some_and(|name| name == "self") {
            names.pop();
        }
        let name = rename.or_else(|| names.last().cloned());
        add(Leaf { names, name, span });
    }
}
