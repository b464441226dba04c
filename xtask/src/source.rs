//! A rough reading of Rust source for the tidy rules: code without its strings and comments, and where
//! its functions begin and end. It reads what rustfmt leaves, not every legal program.

/// A function and its length.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The line of `fn`, from 1.
    pub line: usize,
    /// Lines from `fn` to the closing brace, both included.
    pub lines: usize,
    /// Whether the body is a `view!` template, which is markup and may be long.
    pub is_view: bool,
}

/// The source with every character of comments, strings and character literals made a space; line
/// breaks stay, so that positions keep their line.
#[must_use]
pub fn code_only(source: &str) -> String {
    let chars: Vec<char> = source.chars().collect();
    let mut code = String::with_capacity(source.len());
    let mut at = 0;
    while at < chars.len() {
        let end = literal_end(&chars, at);
        if end == at {
            code.push(chars[at]);
            at += 1;
            continue;
        }
        for &c in &chars[at..end] {
            code.push(if c == '\n' { '\n' } else { ' ' });
        }
        at = end;
    }
    code
}

/// The end of the comment or literal that starts at `at`; `at` itself when none does.
fn literal_end(chars: &[char], at: usize) -> usize {
    let next = chars.get(at + 1).copied();
    match (chars[at], next) {
        ('/', Some('/')) => find(chars, at, |c| c == '\n'),
        ('/', Some('*')) => block_comment_end(chars, at),
        ('"', _) => quoted_end(chars, at, '"'),
        ('r', Some('"' | '#')) if !is_word_before(chars, at) => raw_string_end(chars, at),
        // `'a'` and `'\n'` are literals, `'a` is a lifetime.
        ('\'', Some('\\')) => quoted_end(chars, at, '\''),
        ('\'', Some(_)) if chars.get(at + 2) == Some(&'\'') => at + 3,
        _ => at,
    }
}

/// Whether the character before `at` belongs to a name that goes on at `at`; `b` and `c` alone are
/// prefixes of strings.
fn is_word_before(chars: &[char], at: usize) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    match at.checked_sub(1).map(|before| chars[before]) {
        Some('b' | 'c') => at >= 2 && word(chars[at - 2]),
        Some(c) => word(c),
        None => false,
    }
}

fn find(chars: &[char], from: usize, is_end: impl Fn(char) -> bool) -> usize {
    let rest = chars[from..].iter().position(|&c| is_end(c));
    rest.map_or(chars.len(), |offset| from + offset)
}

fn block_comment_end(chars: &[char], at: usize) -> usize {
    let mut depth = 0;
    let mut end = at;
    while end + 1 < chars.len() {
        match (chars[end], chars[end + 1]) {
            ('/', '*') => depth += 1,
            ('*', '/') => depth -= 1,
            _ => {
                end += 1;
                continue;
            }
        }
        end += 2;
        if depth == 0 {
            return end;
        }
    }
    chars.len()
}

fn quoted_end(chars: &[char], at: usize, quote: char) -> usize {
    let mut end = at + 1;
    while end < chars.len() && chars[end] != quote {
        end += if chars[end] == '\\' { 2 } else { 1 };
    }
    (end + 1).min(chars.len())
}

fn raw_string_end(chars: &[char], at: usize) -> usize {
    let open = find(chars, at + 1, |c| c != '#');
    if chars.get(open) != Some(&'"') {
        return at; // `r#name`
    }
    let hashes = open - at - 1;
    let mut end = open + 1;
    while end < chars.len() {
        let closes = chars[end] == '"'
            && chars[end + 1..].len() >= hashes
            && chars[end + 1..=end + hashes].iter().all(|&c| c == '#');
        end += 1;
        if closes {
            return end + hashes;
        }
    }
    chars.len()
}

/// The functions with a body in `code` (see [`code_only`]), in the order of their `fn`.
#[must_use]
pub fn functions(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(offset) = code[from..].find("fn ") {
        let at = from + offset;
        from = at + 3;
        let starts_word = code[..at]
            .chars()
            .next_back()
            .is_none_or(|c| !c.is_alphanumeric() && c != '_');
        let name: String = code[from..]
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        if !starts_word || name.is_empty() {
            continue;
        }
        if let Some((open, close)) = body(code, from) {
            found.push(Function {
                name,
                line: code[..at].matches('\n').count() + 1,
                lines: code[at..close].matches('\n').count() + 1,
                is_view: code[open..close].contains("view!"),
            });
        }
    }
    found
}

/// The braces of the body that follows a signature; `None` for a declaration that ends with `;`.
fn body(code: &str, from: usize) -> Option<(usize, usize)> {
    let mut depth = 0_usize;
    let mut nested = 0_usize;
    let mut open = None;
    for (offset, c) in code[from..].char_indices() {
        match c {
            // `[u8; 4]` in a signature holds a semicolon too.
            '(' | '[' => nested += 1,
            ')' | ']' => nested = nested.saturating_sub(1),
            ';' if open.is_none() && nested == 0 => return None,
            '{' => {
                depth += 1;
                open = open.or(Some(from + offset));
            }
            '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return open.map(|open| (open, from + offset));
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_comments_become_spaces() {
        let source = "a(\"todo!( \\\" {\"); // dbg!(\nb /* { /* } */ */ c";
        let code = code_only(source);
        assert_eq!(code.len(), source.len());
        assert_eq!(code.lines().count(), 2);
        assert!(!code.contains("todo!") && !code.contains("dbg!") && !code.contains('{'));
        assert!(code.contains("a(") && code.ends_with(" c"));
    }

    #[test]
    fn literals_of_every_kind_are_read() {
        for (source, kept) in [
            ("r#\"a \" {\"# x", "x"),
            ("br##\"a \"# {\"## x", "b x"),
            ("'{' x", "x"),
            ("'\\'' x", "x"),
            ("'\\u{7b}' x", "x"),
            ("&'a str x", "&'a str x"),
            ("r#fn x", "r#fn x"),
            ("bar\"{\" x", "bar x"),
            ("\"never closed {", ""),
        ] {
            let code = code_only(source);
            let words: Vec<&str> = code.split_whitespace().collect();
            assert_eq!(words.join(" "), kept, "{source}");
        }
    }

    #[test]
    fn functions_are_measured_from_fn_to_brace() {
        let source = "pub fn one() {}\n\n/// fn doc\nimpl A {\n    fn two(a: [u8; 2])\n    -> u8\n    {\n        \
                      if a { b } else { c }\n    }\n}\ntrait T { fn three(&self); }\nlet f: fn (u8);\n";
        let found = functions(&code_only(source));
        let short: Vec<_> = found
            .iter()
            .map(|f| (f.name.as_str(), f.line, f.lines))
            .collect();
        assert_eq!(short, [("one", 1, 1), ("two", 5, 5)]);
    }

    #[test]
    fn a_view_is_marked() {
        let found = functions("fn page() {\n    view! { <p/> }\n}\n");
        assert!(found[0].is_view);
        let found = functions(&code_only("fn page() { // view!\n}\n"));
        assert!(!found[0].is_view);
    }
}
