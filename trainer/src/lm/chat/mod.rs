//! Chat templates: messages to the text that a model was trained on.

mod marks;
mod python;
mod template;
mod time;

pub use template::{ChatTemplate, Message, Rendered};
