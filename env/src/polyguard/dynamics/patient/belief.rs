//! Sampling of patients that agree with what an episode has shown (spec polyguard §4).
//!
//! This module does not read hidden state. The chart is kept as it was shown, and everything hidden
//! is drawn from the generator's distributions given the chart and what was found out later. The
//! draws of the steps since then are not considered here: the caller takes the steps again and
//! rejects patients that contradict them.

use super::patient_generator::{KAPPAS, PatientGenerator};
use crate::num::{clip01, round_to};
use crate::polyguard::dynamics::effects::SYMPTOM_START;
use crate::polyguard::dynamics::risk;
use crate::polyguard::model::formulary::{ArchetypeId, each_archetype, each_pair};
use crate::polyguard::model::hidden::{Hidden, Issue, MAX_ISSUES, MedicationTruth};
use crate::polyguard::model::observation::Observation;
use crate::polyguard::model::patient::Lab;
use crate::polyguard::model::regimen::{DoseBucket, Drug, Medication};
use crate::polyguard::model::setup::Setup;
use crate::polyguard::model::state::State;
use crate::polyguard::model::task_spec::{Difficulty, SubEnvironment};
use crate::rng::PcgRandom;

/// Maximum number of draws of an adherence that fits the observed one.
const ADHERENCE_TRIES: usize = 50;

/// Draws a patient whose chart at the start was `first`, and of whom `now` is known. Returns `None`
/// if a draw contradicts what is known, so that another one has to be tried. With `lenient`, serious
/// pairs and the kidney may contradict the chart.
pub(crate) fn sample_patient(
    first: &Observation,
    now: &Observation,
    stream: PcgRandom,
    lenient: bool,
) -> Option<State> {
    let mut draft = PatientGenerator {
        state: State {
            setup: Setup::new(first.task, 0).with_rules(first.rules),
            formulary: first.formulary(),
            observation: first.clone(),
            hidden: Hidden::new(stream),
        },
        size: first.regimen.len(),
        frailty: first.patient.frailty,
        planted: 0,
        present: first.regimen.iter().fold(0, |bits, row| bits | known(row)),
        missing: Default::default(),
    };
    draft.draw_values(now);
    for place in 0..first.regimen.len() {
        let kappa = KAPPAS[draft.below(KAPPAS.len())];
        let is_needless = draft.unit() < PatientGenerator::NEEDLESS_FILL;
        let row = &first.regimen[place];
        let condition = match (row.drug.archetype(), row.indication) {
            (Some(id), _) => first.formulary().get(id).indication,
            (None, Some(condition)) => condition,
            (None, None) => return None,
        };
        draft.state.hidden.truths[place] = MedicationTruth {
            kappa,
            exposure: 0.0,
            needed: status(now, row).unwrap_or_else(|| {
                let review = row.is_shown_unneeded() || row.stale;
                row.drug == Drug::Product || !review && !is_needless
            }),
            condition,
            mark: 0,
        };
    }
    let fits = draft.draw_problems(now)?;
    if !fits && !lenient {
        return None;
    }
    draft.settle();
    draft.start();
    draft.state.observation = first.clone();
    Some(draft.state)
}

/// Returns the archetype of a row as bits; none for the product.
fn known(row: &Medication) -> u64 {
    row.drug.archetype().map_or(0, ArchetypeId::bit)
}

/// Returns whether a medicine is needed, if it was shown at the start or since.
fn status(now: &Observation, row: &Medication) -> Option<bool> {
    let later = now.regimen.find(row.drug).and_then(|row| row.status);
    row.status.or(later)
}

