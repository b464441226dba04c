//! The metrics of a server, in the text format of Prometheus.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use sentinel_env::WorldName;

/// A label with the name of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct WorldLabel {
    world: &'static str,
}

/// A label with the code of an error or the reason of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct CodeLabel {
    code: &'static str,
}

/// Labels of a request: its route and the status of its answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RouteLabel {
    route: String,
    status: u16,
}

/// The metrics of one server.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// The number of open connections.
    pub connections: Gauge,
    sessions: Gauge,
    /// OpenEnv sessions that ended by their own limits or by a vanished client.
    sessions_ended: Family<CodeLabel, Counter>,
    resets: Family<WorldLabel, Counter>,
    steps: Family<WorldLabel, Counter>,
    errors: Family<CodeLabel, Counter>,
    requests: Family<RouteLabel, Counter>,
    /// Seconds that the policy took for an action.
    pub policy_seconds: Histogram,
    /// Seconds that the language model took for a request.
    pub completion_seconds: Histogram,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("sentinel");
        let connections = Gauge::default();
        let sessions = Gauge::default();
        let sessions_ended = Family::<CodeLabel, Counter>::default();
        let resets = Family::<WorldLabel, Counter>::default();
        let steps = Family::<WorldLabel, Counter>::default();
        let errors = Family::<CodeLabel, Counter>::default();
        let requests = Family::<RouteLabel, Counter>::default();
        let policy_seconds = Histogram::new(exponential_buckets(0.0001, 4.0, 10));
        registry.register("connections", "Open connections", connections.clone());
        registry.register("sessions", "OpenEnv sessions", sessions.clone());
        let help = "OpenEnv sessions that ended, by reason";
        registry.register("sessions_ended", help, sessions_ended.clone());
        registry.register("resets", "Episodes started", resets.clone());
        registry.register("steps", "Steps taken", steps.clone());
        registry.register(
            "errors",
            "Error replies of the protocol, by code",
            errors.clone(),
        );
        let help = "HTTP requests, by route and status";
        registry.register("requests", help, requests.clone());
        let help = "Seconds that the policy took for an action";
        registry.register("policy_seconds", help, policy_seconds.clone());
        let completion_seconds = Histogram::new(exponential_buckets(0.001, 4.0, 10));
        let help = "Seconds that the language model took for a request";
        registry.register("completion_seconds", help, completion_seconds.clone());
        Self {
            registry,
            connections,
            sessions,
            sessions_ended,
            resets,
            steps,
            errors,
            requests,
            policy_seconds,
            completion_seconds,
        }
    }
}

impl Metrics {
    /// Sets the number of OpenEnv sessions.
    pub fn set_sessions(&self, count: usize) {
        self.sessions.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Counts an episode that was started.
    pub fn count_reset(&self, world: WorldName) {
        self.resets.get_or_create(&label(world)).inc();
    }

    /// Counts a step that was taken.
    pub fn count_step(&self, world: WorldName) {
        self.steps.get_or_create(&label(world)).inc();
    }

    /// Counts an error reply.
    pub fn count_error(&self, code: &'static str) {
        self.errors.get_or_create(&CodeLabel { code }).inc();
    }

    /// Counts a session that ended.
    pub fn count_end(&self, code: &'static str) {
        self.sessions_ended.get_or_create(&CodeLabel { code }).inc();
    }

    /// Counts a request by its route and status.
    pub fn count_request(&self, route: &str, status: u16) {
        let route = route.to_owned();
        self.requests
            .get_or_create(&RouteLabel { route, status })
            .inc();
    }

    /// Returns all metrics as text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

const fn label(world: WorldName) -> WorldLabel {
    WorldLabel {
        world: world.name(),
    }
}
