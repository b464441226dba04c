//! The replay files that the page knows: from `replays/manifest.json`, and dropped by the person.

use std::collections::BTreeMap;
use std::sync::Arc;

use sentinel_env::TaskName as _;
use sentinel_env::json::Json;
use sentinel_env::rules::Rules;
use sentinel_policy::replay::{Recordable, Replay};

use crate::state::{View, plain_name};
use crate::world::{Aim, Opened, WORLDS, World, streams_of};

/// The largest file that the page reads at once.
pub const FILE_MAX: f64 = 32.0 * 1024.0 * 1024.0;

/// Where a replay file stands.
#[derive(Clone, Debug)]
pub enum Entry<W: World> {
    /// Being fetched.
    Loading,
    /// Read, with its first episode.
    Ready(Arc<W::Replay>, Option<Aim<W>>),
    /// Could not be had, and why.
    Failed(String),
}

impl<W: World> Entry<W> {
    /// A file that was read.
    #[must_use]
    pub fn of(opened: Opened<W>) -> Self {
        Self::Ready(Arc::new(opened.replay), opened.first)
    }
}

/// The seeds that a file covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// The lowest.
    pub first: u64,
    /// The highest.
    pub last: u64,
}

/// What `replays/manifest.json` says of a file, as far as the page needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Name within `replays/`.
    pub file: String,
    /// Whose world it is of; the first one when nothing is said.
    pub world: String,
    /// How the streams were seeded.
    pub streams: String,
    /// Under which rules; the reference's when nothing is said.
    pub rules: String,
    /// Which tasks it covers.
    pub tasks: Vec<String>,
    /// Which seeds it covers.
    pub seeds: Option<Seeds>,
}

impl Listed {
    /// Reads an entry of the list; none where it names no file. What else is missing is not said.
    fn of(entry: &Json) -> Option<Self> {
        let text = |key: &str| entry.get(key)?.as_str().map(str::to_owned);
        let tasks = entry
            .get("tasks")
            .and_then(Json::as_list)
            .into_iter()
            .flatten();
        let seed = |key: &str| entry.get("seeds")?.get(key)?.as_u64();
        Some(Self {
            file: text("file")?,
            world: text("world").unwrap_or_default(),
            streams: text("streams").unwrap_or_default(),
            rules: text("rules").unwrap_or_default(),
            tasks: tasks
                .filter_map(|task| task.as_str().map(str::to_owned))
                .collect(),
            seeds: seed("first")
                .zip(seed("last"))
                .map(|(first, last)| Seeds { first, last }),
        })
    }
}

/// All replay files.
#[derive(Clone, Debug)]
pub struct Shelf<W: World> {
    /// Names in the order of the manifest, then as dropped.
    pub listed: Vec<Listed>,
    /// Content, by name without `.jsonl`.
    pub entries: BTreeMap<String, Entry<W>>,
}

impl<W: World> Default for Shelf<W> {
    fn default() -> Self {
        Self {
            listed: Vec::new(),
            entries: BTreeMap::new(),
        }
    }
}

impl<W: World> Shelf<W> {
    /// The replay called `name`, once it is there.
    #[must_use]
    pub fn ready(&self, name: &str) -> Option<Arc<W::Replay>> {
        match self.entries.get(name)? {
            Entry::Ready(replay, _) => Some(Arc::clone(replay)),
            Entry::Loading | Entry::Failed(_) => None,
        }
    }

    /// Names for a menu, without `.jsonl`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.listed.iter().map(|listed| stem(&listed.file))
    }

    /// Changes a view so that it shows an episode that the replay called `name` holds: one of its
    /// own when the file was read, else one that the manifest promises.
    pub fn aim(&self, name: &str, view: &mut View<W>) {
        if let Some(Entry::Ready(replay, first)) = self.entries.get(name) {
            let held = W::holds(replay, view);
            if let Some(first) = first.filter(|_| !held) {
                (view.task, view.seed) = (first.task, first.seed);
                (view.streams, view.rules) = (first.streams, first.rules);
            }
            return;
        }
        let Some(listed) = self.listed.iter().find(|listed| stem(&listed.file) == name) else {
            return;
        };
        if let Some(streams) = streams_of::<W>(&listed.streams) {
            view.streams = streams;
        }
        // A list that says nothing is of the reference's rules.
        view.rules = Rules::parse(&listed.rules).unwrap_or_default();
        if !listed.tasks.iter().any(|task| task == view.task.name())
            && let Some(task) = listed.tasks.iter().find_map(|task| W::Task::parse(task))
        {
            view.task = task;
        }
        if let Some(seeds) = listed.seeds
            && !(seeds.first..=seeds.last).contains(&view.seed)
        {
            view.seed = seeds.first;
        }
    }

    /// Takes in the list of files; what was dropped before it came stays.
    pub fn list(&mut self, mut listed: Vec<Listed>) {
        let dropped = std::mem::take(&mut self.listed);
        let new = |d: &Listed| listed.iter().all(|l| l.file != d.file);
        let kept: Vec<Listed> = dropped.into_iter().filter(new).collect();
        listed.extend(kept);
        self.listed = listed;
    }

    /// Adds a file that the person dropped.
    pub fn add(&mut self, name: &str, opened: Opened<W>) {
        if !self.names().any(|known| known == name) {
            self.listed.push(Listed {
                file: format!("{name}.jsonl"),
                world: W::NAME.to_owned(),
                streams: String::new(),
                rules: String::new(),
                tasks: Vec::new(),
                seeds: None,
            });
        }
        self.entries.insert(name.to_owned(), Entry::of(opened));
    }
}

