//! The servers of a run, and the version of the adapter that they serve.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{fs, io};

use sentinel_lm::model::check_lengths;
use sentinel_lm::{CausalLm, Completion, GenerateOptions, LmError, Lora};
use sentinel_rl::Metrics;
use sha2::{Digest as _, Sha256};

use super::args::RolloutEngineArgs;
use super::error::RolloutEngineError;
use super::replica::Replica;
use super::requests::{RowRequest, completions, divide};
use crate::agent::GenerationBackend;
use crate::requests_at_once::send_at_once;

/// Folder of the adapters inside that of a run.
const ROLLOUTS: &str = "rollouts";
/// File with the id of the run, by which its adapters are told from those of others.
const RUN_ID: &str = "run-id";
/// Largest number of requests that a server has at a time.
const IN_FLIGHT: usize = 256;
/// The version of vLLM whose requests and answers these are.
const VLLM_VERSION: (u32, u32) = (0, 33);

/// A version of the adapter that every server has.
#[derive(Clone, Debug)]
struct Version {
    /// Update before which it was loaded.
    update: usize,
    name: String,
    folder: PathBuf,
}

/// Work of the servers since the last report.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    tokens: usize,
    waited: Duration,
}

/// The servers of a run, with the version of the adapter that they serve.
#[derive(Debug)]
pub struct RolloutEngine {
    replicas: Vec<Replica>,
    sync_every: usize,
    max_logp_difference: f64,
    /// Folder of the adapters of this process.
    folder: PathBuf,
    /// Folder of the run for rollouts, with its id.
    own_folder: PathBuf,
    /// Id that is written there with the first adapter, when the folder of the run exists.
    unwritten_id: Option<String>,
    /// Start of the names of the adapters of this process.
    prefix: String,
    /// Digest of the base model; computed once.
    digest: Option<String>,
    served: Option<Version>,
    /// `true` if the servers sleep while the run trains.
    sleeps: bool,
    is_asleep: bool,
    /// Warnings about the servers, for the first report.
    pub(super) warnings: Vec<String>,
    work: Mutex<Work>,
}

/// The result of [`RolloutEngine::sync`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SyncReport {
    /// Number of updates since the weights that the servers have.
    pub staleness: usize,
    /// Seconds that it took to write and load the adapter; 0 if it was not loaded.
    pub seconds: f64,
    /// Failures that do not stop the run.
    pub warnings: Vec<String>,
}

impl RolloutEngine {
    /// Connects to the servers that the options name, for a run in `run_folder` whose rows have at most
    /// `max_length` tokens. Adapters that an earlier process of the run left behind are unloaded.
    ///
    /// # Errors
    /// If an option is invalid, a server does not answer, or its context is too short.
    pub fn connect(
        args: &RolloutEngineArgs,
        run_folder: &Path,
        max_length: usize,
    ) -> Result<Self, RolloutEngineError> {
        args.check(false)?;
        let timeout = Duration::from_secs(args.timeout());
        let replicas = args.addresses();
        let replicas = replicas
            .iter()
            .map(|address| Replica::new(address, timeout));
        let replicas = replicas.collect::<Result<Vec<_>, _>>()?;
        let run_folder = std::path::absolute(run_folder).unwrap_or_else(|_| run_folder.to_owned());
        let own = run_folder.join(ROLLOUTS);
        let (run_id, is_new) = match read_run_id(&own)? {
            Some(id) => (id, false),
            None => (new_run_id(&run_folder), true),
        };
        let run_prefix = format!("sentinel-{run_id}-");
        // A name or folder that a server has seen before could be answered from its prefix cache.
        let process = format!("{:x}", unix_time_nanos());
        let parent = args.rollout_dir.as_ref().unwrap_or(&own);
        let parent = std::path::absolute(parent).unwrap_or_else(|_| parent.clone());
        let mut warnings = Vec::new();
        for replica in &replicas {
            // A run that was killed may have left the server asleep.
            if args.rollout_sleep {
                replica.wake_up()?;
            }
            warnings.extend(prepare(replica, &run_prefix, max_length)?);
        }
        remove_leftovers(&parent, &run_prefix);
        Ok(Self {
            replicas,
            sync_every: args.sync_every(),
            max_logp_difference: args.max_logp_difference(),
            folder: parent.join(format!("{run_prefix}{process}")),
            prefix: format!("{run_prefix}{process}-"),
            own_folder: own,
            unwritten_id: is_new.then_some(run_id),
            digest: None,
            served: None,
            sleeps: args.rollout_sleep,
            is_asleep: false,
            warnings,
            work: Mutex::default(),
        })
    }

