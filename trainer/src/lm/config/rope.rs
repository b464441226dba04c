//! The rotary options of `config.json`: the base of the frequencies, and Llama 3's scaling of them.

use serde_json::{Map, Value, json};

use super::Fields;
use super::fields::positive;
use crate::lm::LmError;

/// The base of the rotary frequencies in transformers if `config.json` names none.
const DEFAULT_THETA: f64 = 10_000.0;

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

impl Llama3RopeScaling {
    /// Returns the scaled frequency, in radians per token.
    pub(crate) fn scale(&self, frequency: f64) -> f64 {
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
pub(super) fn load(fields: &Fields) -> Result<(f64, Option<Llama3RopeScaling>), LmError> {
    let inner = fields.object("rope_parameters")?;
    let old = fields.object("rope_scaling")?;
    let mut scaling = None;
    for (key, object) in [("rope_scaling", &old), ("rope_parameters", &inner)] {
        let Some(object) = object else { continue };
        let new = object.text("rope_type")?;
        let found = match new.or(object.text("type")?).unwrap_or("default") {
            "default" => None,
            "llama3" => Some(Llama3RopeScaling::load(object)?),
            kind => {
                let problem = format!("asks for rope_type {kind:?}");
                let remedy = "only \"default\" and \"llama3\" can be run: remove the scaling";
                return Err(fields.invalid(key, &problem, remedy));
            }
        };
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
pub(super) fn to_json(theta: f64, scaling: Option<&Llama3RopeScaling>) -> Map<String, Value> {
    let mut all = Map::new();
    let kind = scaling.map_or("default", |_| "llama3");
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
