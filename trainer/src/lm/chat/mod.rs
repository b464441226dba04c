//! Chat templates, which turn messages into the text format that a model was trained on.

mod marks;
mod python;
mod template;
mod time;

pub use template::{ChatTemplate, Message, Rendered};