    /// Loads the adapter of `model` on all servers before update `update`, if it is due: at the first
    /// update of this process, and at every multiple of `--rollout-sync-every`.
    ///
    /// # Errors
    /// If the adapter cannot be written, or a server does not load it. It is then unloaded from the
    /// others.
    pub fn sync(&mut self, model: &CausalLm, update: usize) -> Result<SyncReport, LmError> {
        self.wake_up()?;
        if let Some(served) = &self.served
            && !update.is_multiple_of(self.sync_every)
        {
            return Ok(SyncReport {
                staleness: update.saturating_sub(served.update),
                ..SyncReport::default()
            });
        }
        let start = Instant::now();
        if let Some(id) = &self.unwritten_id {
            write_run_id(&self.own_folder, id)?;
            self.unwritten_id = None;
        }
        let version = Version {
            update,
            name: format!("{}v{update}", self.prefix),
            folder: self.folder.join(format!("adapter-v{update:06}")),
        };
        let digest = match self.digest.take() {
            Some(digest) => digest,
            None => model.base_digest()?,
        };
        Lora::save(model, &version.folder, &digest)?;
        self.digest = Some(digest);
        self.load(&version)?;
        let mut warnings = std::mem::take(&mut self.warnings);
        if let Some(old) = self.served.replace(version) {
            warnings.extend(self.forget(&old));
        }
        Ok(SyncReport {
            staleness: 0,
            seconds: start.elapsed().as_secs_f64(),
            warnings,
        })
    }

    /// Lets the servers free the memory of their GPUs until the next [`RolloutEngine::sync`], if the options ask
    /// for it.
    ///
    /// # Errors
    /// If a server does not answer, or cannot do it.
    pub fn sleep(&mut self) -> Result<(), RolloutEngineError> {
        if self.sleeps && !self.is_asleep {
            self.is_asleep = true;
            let slept = self.on_all(Replica::sleep);
            slept.into_iter().collect::<Result<(), _>>()?;
        }
        Ok(())
    }

    pub(super) fn wake_up(&mut self) -> Result<(), RolloutEngineError> {
        if self.is_asleep {
            let awake = self.on_all(Replica::wake_up);
            awake.into_iter().collect::<Result<(), _>>()?;
            self.is_asleep = false;
        }
        Ok(())
    }

    /// Loads a version on all servers, or on none.
    fn load(&self, version: &Version) -> Result<(), RolloutEngineError> {
        let loaded = self.on_all(|replica| replica.load_adapter(&version.name, &version.folder));
        let Some(failure) = loaded.into_iter().find_map(Result::err) else {
            return Ok(());
        };
        // A server that failed may have loaded it after its time was over. Those that have it not
        // refuse, which does not matter.
        self.on_all(|replica| replica.unload_adapter(&version.name));
        // The next attempt uses another folder, so one that stays does no harm.
        let _ = fs::remove_dir_all(&version.folder);
        Err(RolloutEngineError::Load {
            adapter: version.name.clone(),
            folder: version.folder.clone(),
            source: Box::new(failure),
        })
    }

    /// Unloads a version and removes its folder. Returns the failures.
    fn forget(&self, version: &Version) -> Vec<String> {
        let unloaded = self.on_all(|replica| replica.unload_adapter(&version.name));
        let failures = unloaded.into_iter().filter_map(Result::err);
        let mut warnings: Vec<String> = failures
            .map(|error| format!("adapter {} stays loaded: {error}", version.name))
            .collect();
        if let Err(error) = fs::remove_dir_all(&version.folder) {
            let folder = version.folder.display();
            warnings.push(format!("cannot remove {folder}: {error}"));
        }
        warnings
    }

