//! The visitor's own play: undo and redo, the lines that were tried, and the comparison with the
//! policies.

use leptos::prelude::untrack;
use sentinel_page_protocol::{Branch, EpisodeRef};

use super::*;
use crate::own_results::OwnResult;
use crate::tried_lines::{Line, TriedLines};

/// Largest number of episodes whose lines are kept.
const EPISODES_MAX: usize = 30;

/// The visitor's own actions, one by one.
#[derive(Clone, Debug, Default, PartialEq)]
struct OwnMoves {
    at: u32,
    codes: Vec<String>,
    resume: bool,
}

impl OwnMoves {
    /// Returns the actions as the address writes them; `None` if there are none.
    fn branch(&self) -> Option<Branch> {
        (!self.codes.is_empty()).then(|| Branch {
            at: self.at,
            actions: self.codes.concat(),
            resume: self.resume,
        })
    }
}

/// Actions that were undone, and the state in which they can be done again.
#[derive(Clone, Debug, PartialEq)]
struct Undone {
    left: PageState,
    moves: OwnMoves,
}

/// Scores of all policies on one episode.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Number under which the engine reports the standings; 0 before the first comparison.
    run: u32,
    /// The episode, as a run of no player.
    episode: RunInputs,
    /// `true` if slow policies play, too.
    pub has_slow: bool,
    /// `true` if the visitor stopped it or its engine failed.
    pub stopped: bool,
    /// Scores so far; `None` before the first one.
    pub standings: Option<Standings>,
}

impl Comparison {
    /// Returns `true` once every policy has a score.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.standings
            .as_ref()
            .is_some_and(|standings| standings.played >= standings.total)
    }

    /// Returns `true` while policies play.
    #[must_use]
    pub fn is_running(&self) -> bool {
        !self.stopped && !self.is_complete()
    }

    /// Returns `true` once every policy has a score, and the slow ones were asked too.
    pub(super) fn has_all_policies(&self) -> bool {
        self.has_slow && self.is_complete()
    }
}

/// Signals of the visitor's own play.
#[derive(Clone, Copy)]
pub struct OwnPlay {
    tried: Signal<Vec<(RunInputs, TriedLines)>>,
    undone: Signal<Vec<Undone>>,
    comparison: Signal<Comparison>,
    /// The record of results, oldest first.
    pub results: Signal<Arc<Vec<OwnResult>>>,
    /// Episodes whose answer or hidden state the visitor has seen.
    pub(super) shown_answers: Signal<Vec<RunInputs>>,
    /// `true` while the record is shown.
    pub shows_results: Signal<bool>,
    /// The own actions that undo or redo left, so that the next undo need not wait for the engine.
    moves: StoredValue<OwnMoves>,
    /// The branch that the visitor's latest action made.
    taken: StoredValue<Option<Branch>>,
}

impl Default for OwnPlay {
    fn default() -> Self {
        Self {
            tried: Signal::default(),
            undone: Signal::default(),
            comparison: Signal::default(),
            results: Signal::default(),
            shown_answers: Signal::default(),
            shows_results: Signal::new(false),
            moves: StoredValue::default(),
            taken: StoredValue::default(),
        }
    }
}

impl Page {
    /// Reads the record, and starts to keep the lines that are tried and the results.
    pub fn follow_own_play(self) {
        self.own.results.set(Arc::new(self.read_results()));
        effect(move || {
            if self
                .comparison()
                .is_some_and(|found| found.has_all_policies())
            {
                untrack(|| self.record_best());
            }
        });
        effect(move || {
            let is_complete = |status: &crate::episode_view::RunStatus| {
                status.complete && status.refused.is_empty()
            };
            if self.main.status.with(is_complete) {
                untrack(|| self.note_line());
            }
        });
    }

    /// Notes that the visitor took the last action of the branch.
    pub(super) fn note_own_action(&self) {
        let branch = self.state.with_untracked(|state| state.branch.clone());
        self.own.taken.set_value(branch);
        self.own.undone.set(Vec::new());
    }

