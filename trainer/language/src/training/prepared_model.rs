//! The start of a run: checks of its folder, the model with tokenizer and adapter, and options from
//! several sources.

use std::path::{Path, PathBuf};

use clap::Args;
use sentinel_base::options_file::{OptionsError, read_options, with_current_names};
use sentinel_base::provenance::Provenance;
use sentinel_base::{Error, files};
use sentinel_lm::companion_files::companions;
use sentinel_lm::init::{InitOptions, create};
use sentinel_lm::lora::ADAPTER_FILES;
use sentinel_lm::model::MODEL_FILES;
use sentinel_lm::{
    BaseCheck, CausalLm, GenerationDefaults, HubOptions, LmError, Lora, Optimizer, StopTokens,
    Tokenizer, TrainedPart, check_precision, find_model, load_tokenizer,
};
use sentinel_rl::Schedule;
use sentinel_run::distributed::ProcessGroup;
use sentinel_run::{
    CHECKPOINT_FILE, EVENTS_FILE, RunDir, RunLock, TENSORBOARD_DIR, TRAINER_STATE_FILE,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::algorithm::State;
use super::error::RunError;
use super::options::RunOptions;
use super::outputs::COMPLETIONS;

/// Context length of Qwen2.5's small models, in tokens.
const POSITIONS: usize = 32_768;

/// A model that is loaded and ready for training.
pub struct PreparedModel {
    /// Model with its trained parameters selected.
    pub model: CausalLm,
    /// Tokenizer of the model.
    pub tokenizer: Tokenizer,
    /// Stop and padding tokens of the model.
    pub generation: GenerationDefaults,
    /// Stop tokens that the trained model must name, if they are not those of the base model.
    pub stop_tokens: Option<StopTokens>,
    /// Warnings about files of the model, its tokenizer and its stop tokens.
    pub warnings: Vec<String>,
    /// Path of the base model's folder.
    pub folder: PathBuf,
    /// `true` if a tiny new model replaces one that could not be found.
    pub fallback: bool,
    /// Lock on the run's folder, which must be held until the run ends; `None` on ranks that do not
    /// write it.
    pub lock: Option<RunLock>,
}

impl PreparedModel {
    /// Checks and locks the run's folder, and loads the model and adapter that the options name. Of
    /// the ranks in `group`, rank 0 does so first; the others neither check nor lock the folder.
    ///
    /// If the model cannot be found and the options allow a fallback, a tiny new model is written
    /// into the folder, with a tokenizer trained on `texts`.
    ///
    /// # Errors
    /// If an option is invalid, the folder holds something else, or the model cannot be found, read
    /// or run.
    pub fn open(
        options: &RunOptions,
        run_dir: &RunDir,
        group: &ProcessGroup,
        texts: &dyn Fn() -> Vec<String>,
    ) -> Result<Self, RunError> {
        group.main_first(|| Self::open_on_rank(options, run_dir, group.is_main(), texts))
    }

    fn open_on_rank(
        options: &RunOptions,
        run_dir: &RunDir,
        is_main: bool,
        texts: &dyn Fn() -> Vec<String>,
    ) -> Result<Self, RunError> {
        options.check()?;
        if is_main {
            check(run_dir, options)?;
        }
        options.named_adapter()?;
        let device = options.device.open()?;
        check_precision(options.precision, &device)?;
        let lock = is_main.then(|| run_dir.lock()).transpose()?;
        let mut warning = None;
        let (folder, fallback) = match find_model(&options.model, &HubOptions::from_environment()) {
            Ok(found) => {
                warning = found.warning;
                (found.folder, false)
            }
            Err(LmError::NotFound { .. }) if options.allow_fallback => {
                let exists = run_dir.resume || !is_main;
                (create_fallback(options, run_dir, exists, texts)?, true)
            }
            Err(error) => return Err(error.into()),
        };
        let mut model = CausalLm::load(&folder, &device)?;
        if options.full {
            model.set_trained_part(TrainedPart::Everything);
        } else if let Some(adapter) = &options.adapter {
            Lora::load(&mut model, adapter, BaseCheck::Weights)?;
            Lora::check_trainable(&model, adapter)?;
            model.set_trained_part(TrainedPart::Adapter);
        } else {
            let mut lora = options.lora()?;
            if fallback {
                // The adapter does not belong to the requested model.
                lora.base_model = Some(folder.display().to_string());
            }
            Lora::attach(&mut model, lora, options.seed)?;
        }
        let eos_token = options.eos_token.as_deref();
        let adapter = options.adapter.as_deref();
        let kwargs = options.template_kwargs(&folder)?;
        let (tokenizer, generation, stop_tokens) =
            load_tokenizer(model.config(), &folder, adapter, eos_token, kwargs)?;
        Ok(Self {
            warnings: warning
                .into_iter()
                .chain(generation.warnings(&tokenizer))
                .collect(),
            model,
            tokenizer,
            generation,
            stop_tokens,
            folder,
            fallback,
            lock,
        })
    }

    /// Creates the state before the first step.
    ///
    /// # Errors
    /// If the model cannot be rounded to the precision of the options.
    pub fn state(
        mut model: CausalLm,
        options: &RunOptions,
        schedule: Schedule,
    ) -> Result<State, RunError> {
        model.lower_precision(options.precision)?;
        Ok(State {
            model,
            optimizer: Optimizer::new(&options.adam()),
            schedule,
            done: 0,
            tokens: 0,
            best: None,
        })
    }

    /// Returns the token that pads rows: the checkpoint's padding token, or else its first stop
    /// token.
    #[must_use]
    pub fn pad(&self) -> u32 {
        let first = self.generation.eos_token_ids.first().copied();
        self.generation.pad_token_id.or(first).unwrap_or(0)
    }
}

/// Creates a tiny new model in place of one that was not found, or returns that of the resumed run or
/// of rank 0 if it `exists`. It accepts texts as long as the models that it replaces.
fn create_fallback(
    options: &RunOptions,
    dir: &RunDir,
    exists: bool,
    texts: &dyn Fn() -> Vec<String>,
) -> Result<PathBuf, RunError> {
    let folder = dir.path.join(FALLBACK_DIR);
    if !(exists && folder.join("config.json").is_file()) {
        let init = InitOptions {
            max_position_embeddings: POSITIONS.max(options.max_length),
            overwrite_output_dir: true,
            ..InitOptions::tiny(folder.clone())
        };
        let mut provenance = Provenance::new();
        provenance.add_fallback("init", options.fallback_note());
        create(&init, &texts(), &provenance)?;
    }
    Ok(folder)
}

/// Merges options from several sources: those that `given` reports as typed on the command line,
/// over those of `base` (a file or the resumed run), over the command line's defaults.
///
/// # Errors
/// If `base` has an unknown option or an invalid value.
pub fn merge_options<T: Args + Serialize + DeserializeOwned>(
    options: &T,
    base: Option<(&Path, Value)>,
    given: impl Fn(&str) -> bool,
) -> Result<T, RunError> {
    let mut fields = match serde_json::to_value(options).map_err(Error::from)? {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    let typed: Vec<(String, Value)> = (fields.iter())
        .filter(|(name, _)| given(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut path = PathBuf::new();
    if let Some((from, base)) = base {
        from.clone_into(&mut path);
        let Value::Object(base) = base else {
            return Err(no_options(from, "not an object of options"));
        };
        let base = with_current_names::<T>(base).map_err(|reason| no_options(from, &reason))?;
        for (name, value) in base {
            if !fields.contains_key(&name) {
                let reason = match name.as_str() {
                    "output_dir" | "config" | "resume_from_checkpoint" | "overwrite_output_dir" => {
                        format!("{name} is only read from the command line: leave it out here")
                    }
                    _ => format!("there is no option {name}: see --help"),
                };
                return Err(Error::Invalid { path, reason }.into());
            }
            fields.insert(name, value);
        }
    }
    fields.extend(typed);
    let parsed = serde_json::from_value(Value::Object(fields.clone()));
    parsed.map_err(|error| Error::invalid(&path, reason_of::<T>(options, &fields, &error)).into())
}

/// Returns an error of the options with the name of the one that has it: the one that alone makes the valid
/// options invalid.
fn reason_of<T: Serialize + DeserializeOwned>(
    valid: &T,
    fields: &Map<String, Value>,
    error: &serde_json::Error,
) -> String {
    let valid = match serde_json::to_value(valid) {
        Ok(Value::Object(valid)) => valid,
        _ => return error.to_string(),
    };
    let is_wrong = |(name, value): &(&String, &Value)| {
        let mut changed = valid.clone();
        changed.insert((*name).clone(), (*value).clone());
        serde_json::from_value::<T>(Value::Object(changed)).is_err()
    };
    match fields.iter().find(is_wrong) {
        Some((name, value)) => format!("option {name} is {value}: {error}"),
        None => error.to_string(),
    }
}

fn no_options(path: &Path, reason: &str) -> RunError {
    Error::invalid(path, reason.to_owned()).into()
}

/// Reads options from a TOML or JSON file.
///
/// # Errors
/// If it cannot be read or is not an object.
pub fn options_file(path: &Path) -> Result<Value, RunError> {
    match read_options(path) {
        Ok(fields) => Ok(Value::Object(fields)),
        Err(OptionsError::Read(error)) => Err(error.into()),
        Err(OptionsError::Format { reason }) => Err(no_options(path, &reason)),
    }
}

/// Writes the options of a run to `training_options.json` in its folder, for use with `--config`.
///
/// # Errors
/// If they cannot be written.
pub fn write_options(folder: &Path, config: &Value) -> Result<(), RunError> {
    std::fs::create_dir_all(folder).map_err(|error| LmError::write(folder, error))?;
    let text = serde_json::to_string_pretty(config).map_err(Error::from)? + "\n";
    Ok(files::write_atomic(
        &folder.join("training_options.json"),
        text.as_bytes(),
    )?)
}

/// Folder, inside that of a run, of the tiny new model that replaces a missing one.
pub(super) const FALLBACK_DIR: &str = "fallback-model";
/// Names that a run writes before its first checkpoint.
const EARLY_FILES: [&str; 4] = [FALLBACK_DIR, EVENTS_FILE, TENSORBOARD_DIR, COMPLETIONS];

/// Checks that a run may write to its folder: it must not overwrite anything without permission,
/// nor anything that it reads. This happens before the model is loaded, which takes long.
///
/// # Errors
/// If it may not.
pub(super) fn check(dir: &RunDir, options: &RunOptions) -> Result<(), RunError> {
    check_apart(dir, Path::new(&options.model), options.adapter.as_deref())?;
    Ok(dir.check_free(CHECKPOINT_FILE, &EARLY_FILES[1..])?)
}

/// Repeats [`check`] with the resolved model folder `model`; the folder may hold a fallback model
/// by now.
pub(super) fn check_again(
    dir: &RunDir,
    model: &Path,
    adapter: Option<&Path>,
) -> Result<(), RunError> {
    check_apart(dir, model, adapter)?;
    Ok(dir.check_free(CHECKPOINT_FILE, &EARLY_FILES)?)
}

/// Checks that the run does not overwrite the model or adapter that it reads. A resumed run is
/// exempt, because its folder is its own.
fn check_apart(dir: &RunDir, model: &Path, adapter: Option<&Path>) -> Result<(), RunError> {
    let Ok(output) = dir.path.canonicalize() else {
        return Ok(());
    };
    for (option, input) in [("--model", Some(model)), ("--adapter", adapter)] {
        let input = input.and_then(|input| input.canonicalize().ok());
        if !dir.resume && input.is_some_and(|input| input == output) {
            let folder = dir.path.clone();
            return Err(RunError::Input { folder, option });
        }
    }
    Ok(())
}

/// Removes files of an earlier run that a new run with permission to overwrite does not replace at
/// once.
///
/// These are its checkpoint; the files of the model if an adapter is trained, or of the adapter if
/// not, because transformers would load them; and companions that the model in `source`, with the tokenizer in folder
/// `tokenizer`, does not have. Of these, nothing is removed if the folder holds no run. Sampled completions are removed from a
/// run that was killed before its first checkpoint, too.
pub(super) fn remove_earlier_files(
    dir: &RunDir,
    adapter: bool,
    source: &Path,
    tokenizer: &Path,
) -> Result<(), RunError> {
    let marks = [CHECKPOINT_FILE, TRAINER_STATE_FILE];
    let was_run = marks.iter().any(|name| dir.path.join(name).is_file());
    // Without permission to overwrite, the folder holds nothing but `EARLY_FILES`.
    if !dir.resume && (was_run || !dir.force) {
        dir.remove([COMPLETIONS])?;
    }
    if dir.resume || !dir.force || !was_run {
        return Ok(());
    }
    let other = if adapter { MODEL_FILES } else { ADAPTER_FILES };
    let foreign = companions(source, tokenizer).filter(|(_, path)| !path.is_file());
    let foreign = foreign.map(|(name, _)| name);
    let names = [CHECKPOINT_FILE].into_iter().chain(other).chain(foreign);
    Ok(dir.remove(names)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run that was restarted and killed at once must not resume the previous run.
    #[test]
    fn overwriting_run_removes_previous_checkpoint() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let checkpoint = folder.path().join(CHECKPOINT_FILE);
        for (force, resume, left) in [(false, true, true), (true, false, false)] {
            std::fs::write(&checkpoint, "a run")?;
            let dir = RunDir {
                path: folder.path().to_owned(),
                resume,
                force,
                from: None,
            };
            remove_earlier_files(&dir, false, folder.path(), folder.path())?;
            assert_eq!(checkpoint.exists(), left);
        }
        Ok(())
    }
}
