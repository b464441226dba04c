//! `{% generation %}` tags, which enclose the assistant's text in a chat template.
//!
//! The template engine does not know these tags. They are replaced by a block filter that encloses
//! the text in two reserved characters, from which the ranges are recovered after rendering.

use std::ops::Range;

/// Name of the filter that replaces the tags.
pub(super) const FILTER_NAME: &str = "sentinel_generation";

/// Unicode noncharacters, which are reserved for internal use.
const OPEN: char = '\u{fdd0}';
const CLOSE: char = '\u{fdd1}';

/// Replaces the generation tags of a template by tags of the filter.
pub(super) fn replace_generation_tags(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find("{%") {
        let Some(length) = rest[start..].find("%}") else {
            break;
        };
        let (tag, after) = rest[start..].split_at(length + 2);
        out.push_str(&rest[..start]);
        let inner = tag[2..tag.len() - 2].trim_matches(['-', '+']).trim();
        match inner {
            "generation" => out.push_str(&tag.replacen(inner, &format!("filter {FILTER_NAME}"), 1)),
            "endgeneration" => out.push_str(&tag.replacen(inner, "endfilter", 1)),
            _ => out.push_str(tag),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

pub(super) fn enclose_in_markers(text: &str) -> String {
    format!("{OPEN}{text}{CLOSE}")
}

/// Removes the markers from a text, and returns it with the ranges of bytes that they enclosed.
pub(super) fn remove_markers(text: &str) -> Result<(String, Vec<Range<usize>>), &'static str> {
    let odd = "a message holds U+FDD0 or U+FDD1, which are not characters: remove them";
    let mut plain = String::with_capacity(text.len());
    let (mut written, mut open) = (Vec::new(), None);
    for character in text.chars() {
        match (character, open) {
            (OPEN, None) => open = Some(plain.len()),
            (CLOSE, Some(start)) => {
                written.push(start..plain.len());
                open = None;
            }
            (OPEN | CLOSE, _) => return Err(odd),
            (character, _) => plain.push(character),
        }
    }
    if open.is_some() {
        Err(odd)
    } else {
        Ok((plain, written))
    }
}

#[cfg(test)]
mod tests {
    use super::{enclose_in_markers, remove_markers, replace_generation_tags};

    #[test]
    fn generation_tags_translate_to_filter_blocks() {
        let source = "a{%- generation %}\nb{% endgeneration -%}c{% if x %}generation{% endif %}";
        let expected =
            "a{%- filter sentinel_generation %}\nb{% endfilter -%}c{% if x %}generation{% endif %}";
        assert_eq!(replace_generation_tags(source), expected);
    }

    #[test]
    fn generation_marks_become_byte_ranges() {
        let text = format!("né{}!{}", enclose_in_markers("b"), enclose_in_markers(""));
        assert_eq!(
            remove_markers(&text),
            Ok(("néb!".to_owned(), vec![3..4, 5..5]))
        );
        assert!(remove_markers("\u{fdd1}").is_err() && remove_markers("\u{fdd0}").is_err());
    }
}
