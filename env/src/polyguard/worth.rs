//! Grades a step: each component from what was before and what came of it (spec polyguard §8).

use super::action::{Action, Choice};
use super::candidates::Kind;
use super::episode::{Episode, confidence};
use super::formulary::Formulary;
use super::history::Act;
use super::labs::Lab;
use super::regimen::Row;
use super::reward::{
    Abstention, COMPONENTS, Component, Reward, abstention, calibration, improvement,
};
use super::terms::Terms;

/// What a step is compared with.
pub(super) struct Before {
    pub(super) risk: f64,
    pub(super) burden: f64,
    pub(super) stability: f64,
    pub(super) resolved: u8,
    uncertainty: f64,
    pub(super) serious_flag: bool,
    conflict: bool,
    evidence_tried: bool,
    reviewed: bool,
    product_unknown: bool,
    /// Row of the act's medicine, as it was.
    row: Option<Row>,
    egfr_known: bool,
    in_sight: Terms,
    best_risk: f64,
    best_burden: f64,
}

impl Before {
    /// The state before a step.
    pub(super) fn of(episode: &Episode, action: Action) -> Self {
        let (o, h) = (&episode.observation, &episode.hidden);
        let choice = match action {
            Action::Choose(choice) => Some(choice),
            Action::Invalid(_) | Action::Exploit => None,
        };
        // Only a rationale that names something is compared with what is in sight.
        let cited = choice.filter(|choice| !choice.cites.is_empty());
        Self {
            risk: h.risk,
            burden: h.burden,
            stability: h.stability,
            resolved: episode.resolved().0,
            uncertainty: o.uncertainty,
            serious_flag: o.has_serious_flag(),
            conflict: o.conflict,
            evidence_tried: o.history.did(Kind::FetchExternalEvidence) || o.labs.missing() == 0,
            reviewed: o.history.count(Kind::is_review) > 0,
            product_unknown: o.has_unknown_product(),
            row: None,
            egfr_known: o.egfr().is_some(),
            in_sight: cited.map_or_else(Terms::default, |_| Terms::in_sight(o)),
            best_risk: h.best_risk,
            best_burden: h.best_burden,
        }
    }

    /// Remembers the row that an act is about.
    pub(super) fn about(mut self, episode: &Episode, act: Option<Act>) -> Self {
        let drug = act.and_then(|act| act.drug);
        self.row = drug
            .and_then(|drug| episode.observation.regimen.of(drug))
            .copied();
        self
    }

    /// Whether asking for review is justified (spec §7).
    pub(super) fn justifies(&self, kind: Kind) -> bool {
        let unsure = self.uncertainty >= 0.6;
        let open_conflict =
            kind == Kind::RequestSpecialistReview && self.conflict && self.uncertainty >= 0.45;
        kind.is_review() && self.evidence_tried && (unsure || open_conflict)
    }
}

/// What a verifier said of an answer.
pub(super) struct Verdict {
    /// What the answer stands for, if it is shown.
    pub(super) act: Option<Act>,
    /// Whether it was cheating.
    pub(super) cheated: bool,
    /// Whether it was carried out: neither refused nor cheating.
    pub(super) honest: bool,
}

