//! What the page shows, as one value; the address is that value in words.

mod query;
mod source;
mod view;

pub use query::{elsewhere, parse_query, parse_seed, to_query};
pub use source::{Source, plain_name};
pub use view::{Branch, Screen, Speed, Theme, View};
