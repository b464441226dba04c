//! Training of a compact policy in the page: the update is that of `sentinel train`, played and learned in
//! one Web Worker.
//!
//! It must never know how anything is drawn. `run.rs` is a run of one world: phases, updates, evaluations;
//! `evaluation.rs` makes the report of an evaluation.

mod evaluation;
mod run;

use std::collections::VecDeque;

use sentinel_env::{WorldName, in_world};
use sentinel_page_engine::worker::Program;
use sentinel_page_protocol::{
    DeferredReply, LearnerRequest, Reply, Request, TrainingSpec, TrainingUpdate, decode,
};

use run::{Run, TrainingRun};

/// The engine that trains. Requests that concern episodes are ignored.
#[derive(Default)]
pub struct Learner {
    /// Number of the run, with the run itself.
    running: Option<(u32, Box<dyn TrainingRun>)>,
    /// Number of updates that the run may take.
    allowed: u32,
    /// Milliseconds of updates and evaluations of the run.
    worked_ms: f64,
    replies: VecDeque<Reply>,
}

impl std::fmt::Debug for Learner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Learner")
    }
}

impl Program for Learner {
    fn handle(&mut self, request: Request) {
        let Request::Learner(request) = request else {
            return;
        };
        match decode(&request) {
            Ok(LearnerRequest::Train { run, spec }) => self.start(run, spec),
            Ok(LearnerRequest::Learn { run, updates }) if self.is_running(run) => {
                self.allowed = updates;
            }
            Ok(LearnerRequest::TakeModel { run }) if self.is_running(run) => self.send_model(),
            // A request about a run that is over.
            Ok(_) => {}
            Err(_) => self.replies.push_back(Reply::Problem(
                "The page and its trainer have different versions. Reload the page.".to_owned(),
            )),
        }
    }

    fn work(&mut self, mut is_time_up: impl FnMut() -> bool) -> bool {
        loop {
            let Some((run, training)) = &mut self.running else {
                return false;
            };
            let evaluates = training.owes_evaluation();
            if !training.has_work() || (self.allowed == 0 && !evaluates) {
                return false;
            }
            if !evaluates {
                self.allowed -= 1;
            }
            let start = now_ms();
            let state = training.advance();
            self.worked_ms += now_ms() - start;
            let (run, worked_ms) = (*run, self.worked_ms);
            self.report(TrainingUpdate {
                run,
                worked_ms,
                ..state
            });
            if is_time_up() {
                return true;
            }
        }
    }

    fn next_reply(&mut self) -> Option<Reply> {
        self.replies.pop_front()
    }
}

impl Learner {
    fn is_running(&self, run: u32) -> bool {
        self.running.as_ref().is_some_and(|(own, _)| *own == run)
    }

    fn report(&mut self, update: TrainingUpdate) {
        let reply = DeferredReply::Training(Box::new(update));
        self.replies.push_back(reply.into());
    }

    fn start(&mut self, run: u32, spec: TrainingSpec) {
        (self.running, self.allowed, self.worked_ms) = (None, 0, 0.0);
        let training = WorldName::parse(&spec.world)
            .ok_or_else(|| format!("There is no world {:?}.", spec.world))
            .and_then(|world| in_world!(world, W => boxed(Run::<W>::new(spec))));
        match training {
            Ok(training) => {
                self.report(TrainingUpdate {
                    run,
                    ..training.state()
                });
                self.running = Some((run, training));
            }
            Err(reason) => {
                self.report(TrainingUpdate {
                    run,
                    failure: format!("Training cannot start: {reason}."),
                    ..TrainingUpdate::default()
                });
            }
        }
    }

    fn send_model(&mut self) {
        let Some((run, training)) = &self.running else {
            return;
        };
        let (run, model) = (*run, training.model());
        self.replies.push_back(match model {
            Ok(content) => DeferredReply::TrainedModel { run, content }.into(),
            Err(reason) => Reply::Problem(reason),
        });
    }
}

/// Returns the time in milliseconds; always 0 outside a browser, where nobody looks at it.
fn now_ms() -> f64 {
    #[cfg(target_family = "wasm")]
    return js_sys::Date::now();
    #[cfg(not(target_family = "wasm"))]
    return 0.0;
}

