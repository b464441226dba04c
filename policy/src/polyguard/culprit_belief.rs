//! The posterior over the culprit of a symptom.

use sentinel_env::polyguard::{
    Observation, SUSPECTS_MAX, SYMPTOM_START, next_symptom, symptom_likelihood,
};

/// A suspect of the symptom: that it is the culprit is one hypothesis.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Suspect {
    /// The bit of its archetype; 0 marks an unused place.
    archetype: u64,
    /// Probability of the hypothesis.
    probability: f64,
    /// True symptom under the hypothesis, which follows from when the suspect was taken.
    symptom: f64,
}

/// The posterior over the culprit, exact given the prior weights that the regimen shows and every
/// reading of the symptom (spec polyguard §6.2). It has no suspects in tasks without a symptom.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CulpritBelief {
    suspects: [Suspect; SUSPECTS_MAX],
    /// Number of acts that were carried out, each of which moves the symptom; `None` before the first
    /// reading.
    acts: Option<usize>,
}

impl CulpritBelief {
    /// Updates the posterior with an observation. Call it once for every observation of an episode,
    /// in order.
    pub fn observe(&mut self, o: &Observation) {
        let Some(read) = o.symptom.filter(|_| !o.done()) else {
            // The act that ends an episode may not be carried out, and no act follows it.
            return;
        };
        if self.acts.is_none() {
            self.start(o);
        }
        let carried_out = o.history.iter().filter(|past| past.violation.is_none());
        let acts = Some(carried_out.count());
        // A refused step neither moves the symptom nor reads it.
        if self.acts == acts {
            return;
        }
        let taken = o.taken_archetypes();
        for suspect in &mut self.suspects {
            if self.acts.is_some() {
                let is_taken = suspect.archetype & taken != 0;
                suspect.symptom = next_symptom(suspect.symptom, is_taken);
            }
            let likelihood = symptom_likelihood(o.task.difficulty(), suspect.symptom, read);
            suspect.probability *= likelihood;
        }
        let total: f64 = self.suspects.iter().map(|s| s.probability).sum();
        if total > 0.0 {
            for suspect in &mut self.suspects {
                suspect.probability /= total;
            }
        }
        self.acts = acts;
    }

    fn start(&mut self, o: &Observation) {
        let rows = o.regimen.iter().filter(|row| row.prior > 0);
        for (suspect, row) in self.suspects.iter_mut().zip(rows) {
            *suspect = Suspect {
                archetype: o.known_archetypes(row.drug),
                probability: f64::from(row.prior),
                symptom: SYMPTOM_START,
            };
        }
    }

    /// Returns the probability that the culprit is among `archetypes`, given as bits.
    pub(crate) fn probability(&self, archetypes: u64) -> f64 {
        let among = self
            .suspects
            .iter()
            .filter(|s| s.archetype & archetypes != 0);
        among.map(|s| s.probability).sum()
    }

    /// Returns the probability of each suspect, in the order of the regimen at the start.
    pub fn probabilities(&self) -> impl Iterator<Item = f64> {
        let used = self.suspects.into_iter().filter(|s| s.archetype != 0);
        used.map(|s| s.probability)
    }

    /// Returns the largest probability of a suspect; 0 without a symptom.
    pub(crate) fn certainty(&self) -> f64 {
        self.suspects
            .iter()
            .map(|s| s.probability)
            .fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use sentinel_env::polyguard::{PolyguardEnv, Setup, SubEnvironment, TaskSpec};
    use sentinel_env::{Environment as _, PrivilegedState as _};

    use super::*;
    use crate::Scripted as _;
    use crate::polyguard::PolicyName;

    /// The true culprit never gets probability 0, and on average its probability is what the
    /// posterior itself expects, which is the sum of the squares.
    #[test]
    fn posterior_is_calibrated() {
        let cells = TaskSpec::ALL.into_iter();
        let cells = cells.filter(|task| task.sub_environment() == SubEnvironment::BanditMining);
        let (mut steps, mut found, mut expected, mut sure) = (0.0, 0.0, 0.0, 0.0);
        for (task, seed) in cells.flat_map(|task| (0..400).map(move |seed| (task, seed))) {
            let setup = Setup::new(task, seed);
            let mut player = PolicyName::Random.start(&setup);
            let mut episode = PolyguardEnv::reset(&setup);
            let mut belief = CulpritBelief::default();
            loop {
                belief.observe(episode.observation());
                let culprit = episode.hidden().culprit.expect("a symptom has a culprit");
                let probability = belief.probability(culprit.bit());
                assert!(probability > 0.0, "{task:?} seed {seed}");
                let each = belief.suspects.map(|suspect| suspect.probability);
                assert!((each.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                (steps, found) = (steps + 1.0, found + probability);
                expected += each.iter().map(|p| p * p).sum::<f64>();
                sure += belief.certainty();
                let Some(action) = player.act(&episode) else {
                    break;
                };
                episode.step(action).expect("not over");
            }
        }
        let text = format!(
            "{} and {} over {steps} steps",
            found / steps,
            expected / steps
        );
        assert!((found - expected).abs() / steps < 0.02, "{text}");
        assert!(sure / steps > 0.45, "{text}");
    }

    #[test]
    fn tasks_without_symptom_have_no_suspects() {
        let mut belief = CulpritBelief::default();
        belief.observe(PolyguardEnv::reset(&Setup::new(TaskSpec::ALL[0], 1)).observation());
        assert_eq!(belief, CulpritBelief::default());
        assert!(belief.certainty() <= 0.0);
    }
}
