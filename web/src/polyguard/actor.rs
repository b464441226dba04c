//! Who acts in the PolyGuard world, and what its trained policy says of itself.

use sentinel_env::Environment;
use sentinel_env::World;
use std::sync::Arc;

use sentinel_env::polyguard::{Episode, PolyguardEnv};
use sentinel_policy::nn::Model;
use sentinel_policy::policy::Policy;
use sentinel_policy::polyguard::learned::{PolyguardNet, Trained};
use sentinel_policy::polyguard::{
    BeamSearch, GreedyRegimen, Mode, NoChange, Oracle, Player, PolicyName, Random, RulesOnly,
    Stack, StackConfig,
};
use sentinel_policy::replay::ReplayEpisode;

use super::pick::Pick;
use super::{Mind, Polyguard, setup};
use crate::play::{Acting, Recording};
use crate::state::{Source, View};
use crate::text::grouped;
use crate::world::{self, Files};

/// Where the weights lie.
pub(super) const WEIGHTS: &str = "replays/polyguard-grpo/model.safetensors";

/// A player, or a recording.
pub struct Actor {
    who: Who,
    /// Whether what was chosen last was chosen for the moment that was watched last.
    fresh: bool,
}

enum Who {
    Alone(Acting<PolyguardEnv>),
    /// Agents that say what each of them thinks.
    Stack(Box<Stack>),
}

/// The policies that the page plays. Those that were fitted to data play elsewhere only: their tables would be an
/// eighth of this world's share of the first load.
pub(super) const PLAYERS: [PolicyName; 10] = [
    PolicyName::Random,
    PolicyName::NoChange,
    PolicyName::GreedyRegimen,
    PolicyName::RulesOnly,
    PolicyName::BeamSearchPlanner,
    PolicyName::StackDebate,
    PolicyName::StackRouted,
    PolicyName::Stack,
    PolicyName::StackReplan,
    PolicyName::Oracle,
];

/// Steps that the oracle looks ahead.
const ORACLE_DEPTH: u8 = 2;

/// Who plays as this policy in the episode `seed`; nobody where the page does not play it.
fn player(policy: PolicyName, seed: u64) -> Option<Who> {
    let public: Box<dyn Policy<PolyguardEnv>> = match policy {
        PolicyName::Random => Box::new(Random::new(seed)),
        PolicyName::NoChange => Box::new(NoChange),
        PolicyName::GreedyRegimen => Box::new(GreedyRegimen),
        PolicyName::RulesOnly => Box::new(RulesOnly),
        PolicyName::BeamSearchPlanner => Box::new(BeamSearch),
        PolicyName::Oracle => {
            let oracle = Player::Privileged(Box::new(Oracle::new(ORACLE_DEPTH)));
            return Some(Who::Alone(Acting::Playing(oracle)));
        }
        _ => {
            return Some(Who::Stack(Box::new(Stack::new(StackConfig::new(mode(
                policy,
            )?)))));
        }
    };
    Some(Who::Alone(Acting::Playing(Player::Public(public))))
}

/// How the agents of a policy work together; none where it has no agents.
fn mode(policy: PolicyName) -> Option<Mode> {
    Some(match policy {
        PolicyName::Stack => Mode::SequentialPipeline,
        PolicyName::StackRouted => Mode::SupervisorRouted,
        PolicyName::StackReplan => Mode::ReplanOnVeto,
        PolicyName::StackDebate => Mode::LightweightDebate,
        _ => return None,
    })
}

/// Who acts for a source; nobody when its file is not there.
pub(super) fn actor(
    view: &View<Polyguard>,
    source: &Source<Polyguard>,
    files: Files<'_, Polyguard>,
) -> Option<Actor> {
    let who = match source {
        Source::Policy(policy) => player(*policy, view.seed)?,
        Source::Trained => {
            let trained = Trained::new(Arc::clone(files.model?));
            Who::Alone(Acting::Playing(Player::Public(Box::new(trained))))
        }
        Source::Replay(_) => {
            let key = PolyguardEnv::origin(&setup(view));
            let recorded = ReplayEpisode::new(files.replay?, &key);
            Who::Alone(Acting::Recorded(Box::new(recorded)))
        }
        Source::You => return None,
    };
    Some(Actor { who, fresh: false })
}

impl world::Actor<Polyguard> for Actor {
    fn act(&mut self, episode: &Episode) -> (Option<Pick>, bool) {
        self.fresh = true;
        let o = episode.observation();
        let (action, missed) = match &mut self.who {
            Who::Alone(acting) => acting.choose(episode),
            Who::Stack(_) if o.done() => (None, false),
            Who::Stack(stack) => (Some(stack.choose(o)), false),
        };
        (action.map(|action| Pick::of(o, action)), missed)
    }

