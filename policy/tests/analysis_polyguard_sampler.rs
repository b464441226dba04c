//! The sampler of PolyGuard's hidden state for the analysis: its distribution at the start of an
//! episode, and its agreement with what is read later.

use sentinel_env::polyguard::{self, PolyguardEnv, TaskSpec};
use sentinel_env::{Environment, PrivilegedState};
use sentinel_policy::Scripted;
use sentinel_policy::analysis::{Evidence as _, Trajectory};
use sentinel_policy::polyguard::{PolicyName, PolyguardEvidence};
use sentinel_policy::rollout::run_steps;

/// Plays an episode with a scripted policy.
fn played(name: PolicyName, setup: &polyguard::Setup) -> Trajectory<PolyguardEnv> {
    let (mut player, mut actions) = (name.start(setup), Vec::new());
    let choose = |episode: &PolyguardEnv| {
        let action = player.act(episode)?;
        actions.push(action);
        Some(action)
    };
    run_steps(setup, choose, |_, _| ());
    let played = Trajectory::new(PolyguardEnv::reset(setup), actions);
    played.unwrap_or_else(|(at, e)| panic!("{at}: {e}"))
}

/// Means over the cells of the difference between sampled and true values: what is drawn at the
/// start of an episode has the distribution of the generator.
#[test]
fn polyguard_sampler_is_calibrated_at_the_start() {
    let mut bias = [0.0; 4];
    let mut worst: (f64, &str) = (0.0, "");
    for case in TaskSpec::ALL {
        let mut sums = [[0.0; 4]; 2];
        for seed in 0..200 {
            let episode = PolyguardEnv::reset(&polyguard::Setup::new(case, seed));
            let mut evidence = PolyguardEvidence::default();
            evidence.observe(None, episode.observation());
            for draw in 0..4 {
                let sampled = evidence.sample(episode.observation(), 4 * seed + draw);
                assert_eq!(sampled.observation(), episode.observation());
                for (sums, episode) in sums.iter_mut().zip([&episode, &sampled]) {
                    let hidden = episode.hidden();
                    let rows = 0..episode.observation().regimen.len();
                    let needed = rows.filter(|place| hidden.truth(*place).needed).count();
                    sums[0] += hidden.start.risk / 800.0;
                    sums[1] += hidden.start.stability / 800.0;
                    sums[2] += hidden.issues().count() as f64 / 800.0;
                    sums[3] += needed as f64 / 800.0;
                }
            }
        }
        let off = sums[1][0] - sums[0][0];
        if off.abs() > worst.0.abs() {
            worst = (off, case.name());
        }
        for (bias, (sampled, actual)) in bias.iter_mut().zip(sums[1].iter().zip(sums[0])) {
            *bias += (sampled - actual) / TaskSpec::ALL.len() as f64;
        }
    }
    let text = format!("risk, stability, issues, needed: {bias:.3?}; risk of {worst:.3?}");
    assert!(bias[0].abs() < 0.008 && bias[1].abs() < 0.008, "{text}");
    assert!(bias[2].abs() < 0.02 && bias[3].abs() < 0.08, "{text}");
    assert!(worst.0.abs() < 0.045, "{text}");
}

#[test]
fn polyguard_sampler_agrees_with_what_was_read_later() {
    // Taken along the way: the eGFR, a level, the status of a medicine, the components.
    let (mut labs, mut levels, mut parts) = (0, 0, 0);
    for (number, case) in TaskSpec::ALL.into_iter().enumerate() {
        let setup = polyguard::Setup::new(case, number as u64);
        let played = played(PolicyName::Random, &setup);
        let mut evidence = PolyguardEvidence::default();
        let actions = played.actions().iter().copied().map(Some);
        for (state, led) in played
            .states()
            .iter()
            .zip([None].into_iter().chain(actions))
        {
            let o = state.observation();
            if o.done() {
                break;
            }
            evidence.observe(led, o);
            let sampled = evidence.sample(o, 5);
            assert_eq!(sampled.observation(), o, "{case}");
            if let Some(egfr) = o.egfr() {
                assert_eq!(sampled.hidden().egfr(), egfr);
                labs += 1;
            }
            if o.components.is_some() {
                assert_eq!(sampled.hidden().components, o.components);
                parts += 1;
            }
            for (place, row) in o.regimen.iter().enumerate() {
                if row.stale && row.status.is_some() {
                    let [found, actual] = [&sampled, state].map(|s| s.hidden().truth(place).needed);
                    assert_eq!(found, actual, "{case}");
                }
            }
            let last = o.history.last().and_then(|past| past.act?.drug);
            let read = last.and_then(|drug| o.regimen.position(drug));
            if let Some(place) = read
                && let Some(level) = o.regimen[place]
                    .level
                    .filter(|_| !o.regimen[place].level_is_old)
                && o.history.last().is_some_and(|past| {
                    past.act
                        .is_some_and(|act| act.kind == polyguard::ActKind::OrderMonitoring)
                })
            {
                let exposure = sampled.hidden().truth(place).exposure;
                levels += usize::from((level / exposure - 1.0).abs() <= 0.1 + 1e-9);
            }
        }
    }
    assert!(
        labs > 10 && levels > 1 && parts > 1,
        "{labs} {levels} {parts}"
    );
}
