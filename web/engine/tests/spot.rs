//! The question of each world's first screen: the rule that chose its seed, and the answer.

mod common;

use common::{answer_of, ask, repository, run_of, views};
use sentinel_env::cluster::ClusterEnv;
use sentinel_env::ledger::HIGH_STAKES;
use sentinel_env::polyguard::PolyguardEnv;
use sentinel_env::trust::TrustEnv;
use sentinel_page_engine::run::SURE;
use sentinel_page_engine::world::world_info;
use sentinel_page_engine::{Engine, PageWorld};
use sentinel_page_protocol::number_format::percent;
use sentinel_page_protocol::{
    AgentView, Answer, BoardSign, EpisodeRef, Reply, Request, RunUpdate, Tone,
};

/// The longest showing in milliseconds.
const LIMIT_MS: usize = 60_000;

/// Plays the question's episode with another seed. Returns the run, its views and the answer.
fn play<W: PageWorld>(engine: &mut Engine<W>, seed: u64) -> (RunUpdate, Vec<AgentView>, Answer) {
    play_as(engine, &world_info::<W>().spot.episode.player, seed)
}

/// Returns the delivery of the file that the engine asked for, if it did.
fn needed_file(replies: &[Reply]) -> Option<Request> {
    let name = replies.iter().find_map(|reply| match reply {
        Reply::Need(path) => Some(path.clone()),
        _ => None,
    })?;
    Some(Request::File {
        content: Ok(repository(&name)),
        name,
        dropped: false,
    })
}

/// Lets another player act in the question's episode with another seed.
fn play_as<W: PageWorld>(
    engine: &mut Engine<W>,
    player: &str,
    seed: u64,
) -> (RunUpdate, Vec<AgentView>, Answer) {
    let own = world_info::<W>().spot.episode;
    let request = Request::Play {
        run: 1,
        episode: EpisodeRef {
            task: own.task,
            seed,
            streams: own.streams,
            rules: own.rules,
        },
        player: player.to_owned(),
        branch: None,
        watched: true,
    };
    let mut replies = ask(engine, request);
    if let Some(file) = needed_file(&replies) {
        replies = ask(engine, file);
    }
    let run = run_of(&replies).clone();
    let views = views(&run);
    let answer = answer_of(&ask(engine, Request::Answer { run: 1 }));
    (run, views, answer.expect("the question is posed"))
}

/// Returns the signs about the answer, in order.
fn signs(run: &RunUpdate, answer: &Answer) -> Vec<Tone> {
    let signs = run.steps.iter().filter_map(|step| step.board_sign);
    let about = signs.filter(|sign| sign.suspects & 1 << answer.suspect != 0);
    about.map(|sign| sign.tone).collect()
}

/// Checks that the seed of the first episode is the first validation seed with a network that is sure,
/// rightly, from the third step on at the earliest and before the last quarter, and with signs about the
/// answer that are `wanted`.
fn first_episode_is_the_first_that_fits<W: PageWorld>(wanted: fn(&[Tone], &Answer) -> bool) {
    let mut engine = Engine::<W>::default();
    let spot = world_info::<W>().spot;
    let fits = |seed: &u64| {
        let (run, _, answer) = play(&mut engine, *seed);
        let guess = answer.guess.as_ref().expect("the network watches");
        let is_sure = guess.suspect == answer.suspect && guess.probability >= SURE;
        let duration = run.steps.len() * spot.step_ms as usize;
        let steps = run.steps.len() as u32;
        let is_early = (3..=steps * 3 / 4).contains(&guess.step);
        is_sure && is_early && duration < LIMIT_MS && wanted(&signs(&run, &answer), &answer)
    };
    assert_eq!(
        (5000..5050).find(fits),
        Some(spot.episode.seed),
        "{}",
        W::NAME
    );
    let (run, views, answer) = play(&mut engine, spot.episode.seed);
    let suspects = views.iter().map(|view| view.suspects.len());
    assert!(suspects.eq(views.iter().map(|_| answer.truths.len())));
    let sizes = run.steps.iter().map(|step| step.suspicion.len());
    assert!(sizes.eq(run.steps.iter().map(|_| answer.truths.len())));
    assert!(views.iter().any(|view| !view.remark.is_empty()) || W::NAME == "polyguard");
}

#[test]
fn liar_of_the_first_episode_is_right_three_times_before_it_lies() {
    first_episode_is_the_first_that_fits::<TrustEnv>(|signs, answer| {
        let right = signs.iter().take_while(|tone| **tone == Tone::Good).count();
        let truth = &answer.truths[usize::from(answer.suspect)];
        right >= 3 && truth != "the liar: 0 lies"
    });
}

