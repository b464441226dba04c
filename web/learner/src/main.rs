//! The program that trains in the page. `web/engine/engine.js` runs it in a Web Worker.

sentinel_page_engine::export_engine!(
    sentinel_page_learner::Learner,
    sentinel_page_learner::Learner::default()
);
