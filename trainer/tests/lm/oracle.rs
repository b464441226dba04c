//! Access to the recorded files.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use burn::tensor::{Device, Tensor};
use safetensors::{Dtype, SafeTensors};
use sentinel_language::sft::SftRow;
use sentinel_lm::{Batch, ModelConfig, Tokenizer};
use sentinel_tensor::device::DeviceName;
use serde::de::DeserializeOwned;

/// Largest accepted difference of logits and log-probabilities from the recorded ones.
pub(crate) const LOGITS: f32 = 2e-4;

/// The families of models with recorded data.
const FAMILIES: [&str; 3] = ["qwen2", "qwen3", "llama"];

/// A folder of recorded data.
#[derive(Clone)]
pub(crate) struct Oracle {
    folder: PathBuf,
    ours: bool,
}

/// A tensor of a recorded file.
pub(crate) struct Recorded {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f32>,
    pub(crate) whole: Vec<i64>,
}

/// Opens the recorded data of Qwen2, which also holds those that do not depend on the model.
pub(crate) fn oracle() -> Oracle {
    oracle_of("qwen2")
}

/// Opens the recorded data of every family.
pub(crate) fn oracles() -> Vec<Oracle> {
    FAMILIES.map(oracle_of).into()
}

/// Returns every recorded model, as the data of its family and its name.
pub(crate) fn every_variant() -> Vec<(Oracle, String)> {
    each(Oracle::variants)
}

/// Returns every recorded adapter, as the data of its family and its name.
pub(crate) fn every_adapter() -> Vec<(Oracle, String)> {
    each(|oracle| oracle.named("adapter_", ""))
}

fn each(names: impl Fn(&Oracle) -> Vec<String>) -> Vec<(Oracle, String)> {
    let of_family = |oracle: Oracle| {
        let names = names(&oracle).into_iter();
        names.map(move |name| (oracle.clone(), name))
    };
    oracles().into_iter().flat_map(of_family).collect()
}

/// Opens the recorded data of a family.
pub(crate) fn oracle_of(family: &str) -> Oracle {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let other = std::env::var_os("SENTINEL_TESTDATA").filter(|folder| !folder.is_empty());
    let testdata = other.as_ref().map_or("testdata".into(), |f| root.join(f));
    Oracle {
        folder: root.join(testdata).join("oracle").join(family),
        ours: other.is_none(),
    }
}

/// Prints that a comparison is skipped, even if the test passes: captured output is shown only on
/// failure.
pub(crate) fn print_note(line: &str) {
    // A failure to write cannot be reported.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Returns the device used in tests: the processor, or the one that `SENTINEL_TEST_DEVICE` names.
pub(crate) fn device() -> Device {
    match std::env::var("SENTINEL_TEST_DEVICE") {
        Ok(name) => name.parse::<DeviceName>().unwrap().open().unwrap(),
        Err(_) => Device::flex(),
    }
}

impl Oracle {
    /// Returns the path of a file or folder; `None` if another testdata folder lacks it.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        let path = self.folder.join(name);
        assert!(!self.ours || path.exists(), "{} is missing", path.display());
        if !path.exists() {
            print_note(&format!(
                "{} is not there: nothing is compared",
                path.display()
            ));
        }
        path.exists().then_some(path)
    }

    /// Returns a model's folder if all files needed to load it exist.
    pub(crate) fn checkpoint(&self, name: &str) -> Option<PathBuf> {
        let folder = self.path(name)?;
        self.path(&format!("{name}/config.json"))?;
        let index = format!("{name}/model.safetensors.index.json");
        let mut weights = vec!["model.safetensors".to_owned()];
        if self.folder.join(&index).exists() {
            let index: serde_json::Value = self.json(&index)?;
            let files = index["weight_map"].as_object().unwrap().values();
            weights = files
                .map(|file| file.as_str().unwrap().to_owned())
                .collect();
        }
        for file in weights {
            self.path(&format!("{name}/{file}"))?;
        }
        Some(folder)
    }

    /// Returns the folder of a model named by [`Self::variants`].
    pub(crate) fn model(&self, variant: &str) -> Option<PathBuf> {
        self.checkpoint(&format!("model_{variant}"))
    }

    /// Returns the folder of an adapter.
    pub(crate) fn adapter(&self, name: &str) -> Option<PathBuf> {
        self.path(&format!("{name}/adapter_config.json"))?;
        self.path(&format!("{name}/adapter_model.safetensors"))?;
        self.path(name)
    }

    /// Loads the tokenizer of a folder, with its recorded template.
    pub(crate) fn tokenizer(&self, folder: &str) -> Option<Tokenizer> {
        let path = self.path(folder)?;
        for file in [
            "tokenizer.json",
            "tokenizer_config.json",
            "chat_template.jinja",
        ] {
            self.path(&format!("{folder}/{file}"))?;
        }
        Some(Tokenizer::load(&path).unwrap())
    }

    /// Returns the names of entries with this start and ending, without the ending.
    pub(crate) fn named(&self, start: &str, end: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(&self.folder) else {
            assert!(!self.ours, "{} is missing", self.folder.display());
            let folder = self.folder.display();
            print_note(&format!("{folder} is not there: nothing is compared"));
            return Vec::new();
        };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names
            .filter(|name| name.starts_with(start))
            .filter_map(|name| name.strip_suffix(end).map(str::to_owned))
            .collect();
        names.sort();
        assert!(!self.ours || !names.is_empty(), "no {start}*{end}");
        names
    }

    /// Returns the names of the unsharded models: `untied`, `tied`.
    pub(crate) fn variants(&self) -> Vec<String> {
        let names = self.named("model_", "");
        let plain = names.iter().filter(|name| !name.ends_with("_sharded"));
        plain
            .map(|name| name["model_".len()..].to_owned())
            .collect()
    }

    pub(crate) fn json<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let text = std::fs::read_to_string(self.path(name)?).unwrap();
        Some(serde_json::from_str(&text).unwrap())
    }

    pub(crate) fn tensors(&self, name: &str) -> Option<BTreeMap<String, Recorded>> {
        Some(tensors(&self.path(name)?))
    }
}