impl PatientGenerator {
    /// Draws the laboratory values that are not known, and an adherence that fits the observed one.
    fn draw_values(&mut self, now: &Observation) {
        let over = f64::from(now.patient.age) - 65.0;
        let u = self.unit();
        let drawn = [
            (95.0 - 0.8 * over - 50.0 * u * u).clamp(15.0, 100.0),
            20.0 + 20.0 * self.unit(),
            20.0 + 20.0 * self.unit(),
            1.0 + self.unit(),
            90.0 + 90.0 * self.unit(),
        ];
        for (lab, drawn) in Lab::ALL.iter().zip(drawn) {
            self.state.hidden.labs[*lab as usize] = now.labs.get(*lab).unwrap_or(drawn);
        }
        let shown = now.patient.adherence;
        for _ in 0..ADHERENCE_TRIES {
            let (adherence, u) = (0.7 + 0.3 * self.unit(), self.unit());
            self.state.hidden.adherence = adherence;
            if round_to(clip01(adherence + 0.1 * (2.0 * u - 1.0)), 1) == shown {
                break;
            }
        }
    }

    /// Draws the hidden part of the planted problems, and lists the issues. Returns `false` if the
    /// serious pairs or the eGFR contradict the chart, and `None` if a problem cannot be drawn.
    fn draw_problems(&mut self, now: &Observation) -> Option<bool> {
        let (case, level) = (now.task, now.task.difficulty() as usize);
        // The serious pairs that belong to no other problem.
        let mut pairs = self.state.serious_pairs();
        let mut spared = 0;
        let mut count = [(0, 0); 3];
        match case.sub_environment() {
            SubEnvironment::Ddi => count = [(1, 1), (2, 3), (3, 4)],
            SubEnvironment::BanditMining => self.draw_culprit()?,
            SubEnvironment::RegimenRisk => self.draw_rules([1, 2, 2][level])?,
            SubEnvironment::PrecisionDosing => spared = self.draw_doses(now),
            SubEnvironment::Deprescribing => self.draw_stale(now, [1, 2, 2][level])?,
            SubEnvironment::WebSearchMissingData => spared = self.draw_renal(now)?,
            SubEnvironment::AlternativeSuggestion => pairs &= !self.draw_intolerance(now)?,
            SubEnvironment::NewDrugDecomposition => {
                self.draw_components(now)?;
                pairs = self.state.serious_pairs();
                for issue in self.state.hidden.issues() {
                    if let Issue::ComponentPair(pair) = issue {
                        pairs &= !pair.bit();
                    }
                }
            }
        }
        use SubEnvironment::{BanditMining, Ddi, Deprescribing, PrecisionDosing};
        let plants_pair = case.difficulty() == Difficulty::Hard
            && ![BanditMining, Ddi, Deprescribing, PrecisionDosing]
                .contains(&case.sub_environment());
        if plants_pair {
            count[2] = (1, 1);
        }
        let (least, most) = count[level];
        // A questioned dose may have lowered the eGFR after the medicines were chosen.
        let fitting = case.sub_environment() == PrecisionDosing
            || (least..=most).contains(&pairs.count_ones());
        // The order of issues has no effect.
        for pair in each_pair(pairs).take(most as usize) {
            self.add_issue(Issue::Pair(pair));
            let row = self.formulary().pair(pair);
            self.mark_planted(row.first.bit() | row.second.bit());
        }
        // Every medicine was safe for the kidney when it was added.
        let limits = self.present & !spared & self.formulary().trait_sets().renal;
        let is_safe = each_archetype(limits).all(|id| !self.renal_unsafe(id));
        let fillers = self.size.saturating_sub(self.planted) as u32;
        let kept = now.egfr().is_some() || self.keeps_egfr(fillers);
        Some(fitting && is_safe && kept)
    }

    /// Records that medicines were planted: they are needed unless the chart says otherwise.
    fn mark_planted(&mut self, ids: u64) {
        self.planted += (ids & self.present).count_ones() as usize;
        let rows = self.state.observation.regimen.iter();
        let truths = &mut self.state.hidden.truths;
        for (row, truth) in rows.zip(truths) {
            let planted = known(row) & ids != 0;
            if planted && !row.is_shown_unneeded() && !row.stale {
                truth.needed = true;
            }
        }
    }

