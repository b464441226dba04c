//! The HTTP API of the Python reference, under `/sentinel/`: sessions by id, reports, and streams of
//! events. It offers the worlds trust and cluster, as the reference does.
//!
//! Differences: unknown names are errors 400 instead of 500, a session stays until its time is over so
//! that its report can be read after the end, and hidden state is left out before the end unless the
//! server was started with `--reveal-hidden`. `docs/reference/server.md` has the complete list.

mod documents;
mod episode;
mod messages;
mod play;
mod views;

use std::sync::Arc;

pub use episode::ReferenceEpisode;

use crate::route::Route;
use crate::state::App;

/// Returns the routes of the reference's API.
pub(crate) fn routes() -> Vec<Route<Arc<App>>> {
    let mut routes = play::routes();
    routes.extend(views::routes());
    routes.extend(documents::routes());
    let indexes = documents::indexes(&routes);
    routes.extend(indexes);
    routes
}
