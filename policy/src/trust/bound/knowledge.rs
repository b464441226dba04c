//! The knowledge about the slots that public observations give, up to the order of the slots.
//!
//! A report that is wrong, slow, poisoned or from inside or outside of a domain shows which behavior
//! gave it: the costs differ, or the rewards do (spec trust §4, §9). Only a right answer of the
//! overconfident, the adversarial or the degrading specialist could be from any of the three. So a
//! slot is fresh, known, or ambiguous with a number of right answers, and the posterior over the 120
//! assignments is a function of this alone.

use sentinel_env::adaptive_difficulty::AdversaryProfile;
use sentinel_env::ledger::CALIBRATION_SLOPE;
use sentinel_env::slot::SLOTS;
use sentinel_env::trust::{Behavior, Change, Domain, Rules};

/// The behaviors whose right answers look alike. As many slots can be ambiguous.
pub(super) const ALIKE: [Behavior; 3] = [
    Behavior::OverconfidentFast,
    Behavior::Adversarial,
    Behavior::Degrading,
];

/// Calls after which chance and confidence of the degrading specialist stay the same.
const CALLS_MAX: u8 = 6;

/// The mean squared error at which the calibration is 0.
const ERROR_MAX: f64 = 1.0 / CALIBRATION_SLOPE;

/// Probabilities of the behaviors of one slot.
pub(super) type Marginal = [f64; SLOTS];

/// The evidence about an ambiguous slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RightAnswers {
    /// Number of calls, all answered right; 0 for no slot.
    count: u8,
    /// `true` if one of them was at stakes at which the adversary would have poisoned its answer.
    under_stakes: bool,
}

impl RightAnswers {
    /// Returns the probability of these answers if `behavior` gave them.
    fn likelihood(self, behavior: Behavior) -> f64 {
        if behavior == Behavior::Adversarial && self.under_stakes {
            return 0.0;
        }
        self.chances(behavior).product()
    }

    /// Iterates over the chances of success of the calls if `behavior` answered them.
    fn chances(self, behavior: Behavior) -> impl Iterator<Item = f64> {
        (0..u16::from(self.count)).map(move |calls| {
            // The behaviors in question do not depend on the domain, nor, where they answered right, on
            // the stakes.
            let adversary = AdversaryProfile::default();
            let execution = behavior.execution_params(Domain::Plan, 0.0, calls, &adversary);
            execution.success_chance.unwrap_or(0.0)
        })
    }

    /// Returns the square of the distance from `target` to the trust in the slot, or to the nearest trust
    /// that reports of these weights can lead to.
    fn squared_error(self, target: f64, weights: [f64; 2]) -> f64 {
        let trust = weights.map(|weight| {
            let right = 1.0 + f64::from(self.count) * weight;
            right / (right + 1.0)
        });
        let distance = (trust[0] - target).max(target - trust[1]).max(0.0);
        distance * distance
    }
}

/// A slot to call, as far as it differs from others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// A slot that was never called and can be any of several behaviors.
    Fresh,
    /// The slot of this behavior.
    Known(Behavior),
    /// The ambiguous slot at this place of the list.
    Ambiguous(usize),
}

/// The knowledge about all slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Knowledge {
    /// Bit mask of the behaviors whose slot is known.
    known: u8,
    /// Number of calls of the degrading specialist if it is known, up to [`CALLS_MAX`].
    degrading_calls: u8,
    /// The ambiguous slots, in descending order.
    ambiguous: [RightAnswers; ALIKE.len()],
}

impl Knowledge {
    /// Returns `true` if the slot of `behavior` is known.
    pub(super) const fn knows(&self, behavior: Behavior) -> bool {
        self.known >> behavior as u8 & 1 == 1
    }

    fn ambiguous_count(&self) -> usize {
        self.ambiguous.iter().filter(|slot| slot.count > 0).count()
    }

    fn fresh_count(&self) -> usize {
        SLOTS - self.known.count_ones() as usize - self.ambiguous_count()
    }

    /// Returns the slots that differ, each with the probabilities of its behaviors.
    pub(super) fn slots(&self) -> Vec<(Kind, Marginal)> {
        let (ambiguous, fresh) = self.marginals();
        let mut slots = Vec::with_capacity(SLOTS);
        if self.fresh_count() > 0 {
            slots.push((Kind::Fresh, fresh));
        }
        for behavior in Behavior::ALL.into_iter().filter(|b| self.knows(*b)) {
            let mut certain = [0.0; SLOTS];
            certain[behavior as usize] = 1.0;
            slots.push((Kind::Known(behavior), certain));
        }
        for (place, marginal) in ambiguous[..self.ambiguous_count()].iter().enumerate() {
            // Slots with the same evidence are alike.
            if place == 0 || self.ambiguous[place] != self.ambiguous[place - 1] {
                slots.push((Kind::Ambiguous(place), *marginal));
            }
        }
        slots
    }

