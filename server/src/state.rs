//! The state that all connections of a server share.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use prometheus_client::metrics::histogram::Histogram;
use sentinel_env::adaptive_difficulty::DifficultyController;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::completions::CompletionEngine;
use crate::connections::{STREAMS, WAITING_BYTES};
use crate::environment::{AnyEnvironment, Defaults};
use crate::metrics::Metrics;
use crate::options::{Limits, ServeOptions};
use crate::policy::ServedPolicy;
use crate::reference_api::ReferenceEpisode;
use crate::sessions::{OpenError, Session, Sessions, WhenFull};

/// Most sessions of the reference's API, as in the reference.
const REFERENCE_SESSIONS: usize = 256;

/// The state that all connections share.
pub(crate) struct App {
    pub(crate) options: ServeOptions,
    pub(crate) limits: Limits,
    pub(crate) defaults: Arc<Defaults>,
    pub(crate) sessions: Sessions<AnyEnvironment>,
    pub(crate) reference: Sessions<ReferenceEpisode>,
    pub(crate) controller: Mutex<DifficultyController>,
    pub(crate) policy: Option<Arc<ServedPolicy>>,
    /// The language model behind `/v1/`, if there is one.
    pub(crate) engine: OnceLock<Arc<dyn CompletionEngine>>,
    /// Permits of computations of the policy and of the language model, one per core.
    pub(crate) policy_permits: Arc<Semaphore>,
    /// Permits of streams of events.
    pub(crate) streams: Arc<Semaphore>,
    /// Permits of bytes of frames that wait while slow steps run.
    pub(crate) waiting_bytes: Arc<Semaphore>,
    pub(crate) metrics: Metrics,
    pub(crate) shutdown: CancellationToken,
    /// The WebSockets, which outlive their connection's HTTP part.
    pub(crate) sockets: TaskTracker,
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("App");
        shown.field("options", &self.options);
        shown.field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl App {
    pub(crate) fn new(
        options: ServeOptions,
        limits: Limits,
        policy: Option<ServedPolicy>,
    ) -> Result<Self, String> {
        let defaults = Defaults::new(&options, limits)?;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let (idle, age) = (limits.idle_timeout, limits.max_age);
        Ok(Self {
            sessions: Sessions::new(limits.max_sessions, WhenFull::Refuse, idle, age),
            reference: Sessions::new(REFERENCE_SESSIONS, WhenFull::Evict, idle, age),
            controller: Mutex::default(),
            policy: policy.map(Arc::new),
            engine: OnceLock::new(),
            policy_permits: Arc::new(Semaphore::new(cores)),
            streams: Arc::new(Semaphore::new(STREAMS)),
            waiting_bytes: Arc::new(Semaphore::new(WAITING_BYTES)),
            metrics: Metrics::default(),
            shutdown: CancellationToken::new(),
            sockets: TaskTracker::new(),
            defaults: Arc::new(defaults),
            options,
            limits,
        })
    }

    /// Runs a computation on a thread of its own and observes its seconds; as many run at a time as
    /// there are cores. One whose request has ended, such as by a time-out, keeps its place until it is
    /// done.
    pub(crate) async fn compute<T, E>(
        &self,
        seconds: &Histogram,
        job: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<String> + Send + 'static,
    {
        let permit = Arc::clone(&self.policy_permits).acquire_owned().await;
        let permit = permit.map_err(|error| E::from(error.to_string()))?;
        let start = std::time::Instant::now();
        let job = move || {
            let result = job();
            drop(permit);
            result
        };
        let result = tokio::task::spawn_blocking(job).await;
        seconds.observe(start.elapsed().as_secs_f64());
        result.map_err(|_| E::from("the computation failed".to_owned()))?
    }

    /// Adds an OpenEnv session.
    pub(crate) fn open_session(&self) -> Result<Arc<Session<AnyEnvironment>>, OpenError> {
        let opened = self
            .sessions
            .open(|id| AnyEnvironment::new(&self.defaults, id));
        self.metrics.set_sessions(self.sessions.len());
        opened
    }

    /// Ends an OpenEnv session and counts the reason; `false` if it had ended already.
    pub(crate) fn close_session(&self, id: &str, reason: &'static str) -> bool {
        let closed = self.sessions.close(id);
        if closed {
            self.metrics.count_end(reason);
        }
        self.metrics.set_sessions(self.sessions.len());
        closed
    }

    /// Ends the sessions that are idle or too old.
    pub(crate) fn end_expired(&self) {
        for _ in 0..self.sessions.end_expired() {
            self.metrics.count_end("expired");
        }
        self.reference.end_expired();
        self.metrics.set_sessions(self.sessions.len());
    }
}
