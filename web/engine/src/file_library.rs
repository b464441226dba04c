//! The files that an engine knows: replays of the page's list, and replays and models that were
//! dropped.

use std::sync::Arc;

use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_env::strict_json::Json;
use sentinel_env::{EpisodeSpec, Named as _, TaskName as _, WorldName};
use sentinel_page_protocol::{EpisodeRef, ListedReplay, PlayedEpisode, PlayerInfo};
use sentinel_policy::nn::Model;
use sentinel_policy::replay::{Diagnostic, Replay};

use crate::files::Fetched;
use crate::format::counted;
use crate::world::{MODEL, PageWorld, REPLAY, TRAINED, TRAINED_LABEL, default_streams};

/// Path of the list of replay files, relative to the page.
pub const MANIFEST: &str = "replays/manifest.json";

/// Name of the model that was trained in the page, and of its file.
pub const TAB: &str = "tab";

/// Name of the newest policy of a run that is still training, which no menu lists.
const TAB_NOW: &str = "tab-now";

/// World of an entry that names none.
const FIRST_WORLD: WorldName = WorldName::Trust;

/// Number of lines of a dropped file that are searched for a row of a replay.
const BEGINNING_LINES: usize = 1_000;

/// A parsed replay file.
pub struct ReadReplay<W: PageWorld> {
    /// All rows that could be read.
    pub replay: Replay<W>,
    /// First episode that can be played; `None` if there is none.
    pub first: Option<EpisodeSpec<W>>,
}

impl<W: PageWorld> ReadReplay<W> {
    /// Chooses the episode of the file for an address without a task: the first one that has the rules,
    /// the streams and the seed of the address, as far as there is one; rules count most, the seed
    /// least. Rules and streams that the address names stay.
    pub fn choose_episode(&self, words: &mut EpisodeRef) {
        // Parts that are left out, or that are not understood, agree with every episode.
        let rules = Rules::parse(&words.rules.replace(' ', "+")).ok();
        let rules = rules.filter(|_| !words.rules.is_empty());
        let streams = Streams::parse(&words.streams);
        let differs = |spec: &&EpisodeSpec<W>| {
            let rules = rules.as_ref().is_some_and(|rules| *rules != spec.rules);
            let streams = streams.is_some_and(|streams| streams != spec.streams);
            u8::from(rules) * 4 + u8::from(streams) * 2 + u8::from(spec.seed != words.seed)
        };
        let Some(found) = self.replay.episodes().min_by_key(differs) else {
            return;
        };
        let found = episode::<W>(found);
        (words.task, words.seed) = (found.task, found.seed);
        if words.streams.is_empty() {
            words.streams = found.streams;
        }
        if words.rules.is_empty() {
            words.rules = found.rules;
        }
    }
}

/// The replays of a world, listed or dropped, and the dropped models.
pub struct FileLibrary<W: PageWorld> {
    listed: Vec<ListedReplay>,
    files: Vec<(String, Fetched<ReadReplay<W>>)>,
    models: Vec<(String, Arc<Model<W::Net>>)>,
}

impl<W: PageWorld> Default for FileLibrary<W> {
    fn default() -> Self {
        Self {
            listed: Vec::new(),
            files: Vec::new(),
            models: Vec::new(),
        }
    }
}

impl<W: PageWorld> FileLibrary<W> {
    /// Returns the replays for menus.
    #[must_use]
    pub fn listed(&self) -> &[ListedReplay] {
        &self.listed
    }

    /// Returns the state of the file of replay `name`.
    #[must_use]
    pub fn file(&self, name: &str) -> &Fetched<ReadReplay<W>> {
        let found = self.files.iter().find(|(known, _)| known == name);
        found.map_or(&Fetched::NotRequested, |(_, file)| file)
    }

    /// Sets the state of the file of replay `name`.
    pub fn set(&mut self, name: &str, file: Fetched<ReadReplay<W>>) {
        match self.files.iter_mut().find(|(known, _)| known == name) {
            Some((_, place)) => *place = file,
            None => self.files.push((name.to_owned(), file)),
        }
    }

    /// Returns the dropped model `name`.
    #[must_use]
    pub fn model(&self, name: &str) -> Option<&Arc<Model<W::Net>>> {
        let found = self.models.iter().find(|(known, _)| known == name);
        found.map(|(_, model)| model)
    }

    /// Adds a model that the visitor dropped, and returns its name. It replaces one of the same
    /// name.
    pub fn add_model(&mut self, file: &str, model: Model<W::Net>) -> String {
        let name = plain_name(file.strip_suffix(".safetensors").unwrap_or(file));
        self.models.retain(|(known, _)| *known != name);
        self.models.push((name.clone(), Arc::new(model)));
        name
    }