    /// Keeps the line of the run that is shown, and records its result if it is the visitor's own.
    fn note_line(&self) {
        let requested = self.main.requested.get_value();
        let Some(mut inputs) = requested.filter(|_| self.main.is_current()) else {
            return;
        };
        let branch = inputs.branch.take();
        let is_done = self.main.status.with_untracked(|status| status.done);
        let line = Line {
            steps: self.main.steps.get_untracked(),
            score: self.main.last_score().filter(|_| is_done),
            branch: branch.clone(),
        };
        let own = line.score.filter(|_| line.is_own());
        let count = to_u32(line.steps.len());
        let mut has_ended = false;
        self.own.tried.update(|tried| {
            let known = tried.iter().position(|(episode, _)| *episode == inputs);
            let lines = match known {
                Some(index) => tried.remove(index).1,
                None => TriedLines::default(),
            };
            tried.push((inputs, lines));
            if tried.len() > EPISODES_MAX {
                tried.remove(0);
            }
            if let Some((_, lines)) = tried.last_mut() {
                has_ended = lines.visit(line);
            }
        });
        let is_taken = branch.is_some() && self.own.taken.with_value(|taken| *taken == branch);
        if let Some(score) = own.filter(|_| has_ended && is_taken) {
            self.record_result(score, count);
        }
    }

    /// Returns the episode that is shown, without own actions.
    fn shown_episode(&self) -> RunInputs {
        let mut inputs = self.main.requested.get_value().unwrap_or_default();
        (inputs.branch, inputs.watched) = (None, false);
        inputs
    }

    /// Returns the lines that were tried on the episode that is shown.
    #[must_use]
    pub fn tried_lines(&self) -> TriedLines {
        self.main.status.track();
        let shown = self.shown_episode();
        self.own.tried.with(|tried| {
            let found = tried.iter().find(|(episode, _)| *episode == shown);
            found.map(|(_, lines)| lines.clone()).unwrap_or_default()
        })
    }

    /// Shows a line that was tried: from its first own action on, or an unfinished one at its end.
    pub fn open_line(&self, line: &Line, shared: usize) {
        let at = match line.score {
            Some(_) => shared + 1,
            None => line.steps.len(),
        };
        let (branch, cursor) = (line.branch.clone(), to_u32(at));
        self.playing.set(false);
        self.state
            .update(|state| (state.branch, state.cursor) = (branch, cursor));
    }

    /// Forgets a line that was tried on the episode that is shown.
    pub fn remove_line(&self, index: usize) {
        let shown = self.shown_episode();
        self.own.tried.update(|tried| {
            if let Some((_, lines)) = tried.iter_mut().find(|(episode, _)| *episode == shown) {
                lines.remove(index);
            }
        });
    }

    /// Returns the visitor's own actions one by one; `None` while they are not known. An action
    /// that was refused is not among them.
    fn own_moves(&self) -> Option<OwnMoves> {
        let branch = self.state.with_untracked(|state| state.branch.clone())?;
        let known = self.own.moves.get_value();
        if known.branch().is_some_and(|known| known == branch) {
            return Some(known);
        }
        let steps = self.main.steps.get_untracked();
        let is_shown = self.main.requested.with_value(|requested| {
            let requested = requested.as_ref();
            requested.is_some_and(|requested| requested.branch.as_ref() == Some(&branch))
        });
        let own = steps.iter().filter(|step| step.own);
        (is_shown && self.main.is_current()).then(|| OwnMoves {
            at: branch.at,
            codes: own.map(|step| step.code.clone()).collect(),
            resume: branch.resume,
        })
    }

    fn set_moves(&self, moves: OwnMoves) {
        let cursor = moves.at + to_u32(moves.codes.len());
        let branch = moves.branch();
        self.own.moves.set_value(moves);
        self.playing.set(false);
        self.state
            .update(|state| (state.branch, state.cursor) = (branch, cursor));
    }

    /// Takes back the last of the visitor's own actions.
    pub fn undo(&self) {
        let Some(moves) = self.own_moves() else {
            return;
        };
        let refused = self.main.status.with_untracked(|s| !s.refused.is_empty());
        let mut left = moves.clone();
        if !refused {
            left.codes.pop();
        }
        self.set_moves(left);
        if !refused {
            let left = self.state.with_untracked(PageState::history_entry);
            self.own
                .undone
                .update(|all| all.push(Undone { left, moves }));
        }
    }

