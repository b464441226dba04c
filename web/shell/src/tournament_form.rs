//! The choices for a tournament: players, tasks and seeds.

use sentinel_page_protocol::{ListedReplay, TournamentSpec, WorldInfo};

use crate::query::parse_seed;
use crate::state::{PageState, REPLAY, VISITOR};

/// The tasks that a tournament is played on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// The task of the main episode.
    #[default]
    This,
    /// Every task of the world.
    All,
    /// The tasks of the chosen coordinates.
    Chosen,
}

impl Scope {
    /// Returns the value of the menu's item.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::This => "",
            Self::All => "all",
            Self::Chosen => "chosen",
        }
    }
}

/// The groups in which the form lists players.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The trained policy, scripted policies and dropped models.
    Players,
    /// The trained policy at other points of its training.
    Checkpoints,
    /// Recorded actions.
    Replays,
}

impl Group {
    /// Returns the heading of the group.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Players => "Players",
            Self::Checkpoints => "Checkpoints",
            Self::Replays => "Replays",
        }
    }
}

/// A player that the form offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayerOption {
    /// Group in which it is listed.
    pub group: Group,
    /// Player as the address writes it.
    pub name: String,
    /// Readable name of the player.
    pub label: String,
    /// One sentence about the player.
    pub help: String,
    /// `true` if it needs seconds for an episode.
    pub is_slow: bool,
}

/// The choices so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TournamentForm {
    /// Players whose choice is not the default one.
    flipped: Vec<String>,
    /// Tasks that are played.
    pub scope: Scope,
    /// Chosen coordinates of tasks: axis and item.
    picked: Vec<(usize, usize)>,
    /// Number of seeds as typed.
    pub seeds: String,
    /// Lowest seed as typed.
    pub first_seed: String,
}

impl Default for TournamentForm {
    fn default() -> Self {
        Self {
            flipped: Vec::new(),
            scope: Scope::This,
            picked: Vec::new(),
            seeds: "100".to_owned(),
            first_seed: "0".to_owned(),
        }
    }
}

/// Returns the players that can take part: all but the visitor, the checkpoints and the replays.
#[must_use]
pub fn player_options(info: &WorldInfo, replays: &[ListedReplay]) -> Vec<PlayerOption> {
    let players = info.players.iter().filter(|player| player.name != VISITOR);
    let players = players.map(|player| (Group::Players, player));
    let checkpoints = info.checkpoints.iter();
    let checkpoints = checkpoints.map(|player| (Group::Checkpoints, player));
    let players = players
        .chain(checkpoints)
        .map(|(group, player)| PlayerOption {
            group,
            name: player.name.clone(),
            label: player.label.clone(),
            help: player.help.clone(),
            is_slow: player.slow,
        });
    let replays = replays.iter().map(|replay| PlayerOption {
        group: Group::Replays,
        name: REPLAY.to_owned() + &replay.name,
        label: "Replay ".to_owned() + &replay.name,
        help: replay.help.clone(),
        is_slow: false,
    });
    players.chain(replays).collect()
}

impl TournamentForm {
    /// Returns `true` if a player takes part. Slow players, checkpoints and replays do so only if
    /// they are chosen.
    #[must_use]
    pub fn is_on(&self, player: &PlayerOption) -> bool {
        let default = !player.is_slow && player.group == Group::Players;
        default != self.flipped.contains(&player.name)
    }

    /// Adds or removes a player.
    pub fn toggle_player(&mut self, player: &str) {
        let before = self.flipped.len();
        self.flipped.retain(|name| name != player);
        if self.flipped.len() == before {
            self.flipped.push(player.to_owned());
        }
    }

    /// Returns `true` if an item of an axis is chosen; `task` is the task of the main episode.
    #[must_use]
    pub fn is_picked(&self, info: &WorldInfo, task: &str, axis: usize, item: usize) -> bool {
        match self.scope {
            Scope::All => true,
            Scope::Chosen => self.picked.contains(&(axis, item)),
            Scope::This => coordinates(info, task).get(axis) == Some(&item),
        }
    }

    /// Adds or removes an item of an axis; what was played before is chosen otherwise.
    pub fn pick(&mut self, info: &WorldInfo, task: &str, axis: usize, item: usize) {
        self.set_scope(info, task, Scope::Chosen);
        let before = self.picked.len();
        self.picked.retain(|picked| *picked != (axis, item));
        if self.picked.len() == before {
            self.picked.push((axis, item));
        }
    }

    /// Changes the tasks that are played. The choice starts with those that were played before.
    pub fn set_scope(&mut self, info: &WorldInfo, task: &str, scope: Scope) {
        if scope == Scope::Chosen && self.scope != Scope::Chosen {
            let mut picked = Vec::new();
            for (axis, found) in info.axes.iter().enumerate() {
                let items = 0..found.choices.len();
                let on = items.filter(|item| self.is_picked(info, task, axis, *item));
                picked.extend(on.map(|item| (axis, item)));
            }
            self.picked = picked;
        }
        self.scope = scope;
    }

    /// Returns the names of the tasks that are played, in the order of the menus.
    #[must_use]
    pub fn tasks(&self, info: &WorldInfo, task: &str) -> Vec<String> {
        if self.scope == Scope::This {
            return vec![task.to_owned()];
        }
        let is_chosen = |coordinates: &[u8]| {
            let mut all = coordinates.iter().enumerate();
            all.all(|(axis, item)| self.is_picked(info, task, axis, usize::from(*item)))
        };
        let tasks = info.tasks.iter();
        tasks
            .filter(|task| is_chosen(&task.coordinates))
            .map(|task| task.name.clone())
            .collect()
    }

