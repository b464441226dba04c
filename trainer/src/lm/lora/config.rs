//! The options of an adapter, as in PEFT's `adapter_config.json`.

use std::path::Path;

use serde_json::{Value, json};

use crate::lm::LmError;
use crate::lm::config::Fields;
use crate::lm::weights::BLOCK_LINEARS;

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
    /// Linear layers that the adapter is attached to.
    pub targets: Vec<Target>,
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
            targets: Target::ALL.to_vec(),
            base_model: None,
        }
    }
}

impl LoraConfig {
    /// Returns the factor of the product of both matrices.
    #[must_use]
    pub fn scale(&self) -> f64 {
        let rank = self.rank as f64;
        self.alpha / if self.rslora { rank.sqrt() } else { rank }
    }

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
        if !(self.alpha.is_finite() && self.alpha > 0.0) {
            return Err(option("alpha", self.alpha.to_string(), "a number above 0"));
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

    /// Reads an `adapter_config.json` file.
    ///
    /// # Errors
    /// If it cannot be read, or describes an unsupported kind of adapter.
    pub fn load(path: &Path) -> Result<Self, LmError> {
        let fields = Fields::load(path, "an adapter configuration")?;
        check_plain(&fields)?;
        let rank = fields.count("r")?;
        let missing = || fields.invalid("lora_alpha", "is missing", "write a number above 0");
        let config = Self {
            rank,
            alpha: fields.number("lora_alpha")?.ok_or_else(missing)?,
            dropout: fields.number("lora_dropout")?.unwrap_or(0.0),
            rslora: fields.flag("use_rslora")?,
            targets: targets(&fields)?,
            base_model: fields.text("base_model_name_or_path")?.map(str::to_owned),
        };
        config.check()?;
        Ok(config)
    }

    /// Returns the content of an `adapter_config.json`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut names: Vec<&str> = self.targets.iter().map(|target| target.name()).collect();
        names.sort_unstable();
        // PEFT writes an alpha without fraction as an integer.
        let alpha = if self.alpha.fract().abs() > 0.0 {
            json!(self.alpha)
        } else {
            json!(self.alpha as u64)
        };
        json!({
            "peft_type": "LORA",
            "task_type": "CAUSAL_LM",
            "base_model_name_or_path": self.base_model,
            "r": self.rank,
            "lora_alpha": alpha,
            "lora_dropout": self.dropout,
            "use_rslora": self.rslora,
            "use_dora": false,
            "target_modules": names,
            "bias": "none",
            "fan_in_fan_out": false,
            "inference_mode": true,
            "init_lora_weights": true,
            "modules_to_save": null,
            "rank_pattern": {},
            "alpha_pattern": {},
        })
    }
}

/// Rejects settings that would otherwise be ignored silently.
fn check_plain(fields: &Fields) -> Result<(), LmError> {
    let kind = fields.text("peft_type")?.unwrap_or_default();
    if kind != "LORA" {
        return Err(fields.invalid(
            "peft_type",
            &format!("is {kind:?}"),
            "only \"LORA\" can be run",
        ));
    }
    let remedy = "train the adapter without it";
    for key in [
        "use_dora",
        "fan_in_fan_out",
        "lora_bias",
        "use_qalora",
        "use_bdlora",
    ] {
        if fields.flag(key)? {
            return Err(fields.invalid(key, "is true", remedy));
        }
    }
    let bias = fields.text("bias")?.unwrap_or("none");
    if bias != "none" {
        return Err(fields.invalid("bias", &format!("is {bias:?}"), remedy));
    }
    let lists = [
        "modules_to_save",
        "rank_pattern",
        "alpha_pattern",
        "layers_to_transform",
        "layers_pattern",
        "layer_replication",
        "exclude_modules",
        "target_parameters",
        "trainable_token_indices",
    ];
    for key in lists {
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
    // Some initializations change the base model as well.
    match fields.get("init_lora_weights") {
        None | Some(Value::Bool(_)) => Ok(()),
        Some(Value::String(kind)) if kind == "gaussian" => Ok(()),
        Some(kind) => Err(fields.invalid("init_lora_weights", &format!("is {kind}"), remedy)),
    }
}

fn targets(fields: &Fields) -> Result<Vec<Target>, LmError> {
    let names = BLOCK_LINEARS.map(|(_, name)| name).join(", ");
    let remedy = format!("name some of {names}, or write \"all-linear\"");
    let wrong = |problem: String| fields.invalid("target_modules", &problem, &remedy);
    let mut targets = Vec::new();
    match fields.get("target_modules") {
        Some(Value::String(all)) if all == "all-linear" => return Ok(Target::ALL.to_vec()),
        Some(Value::Array(values)) => {
            for value in values {
                let target = value.as_str().and_then(Target::from_name);
                targets.push(target.ok_or_else(|| wrong(format!("names {value}")))?);
            }
        }
        Some(other) => return Err(wrong(format!("is {other}"))),
        None => return Err(wrong("is missing".to_owned())),
    }
    targets.sort_unstable();
    targets.dedup();
    if targets.is_empty() {
        return Err(wrong("is empty".to_owned()));
    }
    Ok(targets)
}