    /// Takes the action again that was taken back last.
    pub fn redo(&self) {
        if !untrack(|| self.can_redo()) {
            return;
        }
        let mut last = None;
        self.own.undone.update(|all| last = all.pop());
        if let Some(undone) = last {
            self.set_moves(undone.moves);
        }
    }

    /// Returns `true` if an action was taken back in the state that is shown.
    #[must_use]
    pub fn can_redo(&self) -> bool {
        self.own.undone.with(|all| {
            let is_here = |last: &Undone| {
                self.without_cursor
                    .with(|state| state.history_entry() == last.left)
            };
            all.last().is_some_and(is_here)
        })
    }

    /// Returns the comparison on the episode that is shown, if there is one.
    #[must_use]
    pub fn comparison(&self) -> Option<Comparison> {
        let episode = self.without_cursor.with(compared_episode);
        let found = self.own.comparison.get();
        (found.run != 0 && found.episode == episode).then_some(found)
    }

    /// Returns `true` if a policy reads hidden state.
    #[must_use]
    pub fn is_privileged(&self, player: &str) -> bool {
        self.info.with_untracked(|info| {
            let mut players = info.iter().flat_map(|info| &info.players);
            players.any(|found| found.privileged && found.name == player)
        })
    }

    /// Returns `true` while the end of the main episode is shown.
    #[must_use]
    pub fn shows_end(&self) -> bool {
        let count = self.main.action_count();
        let is_done = self.main.status.with(|status| status.done);
        is_done && count > 0 && self.main.at.get() == count
    }

    /// Plays the episode that is shown with every policy, in an engine of its own.
    pub fn compare(&self) {
        self.start_comparison(true);
    }

    /// Plays the episode that is shown with the policies that need no time to think, unless it was
    /// compared before.
    pub fn compare_quickly(&self) {
        if untrack(|| self.comparison()).is_none() {
            self.start_comparison(false);
        }
    }

    fn start_comparison(&self, has_slow: bool) {
        let players: Vec<String> = self.info.with_untracked(|info| {
            let players = info.iter().flat_map(|info| &info.players);
            let policies = players.filter(|player| player.name != VISITOR);
            let policies = policies.filter(|player| has_slow || !player.slow);
            policies.map(|player| player.name.clone()).collect()
        });
        let inputs = self.state.with_untracked(compared_episode);
        let run = self.next_run();
        self.own.comparison.set(Comparison {
            run,
            episode: inputs.clone(),
            has_slow,
            ..Comparison::default()
        });
        let EpisodeRef {
            task,
            seed,
            streams,
            rules,
        } = inputs.episode;
        let spec = TournamentSpec {
            tasks: vec![task],
            players,
            first_seed: seed,
            seeds: 1,
            streams,
            rules,
            ..TournamentSpec::default()
        };
        self.send(Role::Comparison, &Request::Tournament { run, spec });
    }

    /// Ends the comparison; its scores stay.
    pub fn stop_comparison(&self) {
        self.engines
            .update_value(|engines| engines.stop_all(|role| role == Role::Comparison));
        self.own
            .comparison
            .update(|comparison| comparison.stopped = true);
    }

    /// Takes the scores of a comparison.
    pub(super) fn handle_comparison(&self, standings: Standings) {
        let is_running = |comparison: &Comparison| comparison.run == standings.run;
        if !self.own.comparison.with_untracked(is_running) {
            return;
        }
        self.own
            .comparison
            .update(|comparison| comparison.standings = Some(standings));
        if self.own.comparison.with_untracked(Comparison::is_complete) {
            self.stop_comparison();
        }
    }

    /// Drops what belongs to the world that is left.
    pub(super) fn leave_own_play(&self) {
        self.stop_comparison();
        self.own.comparison.set(Comparison::default());
    }
}

/// Returns the episode of a state, as a run of no player.
pub(super) fn compared_episode(state: &PageState) -> RunInputs {
    RunInputs {
        world: state.world.clone(),
        episode: state.episode(),
        ..RunInputs::default()
    }
}
