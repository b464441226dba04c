//! The options of an adapter, as in PEFT's `adapter_config.json`.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::modules::{
    CompiledNames, ModuleNames, ModuleRules, WrongKey, by_pattern, layer_patterns, saved_modules,
};
use crate::LmError;
use crate::config::Fields;
use crate::source::is_repository;
use crate::weights::BLOCK_LINEARS;

/// Names of the files in an adapter's folder: configuration and weights.
pub const ADAPTER_FILES: [&str; 2] = ["adapter_config.json", "adapter_model.safetensors"];

/// A kind of linear layer that an adapter can be attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// Query projection of attention, `q_proj`.
    Query,
    /// Key projection of attention, `k_proj`.
    Key,
    /// Value projection of attention, `v_proj`.
    Value,
    /// Output projection of attention, `o_proj`.
    Output,
    /// Gate of the feed-forward block, `gate_proj`.
    Gate,
    /// First layer of the feed-forward block, `up_proj`.
    Up,
    /// Last layer of the feed-forward block, `down_proj`.
    Down,
}

impl Target {
    /// All targets in the order of a block.
    pub const ALL: [Self; 7] = [
        Self::Query,
        Self::Key,
        Self::Value,
        Self::Output,
        Self::Gate,
        Self::Up,
        Self::Down,
    ];

    /// Returns the layer's name in PEFT's `target_modules`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        BLOCK_LINEARS[self as usize].1
    }

    /// Returns the target with a name, or `None` if there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.name() == name)
    }
}

impl<const N: usize> From<&[Target; N]> for ModuleNames {
    fn from(targets: &[Target; N]) -> Self {
        Self::list(targets.map(Target::name))
    }
}

/// The options of a LoRA adapter.
#[derive(Clone, Debug, PartialEq)]
pub struct LoraConfig {
    /// Rank of the matrices; PEFT's `r`.
    pub rank: usize,
    /// PEFT's `lora_alpha`: the product is scaled by `alpha / rank`.
    pub alpha: f64,
    /// Dropout probability of the inputs during training, in `[0, 1)`.
    pub dropout: f64,
    /// `true` to scale by `alpha / sqrt(rank)` instead (rsLoRA, arXiv:2312.03732).
    pub rslora: bool,
    /// Modules that the adapter is attached to; PEFT's `target_modules`.
    pub targets: ModuleNames,
    /// Modules among them that it is not attached to; PEFT's `exclude_modules`.
    pub excluded: ModuleNames,
    /// Layers that it is attached to, if not all; PEFT's `layers_to_transform`.
    pub layers: Vec<usize>,
    /// Regular expressions of the list that these layers are in, if not any; PEFT's `layers_pattern`.
    pub layers_pattern: Vec<String>,
    /// Ranks of modules whose names match regular expressions, the first of which counts.
    pub rank_pattern: Vec<(String, usize)>,
    /// Values of `alpha` in the same form.
    pub alpha_pattern: Vec<(String, f64)>,
    /// Modules of the base model that the adapter holds as a whole.
    pub modules_to_save: Vec<String>,
    /// `true` if a tied head gets the matrices of the embedding as well; PEFT's `ensure_weight_tying`.
    pub ties_weights: bool,
    /// Name or path of the base model; PEFT's `base_model_name_or_path`.
    pub base_model: Option<String>,
}

impl Default for LoraConfig {
    /// Returns PEFT's default rank and alpha, attached to all linear layers.
    fn default() -> Self {
        Self {
            rank: 8,
            alpha: 8.0,
            dropout: 0.0,
            rslora: false,
            targets: ModuleNames::from(&Target::ALL),
            excluded: ModuleNames::List(Vec::new()),
            layers: Vec::new(),
            layers_pattern: Vec::new(),
            rank_pattern: Vec::new(),
            alpha_pattern: Vec::new(),
            modules_to_save: Vec::new(),
            ties_weights: false,
            base_model: None,
        }
    }
}

