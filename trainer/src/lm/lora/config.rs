//! The options of an adapter, as in PEFT's `adapter_config.json`.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::modules::{ModuleNames, matches};
use crate::lm::LmError;
use crate::lm::config::Fields;
use crate::lm::weights::BLOCK_LINEARS;

/// Names of the files in an adapter's folder: configuration and weights.
pub(crate) const ADAPTER_FILES: [&str; 2] = ["adapter_config.json", "adapter_model.safetensors"];

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
        let option = |option, value: String, allowed| LmError::Option {
            option,
            value,
            allowed,
        };
        if self.rank == 0 {
            return Err(option("rank", "0".to_owned(), "at least 1"));
        }
        if self.rank_pattern.iter().any(|(_, rank)| *rank == 0) {
            return Err(option("rank pattern", "0".to_owned(), "at least 1"));
        }
        let alphas = self.alpha_pattern.iter().map(|(_, alpha)| *alpha);
        let is_wrong = |alpha: &f64| !(alpha.is_finite() && *alpha > 0.0);
        if let Some(wrong) = alphas.chain([self.alpha]).find(is_wrong) {
            return Err(option("alpha", wrong.to_string(), "a number above 0"));
        }
        if !(0.0..1.0).contains(&self.dropout) {
            let allowed = "at least 0 and below 1";
            return Err(option("dropout", self.dropout.to_string(), allowed));
        }
        if self.targets.is_empty() {
            let allowed = "at least one linear layer";
            return Err(option("target modules", "empty".to_owned(), allowed));
        }
        Ok(())
    }

    /// Reads the `adapter_config.json` in the folder of an adapter.
    ///
    /// # Errors
    /// If it cannot be read, or describes an unsupported kind of adapter.
    pub fn load(folder: &Path) -> Result<Self, LmError> {
        check_folder(folder)?;
        let fields = Fields::load(&folder.join(ADAPTER_FILES[0]), "an adapter configuration")?;
        check_supported(&fields)?;
        let rank = fields.count("r")?;
        let missing = || fields.invalid("lora_alpha", "is missing", "write a number above 0");
        let rank_of = |value: &Value| usize::try_from(value.as_u64()?).ok();
        let config = Self {
            rank,
            alpha: fields.number("lora_alpha")?.ok_or_else(missing)?,
            dropout: fields.number("lora_dropout")?.unwrap_or(0.0),
            rslora: fields.flag("use_rslora")?,
            targets: targets(&fields)?,
            excluded: module_names(&fields, "exclude_modules")?
                .unwrap_or_else(|| ModuleNames::List(Vec::new())),
            layers: layers(&fields)?,
            layers_pattern: texts(&fields, "layers_pattern")?,
            rank_pattern: pattern(&fields, "rank_pattern", rank_of)?,
            alpha_pattern: pattern(&fields, "alpha_pattern", Value::as_f64)?,
            modules_to_save: texts(&fields, "modules_to_save")?,
            base_model: fields.text("base_model_name_or_path")?.map(str::to_owned),
        };
        config.check()?;
        config.check_patterns(&fields)?;
        Ok(config)
    }

    /// Checks that all patterns are regular expressions.
    fn check_patterns(&self, fields: &Fields) -> Result<(), LmError> {
        let names = |key, names: &ModuleNames| match names {
            ModuleNames::Pattern(pattern) => vec![(key, pattern.clone())],
            ModuleNames::List(_) => Vec::new(),
        };
        let ranks = self.rank_pattern.iter().map(|(pattern, _)| pattern);
        let alphas = self.alpha_pattern.iter().map(|(pattern, _)| pattern);
        let all = (names("target_modules", &self.targets).into_iter())
            .chain(names("exclude_modules", &self.excluded))
            .chain(ranks.map(|pattern| ("rank_pattern", pattern.clone())))
            .chain(alphas.map(|pattern| ("alpha_pattern", pattern.clone())))
            .chain((self.layers_pattern.iter()).map(|p| ("layers_pattern", p.clone())));
        for (key, pattern) in all {
            matches(&pattern, "").map_err(|problem| {
                fields.invalid(key, &format!("has a pattern: {problem}"), "correct it")
            })?;
        }
        Ok(())
    }

    /// Returns the content of an `adapter_config.json`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        // PEFT writes an alpha without fraction as an integer.
        let alpha = |alpha: f64| {
            if alpha.fract().abs() > 0.0 {
                json!(alpha)
            } else {
                json!(alpha as u64)
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

/// Checks that a path is the folder of an adapter whose weights can be read.
fn check_folder(folder: &Path) -> Result<(), LmError> {
    let has = |name: &str| folder.join(name).exists();
    let [config, weights] = ADAPTER_FILES;
    let path = folder.display();
    let reason = if folder.is_file() {
        let parent = crate::files::parent_folder(folder).display();
        format!("it is a file: give its folder, {parent}")
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
    } else {
        return Ok(());
    };
    Err(LmError::Format {
        path: folder.to_owned(),
        kind: "the folder of an adapter",
        reason,
    })
}

/// Rejects settings that would otherwise be ignored silently.
fn check_supported(fields: &Fields) -> Result<(), LmError> {
    let remedy = "merge it with PEFT's merge_and_unload, save it with the tokenizer, and use the result as --model";
    let kind = fields.text("peft_type")?.unwrap_or_default();
    if kind != "LORA" {
        let problem = format!("is {kind:?}, not \"LORA\"");
        return Err(fields.invalid("peft_type", &problem, remedy));
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
    let wrong = |problem: &str| {
        let names = BLOCK_LINEARS.map(|(_, name)| name).join(", ");
        let remedy = format!(
            "name modules such as {names}, or write a regular expression or \"all-linear\""
        );
        fields.invalid("target_modules", problem, &remedy)
    };
    match module_names(fields, "target_modules")? {
        Some(ModuleNames::Pattern(all)) if all.eq_ignore_ascii_case("all-linear") => {
            Ok(ModuleNames::from(&Target::ALL))
        }
        Some(names) if names.is_empty() => Err(wrong("is empty")),
        Some(names) => Ok(names),
        None => Err(wrong("is missing")),
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

/// Reads the values of patterns, in the order of the file, in which PEFT sorts them.
fn pattern<T>(
    fields: &Fields,
    key: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<(String, T)>, LmError> {
    let Some(patterns) = fields.object(key)? else {
        return Ok(Vec::new());
    };
    let values = patterns.values().iter().map(|(pattern, value)| {
        let wrong = || {
            let problem = format!("gives {pattern:?} the value {value}");
            fields.invalid(key, &problem, "write a number")
        };
        Ok((pattern.clone(), read(value).ok_or_else(wrong)?))
    });
    values.collect()
}
