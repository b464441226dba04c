//! The engine of the world `trust`.

use sentinel_env::trust::TrustEnv;

sentinel_page_engine::export_engine!(sentinel_page_engine::Engine<TrustEnv>);