    /// Calls `act` for all servers at the same time, and returns the results in their order.
    fn on_all<T: Send>(&self, act: impl Fn(&Replica) -> T + Sync) -> Vec<T> {
        std::thread::scope(|scope| {
            let started = self
                .replicas
                .iter()
                .map(|replica| scope.spawn(|| act(replica)));
            let started: Vec<_> = started.collect();
            let ended = started.into_iter().map(|thread| match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            ended.collect()
        })
    }

    /// Returns the generator of completions with the version that the servers have, for a model with
    /// `vocabulary` tokens.
    ///
    /// # Errors
    /// If no version was loaded.
    pub fn backend(&self, vocabulary: usize) -> Result<VersionBackend<'_>, LmError> {
        let served = self.served.as_ref().ok_or(LmError::Option {
            option: "rollouts",
            value: "without an adapter".to_owned(),
            allowed: "synchronized before completions are generated",
        })?;
        Ok(VersionBackend {
            engine: self,
            name: &served.name,
            vocabulary,
        })
    }

    /// Checks that the log-probabilities of the servers are those of the policy: `mean` is the mean
    /// absolute difference of a token. Samples of an older version may differ by any amount.
    ///
    /// # Errors
    /// If it is above the bound, or not a number.
    pub fn check_logps(
        &self,
        update: usize,
        staleness: usize,
        mean: f64,
    ) -> Result<(), RolloutEngineError> {
        if staleness > 0 || mean <= self.max_logp_difference {
            return Ok(());
        }
        let served = self.served.as_ref();
        Err(RolloutEngineError::LogpDifference {
            update,
            adapter: served.map_or_else(String::new, |version| version.name.clone()),
            mean,
            bound: self.max_logp_difference,
        })
    }

    /// Returns the metrics of an update, and starts to count anew.
    pub fn take_metrics(&self, synced: &SyncReport) -> Metrics {
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        let Work { tokens, waited } = std::mem::take(&mut *work);
        let waited = waited.as_secs_f64();
        let speed = if waited > 0.0 {
            tokens as f64 / waited
        } else {
            0.0
        };
        let values = [
            ("rollout_engine/staleness", synced.staleness as f64),
            ("rollout_engine/sync_seconds", synced.seconds),
            ("rollout_engine/wait_seconds", waited),
            ("rollout_engine/tokens_per_second", speed),
        ];
        let named = values.map(|(name, value)| (name.to_owned(), value));
        named.into_iter().collect()
    }

    /// Unloads the adapter from all servers and removes its folder, at the end of a run. Failures do
    /// not matter by then: the next process of the run unloads what is left.
    pub fn close(&mut self) {
        // A server that does not wake up keeps its adapter until the next process of the run.
        let _ = self.wake_up();
        let served = self.served.take();
        let failures = served.map(|version| self.forget(&version));
        // Only empty folders are removed.
        let _ = fs::remove_dir(&self.folder);
        if failures.is_none_or(|failures| failures.is_empty()) {
            let _ = fs::remove_file(self.own_folder.join(RUN_ID));
        }
        let _ = fs::remove_dir(&self.own_folder);
    }

    /// Generates the completions of a batch, with several requests at a time on every server.
    fn generate(
        &self,
        prompts: &[Vec<u32>],
        requests: &[RowRequest],
        vocabulary: usize,
    ) -> Result<Vec<Completion>, RolloutEngineError> {
        let start = Instant::now();
        let threads = self.replicas.len() * IN_FLIGHT;
        let answers = send_at_once(requests.len(), threads, |thread, request| {
            let replica = &self.replicas[thread % self.replicas.len()];
            let asked = &requests[request];
            let answer = replica.complete(&asked.request)?;
            completions(asked, prompts, vocabulary, answer)
                .map_err(|reason| replica.answer_error(reason))
        })?;
        let all: Vec<Completion> = answers.into_iter().flatten().collect();
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        work.tokens += all
            .iter()
            .map(|one: &Completion| one.ids.len())
            .sum::<usize>();
        work.waited += start.elapsed();
        Ok(all)
    }
}

