//! The names and tasks of the PolyGuard world, for files and the command line.

use super::episode::Episode;
use super::model::action::Action;
use super::model::regimen::Drug;
use super::model::setup::{self, Setup};
use super::model::step::Step;
use super::model::task_spec::{Difficulty, FormularyName, Split, SubEnvironment, TaskSpec};
use super::reward::terms::{TERMS, score_without_term};
use crate::digest::Digest;
use crate::environment::{
    Environment, EpisodeSpec, PrivilegedState, RewardTermInfo, Seeded, World,
};
use crate::named::Named;
use crate::rng::Streams;
use crate::task::{TaskAxis, TaskName, TaskSelection};

impl Seeded for Setup {
    fn seed(&self) -> u64 {
        self.seed
    }

    fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }
}

impl World for Episode {
    const NAME: &'static str = "polyguard";
    const REWARD_TERMS: &'static [RewardTermInfo] = &TERMS;
    type Task = TaskSpec;
    type Change = setup::Change;

    fn setup_from_spec(spec: EpisodeSpec<Self>) -> Setup {
        Setup::new(spec.task, spec.seed).with_rules(spec.rules)
    }

    fn episode_spec(setup: &Setup) -> EpisodeSpec<Self> {
        EpisodeSpec {
            task: setup.task,
            seed: setup.seed,
            streams: Streams::Independent,
            rules: setup.rules,
        }
    }

    fn total_reward(&self) -> f64 {
        self.hidden().tally().returned
    }

    fn term_reward(&self, term: usize, step: &Step) -> f64 {
        step.term_reward(term)
    }

    fn score_without_term(&self, term: usize, term_total: f64) -> f64 {
        score_without_term(&self.state, term, term_total)
    }

    fn max_steps(task: TaskSpec) -> u32 {
        u32::from(task.budget())
    }

    /// Adds the answer, its reward, the patient's state and the next candidates to the digest.
    fn write_digest(&self, step: &Step, d: &mut Digest) {
        let (o, h) = (self.observation(), self.hidden());
        let choice = match step.action {
            Action::Choose(choice) => u64::from(choice.id.number()),
            Action::Invalid(why) => 100 + why as u64,
            Action::Exploit => 255,
        };
        let violation = step.violation.map_or(0, |why| why as u64 + 1);
        let end = step.end.map_or(0, |end| end as u64 + 1);
        d.write_u64(choice << 24 | violation << 16 | end << 8 | u64::from(o.step_count));
        for value in step.reward.components {
            d.write_f64(value);
        }
        for value in [
            h.risk,
            h.burden,
            h.stability,
            h.symptom,
            o.risk,
            o.uncertainty,
        ] {
            d.write_f64(value);
        }
        d.write_u64(o.flagged);
        for (place, row) in o.regimen.iter().enumerate() {
            d.write_bytes(&[row.drug.number(), row.bucket as u8]);
            d.write_f64(h.truth(place).exposure);
        }
        for candidate in o.candidates.iter() {
            let act = candidate.act;
            let drug = act.drug.map_or(0xff, Drug::number);
            d.write_bytes(&[candidate.id.number(), act.kind as u8, drug]);
            d.write_f64(candidate.est_risk);
        }
        if let Some(score) = step.score {
            d.write_f64(score);
        }
    }
}

impl TaskName for TaskSpec {
    const ALL: &'static [Self] = &Self::ALL;

    fn name(self) -> &'static str {
        Self::name(self)
    }

    fn parse(name: &str) -> Option<Self> {
        Self::parse(name)
    }

    fn training_variant(self) -> Self {
        match self.split() {
            // A formulary without splits holds nothing out.
            Split::All => self.with_split(Split::Train).unwrap_or(self),
            Split::Train | Split::Holdout => self,
        }
    }

    fn select(selection: &TaskSelection<'_>) -> Result<Vec<Self>, String> {
        let [sub, difficulty, formulary, split] = AXES.map(|axis| selection.axis(axis));
        let any_sub = sub.is_none();
        let subs: Vec<SubEnvironment> = several("sub-environment", sub)?;
        let difficulties: Vec<Difficulty> = several("difficulty", difficulty)?;
        let formulary = formulary.map(|word| one::<FormularyName>("formulary", word));
        let (formulary, split) = (
            formulary.transpose()?,
            split.map(|word| one::<Split>("split", word)).transpose()?,
        );
        let named = selection.by_name::<Self>()?;
        let by_name = !matches!(selection.tasks, None | Some("all"));
        let mut chosen = Vec::new();
        for case in named {
            if !subs.contains(&case.sub_environment()) || !difficulties.contains(&case.difficulty())
            {
                continue;
            }
            let moved = Self::new(
                formulary.unwrap_or(case.formulary()),
                case.sub_environment(),
                case.difficulty(),
                split.unwrap_or(case.split()),
            );
            match moved {
                Ok(case) => chosen.push(case),
                // Cells that the formulary lacks are skipped, unless tasks, sub-environments or a
                // split were named.
                Err(_) if !by_name && any_sub && split.is_none() => {}
                Err(e) => return Err(e.to_string()),
            }
        }
        Ok(chosen)
    }
}

/// The axes of the grid of tasks: sub-environment, difficulty, formulary and split.
pub const AXES: [TaskAxis; 4] = [
    axis("sub-environment"),
    axis("difficulty"),
    axis("formulary"),
    axis("split"),
];

const fn axis(option: &'static str) -> TaskAxis {
    TaskAxis {
        option,
        world: "polyguard",
    }
}

fn one<T: Named>(option: &str, text: &str) -> Result<T, String> {
    let text = text.trim();
    let unknown = || format!("unknown {option} {text:?}: use {}", T::joined_names());
    T::parse_ignore_case(text).ok_or_else(unknown)
}

fn several<T: Named>(option: &str, text: Option<&str>) -> Result<Vec<T>, String> {
    match text {
        None | Some("all") => Ok(T::ALL.to_vec()),
        Some(text) => text.split(',').map(|word| one(option, word)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(selection: &TaskSelection<'_>) -> Result<Vec<String>, String> {
        let cases = TaskSpec::select(selection)?;
        Ok(cases.iter().map(|case| case.name().to_owned()).collect())
    }

    #[test]
    fn selection_filters_grid_by_axis() {
        let [sub, difficulty, formulary, split] = AXES;
        let none = TaskSelection::default();
        assert_eq!(select(&none).expect("all").len(), 24);
        let some = TaskSelection::default()
            .with_axis(sub, Some("ddi,DEPRESCRIBING"))
            .with_axis(difficulty, Some("easy"))
            .with_axis(split, Some("holdout"));
        let chosen = select(&some).expect("two cells");
        assert_eq!(chosen, ["DDI-easy-holdout", "DEPRESCRIBING-easy-holdout"]);
        let reference = none.with_axis(formulary, Some("reference"));
        assert_eq!(select(&reference).expect("what there is").len(), 4);
    }

    #[test]
    fn unavailable_grid_value_error_lists_choices() {
        let [sub, difficulty, formulary, _] = AXES;
        let refusal = |selection| select(&selection).expect_err("refused");
        let harder = refusal(TaskSelection::default().with_axis(difficulty, Some("harder")));
        assert_eq!(
            harder,
            "unknown difficulty \"harder\": use easy, medium, hard"
        );
        let reference = TaskSelection::default()
            .with_axis(formulary, Some("reference"))
            .with_axis(sub, Some("REGIMEN_RISK"));
        assert!(refusal(reference).contains("it plays DDI and DEPRESCRIBING"));
    }
}