/// The components of a step that was taken.
pub(super) fn reward(
    episode: &Episode,
    action: Action,
    verdict: &Verdict,
    gained: bool,
    before: &Before,
) -> Reward {
    let Verdict {
        act,
        cheated,
        honest,
    } = *verdict;
    let (o, h) = (&episode.observation, &episode.hidden);
    let mut raw = [0.0; COMPONENTS];
    let mut set = |component: Component, value: f64| raw[component as usize] = value;
    let choice = match action {
        Action::Choose(choice) => Some(choice),
        Action::Invalid(_) | Action::Exploit => None,
    };
    let kind = act.filter(|_| honest).map(|act| act.kind);
    let yes = |holds: bool| if holds { 1.0 } else { 0.0 };
    // A form that names nothing that is shown is as good as none (spec §9).
    let form = choice.filter(|_| act.is_some());
    let form = form.map_or(0.0, |choice| if choice.repaired { 0.4 } else { 1.0 });
    set(Component::FormatCompliance, form);
    set(Component::CandidateAlignment, yes(honest));
    set(Component::Legality, yes(honest));
    let kept_flag = kind == Some(Kind::KeepRegimen) && before.serious_flag;
    let safety = improvement(before.best_risk, before.risk, h.risk);
    set(
        Component::SafetyDelta,
        if kept_flag { safety.min(0.25) } else { safety },
    );
    set(
        Component::BurdenImprovement,
        improvement(before.best_burden, before.burden, h.burden),
    );
    let drop = (before.stability - h.stability).max(0.0);
    set(Component::DiseaseStability, h.stability - drop);
    set(Component::DosingQuality, episode.dosing_quality());
    let steps = f64::from(o.step_count);
    set(
        Component::Efficiency,
        1.0 - steps / (f64::from(o.budget) + 1.0),
    );
    if let (Some(kind), Some(choice)) = (kind, choice) {
        let abstained = Abstention {
            kind,
            uncertainty: before.uncertainty,
            gained,
            justified: before.justifies(kind),
            first_review: !before.reviewed,
        };
        set(Component::AbstentionQuality, abstention(&abstained));
        set(
            Component::ProcessFidelity,
            process(episode, kind, gained, before),
        );
        set(
            Component::ExplanationGrounding,
            grounding(episode.formulary(), &choice, act, before),
        );
    }
    set(Component::AntiCheat, yes(!cheated));
    let said = choice.as_ref().map_or(0.5, confidence);
    set(
        Component::UncertaintyCalibration,
        calibration(said, before.uncertainty),
    );
    Reward::of(raw, honest)
}

/// Whether what should be known first was known first.
fn process(episode: &Episode, kind: Kind, gained: bool, before: &Before) -> f64 {
    if kind.is_information() {
        return if gained { 1.0 } else { 0.2 };
    }
    if !kind.is_change() {
        let lazy = kind == Kind::KeepRegimen && before.serious_flag;
        return if lazy { 0.2 } else { 0.6 };
    }
    let Some(row) = &before.row else {
        return 1.0;
    };
    let known = row.drug.known().map(|id| episode.formulary().get(id));
    let renal = known.is_some_and(|archetype| archetype.renal_below.is_some());
    let blind_dose = kind == Kind::AdjustDoseBucket && row.level.is_none() && row.prior == 0;
    if before.product_unknown || renal && !before.egfr_known {
        0.2
    } else if row.is_unrevealed() || blind_dose {
        0.3
    } else {
        1.0
    }
}

/// Whether the rationale speaks of what there is, and of what the act is about.
fn grounding(formulary: &Formulary, choice: &Choice, act: Option<Act>, before: &Before) -> f64 {
    let cited = choice.cites;
    if cited.is_empty() {
        return 0.0;
    }
    let share = f64::from(cited.shared(before.in_sight)) / f64::from(cited.len());
    let about = act.and_then(|act| act.drug);
    let about = about.map(|drug| Terms::drug(drug, formulary));
    match about {
        Some(drug) if !cited.has(drug) => share.min(0.5),
        _ => share,
    }
}

impl Episode {
    /// How well delicate doses sit in their windows, 0..=1.
    fn dosing_quality(&self) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        for (place, row) in self.observation.regimen.iter().enumerate() {
            if row.is_active() && (row.questioned || self.is_narrow(row)) {
                let (over, under) = self.off_window(place);
                sum += 1.0 - f64::max(over, under);
                count += 1.0;
            }
        }
        if count > 0.0 { sum / count } else { 0.5 }
    }

    /// Whether the chart shows the eGFR.
    #[must_use]
    pub const fn knows_egfr(&self) -> bool {
        self.observation.labs.get(Lab::Egfr).is_some()
    }
}
