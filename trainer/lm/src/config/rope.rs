//! The rotary options of `config.json`: the base of the frequencies, and the scaling of them.

use serde_json::{Map, Value, json};

use super::Fields;
use super::fields::positive;
use crate::LmError;

/// The base of the rotary frequencies in transformers if `config.json` names none.
const DEFAULT_THETA: f64 = 10_000.0;

/// A change of the rotary frequencies, with which a model reads longer texts than those it was trained on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RopeScaling {
    /// All frequencies are divided by the factor.
    Linear {
        /// Divisor of the frequencies.
        factor: f64,
    },
    /// The base grows with texts longer than `max_position_embeddings`, which are refused here: below that,
    /// nothing changes.
    Dynamic {
        /// Factor of the growth.
        factor: f64,
    },
    /// Low frequencies are divided, high ones are kept.
    Yarn(YarnRopeScaling),
    /// Low frequencies are divided, high ones are kept, by other limits.
    Llama3(Llama3RopeScaling),
}

/// YaRN's scaling of rotary frequencies, `rope_type` `"yarn"` (arXiv 2309.00071).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct YarnRopeScaling {
    /// Divisor of the low frequencies.
    pub factor: f64,
    /// Number of turns within the original length above which a frequency is kept.
    pub beta_fast: f64,
    /// Number of turns within the original length below which a frequency is divided.
    pub beta_slow: f64,
    /// `true` if the limits between kept and divided frequencies are rounded to whole numbers.
    pub truncate: bool,
    /// Factor of the cosines and sines.
    pub attention_factor: f64,
    /// Length of the longest sequence before the scaling, in tokens.
    pub original_max_position_embeddings: usize,
}

/// Llama 3's scaling of rotary frequencies, `rope_type` `"llama3"`: long wavelengths are stretched so
/// that a model reads longer texts than those it was trained on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Llama3RopeScaling {
    /// Divisor of the frequencies with long wavelengths.
    pub factor: f64,
    /// Wavelengths above `original_max_position_embeddings / low_freq_factor` are stretched.
    pub low_freq_factor: f64,
    /// Wavelengths below `original_max_position_embeddings / high_freq_factor` are kept; between both
    /// limits the scaling is interpolated.
    pub high_freq_factor: f64,
    /// Length of the longest sequence before the scaling, in tokens.
    pub original_max_position_embeddings: usize,
}

impl RopeScaling {
    /// All names of `rope_type` that can be run.
    const NAMES: [&'static str; 5] = ["default", "linear", "dynamic", "yarn", "llama3"];

    /// Returns the scaled frequencies of a head, in radians per token; `theta` is their base.
    pub(crate) fn scale(&self, frequencies: &[f64], theta: f64) -> Vec<f64> {
        let each = |scale: &dyn Fn(f64) -> f64| frequencies.iter().map(|f| scale(*f)).collect();
        match self {
            Self::Linear { factor } => each(&|frequency| frequency / factor),
            Self::Dynamic { .. } => frequencies.to_vec(),
            Self::Yarn(yarn) => yarn.scale(frequencies, theta),
            Self::Llama3(scaling) => each(&|frequency| scaling.scale(frequency)),
        }
    }

    /// Returns the factor of the cosines and sines.
    pub(crate) const fn attention_factor(&self) -> f64 {
        match self {
            Self::Yarn(yarn) => yarn.attention_factor,
            Self::Linear { .. } | Self::Dynamic { .. } | Self::Llama3(_) => 1.0,
        }
    }

    /// Reads the options of a kind of scaling from the object under `key` of `config.json`; `None` for
    /// `default`, and an error for an unknown kind.
    fn load(
        key: &str,
        kind: &str,
        object: &Fields,
        config: &Fields,
    ) -> Result<Option<Self>, LmError> {
        let factor = || {
            positive(object, "factor")?
                .ok_or_else(|| object.invalid("factor", "is missing", "write a number above 0"))
        };
        Ok(Some(match kind {
            "default" => return Ok(None),
            "linear" => Self::Linear { factor: factor()? },
            "dynamic" => Self::Dynamic { factor: factor()? },
            "yarn" => Self::Yarn(YarnRopeScaling::load(object, config)?),
            "llama3" => Self::Llama3(Llama3RopeScaling::load(object)?),
            _ => {
                let problem = format!("asks for rope_type {kind:?}");
                let names = Self::NAMES.map(|name| format!("{name:?}"));
                let remedy = format!("only {} can be run: take another model", names.join(", "));
                return Err(config.invalid(key, &problem, &remedy));
            }
        }))
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Linear { .. } => "linear",
            Self::Dynamic { .. } => "dynamic",
            Self::Yarn(_) => "yarn",
            Self::Llama3(_) => "llama3",
        }
    }

