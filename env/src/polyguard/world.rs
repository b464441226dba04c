//! This world, for code that serves all worlds.

use super::{
    Action, CANDIDATES, Case, Difficulty, Edit, End, Episode, Fingerprints, FormularyName, Hidden,
    Observation, Rules, Setup, Split, Step, StepError, SubEnvironment,
};
use crate::controller::{Controller, DifficultyProfile};
use crate::digest::Digest;
use crate::rng::Streams;
use crate::task::{Selection, TaskBits, TaskName};
use crate::world::{Origin, World};

/// The polyguard world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PolyguardWorld;

impl World for PolyguardWorld {
    const NAME: &'static str = "polyguard";
    type Task = Case;
    type Change = Edit;
    type Setup = Setup;
    type Episode = Episode;
    type Action = Action;
    type Observation = Observation;
    type Hidden = Hidden;
    type Step = Step;
    type StepError = StepError;
    /// A number for each candidate.
    const KINDS: usize = CANDIDATES;
    type PerAction = [f64; CANDIDATES];
    type Fingerprints = Fingerprints;
    /// There is one stream, and a policy has its own.
    const STREAMS: &'static [Streams] = &[Streams::Independent];

    fn setup(task: Case, seed: u64, _streams: Streams, rules: Rules) -> Setup {
        Setup::new(task, seed).under(rules)
    }

    fn seeded(setup: &Setup, seed: u64) -> Setup {
        Setup { seed, ..*setup }
    }

    fn at_difficulty(setup: &Setup, _profile: DifficultyProfile) -> Setup {
        // Difficulty is part of the case here.
        *setup
    }

    fn origin(setup: &Setup) -> Origin<Self> {
        Origin {
            task: setup.case,
            seed: setup.seed,
            streams: Streams::Independent,
            rules: setup.rules,
        }
    }

    fn max_steps(task: Case) -> u8 {
        task.budget()
    }

    fn reset(setup: &Setup) -> Episode {
        Episode::reset(setup)
    }

    #[inline]
    fn step(episode: &mut Episode, action: Action) -> Result<Step, StepError> {
        episode.step(action)
    }

    #[inline]
    fn observation(episode: &Episode) -> &Observation {
        episode.observation()
    }

    fn hidden(episode: &Episode) -> &Hidden {
        episode.hidden()
    }

    fn setup_of(episode: &Episode) -> &Setup {
        episode.setup()
    }

    #[inline]
    fn is_done(observation: &Observation) -> bool {
        observation.done()
    }

    fn steps_used(observation: &Observation) -> u8 {
        observation.step_count
    }

    fn actions_taken(episode: &Episode) -> u16 {
        u16::from(episode.observation().step_count)
    }

    fn score(episode: &Episode) -> f64 {
        episode.score()
    }

    fn report_to(episode: &Episode, controller: &mut Controller) {
        // A safe resolution is what the curriculum of the other worlds calls an attack caught.
        let safe = episode.observation().end == Some(End::SafeResolution);
        controller.update(u16::from(safe), 1);
    }

    #[inline]
    fn reward(step: &Step) -> f64 {
        step.total
    }

    /// Steps earn their own reward to the end; the score is no reward.
    #[inline]
    fn terminal(_step: &Step) -> Option<f64> {
        None
    }

    fn fingerprint(prints: &mut Fingerprints, episode: &Episode, step: &Step) {
        prints.push(episode, step);
    }

    fn digest(prints: &Fingerprints) -> Digest {
        prints.digest()
    }

    fn trail(prints: &Fingerprints) -> &[u32] {
        prints.trail()
    }
}

impl TaskName for Case {
    const ALL: &'static [Self] = &Self::ALL;

