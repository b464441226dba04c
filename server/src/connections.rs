//! Limits of connections, and of what they hold in memory.

use std::sync::Arc;

use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::OwnedSemaphorePermit;

/// Connections beside those of OpenEnv sessions: HTTP requests, streams and refused sessions.
pub(crate) const SPARE_CONNECTIONS: usize = 256;

/// Most streams of events at a time. They end with their sessions, which may take a day; the other
/// spare connections are left to requests.
pub(crate) const STREAMS: usize = SPARE_CONNECTIONS / 4;

/// Most bytes of all frames that wait while slow steps run, beside one frame of each connection.
pub(crate) const WAITING_BYTES: usize = 16 * 1024 * 1024;

/// The right to be open of a connection, which a WebSocket keeps until its end.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    open: Gauge,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionPermit {
    /// Counts a connection as open until the last copy of the permit is dropped.
    pub(crate) fn new(permit: OwnedSemaphorePermit, open: &Gauge) -> Arc<Self> {
        open.inc();
        Arc::new(Self {
            open: open.clone(),
            _permit: permit,
        })
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.open.dec();
    }
}
