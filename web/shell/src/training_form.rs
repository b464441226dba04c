//! The settings of a training run as the visitor types them, and their part of the address.

use sentinel_page_protocol::TrainingSpec;
use serde::{Deserialize, Serialize};

use crate::query::{parse_seed, plain_word};

/// A setting of a training run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Learning rate at the start.
    LearningRate,
    /// Number of attempts that are compared with each other.
    GroupSize,
    /// Number of episodes of an update.
    Episodes,
    /// Weight of the entropy bonus.
    Entropy,
    /// Number of units of each hidden layer.
    Width,
    /// Weights to start from.
    Start,
    /// Return of an action.
    Credit,
    /// Seed of fresh weights and of every sampled action.
    Seed,
    /// Named rule set with single changes.
    Rules,
    /// Reward term that training leaves out.
    Without,
    /// Number of workers that play episodes beside the one that learns.
    Workers,
}

/// Largest number of helpers.
pub const HELPERS_MAX: u32 = 8;
/// Number of settings of a run.
const COUNT: usize = 11;
/// Names of the settings in the address.
const NAMES: [&str; COUNT] = [
    "lr",
    "group",
    "episodes",
    "entropy",
    "width",
    "start",
    "credit",
    "train-seed",
    "train-rules",
    "without",
    "workers",
];
/// Presets that are the same in every world; the engine that trains knows the others.
const PRESETS: [&str; COUNT] = ["", "", "", "", "", "", "step", "1", "hardened", "", ""];

/// The settings as the visitor typed them; an empty text stands for the preset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainingForm([String; COUNT]);

impl TrainingForm {
    /// Returns a setting as it was typed.
    #[must_use]
    pub fn typed(&self, setting: Setting) -> &str {
        &self.0[setting as usize]
    }

    /// Returns a setting, or its preset if that is known here.
    #[must_use]
    pub fn chosen(&self, setting: Setting) -> &str {
        match self.typed(setting).trim() {
            "" => PRESETS[setting as usize],
            typed => typed,
        }
    }

    /// Changes a setting to what was typed.
    pub fn set(&mut self, setting: Setting, typed: String) {
        self.0[setting as usize] = typed;
    }

    /// Returns names and values of the parameters of the address, those that differ from the preset.
    pub fn parameters(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let settings = NAMES.into_iter().zip(self.0.iter().zip(PRESETS));
        settings
            .map(|(name, (typed, preset))| (name, typed.trim(), preset))
            .filter(|(_, typed, preset)| !typed.is_empty() && typed != preset)
            .map(|(name, typed, _)| (name, typed))
    }

    /// Sets the setting of a parameter of the address. Returns `false` if there is none of this name, or
    /// if the value cannot be one of it.
    pub fn set_parameter(&mut self, name: &str, value: &str) -> bool {
        let Some(at) = NAMES.iter().position(|known| *known == name) else {
            return false;
        };
        // A typed plus sign is decoded as a space.
        let value = value.replace(' ', "+");
        let is_valid = match name {
            "lr" | "entropy" => is_decimal(&value),
            "start" => value == "published",
            "credit" => matches!(&*value, "step" | "episode"),
            "train-seed" => parse_seed(&value).is_some(),
            "train-rules" | "without" => plain_word(&value).is_some(),
            _ => value.parse::<u32>().is_ok(),
        };
        if is_valid {
            self.0[at] = value;
        }
        is_valid
    }

    /// Returns the settings of a run.
    ///
    /// # Errors
    /// Returns a sentence about the first number that cannot be read.
    pub fn spec(&self, world: &str) -> Result<TrainingSpec, String> {
        let text = |setting| self.chosen(setting).to_owned();
        let number = |name: &str, setting| match self.chosen(setting) {
            "" => Ok(None),
            typed => match typed.parse::<u32>() {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(format!(
                    "{name} is not a whole number from 0 to {}: {typed}",
                    u32::MAX
                )),
            },
        };
        let seed = self.chosen(Setting::Seed);
        Ok(TrainingSpec {
            world: world.to_owned(),
            rules: text(Setting::Rules),
            seed: parse_seed(seed).ok_or_else(|| {
                format!("The seed is not a whole number from 0 to 2^63 − 1: {seed}")
            })?,
            learning_rate: text(Setting::LearningRate),
            group_size: number("The group size", Setting::GroupSize)?,
            episodes: number("The number of episodes", Setting::Episodes)?,
            entropy: text(Setting::Entropy),
            hidden: number("The width", Setting::Width)?,
            start: text(Setting::Start),
            credit: text(Setting::Credit),
            without: text(Setting::Without),
            workers: match number("The number of helpers", Setting::Workers)? {
                Some(count) if count > HELPERS_MAX => {
                    return Err(format!(
                        "The number of helpers is above {HELPERS_MAX}: {count}"
                    ));
                }
                count => count,
            },
        })
    }
}

