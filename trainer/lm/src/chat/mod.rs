//! Chat templates, which turn messages into the text format that a model was trained on.

mod generation_tags;
mod kwargs;
mod python;
mod strftime;
mod template;
mod tojson;

pub use kwargs::CHAT_TEMPLATE_KWARGS_FILE;
pub use kwargs::ChatTemplateKwargs;
pub use template::{ChatTemplate, Message, Rendered};
