//! The polyguard world's implementations of the traits that all worlds share.

use sentinel_env::Environment;
use sentinel_env::polyguard::{
    Action, CandidateId, Choice, Claim, Confidence, Exploit, MAX_CANDIDATES, Observation,
    PolyguardEnv, RationaleTerms, Setup, Violation, scenario_id,
};
use sentinel_env::rng::Streams;
use serde_json::{Value, json};

use super::{PolicyName, constant_policies};
use crate::playable::{Playable, Roles, Scripted};
use crate::policy::{ConstantPolicy, Player};
use crate::replay::{Diagnostic, EpisodeRows, Fields, Recordable, RowError};
use crate::text::check_transcripts;

impl Scripted for PolicyName {
    type World = PolyguardEnv;

    fn is_privileged(self) -> bool {
        self.is_privileged()
    }

    fn start(self, setup: &Setup) -> Player<PolyguardEnv> {
        self.player(setup.seed, Streams::Independent)
    }
}

impl Recordable for PolyguardEnv {
    const ACTION_DIM: usize = MAX_CANDIDATES;

    fn scenario_id(&self) -> String {
        scenario_id(self.setup())
    }

    /// Returns the action that keeps the regimen.
    fn fallback(observation: &Observation) -> Action {
        Action::with_grounded_rationale(observation, CandidateId::FIRST)
    }

    fn to_recorded(observation: &Observation, action: Action) -> Action {
        action.with_normalized_claim(observation)
    }

    fn write_action(action: Action) -> Vec<(&'static str, Value)> {
        match action {
            Action::Choose(choice) => chosen(&choice),
            Action::Invalid(why) => vec![
                ("candidate_id", Value::Null),
                ("invalid", json!(why.name())),
            ],
            Action::Exploit => {
                vec![("candidate_id", Value::Null), ("invalid", json!(EXPLOIT))]
            }
        }
    }

    fn read_action(fields: &mut Fields) -> Result<Action, RowError> {
        let Some(name) = fields.take_word("candidate_id")? else {
            let why = fields.take_required_word("invalid")?;
            let unknown =
                || RowError::Action(format!("invalid is {why:?}, which is not a known reason"));
            let action = match why.as_str() {
                EXPLOIT => Action::Exploit,
                _ => Action::Invalid(Violation::parse(&why).ok_or_else(unknown)?),
            };
            return Ok(action);
        };
        let unknown = || RowError::Action(format!("candidate_id {name:?}: use cand_01 to cand_10"));
        let id = CandidateId::parse(&name).ok_or_else(unknown)?;
        let rationale = fields.take_string("rationale")?.unwrap_or_default();
        let choice = Choice {
            confidence: confidence(fields)?,
            cites: RationaleTerms::from_text(&rationale),
            repaired: fields.take_bool("repaired")?.unwrap_or(false),
            fallback: fields.take_bool("fallback")?.unwrap_or(false),
            claim: Claim {
                unknown: fields.take_bool("mismatch")?.unwrap_or(false),
                ..Claim::default()
            },
            ..Choice::new(id)
        };
        Ok(Action::Choose(choice))
    }

    fn check_transcripts(rows: &EpisodeRows<Self>, setup: &Setup) -> Vec<Diagnostic> {
        check_transcripts(rows, setup)
    }
}

impl Playable for PolyguardEnv {
    const ROLES: Roles = Roles {
        random: "random",
        heuristic: "rules_only",
        // No scripted policy is better than the rules; the best known public policy is the trained
        // one.
        planner: "trained",
        oracle: "oracle",
    };
    type PolicyName = PolicyName;

    fn constants() -> Vec<ConstantPolicy<Self>> {
        constant_policies::constant_policies()
    }
}

/// Value under `invalid` for a completion made to confuse the parser.
const EXPLOIT: &str = Exploit::ParserExploit.name();

fn chosen(choice: &Choice) -> Vec<(&'static str, Value)> {
    let mut keys = vec![("candidate_id", json!(choice.id.name()))];
    if !choice.cites.is_empty() {
        keys.push(("rationale", json!(choice.cites.names().join(" "))));
    }
    if let Some(confidence) = choice.confidence {
        keys.push(("confidence", json!(confidence.value())));
    }
    let flags = [
        ("repaired", choice.repaired),
        ("fallback", choice.fallback),
        ("mismatch", choice.claim != Claim::default()),
    ];
    let set = flags.into_iter().filter(|(_, on)| *on);
    keys.extend(set.map(|(name, on)| (name, json!(on))));
    keys
}

fn confidence(fields: &mut Fields) -> Result<Option<Confidence>, RowError> {
    let Some(value) = fields.take("confidence") else {
        return Ok(None);
    };
    let known = value.as_f64().and_then(Confidence::new);
    let wrong = || RowError::Action(format!("confidence is {value}: use a number from 0 to 1"));
    known.map(Some).ok_or_else(wrong)
}