#[test]
fn boaster_of_the_first_episode_is_refuted_five_times() {
    first_episode_is_the_first_that_fits::<ClusterEnv>(|signs, _| {
        signs.iter().filter(|tone| **tone == Tone::Bad).count() >= 5
    });
}

#[test]
fn cause_of_the_first_episode_is_paused() {
    first_episode_is_the_first_that_fits::<PolyguardEnv>(|signs, _| signs.len() >= 2);
}

/// The figures of `docs/how-to/play.md`, on the seeds that it names: the network watches episodes that
/// it does not play, and finds the answer far more often than one time in five.
#[test]
fn network_that_watches_finds_the_liar() {
    let mut engine = Engine::<TrustEnv>::default();
    let answers: Vec<Answer> = (5000..5060).map(|seed| play(&mut engine, seed).2).collect();
    let is_right = |answer: &&Answer| {
        answer
            .guess
            .as_ref()
            .is_some_and(|g| g.suspect == answer.suspect)
    };
    let lied = |answer: &&Answer| answer.truths[usize::from(answer.suspect)] != "the liar: 0 lies";
    let right = answers.iter().filter(is_right).count();
    let lied = answers.iter().filter(lied).count();
    assert_eq!((right, lied), (55, 46));
}

/// Episodes of the trained policy itself do not pose the question: the adversary is not asked when much is
/// at stake, and tells no lie.
#[test]
fn trained_policy_meets_no_lie() {
    let mut engine = Engine::<TrustEnv>::default();
    for seed in 5000..5030 {
        let (_, _, answer) = play_as(&mut engine, "grpo", seed);
        let truth = &answer.truths[usize::from(answer.suspect)];
        assert_eq!(truth, "the liar: 0 lies", "{seed}");
    }
}

/// Calls `check` with the signs about the network's suspect up to the step of its guess, those about the
/// others, and the reason, for many episodes. Checks that the estimates and the remark about the board in
/// the reason are those of the episode.
fn reasons_fit<W: PageWorld>(check: impl Fn(&[BoardSign], &[BoardSign], &str)) {
    let mut engine = Engine::<W>::default();
    let (mut sure, mut firsts) = (0, 0);
    for seed in 5000..5040 {
        let (run, _, answer) = play(&mut engine, seed);
        let guess = answer.guess.expect("the network watches");
        let (suspect, step) = (usize::from(guess.suspect), guess.step as usize);
        let signs = run.steps[..step].iter().filter_map(|step| step.board_sign);
        let (own, others): (Vec<_>, Vec<_>) =
            signs.partition(|sign| sign.suspects & 1 << suspect != 0);
        let reason = &guess.reason;
        check(&own, &others, reason);
        let given = |index: usize| run.steps[index].suspicion[suspect];
        let estimate = match given(step - 1) >= SURE {
            true if step > 1 => format!(
                "At step {step} the network’s estimate went from {} to {}.",
                percent(given(step - 2)),
                percent(given(step - 1)),
            ),
            true => format!("to {}.", percent(given(0))),
            false => format!("estimate is {} at the end.", percent(guess.probability)),
        };
        assert!(reason.contains(&estimate), "{seed}: {reason}");
        sure += usize::from(given(step - 1) >= SURE);
        if reason.contains("A visitor could notice it, too") {
            let last = run.steps[step - 1].board_sign.expect("a sign of the step");
            let alike = own.iter().filter(|sign| sign.tone == last.tone).count();
            assert!(last.suspects & 1 << suspect != 0 && alike == 1, "{seed}");
            firsts += 1;
        }
    }
    assert!(sure >= 20 && firsts > 0, "{sure} {firsts}");
}

