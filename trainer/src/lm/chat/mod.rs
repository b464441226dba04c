//! Chat templates, which turn messages into the text format that a model was trained on.

mod generation_tags;
mod strftime;
mod template;
mod tojson;

pub use template::{ChatTemplate, Message, Rendered};