    fn keys(&self) -> Vec<(&'static str, Value)> {
        match self {
            Self::Linear { factor } | Self::Dynamic { factor } => vec![("factor", json!(factor))],
            Self::Yarn(yarn) => yarn.keys().to_vec(),
            Self::Llama3(scaling) => scaling.keys().to_vec(),
        }
    }
}

impl YarnRopeScaling {
    /// Returns the scaled frequencies of a head, in radians per token; `theta` is their base.
    fn scale(&self, frequencies: &[f64], theta: f64) -> Vec<f64> {
        let width = 2 * frequencies.len();
        let original = self.original_max_position_embeddings as f64;
        // The place in the head of the frequency with this number of turns within the original length.
        let place = |turns: f64| {
            width as f64 * (original / (turns * std::f64::consts::TAU)).ln() / (2.0 * theta.ln())
        };
        let (mut low, mut high) = (place(self.beta_fast), place(self.beta_slow));
        if self.truncate {
            (low, high) = (low.floor(), high.ceil());
        }
        (low, high) = (low.max(0.0), high.min(width as f64 - 1.0));
        if (high - low).abs() <= 0.0 {
            high += 0.001;
        }
        let scaled = |(index, frequency): (usize, &f64)| {
            let divided = ((index as f64 - low) / (high - low)).clamp(0.0, 1.0);
            frequency / self.factor * divided + frequency * (1.0 - divided)
        };
        frequencies.iter().enumerate().map(scaled).collect()
    }

    /// Reads the options from an object of `config.json`, with the defaults of transformers.
    fn load(object: &Fields, config: &Fields) -> Result<Self, LmError> {
        const ORIGINAL: &str = "original_max_position_embeddings";
        let longest = config.count("max_position_embeddings")?;
        let original = match config.optional_count(ORIGINAL)? {
            Some(outside) => outside,
            None => object.optional_count(ORIGINAL)?.unwrap_or(longest),
        };
        let factor = positive(object, "factor")?.unwrap_or(longest as f64 / original as f64);
        let growth = |scale: f64| match factor {
            ..=1.0 => 1.0,
            _ => 0.1 * scale * factor.ln() + 1.0,
        };
        // A value of 0 counts as none.
        let number = |key: &str| -> Result<Option<f64>, LmError> {
            Ok(object.number(key)?.filter(|number| number.abs() > 0.0))
        };
        let attention_factor = match positive(object, "attention_factor")? {
            Some(factor) => factor,
            None => match (number("mscale")?, number("mscale_all_dim")?) {
                (Some(scale), Some(all)) => growth(scale) / growth(all),
                _ => growth(1.0),
            },
        };
        Ok(Self {
            factor,
            beta_fast: number("beta_fast")?.unwrap_or(32.0),
            beta_slow: number("beta_slow")?.unwrap_or(1.0),
            // In transformers, null is false.
            truncate: !object.values().contains_key("truncate") || object.flag("truncate")?,
            attention_factor,
            original_max_position_embeddings: original,
        })
    }

    fn keys(&self) -> [(&'static str, Value); 6] {
        [
            ("factor", json!(self.factor)),
            ("beta_fast", json!(self.beta_fast)),
            ("beta_slow", json!(self.beta_slow)),
            ("truncate", json!(self.truncate)),
            ("attention_factor", json!(self.attention_factor)),
            (
                "original_max_position_embeddings",
                json!(self.original_max_position_embeddings),
            ),
        ]
    }
}

impl Llama3RopeScaling {
    /// Returns the scaled frequency, in radians per token.
    fn scale(&self, frequency: f64) -> f64 {
        let wavelength = std::f64::consts::TAU / frequency;
        let waves = self.original_max_position_embeddings as f64 / wavelength;
        if waves > self.high_freq_factor {
            return frequency;
        }
        if waves < self.low_freq_factor {
            return frequency / self.factor;
        }
        let kept = (waves - self.low_freq_factor) / (self.high_freq_factor - self.low_freq_factor);
        (1.0 - kept) * frequency / self.factor + kept * frequency
    }

    /// Reads the options from an object of `config.json`.
    fn load(object: &Fields) -> Result<Self, LmError> {
        let number = |key: &str| {
            positive(object, key)?
                .ok_or_else(|| object.invalid(key, "is missing", "write a number above 0"))
        };
        let scaling = Self {
            factor: number("factor")?,
            low_freq_factor: number("low_freq_factor")?,
            high_freq_factor: number("high_freq_factor")?,
            original_max_position_embeddings: object.count("original_max_position_embeddings")?,
        };
        if scaling.high_freq_factor <= scaling.low_freq_factor {
            let problem = format!("is {}", scaling.high_freq_factor);
            let remedy = "write a number above low_freq_factor";
            return Err(object.invalid("high_freq_factor", &problem, remedy));
        }
        Ok(scaling)
    }