fn boxed<W: sentinel_compact::Learn + sentinel_page_engine::PageWorld>(
    run: Result<Run<W>, String>,
) -> Result<Box<dyn TrainingRun>, String> {
    Ok(Box::new(run?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_env::trust::TrustEnv;
    use sentinel_policy::nn::{Model, NetworkWorld};

    fn spec(world: &str, seed: u64) -> TrainingSpec {
        TrainingSpec {
            world: world.to_owned(),
            rules: "hardened".to_owned(),
            seed,
            episodes: Some(12),
            group_size: Some(4),
            hidden: Some(8),
            ..TrainingSpec::default()
        }
    }

    fn take_replies(learner: &mut Learner) -> Vec<DeferredReply> {
        while learner.work(|| true) {}
        let replies = std::iter::from_fn(|| learner.next_reply());
        let decoded = replies.map(|reply| match reply {
            Reply::Deferred(bytes) => decode(&bytes).expect("a reply of the learner"),
            other => panic!("{other:?}"),
        });
        decoded.collect()
    }

    fn updates(replies: &[DeferredReply]) -> Vec<TrainingUpdate> {
        let update = |reply: &DeferredReply| match reply {
            DeferredReply::Training(update) => Some((**update).clone()),
            _ => None,
        };
        replies.iter().filter_map(update).collect()
    }

    /// Trains for some updates, and returns what the learner said.
    fn train(learner: &mut Learner, spec: TrainingSpec, count: u32) -> Vec<TrainingUpdate> {
        learner.handle(LearnerRequest::Train { run: 1, spec }.into());
        learner.handle(
            LearnerRequest::Learn {
                run: 1,
                updates: count,
            }
            .into(),
        );
        updates(&take_replies(learner))
    }

    #[test]
    fn every_world_learns_and_evaluates() {
        for world in WorldName::ALL {
            let world = world.name();
            let all = train(&mut Learner::default(), spec(world, 1), 4);
            let first = &all[0];
            assert_eq!((first.updates, first.failure.as_str()), (0, ""), "{world}");
            assert!(first.command.contains(&format!("--world {world}")));
            assert!(!first.validation.tasks.is_empty());
            let scores: Vec<_> = all.iter().filter_map(|update| update.evaluation).collect();
            assert_eq!(scores.len(), 2, "{world}: before the first and after 4");
            assert!(scores.iter().all(|s| s.mean > 0.0 && s.half_width > 0.0));
            for update in &all {
                let evaluated = update.evaluation.is_some();
                let rates = (3..=4).contains(&update.rates.len());
                assert_eq!((rates, update.attempt.is_some()), (evaluated, evaluated));
                assert!(update.rates.iter().all(|rate| rate.count <= rate.of));
            }
            let last = &all[all.len() - 1];
            assert_eq!(last.updates, 4, "{world}");
            assert!(last.env_steps > 0 && last.digest != first.digest, "{world}");
        }
    }

    /// The same settings give the same weights, in one go or step by step; another seed gives others.
    #[test]
    fn a_run_is_a_function_of_its_settings() {
        let digest = |updates: &[TrainingUpdate]| updates[updates.len() - 1].digest.clone();
        let whole = digest(&train(&mut Learner::default(), spec("trust", 1), 3));
        let mut stepwise = Learner::default();
        train(&mut stepwise, spec("trust", 1), 1);
        for _ in 0..2 {
            stepwise.handle(LearnerRequest::Learn { run: 1, updates: 1 }.into());
        }
        assert_ne!(
            digest(&updates(&take_replies(&mut stepwise))),
            whole,
            "two requests, one update"
        );
        stepwise.handle(LearnerRequest::Learn { run: 1, updates: 1 }.into());
        assert_eq!(digest(&updates(&take_replies(&mut stepwise))), whole);
        let other = digest(&train(&mut Learner::default(), spec("trust", 2), 3));
        assert_ne!(other, whole);
    }

    #[test]
    fn the_policy_can_be_taken_away() {
        let mut learner = Learner::default();
        train(&mut learner, spec("trust", 1), 1);
        learner.handle(LearnerRequest::TakeModel { run: 1 }.into());
        let replies = take_replies(&mut learner);
        let [DeferredReply::TrainedModel { content, run: 1 }] = &replies[..] else {
            panic!("{replies:?}");
        };
        let model = Model::<<TrustEnv as NetworkWorld>::Net>::from_bytes(content).expect("a model");
        assert_eq!(model.config.rules_name(), "hardened");
    }

    /// A setting that is not possible, and a rate at which the numbers overflow, end the run with a
    /// sentence.
    #[test]
    fn a_run_that_fails_says_why() {
        for wrong in [
            TrainingSpec {
                group_size: Some(1),
                ..spec("trust", 1)
            },
            TrainingSpec {
                episodes: Some(0),
                ..spec("trust", 1)
            },
            TrainingSpec {
                rules: "none".to_owned(),
                ..spec("trust", 1)
            },
            TrainingSpec {
                entropy: "much".to_owned(),
                ..spec("trust", 1)
            },
            TrainingSpec {
                hidden: Some(u32::MAX),
                ..spec("trust", 1)
            },
            TrainingSpec {
                episodes: Some(u32::MAX),
                ..spec("trust", 1)
            },
            // A later phase has this setting.
            TrainingSpec {
                group_size: Some(u32::MAX),
                ..spec("cluster", 1)
            },
            TrainingSpec {
                learning_rate: "-1".to_owned(),
                ..spec("polyguard", 1)
            },
            spec("nowhere", 1),
        ] {
            let all = train(&mut Learner::default(), wrong, 1);
            assert!(
                all.len() == 1 && all[0].failure.starts_with("Training cannot start: "),
                "{all:?}"
            );
        }
        let wild = TrainingSpec {
            learning_rate: "1e38".to_owned(),
            ..spec("trust", 1)
        };
        let mut learner = Learner::default();
        let all = train(&mut learner, wild, 20);
        assert!(
            all[all.len() - 1].failure.starts_with("Training ended: "),
            "{all:?}"
        );
        assert!(!learner.work(|| false), "it must not go on");
    }
}