impl LoraConfig {
    /// Checks that the options are valid.
    ///
    /// # Errors
    /// If an option is invalid.
    pub fn check(&self) -> Result<(), LmError> {
        let numbers = self.alpha_pattern.iter().map(|(_, alpha)| alpha);
        let is_wrong = |alpha: &f64| !(alpha.is_finite() && *alpha > 0.0);
        for (key, is_wrong) in [
            ("lora_alpha", is_wrong(&self.alpha)),
            ("alpha_pattern", numbers.into_iter().any(is_wrong)),
        ] {
            if is_wrong {
                let (problem, allowed) = (String::new(), "above 0");
                return Err(self.invalid(WrongKey {
                    key,
                    problem,
                    allowed,
                }));
            }
        }
        self.find_wrong().map_err(|wrong| self.invalid(wrong))
    }

    fn find_wrong(&self) -> Result<(), WrongKey> {
        let no_rank = |rank: &usize| *rank == 0;
        let mut ranks = self.rank_pattern.iter().map(|(_, rank)| rank);
        let rules = [
            ("r", no_rank(&self.rank), "at least 1"),
            ("rank_pattern", ranks.any(no_rank), "ranks of at least 1"),
            (
                "lora_dropout",
                !(0.0..1.0).contains(&self.dropout),
                "at least 0 and below 1",
            ),
            (
                "target_modules",
                self.targets.is_empty(),
                "names of linear layers, or a regular expression",
            ),
        ];
        if let Some((key, _, allowed)) = rules.into_iter().find(|(_, is_wrong, _)| *is_wrong) {
            return Err(WrongKey {
                key,
                problem: String::new(),
                allowed,
            });
        }
        self.module_rules().map(|_| ())
    }

    /// Compiles the expressions by which the modules are chosen.
    ///
    /// # Errors
    /// If one is not a regular expression.
    pub(super) fn module_rules(&self) -> Result<ModuleRules<'_>, WrongKey> {
        let saved = saved_modules(&self.modules_to_save)?;
        let layers_pattern = layer_patterns(&self.layers_pattern)?;
        Ok(ModuleRules {
            targets: CompiledNames::new("target_modules", &self.targets)?,
            excluded: CompiledNames::new("exclude_modules", &self.excluded)?,
            saved,
            layers: &self.layers,
            layers_pattern,
            ranks: by_pattern("rank_pattern", &self.rank_pattern)?,
            alphas: by_pattern("alpha_pattern", &self.alpha_pattern)?,
        })
    }

    /// Returns an error about an option that no file has.
    pub(super) fn invalid(&self, wrong: WrongKey) -> LmError {
        LmError::Option {
            option: wrong.key,
            value: format!("{}{}", self.to_json()[wrong.key], wrong.problem),
            allowed: wrong.allowed,
        }
    }

    /// Reads the `adapter_config.json` in the folder of an adapter.
    ///
    /// # Errors
    /// If it cannot be read, or describes an unsupported kind of adapter.
    pub fn load(folder: &Path) -> Result<Self, LmError> {
        Self::read(folder).map(|(config, _)| config)
    }

    /// Reads the configuration in the folder of an adapter, with the keys of the file.
    pub(super) fn read(folder: &Path) -> Result<(Self, Fields), LmError> {
        check_folder(folder)?;
        let fields = Fields::load(&folder.join(ADAPTER_FILES[0]), "an adapter configuration")?;
        check_supported(&fields)?;
        let missing = || fields.invalid("lora_alpha", "is missing", "write a number above 0");
        let rank_of = |value: &Value| usize::try_from(value.as_u64()?).ok();
        let config = Self {
            rank: fields.count("r")?,
            alpha: fields.number("lora_alpha")?.ok_or_else(missing)?,
            dropout: fields.number("lora_dropout")?.unwrap_or(0.0),
            rslora: fields.flag("use_rslora")?,
            targets: targets(&fields)?,
            excluded: module_names(&fields, "exclude_modules")?
                .unwrap_or_else(|| ModuleNames::List(Vec::new())),
            layers: layers(&fields)?,
            layers_pattern: match fields.get("layers_pattern") {
                Some(Value::String(pattern)) if pattern.is_empty() => Vec::new(),
                _ => texts(&fields, "layers_pattern")?,
            },
            rank_pattern: pattern(&fields, "rank_pattern", rank_of)?,
            alpha_pattern: pattern(&fields, "alpha_pattern", Value::as_f64)?,
            modules_to_save: texts(&fields, "modules_to_save")?,
            ties_weights: fields.flag("ensure_weight_tying")?,
            base_model: fields.text("base_model_name_or_path")?.map(str::to_owned),
        };
        let wrong = config.find_wrong();
        wrong.map_err(|wrong| wrong.in_file(&fields))?;
        Ok((config, fields))
    }

    /// Returns the content of an `adapter_config.json`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        // PEFT writes an alpha without fraction as an integer.
        let alpha = |alpha: f64| {
            if alpha.fract().abs() > 0.0 || !alpha.is_finite() {
                json!(alpha)
            } else {
                json!(alpha as i64)
            }
        };
        let names = |names: &ModuleNames| match names {
            ModuleNames::List(names) => json!(names),
            ModuleNames::Pattern(pattern) => json!(pattern),
        };
        let or_null = |is_empty: bool, value: Value| if is_empty { Value::Null } else { value };
        let ranks = self.rank_pattern.iter();
        let ranks: Map<_, _> = ranks.map(|(key, r)| (key.clone(), json!(r))).collect();
        let alphas = self.alpha_pattern.iter();
        let alphas: Map<_, _> = alphas.map(|(key, a)| (key.clone(), alpha(*a))).collect();
        json!({
            "peft_type": "LORA",
            "task_type": "CAUSAL_LM",
            "base_model_name_or_path": self.base_model,
            "r": self.rank,
            "lora_alpha": alpha(self.alpha),
            "lora_dropout": self.dropout,
            "use_rslora": self.rslora,
            "use_dora": false,
            "target_modules": names(&self.targets),
            "exclude_modules": or_null(self.excluded.is_empty(), names(&self.excluded)),
            "layers_to_transform": or_null(self.layers.is_empty(), json!(self.layers)),
            "layers_pattern": or_null(self.layers_pattern.is_empty(), json!(self.layers_pattern)),
            "bias": "none",
            "fan_in_fan_out": false,
            "inference_mode": true,
            "init_lora_weights": true,
            "modules_to_save": or_null(self.modules_to_save.is_empty(), json!(self.modules_to_save)),
            "rank_pattern": ranks,
            "alpha_pattern": alphas,
        })
    }
}

