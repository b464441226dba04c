//! Rows of a dataset of the Hugging Face Hub, page by page, from the API of the dataset viewer.

use sentinel_base::seeds;
use sentinel_http::{HttpClient, HttpError, Request};
use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;

use super::collect::FetchedRows;
use super::network_access::{cell_messages, cell_text, join_names};
use super::{
    BuildConfig, CorpusRow, Message, NetworkAccess, Refusal, RowOrigin, SourceError, SourceName,
};

/// The most rows that the server gives at a time.
const PAGE: u64 = 100;
/// The pairs of columns that hold a question and an answer, first match first.
const COLUMNS: [(&str, &str); 5] = [
    ("prompt", "completion"),
    ("prompt", "response"),
    ("instruction", "output"),
    ("instruction", "response"),
    ("question", "answer"),
];
/// The columns that belong to an instruction.
const CONTEXT: [&str; 2] = ["input", "context"];

/// The name of a dataset with its subset and its split.
#[derive(Debug)]
struct Dataset {
    name: String,
    config: Option<String>,
    split: Option<String>,
}

#[derive(Deserialize)]
struct Splits {
    splits: Vec<SplitName>,
}

#[derive(Deserialize)]
struct SplitName {
    config: String,
    split: String,
}

#[derive(Deserialize)]
struct Page {
    rows: Vec<NumberedRow>,
    num_rows_total: u64,
}

#[derive(Deserialize)]
struct NumberedRow {
    row_idx: u64,
    row: Map<String, Value>,
    #[serde(default)]
    truncated_cells: Vec<String>,
}

/// The columns from which prompt and completion are made.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    Columns {
        prompt: String,
        context: Option<&'static str>,
        completion: String,
    },
    Messages,
}

/// Reads the rows of a dataset.
///
/// # Errors
/// Returns an error if the server has no such rows, they are of another form, or the dataset states
/// no license.
pub(super) fn fetch(
    config: &BuildConfig,
    dataset: &str,
    limit: u64,
    network: &NetworkAccess,
) -> Result<FetchedRows, SourceError> {
    let client = network.client.clone().with_token(network.token.clone());
    let dataset = Dataset::parse(dataset);
    let endpoint = config.hf_endpoint.trim_end_matches('/');
    let (subset, split) = find_split(&client, endpoint, &dataset)?;
    let license = match config.license(SourceName::Hf) {
        Some(license) => license.to_owned(),
        None => find_license(&client, &network.hub, &dataset.name)?,
    };
    let rows_url = format!("{endpoint}/rows");
    let (mut found, mut form, mut offset) = (FetchedRows::default(), None, 0);
    while offset < limit {
        let parameters = |offset: u64, length: u64| {
            [
                ("dataset", dataset.name.clone()),
                ("config", subset.clone()),
                ("split", split.clone()),
                ("offset", offset.to_string()),
                ("length", length.to_string()),
            ]
        };
        let asked = parameters(offset, PAGE.min(limit - offset));
        let asked: Vec<(&str, &str)> = asked.iter().map(|(k, v)| (*k, v.as_str())).collect();
        let response = client
            .send(&Request::get(&rows_url)?.query(&asked))
            .map_err(access)?;
        let page: Page = response.json()?;
        let Some(first) = page.rows.first() else {
            break;
        };
        let form = match &form {
            Some(form) => form,
            None => form.insert(Form::find(&first.row, config, &dataset.name)?),
        };
        for row in page.rows.iter().take((limit - offset) as usize) {
            let address = Url::parse_with_params(&rows_url, parameters(row.row_idx, 1));
            let url = address.map_or_else(|_| rows_url.clone(), String::from);
            found.push(form.row(row, url, &license));
        }
        offset += page.rows.len() as u64;
        if offset >= page.num_rows_total {
            break;
        }
    }
    if found.read == 0 {
        let url = dataset.name;
        return Err(SourceError::NoRows { url });
    }
    Ok(found)
}

impl Dataset {
    /// Parses `NAME`, `NAME:CONFIG` or `NAME:CONFIG:SPLIT`.
    fn parse(text: &str) -> Self {
        let mut parts = text.splitn(3, ':');
        let mut next = || {
            parts
                .next()
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
        };
        Self {
            name: next().unwrap_or_default(),
            config: next(),
            split: next(),
        }
    }
}

/// Adds the way out to a failure that is about access.
fn access(error: HttpError) -> SourceError {
    match error.status() {
        Some(401 | 403 | 404) => SourceError::Access { error },
        _ => SourceError::Http(error),
    }
}

