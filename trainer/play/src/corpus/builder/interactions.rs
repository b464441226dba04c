//! Rows about drug interactions: from an API, page by page, or from a document in its place.
//!
//! A page is a JSON array, or an object with `results`, and optionally `license` and `next`, the
//! address of the next page; or a page of openFDA's labels. An item is one of these:
//!
//! ```json
//! {"drugs": ["a", "b"], "severity": "major", "description": "…", "url": "…", "license": "…"}
//! {"id": "…", "drug_interactions": ["…"], "openfda": {"generic_name": ["A"]}}
//! ```
//!
//! A document may also hold one item per line.

use std::collections::BTreeSet;

use sentinel_http::{Request, Response};
use serde_json::Value;
use url::Url;

use super::collect::FetchedRows;
use super::network_access::{cell_text, join_names};
use super::{CorpusRow, Message, NetworkAccess, Refusal, RowOrigin, SourceError, SourceName};

/// The beginning of every question, since the answers are about medicines.
const NOTE: &str = "Reference text, not for patient care.";

/// A page of items.
struct Page {
    items: Vec<Value>,
    license: Option<String>,
    next: Option<Url>,
}

/// The rows that were fetched so far, and how they are made.
struct Reader<'a> {
    name: SourceName,
    /// The license that the user names.
    license: Option<&'a str>,
    limit: u64,
    found: FetchedRows,
}

/// Reads an API until it has no further page or `limit` items were read.
///
/// # Errors
/// Returns an error if the server fails, its answer is of another form, or states no license.
pub(super) fn fetch_api(
    url: &str,
    license: Option<&str>,
    limit: u64,
    network: &NetworkAccess,
) -> Result<FetchedRows, SourceError> {
    let mut reader = Reader::new(SourceName::DdiApi, license, limit);
    let mut seen = BTreeSet::new();
    let mut next = Some(url.to_owned());
    while let Some(url) = next.take().filter(|_| reader.found.read < limit) {
        let request = Request::get(&url)?;
        let address = request.address();
        if !seen.insert(url.clone()) {
            return Err(SourceError::schema(
                address,
                "its pages lead to each other in a circle",
            ));
        }
        let response = network.client.send(&request)?;
        let page = Page::parse(response.json()?, &url, &address)?;
        reader.read(&page, &address)?;
        // A server could link empty pages without end.
        next = page
            .next
            .filter(|_| !page.items.is_empty())
            .map(String::from);
    }
    reader.finish(url)
}

/// Reads a document.
///
/// # Errors
/// Returns an error if the server fails, the document is of another form, or states no license.
pub(super) fn fetch_document(
    url: &str,
    license: Option<&str>,
    limit: u64,
    network: &NetworkAccess,
) -> Result<FetchedRows, SourceError> {
    let mut reader = Reader::new(SourceName::WebFallback, license, limit);
    let request = Request::get(url)?;
    let response = network.client.send(&request)?;
    let address = request.address();
    let page = Page::parse(document(&response, &address)?, url, &address)?;
    reader.read(&page, &address)?;
    reader.finish(url)
}

/// Parses a document as JSON, or as one JSON object per line.
fn document(response: &Response, address: &str) -> Result<Value, SourceError> {
    if let Ok(value) = serde_json::from_slice(&response.body) {
        return Ok(value);
    }
    let text = String::from_utf8_lossy(&response.body);
    let lines = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty());
    let items: Result<Vec<Value>, SourceError> = lines
        .map(|(number, line)| {
            let wrong = |error: serde_json::Error| {
                let reason = format!("it is not JSON, and neither is line {number}: {error}");
                SourceError::schema(address, reason)
            };
            serde_json::from_str(line).map_err(wrong)
        })
        .collect();
    items.map(Value::Array)
}

impl Page {
    fn parse(value: Value, url: &str, address: &str) -> Result<Self, SourceError> {
        let mut object = match value {
            Value::Array(items) => {
                return Ok(Self {
                    items,
                    license: None,
                    next: None,
                });
            }
            Value::Object(object) => object,
            _ => {
                return Err(SourceError::schema(
                    address,
                    "the answer is neither a list nor an object",
                ));
            }
        };
        let Some(Value::Array(items)) = object.remove("results") else {
            let keys = join_names(object.keys().map(String::as_str));
            let reason = format!("the answer has no list `results`; its keys are {keys}");
            return Err(SourceError::schema(address, reason));
        };
        let meta = object.get("meta");
        let license = cell_text(object.get("license"))
            .or_else(|| cell_text(meta?.get("license")))
            .map(str::to_owned);
        let next = match cell_text(object.get("next")) {
            Some(next) => Some(linked(url, next, address)?),
            None => following(url, meta, items.len() as u64),
        };
        Ok(Self {
            items,
            license,
            next,
        })
    }
}