impl WrongKey {
    /// Returns an error about the key as it stands in a file.
    pub(super) fn in_file(&self, fields: &Fields) -> LmError {
        let value = fields.get(self.key).unwrap_or(&Value::Null);
        let problem = format!("is {value}{}", self.problem);
        fields.invalid(self.key, &problem, &format!("write {}", self.allowed))
    }
}

/// Checks that a path is the folder of an adapter whose weights can be read.
fn check_folder(folder: &Path) -> Result<(), LmError> {
    let has = |name: &str| folder.join(name).exists();
    let [config, weights] = ADAPTER_FILES;
    let path = folder.display();
    let reason = if folder.is_file() {
        let parent = sentinel_base::files::parent_folder(folder).display();
        format!("it is a file: give its folder, {parent}")
    } else if !folder.exists() && !is_hub_name(folder) {
        "there is no such folder".to_owned()
    } else if !folder.exists() {
        format!(
            "there is no such folder; an adapter on the Hub is downloaded with `sentinel pull {path} --out DIR`, and \
             given as DIR"
        )
    } else if has(config) && !has(weights) && has("adapter_model.bin") {
        format!(
            "it holds adapter_model.bin, but no {weights}: load it with PEFT, and save it again, which writes safetensors"
        )
    } else if !has(config) && has("config.json") {
        "it is a model: give it as --model".to_owned()
    } else if !has(config) {
        format!("it holds no {config}")
    } else {
        return Ok(());
    };
    Err(LmError::Format {
        path: folder.to_owned(),
        kind: "the folder of an adapter",
        reason,
    })
}

/// Returns `true` for a path that can be the name of a repository with its owner.
fn is_hub_name(path: &Path) -> bool {
    path.to_str()
        .is_some_and(|path| path.contains('/') && is_repository(path))
}

