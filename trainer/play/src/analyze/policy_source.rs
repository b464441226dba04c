//! A policy that sees observations only, which is loaded by its name: a scripted policy or a compact model.
//! It plays continuation rollouts, and labels the rows of a corpus.

use std::path::Path;
use std::sync::Arc;

use sentinel_base::Error;
use sentinel_base::arg_parsers::EvalPolicy;
use sentinel_base::provenance::Provenance;
use sentinel_env::Named as _;
use sentinel_env::rules::Rules;
use sentinel_policy::Scripted as _;
use sentinel_policy::analysis::{Analyzable, ContinuationPolicy, RestartedPolicy};
use sentinel_policy::nn::{Model, Published, TrainedPolicy};
use sentinel_policy::policy::Player;

use crate::compact_model;
use crate::eval::Evaluated;

/// A world whose replays can be analyzed.
pub trait Analyzed: Evaluated + Published + Analyzable<Observation: Clone> {
    /// `true` if results must say that they are for research only.
    const RESEARCH_ONLY: bool = false;

    /// Returns the folder of the compact model that plays under `rules`: `named`, or else the committed one.
    fn model_folder(named: Option<&Path>, rules: Rules<Self::Change>) -> &Path {
        named.unwrap_or(Path::new(Self::published_model(rules)))
    }
}

/// A policy that sees observations only, from which players of episodes are created.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicySource<W: Analyzed> {
    /// A compact model, whose most probable action is taken.
    Trained(Arc<Model<W::Net>>),
    /// A scripted policy that does not read hidden state.
    Scripted(W::PolicyName),
}

impl<W: Analyzed> PolicySource<W> {
    /// Loads the policy `name`. `trained` loads the compact model in the folder `model`, or the committed one
    /// of the world for `rules`, and adds its digest to `provenance`. `options` are the names that errors
    /// give the options of the policy and of the model.
    ///
    /// # Errors
    /// Returns an error if there is no such policy, it reads hidden state, the model cannot be read, or
    /// `model` is given for a scripted policy.
    pub fn load(
        name: &str,
        model: Option<&Path>,
        rules: Rules<W::Change>,
        options: [&'static str; 2],
        provenance: &mut Provenance,
    ) -> Result<Self, Error> {
        let [policy_option, model_option] = options;
        let wrong = |reason: String| Error::argument(policy_option, reason);
        let known = EvalPolicy::<W>::parse_list(name);
        let policy = match known.as_deref() {
            Ok([policy]) => *policy,
            Ok(_) => return Err(wrong("name one policy".to_owned())),
            Err(Error::Argument { reason, .. }) => return Err(wrong(reason.clone())),
            Err(error) => return Err(wrong(error.to_string())),
        };
        match (policy, model) {
            (EvalPolicy::Scripted(_), Some(_)) => Err(Error::argument(
                model_option,
                format!("only policy trained plays a model: leave out {policy_option} {name}"),
            )),
            (EvalPolicy::Scripted(name), None) if name.is_privileged() => Err(wrong(format!(
                "{} reads hidden state: use a policy that sees observations only, or trained",
                name.name()
            ))),
            (EvalPolicy::Scripted(name), None) => Ok(Self::Scripted(name)),
            (EvalPolicy::Trained, _) => {
                let folder = W::model_folder(model, rules);
                let mut what = format!("model of {}", W::NAME);
                if model.is_none() {
                    let path = folder.display();
                    if !folder.exists() {
                        let reason = format!(
                            "the committed model {path} is not here: name its folder, or a scripted \
                             policy by {policy_option}"
                        );
                        return Err(Error::argument(model_option, reason));
                    }
                    // A file with episodes under several rules is played by both committed models.
                    what += &format!(", {path}");
                }
                let model = compact_model::load_model(folder)?;
                provenance.add_model(&what, folder)?;
                Ok(Self::Trained(Arc::new(model)))
            }
        }
    }

    /// Returns the policy's name in files and on the command line.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Trained(_) => EvalPolicy::<W>::Trained.name(),
            Self::Scripted(name) => name.name(),
        }
    }

    /// Returns a copyable player for an episode of `setup`, which has observed nothing yet.
    #[must_use]
    pub fn start(&self, setup: &W::Setup) -> Box<dyn ContinuationPolicy<W>> {
        match self {
            Self::Trained(model) => Box::new(TrainedPolicy::new(Arc::clone(model))),
            Self::Scripted(name) => match RestartedPolicy::new(*name, setup) {
                Some(policy) => Box::new(policy),
                // `load` accepts no policy that reads hidden state.
                None => unreachable!("a policy became privileged"),
            },
        }
    }

    /// Returns a player for an episode of `setup`, which has observed nothing yet.
    #[must_use]
    pub fn player(&self, setup: &W::Setup) -> Player<W> {
        match self {
            Self::Trained(model) => Player::Public(Box::new(TrainedPolicy::new(Arc::clone(model)))),
            Self::Scripted(name) => name.start(setup),
        }
    }
}
