//! Fits the imitation model and the bandits of the polyguard world and writes
//! `policy/data/polyguard/*.json`.
//!
//! `cargo run --release -p sentinel-policy --example polyguard_fit [FOLDER]`

use std::error::Error;
use std::fs;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use sentinel_policy::polyguard::{
    ExplorationRule, FIT_SEEDS, fit_bandit, fit_imitation, oracle_choices,
};
use serde::Serialize;

fn main() -> Result<(), Box<dyn Error>> {
    let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/polyguard");
    let folder = std::env::args().nth(1).map_or(usual, PathBuf::from);
    for (name, rule) in [
        ("linucb", ExplorationRule::LinUcb),
        ("thompson", ExplorationRule::Thompson),
    ] {
        let learned = fit_bandit(rule, FIT_SEEDS);
        let (steps, errors) = (learned.steps, learned.errors);
        write(&folder, name, &learned)?;
        writeln!(stdout(), "{name}: {steps} steps, errors {errors:?}")?;
    }
    let model = fit_imitation(&FIT_SEEDS, &oracle_choices(FIT_SEEDS));
    write(&folder, "imitation", &model)?;
    let (decisions, loss, agreement) = (model.decisions, model.loss, model.agreement);
    writeln!(
        stdout(),
        "imitation: {decisions} decisions, loss {loss:?}, agreement {agreement:.3}"
    )?;
    Ok(())
}

fn write(folder: &Path, name: &str, fitted: &impl Serialize) -> Result<(), Box<dyn Error>> {
    let path = folder.join(format!("{name}.json"));
    fs::write(&path, serde_json::to_string(fitted)? + "\n")?;
    Ok(())
}