/// Reads the id of a run from its folder for rollouts. It tells the adapters of the run, also those that
/// its earlier processes loaded, from those of others: runs of two machines can have the same path.
pub(super) fn read_run_id(folder: &Path) -> Result<Option<String>, RolloutEngineError> {
    let path = folder.join(RUN_ID);
    let failed = |source| RolloutEngineError::RunId {
        path: path.clone(),
        source,
    };
    let id = match fs::read_to_string(&path) {
        Ok(id) => id.trim().to_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    if id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(Some(id));
    }
    let reason = io::Error::new(io::ErrorKind::InvalidData, "it holds no id: remove it");
    Err(failed(reason))
}

pub(super) fn write_run_id(folder: &Path, id: &str) -> Result<(), RolloutEngineError> {
    let path = folder.join(RUN_ID);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, id));
    written.map_err(|source| RolloutEngineError::RunId { path, source })
}

/// Returns an id that no other run has.
pub(super) fn new_run_id(run_folder: &Path) -> String {
    let seen = (run_folder, unix_time_nanos(), std::process::id());
    let digest = Sha256::digest(format!("{seen:?}"));
    digest.iter().take(4).map(|b| format!("{b:02x}")).collect()
}

/// Checks a server, and unloads the adapters whose names begin with `run_prefix`. Returns a warning about its
/// version.
fn prepare(
    replica: &Replica,
    run_prefix: &str,
    max_length: usize,
) -> Result<Option<String>, RolloutEngineError> {
    let version = replica.version()?;
    for model in replica.models()? {
        if model.id.starts_with(run_prefix) {
            replica.unload_adapter(&model.id)?;
        }
        if let Some(context) = model.max_model_len.filter(|context| *context < max_length) {
            return Err(RolloutEngineError::Unfit {
                replica: replica.address().to_owned(),
                reason: format!(
                    "model {} reads {context} tokens, fewer than --max-length {max_length}: start it with a larger \
                     --max-model-len, or lower --max-length",
                    model.id
                ),
            });
        }
    }
    Ok(version.and_then(|version| warn_of_version(replica.address(), &version)))
}

/// Returns a warning if a version of vLLM is older than the one whose dialect is spoken.
fn warn_of_version(address: &str, version: &str) -> Option<String> {
    let mut numbers = version.split(['.', 'r', '+', '-']).map(str::parse);
    let found = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    let (major, minor) = VLLM_VERSION;
    (found < VLLM_VERSION).then(|| {
        format!(
            "rollout server {address} runs vLLM {version}; requests and answers are those of {major}.{minor}, and may \
             differ there"
        )
    })
}

/// Returns the time in nanoseconds since 1970, which no two processes of a run share.
fn unix_time_nanos() -> u128 {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH);
    passed.map_or(0, |passed| passed.as_nanos())
}

/// Removes the folders that earlier processes of a run left in `parent`.
fn remove_leftovers(parent: &Path, run_prefix: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().starts_with(run_prefix) {
            // One that stays does no harm: no name leads to it any more.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Generates completions with one version of the adapter on the servers of an engine.
///
/// Log-probabilities are those at the temperature of the options, and at temperature 1 for greedy
/// decoding, as a model in the process returns them.
#[derive(Debug)]
pub struct VersionBackend<'a> {
    engine: &'a RolloutEngine,
    name: &'a str,
    vocabulary: usize,
}

impl GenerationBackend for VersionBackend<'_> {
    fn generate(
        &mut self,
        prompts: &[Vec<u32>],
        options: &GenerateOptions,
    ) -> Result<Vec<Completion>, LmError> {
        if !options.choices.is_empty() {
            return Err(LmError::Option {
                option: "choices",
                value: format!("those of {} prompts", options.choices.len()),
                allowed: "supported only by a model in this process",
            });
        }
        let lengths: Vec<usize> = prompts.iter().map(Vec::len).collect();
        check_lengths(&lengths, options.max_prompt_tokens.unwrap_or(usize::MAX))?;
        let requests = divide(prompts, options, self.name, self.engine.replicas.len());
        Ok(self.engine.generate(prompts, &requests, self.vocabulary)?)
    }
}

impl From<RolloutEngineError> for LmError {
    fn from(error: RolloutEngineError) -> Self {
        Self::backend(error)
    }
}
