//! The panel of the rules against cheating, with the counts toward each (spec polyguard §8.3).

use sentinel_env::polyguard::{ActKind, Exploit, Observation, PolyguardEnv};
use sentinel_page_protocol::{Card, Layout, Panel, Tone};

use super::display_text;
use crate::format::capitalized;
use crate::run::PublicFrame;

/// Returns the panel of the rules against cheating.
pub(super) fn panel(frame: &PublicFrame<'_, PolyguardEnv>) -> Panel {
    let o = frame.observation;
    let hit = frame.step.and_then(|step| step.exploit);
    let card = |rule: Exploit| {
        let (title, meaning) = display_text::exploit(rule);
        Card {
            key: rule.name().to_owned(),
            title: title.to_owned(),
            help: capitalized(meaning),
            state: match hit == Some(rule) {
                true => "ended the episode".to_owned(),
                false => count(o, rule),
            },
            tone: if hit == Some(rule) {
                Tone::Bad
            } else {
                Tone::Neutral
            },
            active: hit == Some(rule),
            ..Card::default()
        }
    };
    Panel {
        id: "audit".to_owned(),
        title: "Rules against cheating".to_owned(),
        help: "Breaking one of these rules ends the episode at once.".to_owned(),
        summary: match hit {
            Some(_) => "one was broken".to_owned(),
            None => "none was broken".to_owned(),
        },
        layout: Layout::Counters,
        cards: Exploit::ALL.iter().map(|rule| card(*rule)).collect(),
        aside: true,
        folded: hit.is_none(),
        ..Panel::default()
    }
}

/// Returns the count toward a rule so far, in words.
fn count(o: &Observation, rule: Exploit) -> String {
    let steps = o.history.len();
    let share = |count: usize| format!("{count} of {steps} steps");
    match rule {
        Exploit::ActionLoop => format!("{} in a row", in_a_row(o)),
        Exploit::KeepAbuse => share(o.history.count(|kind| kind == ActKind::KeepRegimen)),
        Exploit::ReviewAbuse => share(o.history.count(ActKind::is_review)),
        Exploit::NoopHighRisk => {
            let last = o.history.last().and_then(|past| past.act);
            let kept = last.is_some_and(|act| act.kind == ActKind::KeepRegimen);
            match (o.has_serious_flag(), kept) {
                (false, _) => "no such pair",
                (true, true) => "kept once",
                (true, false) => "pair flagged",
            }
            .to_owned()
        }
        Exploit::FailedRetry => {
            let empty = o.history.iter().filter(|past| {
                let asked = past.act.is_some_and(|act| act.kind.is_information());
                asked && past.violation.is_none() && !past.gained
            });
            format!("{} without a result", empty.count())
        }
        Exploit::IllegalChoice => {
            let unknown = o.history.iter().filter(|past| past.act.is_none());
            format!("{} not shown", unknown.count())
        }
        // The only trace of either is the end of the episode.
        Exploit::CandidateMismatch | Exploit::ParserExploit => "–".to_owned(),
    }
}

/// Returns how often the last act was chosen without another act in between.
fn in_a_row(o: &Observation) -> usize {
    let Some(last) = o.history.last().and_then(|past| past.act) else {
        return 0;
    };
    let again = o.history.iter().rev();
    again.take_while(|past| past.act == Some(last)).count()
}
