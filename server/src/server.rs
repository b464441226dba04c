//! The server: a listener, its connections, and the end of both.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use crate::access::Access;
use crate::completions::CompletionEngine;
use crate::options::{Limits, ServeOptions};
use crate::policy::ServedPolicy;
use crate::routes::router;
use crate::state::App;

/// Connections beside those of sessions: HTTP requests and refused sessions.
const SPARE_CONNECTIONS: usize = 256;

/// The reason why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is not loopback, and there is no token.
    #[error(
        "{0} is not a loopback address: give a token with --token or SENTINEL_TOKEN, or leave the guard to the \
         platform with --allow-anonymous"
    )]
    NoToken(std::net::IpAddr),
    /// The token is empty or cannot be sent in a header.
    #[error(
        "the token is empty or has characters that no header can carry: use letters and digits"
    )]
    BadToken,
    /// The episode defaults name something that does not exist.
    #[error("{0}")]
    Defaults(String),
    /// The folder of the page does not exist.
    #[error("{0} has no index.html: build the page with `cargo xtask site`, or leave out --page")]
    NoPage(std::path::PathBuf),
    /// The address cannot be used.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address that was asked for.
        address: SocketAddr,
        /// The reason that the system gives.
        source: io::Error,
    },
}

/// A server that is bound to its address and accepts connections once it runs.
#[derive(Debug)]
pub struct Server {
    app: Arc<App>,
    access: Arc<Access>,
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Binds a server to the address of its options.
    ///
    /// # Errors
    /// If the options contradict each other or the address cannot be used.
    pub async fn bind(
        options: ServeOptions,
        policy: Option<ServedPolicy>,
    ) -> Result<Self, ServeError> {
        let limits = options.limits();
        Self::bind_with_limits(options, limits, policy).await
    }

    /// Binds a server with limits that may be finer than those of the options.
    ///
    /// # Errors
    /// As [`Server::bind`].
    pub async fn bind_with_limits(
        options: ServeOptions,
        limits: Limits,
        policy: Option<ServedPolicy>,
    ) -> Result<Self, ServeError> {
        if options.token.is_none() && !options.host.is_loopback() && !options.allow_anonymous {
            return Err(ServeError::NoToken(options.host));
        }
        if let Some(token) = &options.token
            && (token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            return Err(ServeError::BadToken);
        }
        if let Some(page) = &options.page
            && !page.join("index.html").is_file()
        {
            return Err(ServeError::NoPage(page.clone()));
        }
        let address = SocketAddr::new(options.host, options.port);
        let access = Arc::new(Access::new(options.token.as_deref(), limits.rate));
        let app = App::new(options, limits, policy).map_err(ServeError::Defaults)?;
        let failed = |source| ServeError::Bind { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self {
            app: Arc::new(app),
            access,
            listener,
            address,
        })
    }

    /// Serves a language model under `/v1/` as well.
    #[must_use]
    pub fn with_engine(self, engine: Arc<dyn CompletionEngine>) -> Self {
        // A server that has one keeps it.
        let _ = self.app.engine.set(engine);
        self
    }

    /// Returns the address that the server listens on.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns a function that tells the number of OpenEnv sessions.
    pub fn session_count(&self) -> impl Fn() -> usize + Send + Sync + 'static {
        let app = Arc::clone(&self.app);
        move || app.sessions.len()
    }

    /// Serves until `stop` is done; then accepts no more, lets running steps finish, closes the
    /// WebSockets, and returns `true` if all ended within the grace time.
    pub async fn run(self, stop: impl Future<Output = ()>) -> bool {
        let router = router(&self.app, &self.access);
        let connections = TaskTracker::new();
        let max = self.app.limits.max_sessions + SPARE_CONNECTIONS;
        let permits = Arc::new(Semaphore::new(max));
        let reaper = tokio::spawn(reap(Arc::clone(&self.app), Arc::clone(&self.access)));
        tokio::pin!(stop);
        loop {
            let accepted = tokio::select! {
                () = &mut stop => break,
                accepted = accept(&self.listener, &permits) => accepted,
            };
            let (stream, peer, permit) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Such as too many open files; waiting lets others close.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let app = Arc::clone(&self.app);
            let router = router.clone();
            connections.spawn(async move {
                app.metrics.connections.inc();
                serve_connection(&app, router, stream, peer).await;
                app.metrics.connections.dec();
                drop(permit);
            });
        }
        drop(self.listener);
        tracing::info!(sessions = self.app.sessions.len(), "stopping");
        self.app.shutdown.cancel();
        connections.close();
        self.app.sockets.close();
        let grace = self.app.limits.grace;
        let all_ended = async {
            connections.wait().await;
            self.app.sockets.wait().await;
        };
        let ended = tokio::time::timeout(grace, all_ended).await.is_ok();
        reaper.abort();
        if !ended {
            tracing::warn!("some connections did not end within the grace time");
        }
        ended
    }
}

type Permit = tokio::sync::OwnedSemaphorePermit;

async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> io::Result<(TcpStream, SocketAddr, Permit)> {
    let permit = Arc::clone(permits).acquire_owned().await;
    let permit = permit.map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    // Frames are small and answered one by one.
    stream.set_nodelay(true)?;
    Ok((stream, peer, permit))
}

/// Serves the requests of a connection until it ends or the server stops.
async fn serve_connection(app: &App, router: Router, stream: TcpStream, peer: SocketAddr) {
    let service = router.map_request(move |mut request: http::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        request
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(app.limits.request_timeout)
        .max_buf_size(64 * 1024)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service))
        .with_upgrades();
    tokio::pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = app.shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "connection ended");
    }
}

/// Ends expired sessions from time to time.
async fn reap(app: Arc<App>, access: Arc<Access>) {
    let shortest = app.limits.idle_timeout.min(app.limits.max_age);
    let pause = (shortest / 4).clamp(Duration::from_millis(10), Duration::from_secs(10));
    loop {
        tokio::time::sleep(pause).await;
        app.end_expired();
        access.forget_old_addresses();
    }
}