    fn draw_culprit(&mut self) -> Option<()> {
        let rows = self.state.observation.regimen.clone();
        let suspects = || rows.iter().filter(|row| row.prior > 0);
        let weight: usize = suspects().map(|row| usize::from(row.prior)).sum();
        let mut left = self.state.hidden.stream.below(weight.max(1));
        let culprit = suspects().find(|row| {
            let found = left < usize::from(row.prior);
            left = left.saturating_sub(usize::from(row.prior));
            found
        });
        let culprit = culprit?.drug.archetype()?;
        self.state.hidden.suspects = suspects().fold(0, |bits, row| bits | known(row));
        self.state.hidden.culprit = Some(culprit);
        self.state.hidden.symptom = SYMPTOM_START;
        self.add_issue(Issue::Culprit(culprit));
        self.mark_planted(self.state.hidden.suspects);
        Some(())
    }

    fn draw_rules(&mut self, count: usize) -> Option<()> {
        let name = self.state.observation.task.formulary();
        let rules = risk::evaluate_set_rules(self.formulary(), name, self.present);
        let mut broken = rules.map(|(rule, broken)| broken.then_some(rule));
        self.state.hidden.stream.shuffle(&mut broken);
        let mut planted = 0;
        for rule in broken.into_iter().flatten().take(count) {
            planted |= risk::rule_members(self.formulary(), rule, self.present);
            self.add_issue(Issue::Set(rule));
        }
        self.mark_planted(planted);
        (planted != 0).then_some(())
    }

    /// Draws the clearance of medicines whose dose is in question. Returns them, as bits.
    fn draw_doses(&mut self, now: &Observation) -> u64 {
        let benign = self.unit() < 0.3;
        let mut questioned = 0;
        for place in 0..self.state.observation.regimen.len() {
            let row = self.state.observation.regimen[place];
            let Some(id) = row.drug.archetype().filter(|_| row.questioned) else {
                continue;
            };
            let truth = self.draw_dose(row.bucket, benign);
            (
                self.state.hidden.truths[place].kappa,
                self.state.hidden.truths[place].exposure,
            ) = truth;
            let renal = self.formulary().get(id).renal_below.is_some();
            let lowered = self.unit() < 0.6;
            let egfr = 35.0 + 20.0 * self.unit();
            if renal && lowered && truth.1 > 1.2 && now.egfr().is_none() {
                self.state.hidden.labs[0] = egfr;
            }
            questioned |= id.bit();
            self.add_issue(Issue::Dose(id));
        }
        if benign {
            self.add_issue(Issue::Sign);
        }
        self.mark_planted(questioned);
        questioned
    }

    fn draw_stale(&mut self, now: &Observation, needless: usize) -> Option<()> {
        let rows = self.state.observation.regimen.clone();
        let stale = || rows.iter().enumerate().filter(|(_, row)| row.stale);
        let mut removed: Vec<usize> = stale()
            .filter(|(_, row)| status(now, row) == Some(false))
            .map(|(place, _)| place)
            .collect();
        let mut unknown: Vec<usize> = stale()
            .filter(|(_, row)| status(now, row).is_none())
            .map(|(place, _)| place)
            .collect();
        self.state.hidden.stream.shuffle(&mut unknown);
        let missing = needless.checked_sub(removed.len())?;
        if missing > unknown.len() {
            return None;
        }
        removed.extend(unknown.drain(..missing));
        for place in unknown {
            self.state.hidden.truths[place].needed = true;
        }
        self.planted += stale().count();
        for (place, mark) in removed.into_iter().zip(1..) {
            let truth = &mut self.state.hidden.truths[place];
            (truth.needed, truth.mark) = (false, mark);
            self.add_issue(Issue::NoIndication(mark));
        }
        Some(())
    }

