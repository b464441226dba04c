//! The engine of recorded results: training logs and reports.

sentinel_page_engine::export_engine!(
    sentinel_page_engine::RecordsEngine,
    sentinel_page_engine::RecordsEngine::default()
);
