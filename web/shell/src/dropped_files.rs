//! The replays and models that the visitor dropped, for engines that need them later.

use sentinel_page_protocol::Request;

/// Largest size of all files that are kept, in bytes.
pub const TOTAL_MAX: usize = 128 << 20;

/// A file that the visitor dropped.
#[derive(Debug)]
pub struct DroppedFile {
    /// Number of the file among all that were dropped.
    id: u32,
    /// Name of the world that it belongs to.
    world: String,
    /// Name of the file.
    name: String,
    /// The player that it is, as the address writes it; empty until the engine has answered.
    player: String,
    /// Content of the file in bytes.
    content: Vec<u8>,
}

impl DroppedFile {
    /// Returns the number of the file.
    #[must_use]
    pub const fn id(&self) -> u32 {
        self.id
    }

    /// Returns the message that lends the file to an engine.
    #[must_use]
    pub fn lent(&self) -> Request {
        Request::Lend {
            name: self.name.clone(),
            content: self.content.clone(),
        }
    }
}

/// The dropped files. A file is kept once an engine has found that it is a player.
#[derive(Debug, Default)]
pub struct DroppedFiles {
    /// Files in the order in which they were dropped, also those without an answer.
    all: Vec<DroppedFile>,
    last_id: u32,
}

impl DroppedFiles {
    /// Returns `true` if a file of this size can be kept beside the others.
    #[must_use]
    pub fn has_room(&self, size: f64) -> bool {
        let kept: usize = self.all.iter().map(|file| file.content.len()).sum();
        kept as f64 + size <= TOTAL_MAX as f64
    }

    /// Adds a file that was sent to the engine that plays, which has not answered.
    pub fn add(&mut self, world: &str, name: String, content: Vec<u8>) {
        self.last_id += 1;
        self.all.push(DroppedFile {
            id: self.last_id,
            world: world.to_owned(),
            name,
            player: String::new(),
            content,
        });
    }

    /// Records the engine's answer about the oldest unanswered file with this name: the player that it
    /// is, or an empty word if no other engine needs the file. Returns the file if it replaces an
    /// earlier one, and the number of that one.
    pub fn resolve(
        &mut self,
        world: &str,
        name: &str,
        player: &str,
    ) -> Option<(&DroppedFile, u32)> {
        let is_asked = |file: &DroppedFile| file.player.is_empty() && file.world == world;
        let mut at = self
            .all
            .iter()
            .position(|f| is_asked(f) && f.name == name)?;
        if player.is_empty() {
            self.all.remove(at);
            return None;
        }
        let is_old = |file: &DroppedFile| file.world == world && file.player == player;
        let old = self.all.iter().position(is_old).map(|old| {
            at -= usize::from(old < at);
            self.all.remove(old).id
        });
        let file = self.all.get_mut(at)?;
        player.clone_into(&mut file.player);
        Some((file, old?))
    }

    /// Drops the files about which the engine of a world has not answered, since it has ended.
    pub fn forget_unanswered(&mut self, world: &str) {
        self.all
            .retain(|file| file.world != world || !file.player.is_empty());
    }

    /// Returns the players of a world.
    pub fn of_world(&self, world: &str) -> impl Iterator<Item = &DroppedFile> {
        let all = self.all.iter();
        all.filter(move |file| file.world == world && !file.player.is_empty())
    }

    /// Returns the players of a world that play in a request.
    pub fn named_in(&self, world: &str, request: &Request) -> impl Iterator<Item = &DroppedFile> {
        let players = match request {
            Request::Play { player, .. } => std::slice::from_ref(player),
            Request::Tournament { spec, .. } => &spec.players,
            _ => &[],
        };
        self.of_world(world)
            .filter(move |file| players.contains(&file.player))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_page_protocol::{EpisodeRef, TournamentSpec};

    const NONE: [u32; 0] = [];

    fn play(player: &str) -> Request {
        Request::Play {
            run: 1,
            episode: EpisodeRef::default(),
            player: player.to_owned(),
            branch: None,
            watched: false,
        }
    }

    fn ids<'a>(files: impl Iterator<Item = &'a DroppedFile>) -> Vec<u32> {
        files.map(DroppedFile::id).collect()
    }

    #[test]
    fn only_players_are_kept_and_only_those_that_play_are_needed() {
        let mut files = DroppedFiles::default();
        for name in ["a.jsonl", "log.json", "b.safetensors"] {
            files.add("trust", name.to_owned(), vec![0; 10]);
        }
        files.add("cluster", "a.jsonl".to_owned(), vec![0; 10]);
        assert_eq!(ids(files.of_world("trust")), NONE);
        assert!(files.resolve("trust", "a.jsonl", "replay:a").is_none());
        assert!(files.resolve("trust", "log.json", "").is_none());
        assert!(files.resolve("trust", "b.safetensors", "model:b").is_none());
        assert!(files.resolve("trust", "unknown", "model:c").is_none());
        assert_eq!(ids(files.of_world("trust")), [1, 3]);
        assert_eq!(ids(files.named_in("trust", &play("bayes"))), NONE);
        assert_eq!(ids(files.named_in("trust", &play("model:b"))), [3]);
        assert_eq!(ids(files.named_in("cluster", &play("model:b"))), NONE);
        let spec = TournamentSpec {
            players: vec!["replay:a".to_owned(), "bayes".to_owned()],
            ..TournamentSpec::default()
        };
        let tournament = Request::Tournament { run: 1, spec };
        assert_eq!(ids(files.named_in("trust", &tournament)), [1]);
        assert_eq!(ids(files.named_in("trust", &Request::Describe)), NONE);
        // The engine of the cluster ended before it answered.
        files.forget_unanswered("cluster");
        assert!(files.resolve("cluster", "a.jsonl", "replay:a").is_none());
        assert_eq!(ids(files.of_world("cluster")), NONE);
    }

    #[test]
    fn a_file_replaces_the_player_of_its_name() {
        let mut files = DroppedFiles::default();
        files.add("trust", "m.safetensors".to_owned(), vec![1]);
        files.resolve("trust", "m.safetensors", "model:m");
        files.add("trust", "m.safetensors".to_owned(), vec![2]);
        let replaced = files.resolve("trust", "m.safetensors", "model:m");
        let (file, old) = replaced.expect("a file that replaces another");
        assert_eq!((file.id(), old), (2, 1));
        let name = "m.safetensors".to_owned();
        let content = vec![2];
        assert_eq!(file.lent(), Request::Lend { name, content });
        assert_eq!(ids(files.of_world("trust")), [2]);
    }

    #[test]
    fn files_have_a_largest_size_together() {
        let mut files = DroppedFiles::default();
        let size = 32 << 20;
        for number in 1..=3 {
            files.add("trust", format!("{number}.jsonl"), vec![0; size]);
        }
        assert!(files.has_room(size as f64));
        assert!(!files.has_room(size as f64 + 1.0));
        files.resolve("trust", "1.jsonl", "");
        assert!(files.has_room(2.0 * size as f64));
    }
}
