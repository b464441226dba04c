//! The engine of the world `polyguard`.

use sentinel_env::polyguard::PolyguardEnv;

sentinel_page_engine::export_world!(PolyguardEnv);