/// Returns the address of a link, which must stay on the same server.
fn linked(url: &str, next: &str, address: &str) -> Result<Url, SourceError> {
    let base = Url::parse(url).ok();
    let found = base.as_ref().and_then(|base| base.join(next).ok());
    match (base, found) {
        (Some(base), Some(found)) if base.origin() == found.origin() => Ok(found),
        _ => {
            let reason = "its next page is not on the same server";
            Err(SourceError::schema(address, reason))
        }
    }
}

/// Returns the address of openFDA's next page; `None` behind the last one, or if the answer does
/// not count its items.
fn following(url: &str, meta: Option<&Value>, items: u64) -> Option<Url> {
    let counts = meta?.get("results")?;
    let count = |name: &str| counts.get(name).and_then(Value::as_u64);
    let skip = count("skip")? + items;
    if items == 0 || skip >= count("total")? {
        return None;
    }
    let mut next = Url::parse(url).ok()?;
    let others: Vec<(String, String)> = (next.query_pairs().into_owned())
        .filter(|(name, _)| name != "skip")
        .collect();
    let mut pairs = next.query_pairs_mut();
    pairs.clear().extend_pairs(others);
    pairs.append_pair("skip", &skip.to_string());
    drop(pairs);
    Some(next)
}

impl<'a> Reader<'a> {
    fn new(name: SourceName, license: Option<&'a str>, limit: u64) -> Self {
        Self {
            name,
            license,
            limit,
            found: FetchedRows::default(),
        }
    }

    fn read(&mut self, page: &Page, address: &str) -> Result<(), SourceError> {
        let left = self.limit.saturating_sub(self.found.read);
        let before = self.found.rows.len();
        for item in page.items.iter().take(left as usize) {
            let Some(parsed) = parse(item, address) else {
                self.found.push(Err(Refusal::Incomplete));
                continue;
            };
            let stated = cell_text(item.get("license")).or(page.license.as_deref());
            let license = self
                .license
                .or(stated)
                .ok_or_else(|| SourceError::License {
                    url: address.to_owned(),
                    name: self.name,
                })?;
            self.found.push(Ok(CorpusRow {
                license: license.to_owned(),
                ..parsed
            }));
        }
        if before == self.found.rows.len() && before == 0 && !page.items.is_empty() {
            let keys = page.items.first().and_then(Value::as_object);
            let keys = keys.map_or_else(
                || "none".to_owned(),
                |item| join_names(item.keys().map(String::as_str)),
            );
            let reason = format!(
                "no item is an interaction: the keys of the first are {keys}; expected are drugs \
                 and description, or drug_interactions and openfda"
            );
            return Err(SourceError::schema(address, reason));
        }
        Ok(())
    }

    fn finish(self, url: &str) -> Result<FetchedRows, SourceError> {
        if self.found.rows.is_empty() {
            let url = Request::get(url)?.address();
            return Err(SourceError::NoRows { url });
        }
        Ok(self.found)
    }
}

/// Returns the row of an item, without its license; `None` if the item is not an interaction.
fn parse(item: &Value, address: &str) -> Option<CorpusRow> {
    let own = || cell_text(item.get("url")).map(str::to_owned);
    let (question, answer, url) = if let Some(drugs) = item.get("drugs") {
        let drugs = drugs.as_array()?;
        let names: Option<Vec<&str>> = drugs.iter().map(|drug| cell_text(Some(drug))).collect();
        let mut names = names.filter(|names| names.len() >= 2)?;
        // The order in which a server names them says nothing.
        names.sort_unstable();
        let description = one_line(cell_text(item.get("description"))?);
        let answer = match cell_text(item.get("severity")) {
            Some(severity) => format!("{severity}: {description}"),
            None => description,
        };
        let question = format!("How do {} interact?", names.join(" and "));
        (
            question,
            answer,
            own().unwrap_or_else(|| address.to_owned()),
        )
    } else {
        let sections = item.get("drug_interactions")?.as_array()?;
        let answer: Vec<&str> = sections
            .iter()
            .filter_map(|part| cell_text(Some(part)))
            .collect();
        let names = item.get("openfda")?.get("generic_name")?.as_array()?;
        let name = cell_text(names.first())?;
        if answer.is_empty() {
            return None;
        }
        let question = format!("What does a label of {name} state about interactions?");
        let id = cell_text(item.get("id")).map(|id| format!("{address}?search=id:{id}"));
        let url = own().or(id).unwrap_or_else(|| address.to_owned());
        (question, one_line(&answer.join(" ")), url)
    };
    Some(CorpusRow {
        prompt: vec![Message::user(format!("{NOTE} {question}"))],
        completion: answer,
        origin: RowOrigin::Url { url, row: None },
        license: String::new(),
        position: 0,
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