/// Reads a replay file of the environment `P`; rows of other worlds do not fit.
#[must_use]
pub fn open<W, P>(text: &str) -> Opened<W>
where
    P: Recordable,
    W: World<Task = P::Task, Change = P::Change, Replay = Replay<P>>,
{
    let replay = Replay::<P>::parse(text);
    let first = replay.episodes().next().map(|origin| Aim {
        task: origin.task,
        seed: origin.seed,
        streams: origin.streams,
        rules: origin.rules,
    });
    Opened {
        first,
        problems: replay.problems().iter().map(ToString::to_string).collect(),
        problem_count: replay.problem_count(),
        replay,
    }
}

/// Reads a manifest: the files of `world` that can be played, and the names of those that no address can
/// carry.
///
/// # Errors
/// If it is no JSON, and where; or has no list of files, or an entry without a name.
pub fn parse_manifest(text: &str, world: &str) -> Result<(Vec<Listed>, Vec<String>), String> {
    let manifest: Json = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let files = (manifest.get("files").and_then(Json::as_list)).ok_or("it has no list `files`")?;
    let files: Option<Vec<Listed>> = files.iter().map(Listed::of).collect();
    let files = files.ok_or("an entry names no file")?;
    let ours = |l: &Listed| l.world == world || l.world.is_empty() && world == WORLDS[0].0;
    let files = files.into_iter().filter(ours);
    let (listed, refused): (Vec<_>, Vec<_>) = files.partition(|l| plain_name(stem(&l.file)));
    Ok((listed, refused.into_iter().map(|l| l.file).collect()))
}

/// A file's name without `.jsonl`.
#[must_use]
pub fn stem(file: &str) -> &str {
    file.strip_suffix(".jsonl").unwrap_or(file)
}

/// A name for a dropped file that fits into an address.
#[must_use]
pub fn safe_stem(file: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_. ".contains(c);
    let name: String = stem(file)
        .chars()
        .map(|c| if fits(c) { c } else { '_' })
        .take(80)
        .collect();
    let name = name.replace("..", "_");
    if name.is_empty() {
        "dropped".to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Source;
    use crate::trust::Trust;
    use sentinel_env::rng::Streams;
    use sentinel_env::trust::Task;

    #[test]
    fn choosing_a_replay_shows_an_episode_that_it_holds() {
        let text = r#"{"files": [
            {"file": "a.jsonl", "streams": "reference", "tasks": ["task1"], "seeds": {"first": 3, "last": 9}},
            {"file": "b.jsonl", "world": "cluster"},
            {"file": "l\u00e4ufe.jsonl", "world": "trust"}]}"#;
        let (listed, refused) = parse_manifest(text, "trust").expect("a manifest");
        assert_eq!((listed.len(), refused), (1, vec!["läufe.jsonl".to_owned()]));
        let mut shelf = Shelf::<Trust>::default();
        shelf.add("a", Trust::read_replay(""));
        shelf.entries.clear();
        shelf.list(listed);
        assert_eq!(
            shelf.names().count(),
            1,
            "the dropped file is the listed one"
        );
        let mut view = View {
            seed: 42,
            ..View::default()
        };
        shelf.aim("a", &mut view);
        assert_eq!(
            (view.task, view.seed, view.streams),
            (Task::Task1, 3, Streams::Reference)
        );
        view.seed = 7;
        shelf.aim("a", &mut view);
        shelf.aim("unknown", &mut view);
        assert_eq!(view.seed, 7);
    }

    #[test]
    fn what_is_no_manifest_is_told() {
        for (text, part) in [
            ("<!doctype html>", "line 1"),
            ("{}", "no list"),
            (r#"{"files": {}}"#, "no list"),
            (r#"{"files": [{"world": "trust"}]}"#, "names no file"),
        ] {
            let error = parse_manifest(text, "trust").expect_err("no manifest");
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn any_file_name_becomes_a_source() {
        for file in [
            "a.jsonl",
            "../../x.jsonl",
            "",
            ".jsonl",
            "ü ö.jsonl",
            "a/b?c&d=e",
            &"x".repeat(500),
        ] {
            let id = format!("replay:{}", safe_stem(file));
            assert!(Source::<Trust>::parse(&id).is_some(), "{file} -> {id}");
        }
    }
}
