//! One list of options as a struct for code, for a file and for the command line.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Declares a struct whose fields have a line of help and a default, and are read from a file by
/// their name, and from the command line by their name with dashes. An `#[arg(…)]` on a field
/// overrides how its flag is read.
macro_rules! fields {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty = $default:expr,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, clap::Args)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $(
                #[arg(
                    long,
                    value_name = "VALUE",
                    value_parser = $crate::compact::fields::parse::<$type>,
                    default_value = $crate::compact::fields::display_value(&$name::default().$field),
                    allow_hyphen_values = true
                )]
                $(#[$doc])*
                pub $field: $type,
            )+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }
    };
}

pub(crate) use fields;

/// Returns a value as it is typed: words without quotes, anything else as in JSON.
pub(crate) fn display_value(value: &impl Serialize) -> String {
    // Through text: a value would show an f32 with the digits of an f64.
    let text = serde_json::to_string(value).unwrap_or_else(|error| error.to_string());
    serde_json::from_str::<String>(&text).unwrap_or(text)
}

/// Parses what [`display_value`] returns.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let word = serde_json::from_value(serde_json::Value::String(text.to_owned()));
    word.or_else(|as_word: serde_json::Error| {
        // Of text that is neither, the error as a word is shown, unless it is a number out of range.
        serde_json::from_str::<serde_json::Value>(text)
            .map_err(|_| as_word.to_string())
            .and_then(|value| serde_json::from_value(value).map_err(|e| e.to_string()))
    })
}