    /// Draws the medicine whose safety depends on the eGFR, and the eGFR if it is not known.
    /// Returns the medicine, as bits.
    fn draw_renal(&mut self, now: &Observation) -> Option<u64> {
        let marks = self.formulary().trait_sets();
        let rows = self.state.observation.regimen.clone();
        let planted = rows.iter().filter(|row| row.bucket == DoseBucket::Medium);
        let pool = planted.fold(0, |bits, row| bits | known(row)) & marks.renal & !marks.taper;
        let id = self.pick(pool)?;
        let (benign, u) = (self.unit() < 0.45, self.unit());
        let below = self.formulary().get(id).renal_below?;
        let range = if benign {
            below + 5.0..below + 35.0
        } else {
            (below - 15.0).max(12.0)..below - 3.0 + 1e-9
        };
        match now.egfr() {
            Some(egfr) if !range.contains(&egfr) => return None,
            Some(_) => {}
            None if benign => self.state.hidden.labs[0] = below + 5.0 + 30.0 * u,
            None => self.state.hidden.labs[0] = (below - 3.0 - 12.0 * u).max(12.0),
        }
        let row = rows.iter().find(|row| known(row) == id.bit())?;
        let present = std::mem::replace(&mut self.present, id.bit());
        let clean = self.is_valid_substitute(id, self.formulary().get(id).indication);
        self.present = present;
        // The chart shows that a medicine is not needed exactly if it could only be removed.
        let shown = row.indication.is_none() || row.stale;
        if shown == (benign || clean) && now.task.difficulty() != Difficulty::Hard {
            return None;
        }
        self.add_issue(Issue::Info);
        self.add_issue(if benign {
            Issue::Sign
        } else {
            Issue::Renal(id)
        });
        self.mark_planted(id.bit());
        Some(if benign { 0 } else { id.bit() })
    }

    /// Draws the archetype that is not tolerated, unless it is known. Returns the pair of the
    /// problem and its partner, as bits.
    fn draw_intolerance(&mut self, now: &Observation) -> Option<u64> {
        let problem = self.state.observation.problem?;
        let id = problem.archetype()?;
        let egfr = Some(self.state.hidden.egfr());
        let partners = self.formulary().serious_partners(id, egfr) & self.present;
        let partner = self.pick(partners)?;
        let pair = self.formulary().pair_between(id, partner)?;
        let condition = self.formulary().get(id).indication;
        self.add_issue(Issue::Replace(problem, condition));
        self.state.hidden.intolerant = if now.ade_history == 0 {
            let planted = id.bit() | partner.bit();
            let present = std::mem::replace(&mut self.present, planted);
            let good = self.good_alternatives(id);
            self.present = present;
            if good.count_ones() >= 2 {
                self.pick(good)
            } else {
                None
            }
        } else {
            each_archetype(now.ade_history).next()
        };
        self.mark_planted(id.bit() | partner.bit());
        self.is_solvable().then_some(pair.bit())
    }

    /// Draws the components of the product, unless they are known.
    fn draw_components(&mut self, now: &Observation) -> Option<()> {
        let others = self.present;
        let [a, b] = match now.components {
            Some(parts) => parts,
            None => {
                let fitting = self.fitting_components(others);
                let total: f64 = fitting.iter().map(|(_, weight)| weight).sum();
                let mut left = self.unit() * total;
                let found = fitting.iter().find(|(_, weight)| {
                    left -= weight;
                    left < 0.0
                });
                found.or(fitting.last())?.0
            }
        };
        self.state.hidden.components = Some([a, b]);
        self.present |= a.bit() | b.bit();
        self.add_issue(Issue::Decompose);
        let egfr = Some(self.state.hidden.egfr());
        let partners = self.formulary().serious_partners(b, egfr) & others;
        match each_archetype(partners).next() {
            None => self.add_issue(Issue::Sign),
            Some(partner) => {
                let pair = self.formulary().pair_between(b, partner)?;
                let condition = self.formulary().get(a).indication;
                self.add_issue(Issue::ComponentPair(pair));
                self.add_issue(Issue::Replace(Drug::Product, condition));
                self.mark_planted(partner.bit());
            }
        }
        debug_assert!(self.state.hidden.issues().count() < MAX_ISSUES);
        self.is_solvable().then_some(())
    }