    /// Returns the dropped models as players for menus.
    pub fn model_players(&self) -> impl Iterator<Item = PlayerInfo> {
        let listed = self.models.iter().filter(|(name, _)| name != TAB_NOW);
        listed.map(|(name, _)| PlayerInfo {
            name: format!("{MODEL}{name}"),
            label: model_label(name),
            help: match name.as_str() {
                TAB => {
                    "The network that was trained in this tab, as it was when you last let it play."
                }
                _ => "The network of a file that you dropped.",
            }
            .to_owned()
                + " It takes its most probable action.",
            ..PlayerInfo::default()
        })
    }

    /// Reads the page's list and returns the files whose names no address can carry. Files that
    /// were dropped earlier stay.
    ///
    /// # Errors
    /// Returns a sentence if the text is not a list of files.
    pub fn read_manifest(&mut self, text: &str) -> Result<Vec<String>, String> {
        let (listed, refused) =
            parse_manifest::<W>(text).map_err(|e| format!("{MANIFEST}: {e}"))?;
        let dropped = std::mem::replace(&mut self.listed, listed);
        for replay in dropped {
            if self.listed.iter().all(|listed| listed.name != replay.name) {
                self.listed.push(replay);
            }
        }
        Ok(refused)
    }

    /// Adds a file that the visitor dropped, and returns its name with its first episode.
    ///
    /// # Errors
    /// Returns a sentence if no row can be played.
    pub fn add_dropped(
        &mut self,
        file: &str,
        read: ReadReplay<W>,
    ) -> Result<PlayedEpisode, String> {
        let name = plain_name(stem(file));
        let Some(first) = read.first else {
            return Err(format!("{file} has no row that can be played."));
        };
        let mut episode = episode::<W>(&first);
        episode.player = format!("{REPLAY}{name}");
        if self.listed.iter().all(|listed| listed.name != name) {
            self.listed.push(ListedReplay {
                name: name.clone(),
                help: "Dropped by you".to_owned(),
                first: PlayedEpisode {
                    player_label: format!("Replay {name}"),
                    ..episode.clone()
                },
            });
        }
        self.set(&name, Fetched::Ready(read));
        Ok(episode)
    }
}

/// Parses a replay file, and returns a sentence for each fault of lines that cannot be used (at most
/// six).
#[must_use]
pub fn read<W: PageWorld>(name: &str, text: &str) -> (ReadReplay<W>, Vec<String>) {
    const SHOWN: usize = 5;
    let replay = Replay::<W>::parse(text);
    // The first line of each fault, and the number of further lines that have the same.
    let mut faults: Vec<(&Diagnostic, usize)> = Vec::new();
    let mut shown = 0;
    for problem in replay.problems() {
        let known = faults.iter().position(|(f, _)| f.reason == problem.reason);
        match known {
            Some(known) => faults[known].1 += 1,
            None if faults.len() < SHOWN => faults.push((problem, 0)),
            None => continue,
        }
        shown += 1;
    }
    let sentence = |(fault, more): &(&Diagnostic, usize)| match more {
        0 => format!("{name}, {fault}"),
        more => format!(
            "{name}, line {} and {}: {}",
            fault.line,
            counted(*more, "other line", "other lines"),
            fault.reason
        ),
    };
    let mut problems: Vec<String> = faults.iter().map(sentence).collect();
    let more = replay.problem_count() - shown;
    if more > 0 {
        problems.push(format!(
            "{name}: {} cannot be used.",
            counted(more, "more line", "more lines")
        ));
    }
    let first = replay.episodes().next().copied();
    (ReadReplay { replay, first }, problems)
}

/// Returns the first lines of a text, as many as show whether it is a replay, and `true` if there are
/// more.
#[must_use]
pub fn beginning(text: &str) -> (&str, bool) {
    let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
    match breaks.map(|(at, _)| at).nth(BEGINNING_LINES - 1) {
        Some(end) => (&text[..end], end + 1 < text.len()),
        None => (text, false),
    }
}

/// Returns the world of the first row of a replay file; `None` if no line is a row of a known world.
#[must_use]
pub fn world_of_rows(text: &str) -> Option<WorldName> {
    text.lines().find_map(|line| {
        let row: Json = serde_json::from_str(line.trim_start_matches('\u{feff}')).ok()?;
        row.get("task_type")?;
        let world = row.get("world").and_then(Json::as_str);
        world.map_or(Some(WorldName::DEFAULT), WorldName::parse)
    })
}

/// Returns an episode in the words of the address.
#[must_use]
pub fn episode<W: PageWorld>(origin: &EpisodeSpec<W>) -> PlayedEpisode {
    PlayedEpisode {
        task: origin.task.name().to_owned(),
        seed: origin.seed,
        streams: origin.streams.name().to_owned(),
        rules: origin.rules.to_string(),
        ..PlayedEpisode::default()
    }
}