    /// Returns an upper bound on the expected calibration at the end of the episode. `weights` are those
    /// of the reports with the lowest and the highest stakes. The error of a slot whose behavior is known
    /// is taken as 0: its trust depends on all of its reports.
    pub(super) fn calibration(&self, rules: Rules, weights: [f64; 2]) -> f64 {
        let (ambiguous, fresh) = self.marginals();
        let only_called = rules.has(Change::Calibration);
        let error = |answers: RightAnswers, marginal: &Marginal| -> f64 {
            // The mean of the calibrations is the calibration of the mean errors only where none of them
            // is cut off at 0. Over all five slots none can be: their largest errors, as far as they count
            // here, sum to 1.205, which is below five times `ERROR_MAX`. Over those that were called one
            // can, so that an error counts up to `ERROR_MAX`.
            let of = |(behavior, weight): (Behavior, &f64)| {
                let error = if only_called {
                    let mean = answers.chances(behavior).sum::<f64>() / f64::from(answers.count);
                    answers.squared_error(mean, weights).min(ERROR_MAX)
                } else {
                    answers.squared_error(behavior.reliability(), weights)
                };
                weight * error
            };
            let possible = Behavior::ALL.into_iter().zip(marginal);
            possible.filter(|(_, weight)| **weight > 0.0).map(of).sum()
        };
        let called = self.ambiguous.iter().zip(&ambiguous);
        let called: f64 = called
            .filter(|(answers, _)| answers.count > 0)
            .map(|(answers, marginal)| error(*answers, marginal))
            .sum();
        let uncalled = self.fresh_count();
        let (sum, slots) = if only_called {
            (called, SLOTS - uncalled)
        } else {
            let fresh = error(RightAnswers::default(), &fresh);
            (called + uncalled as f64 * fresh, SLOTS)
        };
        debug_assert!(sum <= ERROR_MAX * slots as f64, "a calibration is cut off");
        // Without any call the calibration is 0.
        if slots == 0 {
            0.0
        } else {
            1.0 - CALIBRATION_SLOPE * sum / slots as f64
        }
    }

    /// Returns the number of earlier calls of a slot if `behavior` is behind it; only that of the
    /// degrading specialist matters.
    pub(super) fn calls(&self, slot: Kind, behavior: Behavior) -> u16 {
        match slot {
            Kind::Ambiguous(place) => u16::from(self.ambiguous[place].count),
            Kind::Known(Behavior::Degrading) if behavior == Behavior::Degrading => {
                u16::from(self.degrading_calls)
            }
            Kind::Known(_) | Kind::Fresh => 0,
        }
    }

    /// Returns the knowledge after a call of `slot` that shows that `behavior` is behind it.
    pub(super) fn after_identification(mut self, slot: Kind, behavior: Behavior) -> Self {
        let calls = self.calls(slot, behavior) + 1;
        self.identify(slot, behavior, calls);
        self.deduced()
    }

    /// Records that `behavior` is behind a slot that had this number of calls.
    fn identify(&mut self, slot: Kind, behavior: Behavior, calls: u16) {
        if behavior == Behavior::Degrading {
            self.degrading_calls = calls.min(CALLS_MAX.into()) as u8;
        }
        if let Kind::Ambiguous(place) = slot {
            self.ambiguous[place] = RightAnswers::default();
        }
        self.known |= 1 << behavior as u8;
    }

    /// Returns the knowledge after a right answer of a fresh or ambiguous slot that three behaviors
    /// could have given; `under_stakes` if the adversary would have poisoned it.
    pub(super) fn after_right_answer(mut self, slot: Kind, under_stakes: bool) -> Self {
        // A fourth ambiguous slot does not exist: only three behaviors answer so.
        let place = match slot {
            Kind::Ambiguous(place) => place,
            Kind::Fresh | Kind::Known(_) => self.ambiguous_count().min(ALIKE.len() - 1),
        };
        let answers = &mut self.ambiguous[place];
        answers.count += 1;
        answers.under_stakes |= under_stakes;
        self.deduced()
    }

    /// Returns the same knowledge with the slots known that can have one behavior only.
    fn deduced(mut self) -> Self {
        loop {
            self.ambiguous.sort_unstable_by(|a, b| b.cmp(a));
            let (ambiguous, fresh) = self.marginals();
            let certain = |marginal: &Marginal| {
                let mut possible = Behavior::ALL
                    .into_iter()
                    .filter(|b| marginal[*b as usize] > 0.0);
                possible.next().filter(|_| possible.next().is_none())
            };
            let of_ambiguous = (0..self.ambiguous_count())
                .find_map(|place| certain(&ambiguous[place]).map(|b| (Kind::Ambiguous(place), b)));
            let of_fresh = || {
                let only = (self.fresh_count() == 1).then(|| certain(&fresh));
                only.flatten().map(|behavior| (Kind::Fresh, behavior))
            };
            let Some((slot, behavior)) = of_ambiguous.or_else(of_fresh) else {
                return self;
            };
            self.identify(slot, behavior, self.calls(slot, behavior));
        }
    }