    /// Returns the pairs of components that the product of a chart can have, each with its weight:
    /// how likely the generator is to make this chart with it.
    ///
    /// A product without a problem has no serious partner among `others`, which were all drawn from
    /// the whole table to fill up the regimen. Otherwise the second component has one partner, which
    /// was drawn from its few serious partners.
    fn fitting_components(&self, others: u64) -> Vec<([ArchetypeId; 2], f64)> {
        let formulary = self.formulary();
        let product = self.state.observation.regimen.find(Drug::Product);
        let indication = product.and_then(|row| row.indication);
        let egfr = Some(self.state.hidden.egfr());
        let partners = |id: ArchetypeId| formulary.serious_partners(id, egfr) & self.allowed();
        let free = |id: &ArchetypeId| others & id.bit() == 0 && !self.renal_unsafe(*id);
        let is_first = |id: &ArchetypeId| {
            Some(formulary.get(*id).indication) == indication && !self.has_clash(*id, others)
        };
        let usable = each_archetype(self.allowed()).filter(|id| !self.renal_unsafe(*id));
        let (table, with_partner) = usable.fold((0.0, 0.0), |(all, some), id| {
            (all + 1.0, some + f64::from(u8::from(partners(id) != 0)))
        });
        let benign = 0.35 * f64::from(others.count_ones());
        let problem = (1.0 - 0.35) * table * table / f64::max(with_partner, 1.0);
        let plain = self.allowed() & !formulary.trait_sets().taper;
        // A pair that was planted too did not fill up the regimen.
        let pairs = each_pair(self.state.serious_pairs()).map(|pair| formulary.pair(pair));
        let paired = pairs.fold(0, |bits, pair| bits | pair.first.bit() | pair.second.bit());
        let mut found = Vec::new();
        for a in each_archetype(plain).filter(free).filter(is_first) {
            for b in each_archetype(self.allowed() & !a.bit()).filter(free) {
                let apart = formulary.pair_between(a, b).is_none()
                    && Some(formulary.get(b).indication) != indication;
                let partner = partners(b) & others;
                let weight = match partner.count_ones() {
                    0 => benign,
                    1 => problem / f64::from((partners(b) & !partners(a)).count_ones().max(1)),
                    _ => continue,
                };
                if apart && self.fill_up([a, b], others & !partner & !paired, partner | paired) {
                    found.push(([a, b], weight));
                }
            }
        }
        found
    }

    /// Returns `true` if `fillers` can have filled up a regimen of a product and the medicines
    /// `planted`: they share no class with a component and break no set rule.
    fn fill_up(&self, parts: [ArchetypeId; 2], fillers: u64, planted: u64) -> bool {
        let (formulary, name) = (self.formulary(), self.state.observation.task.formulary());
        let same_class = |id: ArchetypeId| formulary.trait_sets().same_class[id.index()];
        if parts.iter().any(|id| same_class(*id) & fillers != 0) {
            return false;
        }
        let planted = parts[0].bit() | parts[1].bit() | planted;
        let before = risk::evaluate_set_rules(formulary, name, planted);
        let after = risk::evaluate_set_rules(formulary, name, planted | fillers);
        let mut both = before.iter().zip(after);
        both.all(|(before, after)| before.1 || !after.1)
    }

    /// Draws whether an unknown eGFR is kept, with a probability that is proportional to that of the
    /// medicines which filled up the regimen: the fewer medicines are safe, the likelier is each.
    fn keeps_egfr(&mut self, fillers: u32) -> bool {
        let formulary = self.formulary();
        let safe = |egfr: f64| {
            let each = each_archetype(self.allowed());
            each.filter(|id| !formulary.get(*id).unsafe_at(egfr))
                .count() as f64
        };
        let share = safe(0.0) / safe(self.state.hidden.egfr());
        let probability = (0..fillers).fold(1.0, |product, _| product * share);
        self.unit() < probability
    }
}