/// Rejects settings that would otherwise be ignored silently.
fn check_supported(fields: &Fields) -> Result<(), LmError> {
    let remedy = "merge it with PEFT's merge_and_unload, save it with the tokenizer, and use the result as --model";
    match fields.get("peft_type") {
        Some(Value::String(kind)) if kind == "LORA" => {}
        None => {
            return Err(fields.invalid(
                "peft_type",
                "is missing",
                "write \"LORA\" for such an adapter",
            ));
        }
        Some(kind) => {
            return Err(fields.invalid("peft_type", &format!("is {kind}, not \"LORA\""), remedy));
        }
    }
    for key in ["use_dora", "lora_bias", "use_qalora", "use_bdlora"] {
        if fields.flag(key)? {
            return Err(fields.invalid(key, "is true", remedy));
        }
    }
    let others = [
        "layer_replication",
        "target_parameters",
        "trainable_token_indices",
        "alora_invocation_tokens",
        "arrow_config",
        "kasa_config",
        "monteclora_config",
        "velora_config",
    ];
    for key in others {
        let set = match fields.get(key) {
            None => false,
            Some(Value::Array(values)) => !values.is_empty(),
            Some(Value::Object(values)) => !values.is_empty(),
            Some(_) => true,
        };
        if set {
            return Err(fields.invalid(key, "is set", remedy));
        }
    }
    // The other initializations change the base model as well.
    let is_plain = |kind: &str| ["gaussian", "eva", "orthogonal"].contains(&kind);
    match fields.get("init_lora_weights") {
        None | Some(Value::Bool(_)) => Ok(()),
        Some(Value::String(kind)) if is_plain(kind) => Ok(()),
        Some(kind) => Err(fields.invalid("init_lora_weights", &format!("is {kind}"), remedy)),
    }
}

fn targets(fields: &Fields) -> Result<ModuleNames, LmError> {
    match module_names(fields, "target_modules")? {
        Some(ModuleNames::Pattern(all)) if all.eq_ignore_ascii_case("all-linear") => {
            Ok(ModuleNames::from(&Target::ALL))
        }
        Some(names) => Ok(names),
        None => {
            let names = BLOCK_LINEARS.map(|(_, name)| name).join(", ");
            let remedy = format!(
                "name modules such as {names}, or write a regular expression or \"all-linear\""
            );
            Err(fields.invalid("target_modules", "is missing", &remedy))
        }
    }
}

/// Reads the names of modules: a list, or a regular expression.
fn module_names(fields: &Fields, key: &str) -> Result<Option<ModuleNames>, LmError> {
    match fields.get(key) {
        None => Ok(None),
        Some(Value::String(pattern)) => Ok(Some(ModuleNames::Pattern(pattern.clone()))),
        Some(_) => Ok(Some(ModuleNames::list(texts(fields, key)?))),
    }
}

/// Reads a list of texts; a single text counts as one.
fn texts(fields: &Fields, key: &str) -> Result<Vec<String>, LmError> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    fields.list(key, text, "write a list of texts")
}

/// Reads the numbers of layers: one, or a list.
fn layers(fields: &Fields) -> Result<Vec<usize>, LmError> {
    let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
    let remedy = "write the numbers of layers, from 0 on";
    fields.list("layers_to_transform", number, remedy)
}

/// Reads the values of patterns, in the order of the file: the first that matches counts.
fn pattern<T>(
    fields: &Fields,
    key: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<(String, T)>, LmError> {
    let Some(patterns) = fields.object(key)? else {
        return Ok(Vec::new());
    };
    let values = patterns.values();
    let values = fields.keys_in_order(Some(key)).into_iter().map(|pattern| {
        let value = values.get(&pattern).unwrap_or(&Value::Null);
        let wrong = || {
            let problem = format!("gives {} the value {value}", Value::from(pattern.as_str()));
            fields.invalid(key, &problem, "write a number")
        };
        let value = read(value).ok_or_else(wrong)?;
        Ok((pattern, value))
    });
    values.collect()
}
