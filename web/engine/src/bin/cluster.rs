//! The engine of the world `cluster`.

use sentinel_env::cluster::ClusterEnv;

sentinel_page_engine::export_world!(ClusterEnv);
