//! `sentinel lm import`: writes a model of another program as a folder of Hugging Face, with its origin.

use std::path::PathBuf;

use sentinel_base::provenance::{ImportedFile, Provenance, file_digest};
use sentinel_base::{StagedFolder, files};
use sentinel_lm::gguf::GgufModel;
use sentinel_lm::weights::StoredDtype;
use sentinel_lm::{GenerationDefaults, LmError};
use sentinel_run::model_card::{CARD_FILE, ModelCard, markdown_table, table_cell};

/// Options of `sentinel lm import`.
#[derive(Clone, Debug, clap::Args)]
pub struct ImportArgs {
    /// The file to read: a GGUF file of the families llama, qwen2 and qwen3
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Folder to write the model to
    #[arg(long, value_name = "DIR")]
    pub output_dir: PathBuf,
    /// Type of the numbers in the written weights
    #[arg(long, value_enum, default_value_t)]
    pub dtype: StoredDtype,
    /// Overwrite what is in --output-dir
    #[arg(long, alias = "force")]
    pub overwrite_output_dir: bool,
}

/// The result of an import.
#[derive(Clone, Debug)]
pub struct ImportedModel {
    /// Number of scalars in the model.
    pub parameters: usize,
    /// Number of tokens in the tokenizer.
    pub tokens: usize,
    /// Origin of the model.
    pub origin: ImportedFile,
    /// Differences to transformers, and missing stop tokens.
    pub warnings: Vec<String>,
}

/// Reads a file and writes the folder as a whole, with `provenance`, to which the origin is added.
///
/// # Errors
/// If the file cannot be imported, the folder is not empty, or a file cannot be read or written.
pub fn import(options: &ImportArgs, mut provenance: Provenance) -> Result<ImportedModel, LmError> {
    let (file, target) = (&options.file, &options.output_dir);
    StagedFolder::check(target, options.overwrite_output_dir, &[file])?;
    let model = GgufModel::open(file)?;
    let found = model.origin().clone();
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let origin = ImportedFile {
        file: name.into_owned(),
        sha256: file_digest(file).map_err(|error| LmError::read(file, error))?,
        name: found.name,
        organization: found.organization,
        quantization: found.quantization,
        license: found.license,
    };
    files::create_folder(files::parent_folder(target))?;
    let staged = StagedFolder::new(target, options.overwrite_output_dir, &[file])?;
    let tokenizer = model.write(staged.path(), options.dtype)?;
    let generation = GenerationDefaults::resolve(staged.path(), None, &tokenizer, None)?;
    let card = card(&origin, options.dtype, model.parameters());
    files::write_atomic(&staged.path().join(CARD_FILE), card.as_bytes())?;
    provenance
        .inputs
        .insert(origin.file.clone(), origin.sha256.clone());
    provenance.imported = Some(Box::new(origin.clone()));
    provenance.write(staged.path())?;
    staged.commit()?;
    Ok(ImportedModel {
        parameters: model.parameters(),
        tokens: tokenizer.len(),
        origin,
        warnings: generation.warnings(&tokenizer),
    })
}

/// Returns the text of the model card.
fn card(origin: &ImportedFile, dtype: StoredDtype, parameters: usize) -> String {
    let title = origin.name.clone().unwrap_or_else(|| origin.file.clone());
    let row = |name: &str, value: &str| vec![name.to_owned(), table_cell(value)];
    let or_none = |text: &Option<String>| text.clone().unwrap_or_default();
    let rows = [
        row("", "value"),
        row("file", &origin.file),
        row("SHA-256 of the file", &origin.sha256),
        row("name in the file", &or_none(&origin.name)),
        row("organization", &or_none(&origin.organization)),
        row("license", &or_none(&origin.license)),
        row("formats in the file", &origin.quantization),
        row("format here", dtype.name()),
        row("parameters", &parameters.to_string()),
    ];
    let card = ModelCard {
        library: "transformers",
        license: origin.license.clone(),
        tags: vec!["gguf".to_owned(), "sentinel".to_owned()],
        title: one_line(&title),
        sections: vec![
            "A model that Sentinel did not train: it was converted from a GGUF file by `sentinel lm import`. \
             Its numbers are those of the file, whose quantization cannot be undone; it is not the checkpoint \
             that the file was made from.\n"
                .to_owned(),
            markdown_table(&rows.map(|cells| cells.iter().map(|cell| one_line(cell)).collect())),
        ],
        ..ModelCard::default()
    };
    card.to_markdown()
}

/// Returns a text of the file without line breaks, which would end a heading or a table.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
