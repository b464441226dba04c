//! JSON schemas of the payloads, with the feature `schema`. Payloads derive `JsonSchema`; a type whose
//! `Serialize` is written by hand has its schema beside it, by `impl_json_schema!`.

/// Implements `JsonSchema` for a type from an expression, with the feature `schema`. The schema is
/// repeated where the type is used, not referenced.
macro_rules! impl_json_schema {
    ([$($generics:tt)*] $type:ty, $name:literal, |$generator:ident| $schema:expr) => {
        #[cfg(feature = "schema")]
        impl<$($generics)*> schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema($generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $schema
            }
        }
    };
}
pub(crate) use impl_json_schema;

/// A number from 0 to 1, as the schema of an `f64`.
#[cfg(feature = "schema")]
pub(crate) struct Share;

impl_json_schema!([] Share, "Share", |_generator| schemars::json_schema!({
    "type": "number", "minimum": 0, "maximum": 1,
}));

/// Returns the schema of one of `names`.
#[cfg(feature = "schema")]
#[must_use]
pub fn one_of(names: &[&str]) -> schemars::Schema {
    schemars::json_schema!({"type": "string", "enum": names})
}