/// The reason counts the answers at low and at high stakes as the board shows them.
#[test]
fn reason_against_the_liar_is_its_record() {
    reasons_fit::<TrustEnv>(|own, others, reason| {
        let (reason, of_others) = reason.split_once("; the others").unwrap_or((reason, ""));
        let highs = others
            .iter()
            .filter(|sign| sign.height >= HIGH_STAKES as f32);
        let highs: Vec<_> = highs.collect();
        let right = highs.iter().filter(|sign| sign.tone == Tone::Good).count();
        let text = format!(
            " were right {right} of {} times at high stakes.",
            highs.len()
        );
        assert_eq!(
            of_others.starts_with(&text),
            !highs.is_empty(),
            "{of_others}"
        );
        for (is_high, end) in [(false, "low"), (true, "high")] {
            let at = own.iter();
            let at = at.filter(|sign| (sign.height >= HIGH_STAKES as f32) == is_high);
            let at: Vec<_> = at.collect();
            let right = at.iter().filter(|sign| sign.tone == Tone::Good).count();
            let text = format!("{right} of {} times at {end} stakes", at.len());
            assert_eq!(reason.contains(&text), !at.is_empty(), "{reason}");
        }
        let highest = own.iter().max_by(|a, b| a.height.total_cmp(&b.height));
        let result = |sign: &BoardSign| match sign.tone {
            Tone::Good => format!("right at the highest ({:.2})", sign.height),
            _ => format!("wrong at the highest ({:.2})", sign.height),
        };
        let result = highest.map_or_else(|| "was never asked".to_owned(), result);
        assert!(reason.contains(&result), "{reason}");
    });
}

/// The reason counts refuted reports as the board shows them.
#[test]
fn reason_against_the_boaster_is_its_record() {
    reasons_fit::<ClusterEnv>(|own, others, reason| {
        let is_refuted = |sign: &&&BoardSign| sign.tone == Tone::Bad;
        let refuted: Vec<_> = own.iter().filter(|sign| is_refuted(&sign)).collect();
        let rate = |refuted, all| match all {
            0 => "none".to_owned(),
            _ => format!("{refuted} of {all} refuted"),
        };
        let text = format!(": {}", rate(refuted.len(), own.len()));
        assert!(reason[13..].starts_with(&text), "{reason}");
        let claims = reason.split_once("claims of ").map(|(_, rest)| rest);
        let claims = claims.and_then(|rest| rest.split_once(" %")?.0.parse::<f32>().ok());
        let mean = refuted.iter().map(|sign| sign.height).sum::<f32>() / refuted.len() as f32;
        assert_eq!(claims.is_some(), !refuted.is_empty(), "{reason}");
        let is_near = |claims: f32| (claims - 100.0 * mean).abs() < 0.51;
        assert!(claims.is_none_or(is_near), "{mean} {reason}");
        let of_others = others.iter().filter(|sign| is_refuted(&sign)).count();
        let text = format!("Reports of the others: {}.", rate(of_others, others.len()));
        assert!(reason.contains(&text), "{reason}");
    });
}

/// The reason averages the readings that the board shows for the suspect.
#[test]
fn reason_against_the_cause_is_its_readings() {
    reasons_fit::<PolyguardEnv>(|own, _, reason| {
        let sum: f32 = own.iter().map(|sign| sign.height).sum();
        let text = match own.len() {
            0 => "The symptom was never read without ".to_owned(),
            1 => format!("The symptom was {sum:.2} on average (1 reading) without "),
            count => format!(
                "The symptom was {:.2} on average ({count} readings) without ",
                sum / count as f32
            ),
        };
        assert!(reason.starts_with(&text), "{text} {reason}");
    });
}

/// Without the model of the network nothing takes its place. Once the model is here, the answer is sent
/// again.
#[test]
fn guess_comes_with_the_network() {
    let mut engine = Engine::<TrustEnv>::default();
    let own = world_info::<TrustEnv>().spot.episode;
    let request = Request::Play {
        run: 1,
        episode: EpisodeRef {
            task: own.task,
            seed: own.seed,
            streams: own.streams,
            rules: own.rules,
        },
        player: own.player,
        branch: None,
        watched: true,
    };
    let model = needed_file(&ask(&mut engine, request)).expect("a model");
    let answer = answer_of(&ask(&mut engine, Request::Answer { run: 1 })).expect("the end");
    assert_eq!(answer.guess, None);
    let corrected = answer_of(&ask(&mut engine, model)).expect("the same end");
    assert!(corrected.guess.is_some());
    assert_eq!(corrected.truths, answer.truths);
}

/// Before its end an episode has no answer, even if it is asked for.
#[test]
fn answer_comes_at_the_end() {
    let mut engine = Engine::<TrustEnv>::default();
    let own = world_info::<TrustEnv>().spot.episode;
    let request = Request::Play {
        run: 1,
        episode: EpisodeRef {
            task: own.task,
            seed: own.seed,
            streams: own.streams,
            rules: own.rules,
        },
        player: "you".to_owned(),
        branch: None,
        watched: false,
    };
    ask(&mut engine, request);
    assert_eq!(ask(&mut engine, Request::Answer { run: 1 }), Vec::new());
}
