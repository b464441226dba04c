//! What the anti-cheat saw up to the cursor, rule by rule (spec polyguard §8).

use sentinel_env::Environment;
use std::fmt::Write;

use leptos::prelude::*;
use sentinel_env::polyguard::{Exploit, Kind, Observation};

use super::{Polyguard, words};
use crate::play::Frame;
use crate::ui::{Scene, tip};

/// The card.
pub(super) fn audit(scene: Scene<Polyguard>) -> impl IntoView {
    let markup = Memo::new(move |_| scene.with_frame(seen));
    view! { <section class="card cheats" aria-label="Anti-cheat" inner_html=markup></section> }
}

/// Words and numbers of ours only, so nothing needs escaping.
fn seen(frame: &Frame<Polyguard>) -> String {
    let o = frame.episode.observation();
    let hit = frame.step.as_ref().and_then(|turn| turn.step.exploit);
    let mut out = "<h3>What the anti-cheat saw</h3>".to_owned();
    out += &match hit {
        Some(why) => format!(
            "<p class=\"note bad\">It ended the episode: {}.</p>",
            words::exploit(why)
        ),
        None if o.history.is_empty() => {
            "<p class=\"quiet\">Nothing yet. These rules end an episode at once.</p>".to_owned()
        }
        None => {
            "<p class=\"quiet\">Nothing that is cheating. These rules end an episode at once.</p>"
                .to_owned()
        }
    };
    out += "<ul class=\"rules\">";
    for rule in Exploit::ALL {
        let class = match hit {
            Some(hit) if hit == rule => "hit",
            _ => "",
        };
        // A `String` takes all that is written to it.
        let _ = write!(
            out,
            "<li class=\"{class}\" data-rule=\"{}\">{}<span class=\"num\">{}</span></li>",
            rule.name(),
            tip(&words::spaced(rule.name()), words::exploit(rule)),
            count(o, rule)
        );
    }
    out + "</ul>"
}

/// What counts towards a rule so far.
fn count(o: &Observation, rule: Exploit) -> String {
    let steps = o.history.len();
    let share = |count: usize| format!("{count} of {steps} steps");
    match rule {
        Exploit::ActionLoop => format!("{} in a row", in_a_row(o)),
        Exploit::KeepAbuse => share(o.history.count(|kind| kind == Kind::KeepRegimen)),
        Exploit::ReviewAbuse => share(o.history.count(Kind::is_review)),
        Exploit::NoopHighRisk => {
            let last = o.history.last().and_then(|past| past.act);
            let kept = last.is_some_and(|act| act.kind == Kind::KeepRegimen);
            match (o.has_serious_flag(), kept) {
                (false, _) => "no such pair".to_owned(),
                (true, true) => "kept once".to_owned(),
                (true, false) => "pair flagged".to_owned(),
            }
        }
        Exploit::FailedRetry => {
            let empty = o.history.iter().filter(|past| {
                let asked = past.act.is_some_and(|act| act.kind.is_information());
                asked && past.violation.is_none() && !past.gained
            });
            format!("{} in vain", empty.count())
        }
        Exploit::IllegalChoice => {
            let unknown = o.history.iter().filter(|past| past.act.is_none());
            format!("{} not shown", unknown.count())
        }
        // Neither leaves a trace but the end.
        Exploit::CandidateMismatch | Exploit::ParserExploit => match o.end {
            Some(_) if steps == 0 => String::new(),
            _ => "–".to_owned(),
        },
    }
}

/// How often the last act was done without another between.
fn in_a_row(o: &Observation) -> usize {
    let Some(last) = o.history.last().and_then(|past| past.act) else {
        return 0;
    };
    let again = o.history.iter().rev();
    again.take_while(|past| past.act == Some(last)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::play;
    use crate::state::{Source, View};
    use crate::world::Files;
    use sentinel_env::polyguard::TaskSpec;
    use sentinel_policy::polyguard::PolicyName;

    /// Keeping and keeping again is caught, and the card says by which rule.
    #[test]
    fn what_is_caught_is_named() {
        let mut caught = 0;
        for case in TaskSpec::ALL {
            let view = View::<Polyguard> {
                task: case,
                seed: 2,
                ..View::default()
            };
            let run = play(
                &view,
                &Source::Policy(PolicyName::NoChange),
                None,
                Files::default(),
            );
            let last = run.at(usize::MAX);
            let exploit = last.step.as_ref().and_then(|turn| turn.step.exploit);
            let markup = seen(last);
            assert_eq!(markup.matches("data-rule").count(), Exploit::ALL.len());
            assert_eq!(
                markup.matches("class=\"hit\"").count(),
                usize::from(exploit.is_some()),
                "{case}"
            );
            assert_eq!(markup.contains("It ended the episode"), exploit.is_some());
            caught += usize::from(exploit.is_some());
            assert!(seen(run.at(0)).contains("Nothing yet"));
        }
        assert!(
            caught > 12,
            "hardly anything was caught: the test shows nothing"
        );
    }
}