    /// Returns the tournament.
    ///
    /// # Errors
    /// Returns a sentence about what is missing or not understood.
    pub fn spec(
        &self,
        info: &WorldInfo,
        replays: &[ListedReplay],
        state: &PageState,
    ) -> Result<TournamentSpec, &'static str> {
        let players = player_options(info, replays).into_iter();
        let players: Vec<String> = players
            .filter(|player| self.is_on(player))
            .map(|player| player.name)
            .collect();
        if players.is_empty() {
            return Err("Choose at least one player.");
        }
        let tasks = self.tasks(info, &state.task);
        if tasks.is_empty() {
            return Err("Choose at least one task: an item of each list.");
        }
        let seeds = self.seeds.trim().parse().ok();
        let seeds = seeds.filter(|seeds: &u32| *seeds > 0);
        Ok(TournamentSpec {
            tasks,
            players,
            first_seed: parse_seed(&self.first_seed)
                .ok_or("The first seed must be a whole number from 0 to 2^63 − 1.")?,
            seeds: seeds.ok_or("The number of seeds must be a whole number from 1 up.")?,
            streams: state.streams.clone(),
            rules: state.rules.clone(),
            ..TournamentSpec::default()
        })
    }
}

/// Returns the item of a task on each axis.
fn coordinates(info: &WorldInfo, task: &str) -> Vec<usize> {
    let task = info.tasks.iter().find(|found| found.name == task);
    let coordinates = task.map_or(&[][..], |task| task.coordinates.as_slice());
    coordinates.iter().map(|item| usize::from(*item)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_page_protocol::{Axis, Choice, PlayerInfo, TaskInfo};

    fn info() -> WorldInfo {
        let axis = |count| Axis {
            choices: vec![Choice::default(); count],
            ..Axis::default()
        };
        let task = |a: u8, b: u8| TaskInfo {
            name: format!("{a}{b}"),
            coordinates: vec![a, b],
            ..TaskInfo::default()
        };
        let player = |name: &str, slow| PlayerInfo {
            name: name.to_owned(),
            slow,
            ..PlayerInfo::default()
        };
        WorldInfo {
            axes: vec![axis(2), axis(3)],
            tasks: (0..2)
                .flat_map(|a| (0..3).map(move |b| task(a, b)))
                .collect(),
            players: vec![
                player("grpo", false),
                player("oracle", true),
                player("you", false),
            ],
            checkpoints: vec![player("checkpoint:1", false)],
            ..WorldInfo::default()
        }
    }

    fn state() -> PageState {
        PageState {
            task: "01".to_owned(),
            streams: "independent".to_owned(),
            ..PageState::default()
        }
    }

    #[test]
    fn slow_players_checkpoints_and_replays_play_only_when_chosen() {
        let replays = [ListedReplay {
            name: "mine".to_owned(),
            ..ListedReplay::default()
        }];
        let mut form = TournamentForm::default();
        let players =
            |form: &TournamentForm| form.spec(&info(), &replays, &state()).map(|s| s.players);
        assert_eq!(players(&form), Ok(vec!["grpo".to_owned()]));
        form.toggle_player("oracle");
        form.toggle_player("checkpoint:1");
        form.toggle_player("replay:mine");
        let all = ["grpo", "oracle", "checkpoint:1", "replay:mine"]
            .map(str::to_owned)
            .to_vec();
        assert_eq!(players(&form), Ok(all));
        for name in ["oracle", "checkpoint:1", "replay:mine", "grpo"] {
            form.toggle_player(name);
        }
        assert_eq!(players(&form), Err("Choose at least one player."));
    }

    #[test]
    fn cells_are_chosen_by_their_axes() {
        let mut form = TournamentForm::default();
        let info = info();
        assert_eq!(form.tasks(&info, "01"), ["01"]);
        // The choice starts with the task that was played.
        form.pick(&info, "01", 0, 1);
        assert_eq!(form.tasks(&info, "01"), ["01", "11"]);
        form.pick(&info, "01", 1, 2);
        assert_eq!(form.tasks(&info, "01"), ["01", "02", "11", "12"]);
        form.pick(&info, "01", 0, 0);
        form.pick(&info, "01", 0, 1);
        assert!(form.spec(&info, &[], &state()).is_err());
        form.set_scope(&info, "01", Scope::All);
        assert_eq!(form.tasks(&info, "01").len(), 6);
        // From all tasks, one item is taken away.
        form.pick(&info, "01", 1, 0);
        assert_eq!(form.tasks(&info, "01"), ["01", "02", "11", "12"]);
    }

    #[test]
    fn seeds_are_whole_numbers() {
        let mut form = TournamentForm::default();
        let spec = |form: &TournamentForm| form.spec(&info(), &[], &state());
        let found = spec(&form).map(|s| (s.first_seed, s.seeds, s.streams));
        assert_eq!(found, Ok((0, 100, "independent".to_owned())));
        form.seeds = " 7 ".to_owned();
        form.first_seed = "1000".to_owned();
        assert_eq!(spec(&form).map(|s| (s.first_seed, s.seeds)), Ok((1000, 7)));
        for seeds in ["0", "-1", "1.5", "many", ""] {
            form.seeds = seeds.to_owned();
            assert!(spec(&form).is_err(), "{seeds}");
        }
    }
}
