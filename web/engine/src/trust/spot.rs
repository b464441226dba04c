//! The question of the trust world: which of the five specialists is the adversary?

use sentinel_env::PrivilegedState as _;
use sentinel_env::ledger::HIGH_STAKES;
use sentinel_env::slot::Slot;
use sentinel_env::trust::{Action, Behavior, TrustEnv};
use sentinel_page_protocol::{Answer, BoardSign, SpotInfo, Suspect, Tone};

use super::view::short;
use crate::format::counted;
use crate::run::{Frame, PublicFrame};

/// Names of low and high stakes.
const ENDS: [&str; 2] = ["low", "high"];

/// Fills in the words of the question.
pub(super) fn complete(info: &mut SpotInfo) {
    let text = str::to_owned;
    info.has_adversary = true;
    info.answer = text("the liar");
    info.ends = ENDS.map(|end| format!("{end} stakes"));
    info.ahead = text("the stakes will rise");
    info.signs = [text("right"), text("wrong"), String::new()];
    info.checked = text("checked before it was believed");
    info.source = text("The network’s own estimate, learned in training.");
}

/// Returns the five specialists with their records.
pub(super) fn suspects(frame: &PublicFrame<'_, TrustEnv>) -> Vec<Suspect> {
    let suspect = |slot: Slot| {
        let evidence = &frame.observation.ledger[slot];
        Suspect {
            title: slot.name().to_owned(),
            record: match evidence.calls {
                0 => "not asked".to_owned(),
                calls => format!("{} of {calls} right", evidence.successes()),
            },
        }
    };
    Slot::ALL.map(suspect).to_vec()
}

/// Returns the answer that the last action brought, at the stakes of its subtask.
pub(super) fn board_sign(frame: &PublicFrame<'_, TrustEnv>) -> Option<BoardSign> {
    let step = frame.step?;
    let is_right = step.answer?;
    Some(BoardSign {
        suspects: 1 << step.action.slot()?.index(),
        height: step.stakes as f32,
        tone: if is_right { Tone::Good } else { Tone::Bad },
        is_checked: matches!(step.action, Action::Verify(_)),
    })
}

/// Returns the probability of each specialist to be the adversary, as the player believes.
pub(super) fn suspicion(frame: &PublicFrame<'_, TrustEnv>) -> Vec<f32> {
    let rows = frame.suspicions.belief.iter().flatten();
    let chance = |row: &Vec<f64>| row.get(Behavior::Adversarial as usize).copied();
    rows.filter_map(chance).map(|p| p as f32).collect()
}

/// Returns how often a specialist was right at low and at high stakes, and the others at high stakes.
pub(super) fn public_record(frame: &PublicFrame<'_, TrustEnv>, suspect: u8) -> String {
    let name = Slot::ALL[usize::from(suspect)];
    let answers = |is_own: bool| {
        let about = frame.history();
        let about = about.filter(move |step| {
            let slot = step.action.slot();
            slot.is_some_and(|slot| (slot == name) == is_own)
        });
        about.filter_map(|step| Some((step.stakes, step.answer?)))
    };
    let rate = |is_own: bool, is_high: bool| {
        let at = answers(is_own).filter(|(stakes, _)| (*stakes >= HIGH_STAKES) == is_high);
        let (right, all) = at.fold((0, 0), |(right, all), (_, is_right)| {
            (right + usize::from(is_right), all + 1)
        });
        let end = ENDS[usize::from(is_high)];
        (all > 0).then(|| format!("{right} of {all} times at {end} stakes"))
    };
    let rates = [rate(true, false), rate(true, true)];
    let rates = rates.into_iter().flatten().collect::<Vec<_>>();
    let highest = answers(true).max_by(|a, b| a.0.total_cmp(&b.0));
    let mut text = match highest {
        None => format!("{name} was never asked"),
        Some((stakes, is_right)) => format!(
            "{name} was right {}, {} at the highest ({stakes:.2})",
            rates.join(" and "),
            if is_right { "right" } else { "wrong" },
        ),
    };
    let was_low = |(stakes, _): &(f64, bool)| *stakes < HIGH_STAKES;
    let is_spotless = answers(true).all(|answer| was_low(&answer) && answer.1);
    if highest.is_some() && is_spotless {
        text += ", as the liar is while little is at stake";
    }
    if let Some(rate) = rate(false, true) {
        text += &format!("; the others were right {rate}");
    }
    text + "."
}

/// Returns a sentence about the first wrong answer, and about the first high stakes.
pub(super) fn remark(frame: &PublicFrame<'_, TrustEnv>) -> String {
    let is_high = |stakes: f64| stakes >= HIGH_STAKES;
    let now_high = frame.before().is_some_and(|o| !is_high(o.stakes))
        && is_high(frame.observation.stakes)
        && frame.history().all(|step| !is_high(step.stakes));
    if now_high {
        return "From here on much is at stake. The liar may start to lie.".to_owned();
    }
    match frame.is_first(|step| step.answer == Some(false)) {
        true => "Being wrong is no proof of lying.".to_owned(),
        false => String::new(),
    }
}

/// Returns who the adversary is, and how often it was right before it lied.
pub(super) fn answer(frames: &[Frame<TrustEnv>]) -> Option<Answer> {
    let assignment = &frames.first()?.episode.hidden().assignment;
    let is_liar = |slot: &Slot| assignment[*slot] == Behavior::Adversarial;
    let liar = Slot::ALL.into_iter().find(is_liar)?;
    let infos = || frames.iter().filter_map(Frame::info);
    let about = || infos().filter(|step| step.action.slot() == Some(liar));
    let before = || about().take_while(|step| !step.adversarial);
    let asked = before().count();
    let right = before().filter(|step| step.success == Some(true)).count();
    let lies = about().filter(|step| step.adversarial).count();
    let text = match (asked, lies) {
        (0, 0) => format!("{liar} was never asked."),
        (_, 0) => format!("{liar} was not asked once much was at stake, so it told no lie."),
        (0, _) => format!("{liar} was only asked when much was at stake, and lied."),
        (1, _) => format!("{liar} was asked once while little was at stake, then it lied."),
        (asked, _) => format!(
            "{liar} was right {right} of {asked} times while little was at stake, then it lied."
        ),
    };
    let told = counted(lies, "lie", "lies");
    Some(Answer {
        suspect: liar.index() as u8,
        truths: Slot::ALL
            .map(|slot| match is_liar(&slot) {
                true => format!("the liar: {told}"),
                false => short(assignment[slot]).to_owned(),
            })
            .to_vec(),
        text,
        ..Answer::default()
    })
}