    /// Returns the posterior marginals of the ambiguous slots and of each fresh one.
    fn marginals(&self) -> ([Marginal; ALIKE.len()], Marginal) {
        let (mut ambiguous, mut fresh) = ([[0.0; SLOTS]; ALIKE.len()], [0.0; SLOTS]);
        let open: Vec<Behavior> = Behavior::ALL
            .into_iter()
            .filter(|b| !self.knows(*b))
            .collect();
        let mut total = 0.0;
        self.assign(&mut Vec::new(), 1.0, &open, &mut |chosen, weight| {
            total += weight;
            for (marginal, behavior) in ambiguous.iter_mut().zip(chosen) {
                marginal[*behavior as usize] += weight;
            }
            let rest = open.iter().filter(|behavior| !chosen.contains(behavior));
            for behavior in rest {
                fresh[*behavior as usize] += weight / (open.len() - chosen.len()) as f64;
            }
        });
        for marginal in ambiguous.iter_mut().chain([&mut fresh]) {
            for probability in marginal {
                *probability /= total;
            }
        }
        (ambiguous, fresh)
    }

    /// Calls `visit` with every choice of different behaviors for the ambiguous slots that is
    /// possible, and with the likelihood of the answers under it.
    fn assign(
        &self,
        chosen: &mut Vec<Behavior>,
        weight: f64,
        open: &[Behavior],
        visit: &mut impl FnMut(&[Behavior], f64),
    ) {
        if chosen.len() == self.ambiguous_count() {
            visit(chosen, weight);
            return;
        }
        let answers = self.ambiguous[chosen.len()];
        for behavior in ALIKE {
            let weight = weight * answers.likelihood(behavior);
            if weight > 0.0 && open.contains(&behavior) && !chosen.contains(&behavior) {
                chosen.push(behavior);
                self.assign(chosen, weight, open, visit);
                chosen.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sentinel_env::rng::Streams;
    use sentinel_env::slot::Slot;
    use sentinel_env::trust::{Action, Episode, Setup, Task};
    use sentinel_env::{Environment, PrivilegedState};

    use super::*;
    use crate::trust::Belief;

    /// Returns the marginals of all slots in ascending order.
    fn sorted(mut rows: Vec<Marginal>) -> Vec<Marginal> {
        rows.sort_by(|a, b| {
            let rounded = |row: &Marginal| row.map(|p| (p * 1e9).round() as i64);
            rounded(a).cmp(&rounded(b))
        });
        rows
    }

    fn rows(knowledge: &Knowledge) -> Vec<Marginal> {
        let (ambiguous, fresh) = knowledge.marginals();
        let known = Behavior::ALL.into_iter().filter(|b| knowledge.knows(*b));
        let one_hot = |behavior| {
            let mut row = [0.0; SLOTS];
            row[behavior as usize] = 1.0;
            row
        };
        let mut rows: Vec<Marginal> = known.map(one_hot).collect();
        rows.extend(&ambiguous[..knowledge.ambiguous_count()]);
        rows.resize(SLOTS, fresh);
        rows
    }

    /// Checks that the knowledge holds everything that observations tell: its marginals are those of
    /// the posterior over all assignments, along random episodes.
    #[test]
    fn knowledge_has_marginals_of_posterior() {
        for seed in 0..400_usize {
            let rules = [Rules::REFERENCE, Rules::HARDENED][seed % 2];
            let task = Task::ALL[seed % 3];
            let setup = Setup::new(task, seed as u64, Streams::Independent).with_rules(rules);
            let mut episode = Episode::reset(&setup);
            let (mut belief, mut knowledge) = (Belief::default(), Knowledge::default());
            let mut answers = [RightAnswers::default(); SLOTS];
            let mut n = seed;
            while !episode.observation().done() {
                let before = *episode.observation();
                n = n.wrapping_mul(6_364_136_223).wrapping_add(1_442_695) >> 1;
                let slot = Slot::ALL[(n >> 8) % SLOTS];
                let behavior = episode.hidden().assignment[slot];
                let of_slot = &mut answers[slot.index()];
                let kind = if knowledge.knows(behavior) {
                    Kind::Known(behavior)
                } else if of_slot.count == 0 {
                    Kind::Fresh
                } else {
                    let place = knowledge.ambiguous.iter().position(|a| a == of_slot);
                    Kind::Ambiguous(place.expect("an ambiguous slot"))
                };
                let action = [Action::Delegate(slot), Action::Verify(slot)][n % 2];
                let step = episode.step(action).expect("the episode runs");
                belief.update(&before, episode.observation());
                let right = step.info.success == Some(true) && !step.info.own_work;
                let right = right && !step.info.adversarial;
                let alike = !matches!(behavior, Behavior::AccurateSlow | Behavior::DomainBound);
                if right && alike && !matches!(kind, Kind::Known(_)) {
                    let under_stakes = before.stakes >= before.adversary.threshold;
                    of_slot.count += 1;
                    of_slot.under_stakes |= under_stakes;
                    knowledge = knowledge.after_right_answer(kind, under_stakes);
                } else if kind != Kind::Known(behavior) {
                    knowledge = knowledge.after_identification(kind, behavior);
                }
                let expected = sorted(belief.marginals().to_vec());
                for (row, expected) in sorted(rows(&knowledge)).iter().zip(&expected) {
                    let near = row.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
                    assert!(near, "{rules} {task} {seed}: {row:?}, not {expected:?}");
                }
            }
        }
    }
}
