//! The options of rollouts on an engine.

use std::path::PathBuf;

use sentinel_base::arg_parsers::parse_number;
use sentinel_http::Request;
use serde::{Deserialize, Serialize};

use super::error::RolloutEngineError;

/// Largest number of updates between two loads of the adapter. Samples are then at most three updates
/// stale, within the four that asynchronous training commonly accepts.
const MAX_SYNC_EVERY: usize = 4;
/// Seconds that a server has for an answer.
const TIMEOUT: u64 = 600;
/// Largest accepted value of it.
const MAX_TIMEOUT: u64 = 86_400;
/// Largest mean difference of log-probabilities directly after a load. Engines in bf16 differ from the
/// policy by about .012 a token, and another adapter by a multiple of this bound.
const MAX_LOGP_DIFFERENCE: f64 = 0.1;

/// Options of rollouts on an engine.
///
/// Only given options are set, so that runs of earlier versions can be resumed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[command(next_help_heading = "Rollouts on an engine")]
pub struct RolloutEngineArgs {
    /// Generate on these servers, which speak vLLM's dialect: http://HOST:PORT, separated by commas
    #[arg(long, value_name = "URLS", conflicts_with = "full")]
    pub rollouts: Option<String>,
    /// Load the adapter only at every N-th update, N from 1 to 4 [default: 1]
    #[arg(long, value_name = "N")]
    pub rollout_sync_every: Option<usize>,
    /// Folder for the adapters, which every server must see under the same path [default: rollouts/ in
    /// the folder of the run]
    #[arg(long, value_name = "DIR")]
    pub rollout_dir: Option<PathBuf>,
    /// Seconds that a server has for an answer [default: 600]
    #[arg(long, value_name = "SECONDS")]
    pub rollout_timeout: Option<u64>,
    /// Let the servers free the memory of their GPUs while the run trains, for a GPU that both share
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rollout_sleep: bool,
    /// Largest mean difference of the log-probabilities of server and policy directly after a load;
    /// a larger one stops the run [default: 0.1]
    #[arg(long, value_name = "X", value_parser = parse_number::<f64>)]
    pub rollout_max_logp_difference: Option<f64>,
}

impl RolloutEngineArgs {
    /// Returns `true` if completions are generated on an engine.
    #[must_use]
    pub const fn is_enabled(&self) -> bool {
        self.rollouts.is_some()
    }

    /// Returns the addresses of the servers, without slashes at their ends.
    #[must_use]
    pub fn addresses(&self) -> Vec<String> {
        let all = self.rollouts.as_deref().unwrap_or_default().split(',');
        let all = all.map(|address| address.trim().trim_end_matches('/').to_owned());
        all.filter(|address| !address.is_empty()).collect()
    }

    /// Returns the number of updates from one load of the adapter to the next.
    #[must_use]
    pub fn sync_every(&self) -> usize {
        self.rollout_sync_every.unwrap_or(1)
    }

    /// Returns the seconds that a server has for an answer.
    #[must_use]
    pub fn timeout(&self) -> u64 {
        self.rollout_timeout.unwrap_or(TIMEOUT)
    }

    /// Returns the bound of the mean difference of log-probabilities.
    #[must_use]
    pub fn max_logp_difference(&self) -> f64 {
        self.rollout_max_logp_difference
            .unwrap_or(MAX_LOGP_DIFFERENCE)
    }

    /// Checks the options; `full` is `true` if all weights are trained.
    ///
    /// # Errors
    /// If an option is invalid, or needs `--rollouts`.
    pub fn check(&self, full: bool) -> Result<(), RolloutEngineError> {
        let option = |option, reason: &str| {
            Err(RolloutEngineError::Option {
                option,
                reason: reason.to_owned(),
            })
        };
        if !self.is_enabled() {
            let others = [
                ("rollout-sync-every", self.rollout_sync_every.is_some()),
                ("rollout-dir", self.rollout_dir.is_some()),
                ("rollout-timeout", self.rollout_timeout.is_some()),
                ("rollout-sleep", self.rollout_sleep),
                (
                    "rollout-max-logp-difference",
                    self.rollout_max_logp_difference.is_some(),
                ),
            ];
            return match others.into_iter().find(|(_, given)| *given) {
                Some((name, _)) => option(name, "has no effect without --rollouts"),
                None => Ok(()),
            };
        }
        if full {
            let reason = "cannot be combined with --full: only adapters are sent to an engine, and all \
                          weights would be too large to load at every update";
            return option("rollouts", reason);
        }
        let addresses = self.addresses();
        if addresses.is_empty() {
            return option("rollouts", "names no server: use http://HOST:PORT");
        }
        for (at, address) in addresses.iter().enumerate() {
            Request::get(address).map_err(|source| RolloutEngineError::Http {
                replica: address.clone(),
                source,
            })?;
            if addresses[..at].contains(address) {
                return option("rollouts", &format!("names {address} twice"));
            }
        }
        if !(1..=MAX_SYNC_EVERY).contains(&self.sync_every()) {
            let reason = "should be from 1 to 4: samples of an older policy teach too little";
            return option("rollout-sync-every", reason);
        }
        if !(1..=MAX_TIMEOUT).contains(&self.timeout()) {
            return option("rollout-timeout", "should be from 1 to 86400, a day");
        }
        if self.max_logp_difference() <= 0.0 {
            return option("rollout-max-logp-difference", "should be above 0");
        }
        Ok(())
    }
}
