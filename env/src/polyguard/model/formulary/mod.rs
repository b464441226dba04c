//! Public knowledge about medicines: archetypes, interacting pairs, set rules.
//!
//! Two tables are part of the crate (`data/*.csv`, each row with its source): `reference`, which
//! contains what PolyGuard's public pages state, and `extended`, drafted for this project. Neither
//! contains a real drug, and neither has clinical authority.

mod archetype;
mod pair;
mod parse_tables;
mod table;
mod vocabulary;

pub use archetype::{Archetype, ArchetypeId, each_archetype};
pub(crate) use pair::each_pair;
pub use pair::{Grade, Pair, PairId, SetRule, Severity};
pub use parse_tables::TableFile;
pub(crate) use parse_tables::{EXTENDED_FILES, REFERENCE_FILES};
pub use table::{Formulary, PRODUCT_NAME};
pub use vocabulary::{Condition, Conditions, Tag, Tags};