    fn keys(&self) -> [(&'static str, Value); 4] {
        [
            ("factor", json!(self.factor)),
            ("low_freq_factor", json!(self.low_freq_factor)),
            ("high_freq_factor", json!(self.high_freq_factor)),
            (
                "original_max_position_embeddings",
                json!(self.original_max_position_embeddings),
            ),
        ]
    }
}

/// Returns the base of the rotary frequencies, and their scaling, under the key names of old and new
/// checkpoints (`rope_theta` with `rope_scaling`, or `rope_parameters`).
pub(super) fn load(fields: &Fields) -> Result<(f64, Option<RopeScaling>), LmError> {
    let inner = fields.object("rope_parameters")?;
    let old = fields.object("rope_scaling")?;
    let mut scaling = None;
    for (key, object) in [("rope_scaling", &old), ("rope_parameters", &inner)] {
        let Some(object) = object else { continue };
        let new = object.text("rope_type")?;
        let kind = new.or(object.text("type")?).unwrap_or("default");
        let found = RopeScaling::load(key, kind, object, fields)?;
        if old.is_some() && key == "rope_parameters" && found != scaling {
            let remedy = "make them equal";
            return Err(fields.invalid(key, "differs from rope_scaling", remedy));
        }
        scaling = found;
        check_all_rotated(object)?;
    }
    check_all_rotated(fields)?;
    let nested = inner.map(|object| positive(&object, "rope_theta"));
    let nested = nested.transpose()?.flatten();
    let top = positive(fields, "rope_theta")?;
    if let (Some(top), Some(nested)) = (top, nested)
        && (top - nested).abs() > 0.0
    {
        let problem = format!("is {top}, but rope_parameters says {nested}");
        return Err(fields.invalid("rope_theta", &problem, "make them equal"));
    }
    Ok((nested.or(top).unwrap_or(DEFAULT_THETA), scaling))
}

/// Rejects rotary embeddings of a part of each head.
fn check_all_rotated(fields: &Fields) -> Result<(), LmError> {
    match fields.number("partial_rotary_factor")? {
        Some(share) if (share - 1.0).abs() > 0.0 => {
            let remedy = "only heads that are rotated as a whole (1) can be run";
            Err(fields.invalid("partial_rotary_factor", &format!("is {share}"), remedy))
        }
        _ => Ok(()),
    }
}

/// Returns the keys `rope_theta`, `rope_parameters` and, with a scaling, `rope_scaling`, for old and
/// new readers.
pub(super) fn to_json(theta: f64, scaling: Option<&RopeScaling>) -> Map<String, Value> {
    let mut all = Map::new();
    let kind = scaling.map_or("default", RopeScaling::name);
    let mut new = Map::new();
    new.insert("rope_theta".to_owned(), json!(theta));
    new.insert("rope_type".to_owned(), json!(kind));
    if let Some(scaling) = scaling {
        let mut old = Map::new();
        old.insert("rope_type".to_owned(), json!(kind));
        for (key, value) in scaling.keys() {
            old.insert(key.to_owned(), value.clone());
            new.insert(key.to_owned(), value);
        }
        all.insert("rope_scaling".to_owned(), Value::Object(old));
    }
    all.insert("rope_theta".to_owned(), json!(theta));
    all.insert("rope_parameters".to_owned(), Value::Object(new));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Llama 3.1's own options: of a head of 128, the first frequencies are kept, the last are
    /// divided by 8, and no scaled frequency is above its neighbor.
    #[test]
    fn scaled_frequencies_of_llama_3_1() {
        let scaling = Llama3RopeScaling {
            factor: 8.0,
            low_freq_factor: 1.0,
            high_freq_factor: 4.0,
            original_max_position_embeddings: 8192,
        };
        let plain: Vec<f64> = (0..64)
            .map(|i| 500_000.0_f64.powf(-f64::from(i) / 64.0))
            .collect();
        let scaled: Vec<f64> = plain.iter().map(|f| scaling.scale(*f)).collect();
        let ratios: Vec<f64> = plain.iter().zip(&scaled).map(|(p, s)| p / s).collect();
        let count = |ratio: f64| ratios.iter().filter(|r| (**r - ratio).abs() < 1e-9).count();
        // Wavelengths below 2048 and above 8192 tokens.
        assert_eq!((count(1.0), count(8.0)), (29, 29), "{ratios:?}");
        assert!(scaled.windows(2).all(|pair| pair[0] > pair[1]));
    }
}