/// Reads all tensors of a file.
pub(crate) fn tensors(path: &Path) -> BTreeMap<String, Recorded> {
    let bytes = std::fs::read(path).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let read = file.tensors().into_iter().map(|(name, view)| {
        let (mut values, mut whole) = (Vec::new(), Vec::new());
        match view.dtype() {
            Dtype::F32 => {
                let words = view.data().as_chunks::<4>().0.iter();
                values = words.map(|b| f32::from_le_bytes(*b)).collect();
            }
            Dtype::I64 => {
                let words = view.data().as_chunks::<8>().0.iter();
                whole = words.map(|b| i64::from_le_bytes(*b)).collect();
            }
            other => panic!("{name}: {other:?}"),
        }
        let recorded = Recorded {
            shape: view.shape().to_vec(),
            values,
            whole,
        };
        (name, recorded)
    });
    read.collect()
}

impl Recorded {
    pub(crate) fn ids(&self) -> Vec<u32> {
        self.whole
            .iter()
            .map(|id| u32::try_from(*id).unwrap())
            .collect()
    }

    pub(crate) fn flags(&self) -> Vec<bool> {
        self.whole.iter().map(|on| *on != 0).collect()
    }

    /// Creates a batch of these ids; without a mask, all of them count.
    pub(crate) fn batch(&self, config: &ModelConfig, mask: Option<&Self>) -> Batch {
        let all = vec![true; self.whole.len()];
        let mask = mask.map_or(all, Self::flags);
        Batch::new(config, self.ids(), mask, self.shape[1]).unwrap()
    }
}

/// Checks that values are within `tolerance` of the recorded ones.
#[track_caller]
pub(crate) fn close(what: &str, ours: &[f32], recorded: &[f32], tolerance: f32) {
    assert_eq!(ours.len(), recorded.len(), "{what}");
    let apart = ours.iter().zip(recorded).map(|(a, b)| (a - b).abs());
    let worst = apart.fold(
        0.0,
        |worst: f32, d| if d > worst || d.is_nan() { d } else { worst },
    );
    assert!(
        worst <= tolerance,
        "{what}: {worst:e} apart, allowed is {tolerance:e}"
    );
}

pub(crate) fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.try_into_vec_as::<f32>().unwrap()
}

/// Places every row in a batch row of its own.
pub(crate) fn alone<'a>(rows: &[&'a SftRow]) -> Vec<Vec<&'a SftRow>> {
    rows.iter().map(|row| vec![*row]).collect()
}