impl From<&TrainingSpec> for TrainingForm {
    fn from(spec: &TrainingSpec) -> Self {
        let number = |number: Option<u32>| number.map_or_else(String::new, |n| n.to_string());
        Self([
            spec.learning_rate.clone(),
            number(spec.group_size),
            number(spec.episodes),
            spec.entropy.clone(),
            number(spec.hidden),
            spec.start.clone(),
            spec.credit.clone(),
            spec.seed.to_string(),
            spec.rules.clone(),
            spec.without.clone(),
            number(spec.workers),
        ])
    }
}

/// Returns `true` if a text can be a decimal number; the engine that trains parses it.
fn is_decimal(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_digit() || b".eE+-".contains(&byte);
    text.len() <= 24 && text.bytes().all(fits) && text.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(settings: &[(Setting, &str)]) -> TrainingForm {
        let mut form = TrainingForm::default();
        for (setting, typed) in settings {
            form.set(*setting, (*typed).to_owned());
        }
        form
    }

    #[test]
    fn empty_fields_leave_the_preset() {
        let spec = TrainingForm::default().spec("trust").expect("the preset");
        let expected = TrainingSpec {
            world: "trust".to_owned(),
            rules: "hardened".to_owned(),
            seed: 1,
            credit: "step".to_owned(),
            ..TrainingSpec::default()
        };
        assert_eq!(spec, expected);
    }

    #[test]
    fn a_number_that_cannot_be_read_is_named() {
        for (setting, typed, name) in [
            (Setting::GroupSize, "eight", "group size"),
            (Setting::Episodes, "4294967296", "number of episodes"),
            (Setting::Width, "-1", "width"),
            (Setting::Seed, "9223372036854775808", "seed"),
            (Setting::Workers, "1.5", "number of helpers"),
            (Setting::Workers, "9", "number of helpers"),
        ] {
            let error = form(&[(setting, typed)]).spec("trust");
            let error = error.expect_err("no number");
            assert!(error.contains(name) && error.contains(typed), "{error}");
        }
    }

    /// The settings of a run are those that were typed, and every setting is one of the address.
    #[test]
    fn a_form_survives_its_run_and_its_address() {
        let typed = form(&[
            (Setting::LearningRate, " 1e-3"),
            (Setting::GroupSize, "8 "),
            (Setting::Episodes, "24"),
            (Setting::Entropy, "0.01"),
            (Setting::Width, "16"),
            (Setting::Start, "published"),
            (Setting::Credit, "episode"),
            (Setting::Seed, "9223372036854775807"),
            (Setting::Rules, "hardened-completion"),
            (Setting::Without, "calibration"),
            (Setting::Workers, "3"),
        ]);
        let spec = typed.spec("cluster").expect("numbers");
        let shown = TrainingForm::from(&spec);
        assert_eq!(shown.spec("cluster"), Ok(spec));
        assert_eq!(shown.typed(Setting::LearningRate), "1e-3");
        let mut read = TrainingForm::default();
        for (name, value) in typed.parameters() {
            assert!(read.set_parameter(name, value), "{name}={value}");
        }
        assert_eq!(read, shown);
    }

    #[test]
    fn the_address_leaves_out_presets() {
        let spec = TrainingForm::default().spec("trust").expect("the preset");
        assert_eq!(TrainingForm::from(&spec).parameters().count(), 0);
        let other = form(&[(Setting::Seed, "2"), (Setting::Credit, "step")]);
        assert_eq!(
            other.parameters().collect::<Vec<_>>(),
            [("train-seed", "2")]
        );
    }
}
