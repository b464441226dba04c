//! JSON schemas that are generated from types.

use schemars::generate::{Contract, SchemaSettings};
use schemars::{JsonSchema, Schema};

/// Returns the schema of a type in one piece, without references.
pub(crate) fn inline_schema<T: JsonSchema>(contract: Contract) -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.contract = contract;
    });
    settings.into_generator().into_root_schema_for::<T>()
}