/// Returns the subset and the split to read: those that the user names, else the subset `default`
/// or the first one, and its split `train`.
fn find_split(
    client: &HttpClient,
    endpoint: &str,
    dataset: &Dataset,
) -> Result<(String, String), SourceError> {
    if let (Some(config), Some(split)) = (&dataset.config, &dataset.split) {
        return Ok((config.clone(), split.clone()));
    }
    let request = Request::get(&format!("{endpoint}/splits"))?;
    let response = client.send(&request.query(&[("dataset", dataset.name.as_str())]));
    let known: Splits = response.map_err(access)?.json()?;
    let mut configs = known.splits.iter().map(|split| split.config.as_str());
    let usual = || {
        let default = configs.clone().find(|config| *config == "default");
        default.or_else(|| configs.next())
    };
    let config = dataset.config.as_deref().or_else(usual).unwrap_or_default();
    let wanted = dataset.split.as_deref().unwrap_or("train");
    if known
        .splits
        .iter()
        .any(|s| s.config == config && s.split == wanted)
    {
        return Ok((config.to_owned(), wanted.to_owned()));
    }
    let names: Vec<String> = (known.splits.iter())
        .map(|s| format!("{}:{}:{}", dataset.name, s.config, s.split))
        .collect();
    let names = join_names(names.iter().map(String::as_str));
    let reason = format!("it has no split {wanted} in subset {config:?}; name one of {names}");
    Err(SourceError::schema(&dataset.name, reason))
}

/// Returns the license that the card of a dataset states.
fn find_license(client: &HttpClient, hub: &str, name: &str) -> Result<String, SourceError> {
    let url = format!("{}/api/datasets/{name}", hub.trim_end_matches('/'));
    let info: Value = client.send(&Request::get(&url)?).map_err(access)?.json()?;
    let card = info.get("cardData").and_then(|card| card.get("license"));
    let stated = match card {
        Some(Value::Array(list)) => list.first().and_then(Value::as_str),
        Some(license) => license.as_str(),
        None => None,
    };
    let tags = info.get("tags").and_then(Value::as_array);
    let tagged = || {
        tags?
            .iter()
            .find_map(|tag| tag.as_str()?.strip_prefix("license:"))
    };
    match stated.or_else(tagged) {
        Some(license) if !["", "unknown"].contains(&license) => Ok(license.to_owned()),
        _ => Err(SourceError::License {
            url: name.to_owned(),
            name: SourceName::Hf,
        }),
    }
}

impl Form {
    /// Returns the form of a dataset by its first row.
    fn find(
        row: &Map<String, Value>,
        config: &BuildConfig,
        dataset: &str,
    ) -> Result<Self, SourceError> {
        let has = |name: &str| row.contains_key(name);
        let of = |prompt: &str, completion: &str| Self::Columns {
            context: CONTEXT
                .into_iter()
                .find(|name| prompt == "instruction" && has(name)),
            prompt: prompt.to_owned(),
            completion: completion.to_owned(),
        };
        if let Some((prompt, completion)) = &config.hf_columns {
            if has(prompt) && has(completion) {
                return Ok(of(prompt, completion));
            }
        } else if let Some((prompt, completion)) = COLUMNS.iter().find(|(a, b)| has(a) && has(b)) {
            return Ok(of(prompt, completion));
        } else if has("messages") {
            return Ok(Self::Messages);
        }
        let known: Vec<String> = COLUMNS
            .iter()
            .map(|(a, b)| format!("{a} and {b}"))
            .collect();
        let reason = format!(
            "its columns are {}; name those of question and answer with --hf-columns, unless they \
             are {} or messages",
            join_names(row.keys().map(String::as_str)),
            known.join(", ")
        );
        Err(SourceError::schema(dataset, reason))
    }

    fn row(&self, row: &NumberedRow, url: String, license: &str) -> Result<CorpusRow, Refusal> {
        if !row.truncated_cells.is_empty() {
            return Err(Refusal::Truncated);
        }
        check_seed(&row.row)?;
        let (prompt, completion) = self.texts(&row.row).ok_or(Refusal::Incomplete)?;
        Ok(CorpusRow {
            prompt,
            completion,
            origin: RowOrigin::Url {
                url,
                row: Some(row.row_idx),
            },
            license: license.to_owned(),
            position: row.row_idx,
        })
    }

    fn texts(&self, row: &Map<String, Value>) -> Option<(Vec<Message>, String)> {
        match self {
            Self::Messages => {
                let mut turns = cell_messages(row.get("messages"))?;
                let last = turns.pop().filter(|turn| turn.role == "assistant")?;
                Some((turns, last.content))
            }
            Self::Columns {
                prompt,
                context,
                completion,
            } => {
                let mut turns = cell_messages(row.get(prompt))?;
                if let Some(context) = context.and_then(|name| cell_text(row.get(name))) {
                    let last = turns.last_mut()?;
                    last.content = format!("{}\n\n{context}", last.content);
                }
                let answer = cell_messages(row.get(completion))?;
                match answer.as_slice() {
                    [answer] => Some((turns, answer.content.clone())),
                    _ => None,
                }
            }
        }
    }
}

/// Refuses a row that names an episode whose seed is not for training, as the corpus of another
/// program may hold it.
fn check_seed(row: &Map<String, Value>) -> Result<(), Refusal> {
    let (Some(_), Some(seed)) = (row.get("world"), row.get("seed")) else {
        return Ok(());
    };
    let is_training = |seed: u64| seeds::TRAINING.range().contains(&seed);
    if seed.as_u64().is_some_and(is_training) {
        Ok(())
    } else {
        Err(Refusal::EvaluationSeed)
    }
}