    fn name(self) -> &'static str {
        Self::name(self)
    }

    fn parse(name: &str) -> Option<Self> {
        Self::parse(name)
    }

    fn bits(self) -> TaskBits {
        TaskBits(self.number())
    }

    fn of(bits: TaskBits) -> Option<Self> {
        Self::of_number(bits.0)
    }

    fn to_learn_from(self) -> Self {
        match self.split() {
            // A formulary without splits holds nothing out.
            Split::All => self.with_split(Split::Train).unwrap_or(self),
            Split::Train | Split::Holdout => self,
        }
    }

    fn select(selection: &Selection<'_>) -> Result<Vec<Self>, String> {
        let subs = words(
            "sub-environment",
            selection.sub_environment,
            SubEnvironment::ALL,
        )?;
        let difficulties = words("difficulty", selection.difficulty, Difficulty::ALL)?;
        let formulary = one("formulary", selection.formulary, FormularyName::ALL)?;
        let split = one("split", selection.split, Split::ALL)?;
        let named = selection.by_name::<Self>()?;
        let by_name = !matches!(selection.tasks, None | Some("all"));
        let mut chosen = Vec::new();
        for case in named {
            if !subs.contains(&case.sub()) || !difficulties.contains(&case.difficulty()) {
                continue;
            }
            let moved = Self::new(
                formulary.unwrap_or(case.formulary()),
                case.sub(),
                case.difficulty(),
                split.unwrap_or(case.split()),
            );
            match moved {
                Ok(case) => chosen.push(case),
                // Where nobody asked for a cell that the formulary lacks, it is passed over.
                Err(_) if !by_name && selection.sub_environment.is_none() && split.is_none() => {}
                Err(e) => return Err(e.to_string()),
            }
        }
        Ok(chosen)
    }
}

/// A word of a grid's axis.
trait Axis: Copy + PartialEq + 'static {
    fn word(self) -> &'static str;
}

macro_rules! axis {
    ($($axis:ty)*) => {$(
        impl Axis for $axis {
            fn word(self) -> &'static str {
                self.name()
            }
        }
    )*};
}
axis!(SubEnvironment Difficulty FormularyName Split);

fn one<T: Axis>(option: &str, text: Option<&str>, all: &[T]) -> Result<Option<T>, String> {
    let Some(text) = text.map(str::trim) else {
        return Ok(None);
    };
    let found = all
        .iter()
        .copied()
        .find(|v| v.word().eq_ignore_ascii_case(text));
    found.map(Some).ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|v| v.word()).collect();
        format!("unknown {option} {text:?}: use {}", known.join(", "))
    })
}

fn words<T: Axis>(option: &str, text: Option<&str>, all: &[T]) -> Result<Vec<T>, String> {
    match text {
        None | Some("all") => Ok(all.to_vec()),
        Some(text) => {
            let each = text.split(',').map(|word| one(option, Some(word), all));
            Ok(each
                .collect::<Result<Vec<_>, _>>()?
                .into_iter()
                .flatten()
                .collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(selection: &Selection<'_>) -> Result<Vec<String>, String> {
        let cases = Case::select(selection)?;
        Ok(cases.iter().map(|case| case.name().to_owned()).collect())
    }

    #[test]
    fn rows_and_columns_of_the_grid_can_be_chosen() {
        let none = Selection::default();
        assert_eq!(select(&none).expect("all").len(), 24);
        let some = Selection {
            sub_environment: Some("ddi,DEPRESCRIBING"),
            difficulty: Some("easy"),
            split: Some("holdout"),
            ..none
        };
        let chosen = select(&some).expect("two cells");
        assert_eq!(chosen, ["DDI-easy-holdout", "DEPRESCRIBING-easy-holdout"]);
        let reference = Selection {
            formulary: Some("reference"),
            ..none
        };
        assert_eq!(select(&reference).expect("what there is").len(), 4);
    }

    #[test]
    fn what_there_is_not_is_named() {
        let none = Selection::default();
        let said = |selection| select(&selection).expect_err("refused");
        let harder = said(Selection {
            difficulty: Some("harder"),
            ..none
        });
        assert_eq!(
            harder,
            "unknown difficulty \"harder\": use easy, medium, hard"
        );
        let reference = Selection {
            formulary: Some("reference"),
            sub_environment: Some("REGIMEN_RISK"),
            ..none
        };
        assert!(said(reference).contains("it plays DDI and DEPRESCRIBING"));
    }
}
