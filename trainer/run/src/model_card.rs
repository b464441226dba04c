//! The model card (`README.md`) in the form that Hugging Face shows: front matter, and sections in
//! Markdown.
//!
//! The algorithm provides the content of the sections; this module writes cards, tables and lists
//! of options for all algorithms.

use std::fmt::Write;

use serde_json::{Map, Value};

/// The name of the card's file.
pub const CARD_FILE: &str = "README.md";

/// The contents of a model card.
#[derive(Clone, Debug, Default)]
pub struct ModelCard {
    /// The library that reads the files, as `library_name`.
    pub library: &'static str,
    /// The license of the weights, as `license`.
    pub license: Option<String>,
    /// The model that was trained further, as `base_model`.
    pub base_model: Option<String>,
    /// The tags for the Hub.
    pub tags: Vec<String>,
    /// The model's name in the list of results.
    pub name: String,
    /// Measured results for the Hub's `model-index`.
    pub results: Vec<CardResult>,
    /// The heading of the card.
    pub title: String,
    /// Fallbacks that the model depends on, each a sentence in bold type.
    pub fallbacks: Vec<String>,
    /// The text below the heading, one paragraph, table or section each.
    pub sections: Vec<String>,
}

/// A measured score in the form of the Hub's `model-index`.
#[derive(Clone, Debug)]
pub struct CardResult {
    /// The name of the episodes that were played.
    pub dataset: String,
    /// The identifier of the episodes.
    pub dataset_type: String,
    /// The mean score of the episodes.
    pub score: f64,
}

impl ModelCard {
    /// Returns the card as Markdown with YAML front matter.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut text = format!("---\nlibrary_name: {}\n", self.library);
        if let Some(license) = &self.license {
            let _ = writeln!(text, "license: {}", quoted(license));
        }
        if let Some(base) = &self.base_model {
            let _ = writeln!(text, "base_model: {}", quoted(base));
        }
        text.push_str("tags:\n");
        for tag in &self.tags {
            let _ = writeln!(text, "- {tag}");
        }
        if !self.results.is_empty() {
            let _ = writeln!(text, "model-index:\n- name: {}", quoted(&self.name));
            text.push_str("  results:\n");
        }
        for result in &self.results {
            let _ = write!(
                text,
                "  - task:
      type: reinforcement-learning
      name: reinforcement-learning
    dataset:
      name: {}
      type: {}
    metrics:
    - type: mean_reward
      value: {:?}
      name: mean episode score
      verified: false
",
                quoted(&result.dataset),
                quoted(&result.dataset_type),
                result.score,
            );
        }
        let _ = writeln!(text, "---\n\n# {}\n", self.title);
        for fallback in &self.fallbacks {
            let _ = writeln!(text, "**{fallback}**\n");
        }
        text + &self.sections.join("\n")
    }
}

/// Returns a string as YAML, which accepts JSON's form.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Returns a table in Markdown; its first row holds the headings.
#[must_use]
pub fn markdown_table(rows: &[Vec<String>]) -> String {
    let mut lines: Vec<String> = rows
        .iter()
        .map(|row| format!("| {} |\n", row.join(" | ")))
        .collect();
    let columns = rows.first().map_or(0, Vec::len);
    if columns > 0 {
        lines.insert(1, format!("|{}\n", "---|".repeat(columns)));
    }
    lines.concat()
}

/// Returns the rows of a table as columns.
#[must_use]
pub fn transposed(rows: &[Vec<String>]) -> Vec<Vec<String>> {
    let columns = 0..rows.first().map_or(0, Vec::len);
    columns
        .map(|at| rows.iter().map(|row| row[at].clone()).collect())
        .collect()
}

/// Returns a table of the options that differ from their defaults, without those of `omitted`.
/// `display` formats a value.
#[must_use]
pub fn changed_options(
    options: &Map<String, Value>,
    defaults: &Map<String, Value>,
    omitted: &[&str],
    display: impl Fn(&Value) -> String,
) -> String {
    let mut rows = vec![["option", "value", "default"].map(str::to_owned).to_vec()];
    for (option, value) in options {
        let default = defaults.get(option).unwrap_or(&Value::Null);
        if value != default && !omitted.contains(&option.as_str()) {
            let cells = [value, default].map(|value| table_cell(&display(value)));
            rows.push(
                std::iter::once(format!("`{option}`"))
                    .chain(cells)
                    .collect(),
            );
        }
    }
    if rows.len() == 1 {
        return "All other options have their defaults.\n".to_owned();
    }
    let table = markdown_table(&rows);
    format!("Options that differ from their defaults:\n\n{table}")
}

/// Escapes text for a cell of a table; an empty text and `null` become `none`.
#[must_use]
pub fn table_cell(text: &str) -> String {
    match text {
        "" | "null" => "none".to_owned(),
        text => text.replace('|', "\\|"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_table_can_be_transposed() {
        let row = |words: [&str; 3]| words.map(str::to_owned).to_vec();
        let table = vec![row(["policy", "a", "b"]), row(["own", "1", "2"])];
        let tall = markdown_table(&transposed(&table));
        assert_eq!(tall, "| policy | own |\n|---|---|\n| a | 1 |\n| b | 2 |\n");
        assert_eq!(markdown_table(&[]), "");
    }

    #[test]
    fn base_model_is_quoted_as_yaml_string() {
        let card = ModelCard {
            library: "peft",
            base_model: Some("a\"b".to_owned()),
            tags: vec!["sft".to_owned()],
            title: "LoRA adapter".to_owned(),
            fallbacks: vec!["A stand-in.".to_owned()],
            sections: vec!["Text.\n".to_owned()],
            ..ModelCard::default()
        };
        assert_eq!(
            card.to_markdown(),
            "---\nlibrary_name: peft\nbase_model: \"a\\\"b\"\ntags:\n- sft\n---\n\n# LoRA adapter\n\n**A stand-in.**\n\nText.\n"
        );
    }
}
