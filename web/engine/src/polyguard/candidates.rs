//! The panel of the candidates, each with a button.

use sentinel_env::polyguard::{ActKind, Candidate, CandidateId, Observation, PolyguardEnv};
use sentinel_page_protocol::{Button, Card, Chip, Layout, Meter, Panel, Tone};

use super::action_code::digit;
use super::describe::{act_warning, describe_act};
use super::display_text;
use crate::run::PublicFrame;

/// Smallest difference of risks that is shown as a change.
const CHANGED: f64 = 0.005;

/// Returns the panel of the candidates.
pub(super) fn panel(frame: &PublicFrame<'_, PolyguardEnv>) -> Panel {
    let o = frame.observation;
    let cards = o.candidates.iter().map(|candidate| card(frame, candidate));
    let hidden = gaps(o);
    Panel {
        id: "candidates".to_owned(),
        title: "Candidates".to_owned(),
        help: format!(
            "What can be chosen now, by a click or the number. The bar is the risk estimated afterwards (off by up to .06), the mark is the visible risk now: {:.2}. Acts that the verifier would refuse are not shown.",
            o.risk
        ),
        summary: match hidden.is_empty() {
            true => String::new(),
            false => format!("Not shown because not allowed: {hidden}"),
        },
        layout: Layout::List,
        cards: cards.collect(),
        empty: "The episode has ended: nothing is left to choose. Go back and choose otherwise, or play another seed.".to_owned(),
        ..Panel::default()
    }
}

/// Returns the numbers that are missing before the last one shown; the number of candidates after
/// it stays hidden.
fn gaps(o: &Observation) -> String {
    let last = o
        .candidates
        .iter()
        .next_back()
        .map(|candidate| candidate.id);
    let missing = CandidateId::all()
        .filter(|id| Some(*id) < last && o.candidates.get(*id).is_none())
        .map(|id| id.number().to_string());
    missing.collect::<Vec<_>>().join(", ")
}

fn card(frame: &PublicFrame<'_, PolyguardEnv>, candidate: &Candidate) -> Card {
    let (o, act) = (frame.observation, candidate.act);
    let order = describe_act(o, act);
    let (change, tone) = match candidate.est_delta {
        less if less < -CHANGED => (format!("▾ −{:.2}", -less), Tone::Good),
        more if more > CHANGED => (format!("▴ +{more:.2}"), Tone::Bad),
        _ => ("≈ 0".to_owned(), Tone::Quiet),
    };
    let warning = act_warning(o, act);
    Card {
        key: candidate.id.name().to_owned(),
        title: order.clone(),
        help: format!("{} ({})", candidate.id, act.kind.name()),
        subtitle: display_text::kind(act.kind).1.to_owned(),
        tone: if warning.is_empty() {
            Tone::Neutral
        } else {
            Tone::Warn
        },
        meters: vec![Meter {
            label: format!("risk {:.2}", candidate.est_risk),
            help: format!(
                "Estimated visible risk after this act; the mark is the visible risk now, {:.2}",
                o.risk
            ),
            value: candidate.est_risk as f32,
            mark: Some(o.risk as f32),
            tone,
        }],
        chips: vec![Chip {
            text: change,
            help: "Estimated risk less the visible risk now".to_owned(),
            tone,
        }],
        buttons: vec![button(frame, candidate, &order, warning)],
        ..Card::default()
    }
}

fn button(
    frame: &PublicFrame<'_, PolyguardEnv>,
    candidate: &Candidate,
    order: &str,
    warning: String,
) -> Button {
    let index = candidate.id.index();
    let policy_output = frame.policy_output;
    let chance = policy_output.probabilities.as_ref();
    // A player gives no finite value to what it did not consider.
    let finite = |value: &&f64| value.is_finite();
    let values = policy_output.values.as_ref();
    let best = values.and_then(|all| {
        let finite = all.iter().filter(finite);
        finite.copied().reduce(f64::max)
    });
    let value = values.and_then(|all| all.get(index).filter(finite).copied());
    let next = frame.next.as_ref();
    let key = digit(candidate.id);
    Button {
        code: key.to_string(),
        label: verb(candidate.act.kind, order),
        name: format!(
            "{order}, estimated risk {:.2}, candidate {}",
            candidate.est_risk,
            candidate.id.number()
        ),
        key: Some(key),
        chance: chance.and_then(|all| all.get(index)).map(|p| *p as f32),
        value: value.zip(best).map(|(value, best)| (value - best) as f32),
        next: next.is_some_and(|next| next.action.id() == Some(candidate.id)),
        warning,
    }
}

/// Returns the verb of an order, for the button.
fn verb(kind: ActKind, order: &str) -> String {
    match kind {
        // One of raise, lower and resume.
        ActKind::AdjustDoseBucket => order.split(' ').next().unwrap_or(order).to_owned(),
        _ => display_text::kind(kind).0.to_owned(),
    }
}