/// Returns the query of the address that shows an episode.
#[must_use]
pub fn episode_query(world: &str, episode: &PlayedEpisode) -> String {
    format!(
        "world={world}&task={}&seed={}&policy={}&streams={}&rules={}",
        episode.task, episode.seed, episode.player, episode.streams, episode.rules
    )
}

/// Parses the entries of `W` in a list. The second part are file names that no address can carry.
fn parse_manifest<W: PageWorld>(text: &str) -> Result<(Vec<ListedReplay>, Vec<String>), String> {
    let manifest: Json = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let files = manifest.get("files").and_then(Json::as_array);
    let files = files.ok_or("it has no list `files`")?;
    let (mut listed, mut refused) = (Vec::new(), Vec::new());
    for entry in files {
        let word = |key: &str| entry.get(key).and_then(Json::as_str).unwrap_or_default();
        let file = word("file");
        if file.is_empty() {
            return Err("an entry names no file".to_owned());
        }
        let world = match word("world") {
            "" => FIRST_WORLD.name(),
            world => world,
        };
        if world != W::NAME {
            continue;
        }
        let name = stem(file);
        if !is_plain_name(name) {
            refused.push(file.to_owned());
            continue;
        }
        let tasks = entry.get("tasks").and_then(Json::as_array);
        let tasks: &[Json] = tasks.unwrap_or_default();
        let task = tasks
            .iter()
            .filter_map(Json::as_str)
            .find_map(W::Task::parse);
        let seed = entry
            .get("seeds")
            .and_then(|seeds| seeds.get("first")?.as_u64());
        let first = EpisodeSpec::<W> {
            task: task.unwrap_or_else(W::default_task),
            seed: seed.unwrap_or(0),
            streams: Streams::parse(word("streams"))
                .filter(|streams| W::STREAMS.contains(streams))
                .unwrap_or_else(default_streams::<W>),
            // A list that names no rules uses the reference rules.
            rules: Rules::parse(word("rules")).unwrap_or_default(),
        };
        let mut first = episode::<W>(&first);
        first.player = format!("{REPLAY}{name}");
        let policy = word("policy");
        let count = tasks.len();
        first.player_label = recording_label::<W>(policy, &first, count);
        listed.push(ListedReplay {
            name: name.to_owned(),
            help: format!("{policy}, {} streams, {} rules", first.streams, first.rules),
            first,
        });
    }
    // A name tells recordings of the same kind apart.
    let labels = listed
        .iter()
        .map(|listed| listed.first.player_label.clone());
    let labels: Vec<String> = labels.collect();
    for listed in &mut listed {
        let label = &mut listed.first.player_label;
        if labels.iter().filter(|other| *other == label).count() > 1 {
            *label += &format!(" ({})", listed.name);
        }
    }
    Ok((listed, refused))
}

/// Returns the readable name of a recording: its player, rules, streams if they are not the default, and
/// its task or their number.
fn recording_label<W: PageWorld>(policy: &str, first: &PlayedEpisode, tasks: usize) -> String {
    let player = match policy {
        TRAINED => TRAINED_LABEL,
        "" => "Unknown player",
        name => match W::PolicyName::parse(name) {
            Some(policy) => W::policy_label(policy),
            None => name,
        },
    };
    let rules = match first.rules.as_str() {
        "reference" => "rules as published".to_owned(),
        rules => format!("{rules} rules"),
    };
    let streams = match first.streams.as_str() {
        own if own == default_streams::<W>().name() => String::new(),
        own => format!(", {own} streams"),
    };
    let tasks = match tasks {
        0 | 1 => first.task.clone(),
        all => format!("{all} tasks"),
    };
    format!("{player}: {rules}{streams}, {tasks}")
}

/// Returns the readable name of a dropped model, or of the one that was trained in the page; `model` is
/// what training calls the file.
#[must_use]
pub fn model_label(name: &str) -> String {
    match name {
        "model" => "Your trained model".to_owned(),
        TAB => "Trained in this tab".to_owned(),
        name => format!("Your trained model “{name}”"),
    }
}

/// Returns the file's name without `.jsonl`.
fn stem(file: &str) -> &str {
    file.strip_suffix(".jsonl").unwrap_or(file)
}

/// Returns `true` if an address can carry this name of a replay.
#[must_use]
pub fn is_plain_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_. ".contains(c);
    !name.is_empty() && name.len() <= 80 && name.chars().all(plain) && !name.contains("..")
}

/// Returns a name for a dropped file, from its name without ending, that an address can carry.
pub(crate) fn plain_name(file: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_. ".contains(c);
    let letters = file.chars().map(|c| if fits(c) { c } else { '_' });
    let name = letters.take(80).collect::<String>().replace("..", "_");
    if name.is_empty() {
        "dropped".to_owned()
    } else {
        name
    }
}
