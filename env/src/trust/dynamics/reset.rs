//! The initial state of an episode: scenario, hidden assignment, and the upcoming draws (spec trust
//! §1, §3, §7).

use crate::adaptive_difficulty::AdversaryProfile;
use crate::rng::{Prefetched, PyRandom, Streams, Words, first_words};
use crate::slot::PerSlot;
use crate::task::Task;
use crate::trust::model::{
    Behavior, Hidden, OUTCOME_DRAWS, Observation, Progress, SCENARIOS_PER_TASK, Scenario, Setup,
    State, Status, Tally, TaskLayout, TrustLedger,
};

/// Number of words that the outcome draws of an episode consume. Picking a scenario or shuffling
/// five slots needs more in less than one of 10^9 episodes; the generator itself is seeded in that
/// case.
const OUTCOME_WORDS: usize = 2 * OUTCOME_DRAWS;

/// Number of the stream that picks the scenario.
const SCENARIO_STREAM: u64 = 1;
/// Number of the stream that shuffles the behaviors over the slots.
const ASSIGNMENT_STREAM: u64 = 2;
/// Number of the stream that decides whether a specialist succeeds.
const OUTCOME_STREAM: u64 = 3;

impl State {
    /// Creates the state at reset, with the scenario variant fixed by `setup` or else `variant`.
    pub(crate) fn new(setup: &Setup, variant: u8, hidden: Hidden) -> Self {
        let mut scenario = Scenario::new(setup.task, setup.variant.unwrap_or(variant));
        if setup.profile.adaptive && scenario.task == Task::Task3 {
            scenario = scenario.with_raised_stakes(&setup.profile);
        }
        let task = scenario.task;
        let mut progress = Progress::new(scenario.len());
        progress.mark_ready();
        let layout = TaskLayout::for_task(task);
        let penalty = setup.profile.verify_budget_penalty;
        let budget = layout.budget.saturating_sub(penalty);
        let observation = Observation {
            task,
            rules: setup.rules,
            variant: scenario.variant,
            stakes: scenario.stakes(0),
            domain: layout.node(0).map(|(domain, _)| domain),
            progress,
            step_count: 0,
            max_steps: budget.max(scenario.len() as u8),
            adversary: hidden.adversary,
            ledger: TrustLedger::default(),
            last: None,
            status: Status::Active,
        };
        Self {
            observation,
            hidden,
            scenario,
            tally: Tally::default(),
            promised: PerSlot::default(),
        }
    }
}

impl Hidden {
    /// Returns the variant (0..40) and the hidden state of `seed`.
    pub(crate) fn from_seed(
        seed: u64,
        streams: Streams,
        adversary: AdversaryProfile,
    ) -> (u8, Self) {
        let [only] = Self::from_seeds::<1, 3>([seed], streams, adversary);
        only
    }

    /// Returns the variants and hidden states of `K` seeds, which is faster than one call per seed.
    /// `L` is the number of their streams, `3 * K`.
    pub(crate) fn from_seeds<const K: usize, const L: usize>(
        seeds: [u64; K],
        streams: Streams,
        adversary: AdversaryProfile,
    ) -> [(u8, Self); K] {
        const { assert!(L == 3 * K, "an episode has three streams") };
        match streams {
            // A single seed for three streams, which therefore start with the same words.
            Streams::Reference => {
                let words: [[u32; OUTCOME_WORDS]; K] = first_words(seeds);
                std::array::from_fn(|k| {
                    let stream = || PyRandom::over(Prefetched::new(seeds[k], &words[k]));
                    Self::from_streams([stream(), stream(), stream()], adversary)
                })
            }
            Streams::Independent => {
                let ids = [SCENARIO_STREAM, ASSIGNMENT_STREAM, OUTCOME_STREAM];
                let seeds: [u64; L] =
                    std::array::from_fn(|lane| streams.seed(seeds[lane % K], ids[lane / K]));
                let words: [[u32; OUTCOME_WORDS]; L] = first_words(seeds);
                let stream =
                    |lane: usize| PyRandom::over(Prefetched::new(seeds[lane], &words[lane]));
                std::array::from_fn(|k| {
                    Self::from_streams([stream(k), stream(K + k), stream(2 * K + k)], adversary)
                })
            }
        }
    }

    fn from_streams(
        [mut scenario, mut assignment, mut outcome]: [PyRandom<impl Words>; 3],
        adversary: AdversaryProfile,
    ) -> (u8, Self) {
        let variant = scenario.below(u32::from(SCENARIOS_PER_TASK)) as u8;
        let mut behaviors = Behavior::ALL;
        assignment.shuffle(&mut behaviors);
        let draws = std::array::from_fn(|_| outcome.random());
        (variant, Self::new(behaviors, adversary, draws))
    }
}
