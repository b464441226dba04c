//! A word that explains itself when pointed at or focused.

/// `label` with `text` beside it on hover and focus, as markup: words and numbers of ours only.
#[must_use]
pub fn tip(label: &str, text: &str) -> String {
    format!(
        "<span class=\"tip\" tabindex=\"0\" aria-label=\"{label}: {text}\">{label}\
        <span class=\"tip-text\" role=\"tooltip\">{text}</span></span>"
    )
}
