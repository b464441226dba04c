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
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_io_timeout::TimeoutStream;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use crate::access::Access;
use crate::completions::CompletionEngine;
use crate::connections::{ConnectionPermit, SPARE_CONNECTIONS};
use crate::hosts::{AllowedNames, NameError};
use crate::options::{Limits, ServeOptions};
use crate::policy::ServedPolicy;
use crate::routes::router;
use crate::state::App;

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
    /// A name of `--allow-host` or `--allow-origin` cannot be used.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The address cannot be used.
    #[error("cannot listen on {host}:{port}: {source}")]
    Bind {
        /// The address or name that was asked for.
        host: String,
        /// The port that was asked for.
        port: u16,
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
        let failed = |source| ServeError::Bind {
            host: options.host.clone(),
            port: options.port,
            source,
        };
        let addresses = resolve(&options.host, options.port).await.map_err(failed)?;
        let beyond = addresses.iter().map(SocketAddr::ip);
        let beyond = beyond.into_iter().find(|address| !address.is_loopback());
        if let Some(address) = beyond
            && options.token.is_none()
            && !options.allow_anonymous
        {
            return Err(ServeError::NoToken(address));
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
        let checks_host = beyond.is_none() && options.token.is_none();
        let names = AllowedNames::new(checks_host, &options.allow_host, &options.allow_origin)?;
        let access = Arc::new(Access::new(options.token.as_deref(), names, &limits));
        let listener = TcpListener::bind(addresses.as_slice())
            .await
            .map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let app = App::new(options, limits, policy).map_err(ServeError::Defaults)?;
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
            let permit = ConnectionPermit::new(permit, &app.metrics.connections);
            connections.spawn(async move {
                serve_connection(&app, router, stream, peer, permit).await;
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

/// Returns the addresses of a host, IPv4 first: a server listens on the first that can be used.
async fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let mut addresses: Vec<SocketAddr> = lookup_host((host, port)).await?.collect();
    addresses.sort_by_key(SocketAddr::is_ipv6);
    Ok(addresses)
}

async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let permit = Arc::clone(permits).acquire_owned().await;
    let permit = permit.map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    // Frames are small and answered one by one.
    stream.set_nodelay(true)?;
    Ok((stream, peer, permit))
}

/// Serves the requests of a connection until it ends or the server stops.
async fn serve_connection(
    app: &App,
    router: Router,
    stream: TcpStream,
    peer: SocketAddr,
    permit: Arc<ConnectionPermit>,
) {
    let service = router.map_request(move |mut request: http::Request<hyper::body::Incoming>| {
        let extensions = request.extensions_mut();
        extensions.insert(ConnectInfo(peer));
        extensions.insert(Arc::clone(&permit));
        request
    });
    // A client that reads nothing holds its connection no longer than one that sends nothing.
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(
        app.limits.request_timeout.max(app.limits.ping_deadline),
    ));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(app.limits.request_timeout)
        .max_buf_size(64 * 1024)
        .serve_connection(
            TokioIo::new(Box::pin(stream)),
            TowerToHyperService::new(service),
        )
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
