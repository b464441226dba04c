//! The engine of the world `trust`.

use sentinel_env::trust::TrustEnv;

sentinel_page_engine::export_world!(TrustEnv);