    fn watch(&mut self, episode: &Episode) {
        self.fresh = false;
        match &mut self.who {
            Who::Alone(acting) => acting.see(episode),
            Who::Stack(stack) => stack.observe(episode.observation()),
        }
    }

    fn mind(&self, episode: &Episode) -> Mind {
        Mind {
            probabilities: match &self.who {
                Who::Alone(acting) => acting.probabilities(episode),
                Who::Stack(_) => None,
            },
            ..Mind::default()
        }
    }

    fn weigh(&self, mind: &mut Mind) {
        // Where a person acted nobody was asked, and what was said before is about another moment.
        if !self.fresh {
            return;
        }
        match &self.who {
            Who::Alone(acting) => mind.values = acting.values(),
            Who::Stack(stack) => {
                let trace = stack.last_trace();
                mind.trace = trace.map_or_else(Vec::new, |trace| trace.entries().into());
            }
        }
    }

    fn recording(&self, episode: &Episode) -> Option<Recording> {
        match &self.who {
            Who::Alone(acting) => acting.recording(episode),
            Who::Stack(_) => None,
        }
    }
}

/// What a model says of itself: name, and size.
pub(super) fn words(model: &Model<PolyguardNet>) -> String {
    format!(
        "Model “{}”: 2 layers of {} hidden units over the candidates, {} parameters. It knows medicines by their traits only",
        model.config.name,
        model.config.net.hidden,
        grouped(model.weights.count())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::play;
    use crate::state::Branch;
    use sentinel_env::Environment;
    use sentinel_env::polyguard::{CandidateId, TaskSpec};
    use sentinel_policy::nn::{ModelConfig, Weights};

    fn view(case: TaskSpec) -> View<Polyguard> {
        View {
            task: case,
            seed: 11,
            ..View::default()
        }
    }

    /// The page asks the agents itself, to hear them; it plays what the policy of that name plays.
    #[test]
    fn every_player_does_what_it_does_elsewhere_and_stacks_are_heard() {
        for case in TaskSpec::ALL.into_iter().step_by(5) {
            for policy in PLAYERS {
                let view = view(case);
                let run = play(&view, &Source::Policy(policy), None, Files::default());
                let mut player = policy.player(view.seed, view.streams);
                let mut episode = Episode::reset(&setup(&view));
                for (index, _, turn) in run.steps() {
                    let action = player.act(&episode).expect("not over");
                    assert_eq!(turn.step.action, action, "{case} {policy:?} {index}");
                    episode.step(action).expect("not over");
                    let heard = &run.frames[index - 1].mind.trace;
                    assert_eq!(!heard.is_empty(), mode(policy).is_some(), "{policy:?}");
                }
                assert!(run.done() && episode.observation().done(), "{policy:?}");
            }
        }
    }

    /// Where a person acts, nobody is asked, and nothing is shown as said.
    #[test]
    fn what_was_said_belongs_to_the_moment() {
        let branch = Branch {
            at: 1,
            actions: vec![Pick::Explained(CandidateId::FIRST)],
            resume: false,
        };
        let view = view(TaskSpec::ALL[4]);
        let stack = Source::Policy(PolicyName::Stack);
        let run = play(&view, &stack, Some(&branch), Files::default());
        let heard: Vec<bool> = run
            .frames
            .iter()
            .map(|f| !f.mind.trace.is_empty())
            .collect();
        assert_eq!(heard, [true, false, false]);
    }

    #[test]
    fn the_trained_policy_says_how_likely_each_candidate_is() {
        let net = PolyguardNet::default();
        let model = Arc::new(Model {
            config: ModelConfig::new("test", net),
            weights: Weights::init(net, 7),
        });
        let files = Files {
            model: Some(&model),
            replay: None,
        };
        let run = play(&view(TaskSpec::ALL[0]), &Source::Trained, None, files);
        assert!(run.done() && run.whole);
        for frame in &run.frames[..run.last()] {
            let all = frame.mind.probabilities.expect("before the end");
            assert!((all.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
        assert_eq!(run.at(usize::MAX).mind.probabilities, None);
        // Nobody stands in for weights that are missing.
        let nobody = play(
            &view(TaskSpec::ALL[0]),
            &Source::Trained,
            None,
            Files::default(),
        );
        assert_eq!((nobody.last(), nobody.done()), (0, false));
    }
}
