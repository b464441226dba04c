//! The complete state of an episode: setup, observation and hidden state.

use super::candidate::Candidates;
use super::formulary::{Conditions, Formulary, each_archetype};
use super::hidden::Hidden;
use super::history::History;
use super::observation::Observation;
use super::patient::{Patient, Sex, ShownLabs};
use super::regimen::{Drug, Regimen};
use super::setup::Setup;
use crate::rng::PcgRandom;

/// The state that the dynamics change and the reward reads. An episode consists of nothing else.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) setup: Setup,
    pub(crate) formulary: &'static Formulary,
    pub(crate) observation: Observation,
    pub(crate) hidden: Hidden,
}

impl State {
    /// Creates a placeholder state, used before a patient is generated.
    pub(crate) fn new(setup: &Setup, stream: PcgRandom) -> Self {
        let patient = Patient {
            age: 0,
            sex: Sex::Female,
            frailty: 0.0,
            adherence: 0.0,
            comorbidities: Conditions::EMPTY,
            systolic_mmhg: 0.0,
            heart_rate: 0.0,
            respiratory_rate: 0.0,
        };
        Self {
            setup: *setup,
            formulary: setup.task.formulary().tables(),
            observation: Observation {
                task: setup.task,
                rules: setup.rules,
                step_count: 0,
                budget: setup.task.budget(),
                patient,
                labs: ShownLabs::default(),
                labs_ordered: false,
                regimen: Regimen::default(),
                components: None,
                flagged: 0,
                conflict: false,
                symptom: None,
                problem: None,
                ade_history: 0,
                risk: 0.0,
                burden: 0.0,
                uncertainty: 0.0,
                candidates: Candidates::default(),
                history: History::default(),
                invalid_count: 0,
                last_violation: None,
                end: None,
            },
            hidden: Hidden::new(stream),
        }
    }

    /// Returns the true archetypes of a drug, as bits of [`super::formulary::ArchetypeId`].
    #[inline]
    pub(crate) fn true_archetypes(&self, drug: Drug) -> u64 {
        match drug {
            Drug::Known(id) => id.bit(),
            Drug::Product => self.hidden.components.map_or(0, |[a, b]| a.bit() | b.bit()),
        }
    }

    /// Returns the true archetypes that are taken, as bits.
    #[inline]
    pub(crate) fn taken_archetypes(&self) -> u64 {
        let rows = self.observation.regimen.iter();
        let active = rows.filter(|row| row.is_active());
        active.fold(0, |bits, row| bits | self.true_archetypes(row.drug))
    }

    /// Returns the conditions that a drug treats, through any of its components.
    pub(crate) fn treats(&self, drug: Drug) -> Conditions {
        if let Drug::Known(id) = drug {
            return self.formulary.get(id).treats;
        }
        let parts = each_archetype(self.true_archetypes(drug));
        parts.fold(Conditions::EMPTY, |all, id| {
            all.union(self.formulary.get(id).treats)
        })
    }
}
