//! Measures the effect of each change to the trust world's rules and prints the tables of
//! `docs/trust-rules.md`: `cargo run --release -p sentinel-policy --example trust_rules -- 1000 1500`.
//!
//! Plays every scripted policy, every constant policy and some simple tricks over a range of seeds
//! with independent streams.
#![allow(
    clippy::print_stdout,
    reason = "an example prints what it was asked for"
)]

use sentinel_env::ledger::HIGH_STAKES;
use sentinel_env::rng::Streams;
use sentinel_env::rules::RuleChange as _;
use sentinel_env::slot::{Slot, argmax};
use sentinel_env::trust::{Action, Change, Observation, Rules, Setup, Task, TrustEnv};
use sentinel_policy::trust::PolicyName;
use sentinel_policy::{Playable, Player, Policy, run_episode};

/// A one-line policy that reacts to the stakes or to trust without weighing evidence.
#[derive(Clone, Copy)]
struct Trick {
    name: &'static str,
    choose: fn(&Observation, [Slot; 2]) -> Action,
}

impl Policy<TrustEnv> for Trick {
    fn choose(&mut self, o: &Observation) -> Action {
        let trust = o.ledger.rounded_trust().0;
        let least = argmax(&trust.map(|t| -t));
        (self.choose)(o, [argmax(&trust), least])
    }
}

const S0: Slot = Slot::ALL[0];

const TRICKS: [Trick; 7] = [
    Trick {
        name: "solve at high stakes, else delegate S0",
        choose: |o, _| by_stakes(o, Action::SolveIndependently, Action::Delegate(S0)),
    },
    Trick {
        name: "verify S0 at high stakes, else delegate S0",
        choose: |o, _| by_stakes(o, Action::Verify(S0), Action::Delegate(S0)),
    },
    Trick {
        name: "verify the least trusted",
        choose: |_, [_, least]| Action::Verify(least),
    },
    Trick {
        name: "verify the most trusted",
        choose: |_, [most, _]| Action::Verify(most),
    },
    Trick {
        name: "delegate the most trusted",
        choose: |_, [most, _]| Action::Delegate(most),
    },
    Trick {
        name: "solve at high stakes, else delegate the most trusted",
        choose: |o, [most, _]| by_stakes(o, Action::SolveIndependently, Action::Delegate(most)),
    },
    Trick {
        name: "verify at high stakes, else delegate the most trusted",
        choose: |o, [most, _]| by_stakes(o, Action::Verify(most), Action::Delegate(most)),
    },
];

fn by_stakes(o: &Observation, high: Action, low: Action) -> Action {
    if o.stakes >= HIGH_STAKES { high } else { low }
}

/// A named competitor that creates a new player for each seed.
struct Contestant {
    name: String,
    start: Box<dyn Fn(u64) -> Player<TrustEnv>>,
}

fn contestants() -> (Vec<Contestant>, usize) {
    let mut all: Vec<Contestant> = Vec::new();
    for policy in PolicyName::ALL {
        all.push(Contestant {
            name: policy.name().to_owned(),
            start: Box::new(move |seed| policy.player(seed, Streams::Independent)),
        });
    }
    for constant in TrustEnv::constants() {
        all.push(Contestant {
            name: constant.name.clone(),
            start: Box::new(move |_| constant.player()),
        });
    }
    let tricks = all.len();
    for trick in TRICKS {
        all.push(Contestant {
            name: trick.name.to_owned(),
            start: Box::new(move |_| Player::Public(Box::new(trick))),
        });
    }
    (all, tricks)
}

/// A mean score and its standard error.
#[derive(Clone, Copy)]
struct Mean(f64, f64);

fn play(rules: Rules, seeds: &std::ops::Range<u64>, who: &Contestant, task: Task) -> Mean {
    let score = |seed| {
        let setup = Setup::new(task, seed, Streams::Independent).with_rules(rules);
        let run = run_episode(&setup, &mut (who.start)(seed));
        run.episode().tally().score()
    };
    let scores: Vec<f64> = seeds.clone().map(score).collect();
    let n = scores.len() as f64;
    let mean = scores.iter().sum::<f64>() / n;
    let spread = scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>();
    Mean(mean, (spread / (n - 1.0) / n).sqrt())
}

/// Scores of all competitors in the three tasks, under one set of rules.
struct Column {
    rules: Rules,
    rows: Vec<[Mean; 3]>,
}

/// Plays each set of rules on its own thread.
fn columns(rules: impl Iterator<Item = Rules>, seeds: std::ops::Range<u64>) -> Vec<Column> {
    let column = |rules: Rules| {
        let (all, _) = contestants();
        let score = |who| Task::ALL.map(|task| play(rules, &seeds, who, task));
        let rows = all.iter().map(score).collect();
        Column { rules, rows }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = rules
            .map(|rules| {
                scope.spawn({
                    let column = &column;
                    move || column(rules)
                })
            })
            .collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Column>| {
            let resume = |panic| std::panic::resume_unwind(panic);
            thread.join().unwrap_or_else(resume)
        };
        threads.into_iter().map(join).collect()
    })
}

fn row(cells: impl IntoIterator<Item = String>) {
    let cells: Vec<String> = cells.into_iter().collect();
    println!("| {} |", cells.join(" | "));
}

fn heading(cells: &[String]) {
    row(cells.iter().cloned());
    println!("{}|", "|---".repeat(cells.len()));
}

/// Prints two columns in detail: each task with its standard error.
fn in_full(all: &[Contestant], columns: [&Column; 2]) {
    let mut head = vec!["policy".to_owned()];
    for column in columns {
        head.extend(Task::ALL.map(|task| format!("{task}, {}", column.rules)));
    }
    heading(&head);
    for (index, who) in all.iter().enumerate() {
        let cells = columns.iter().flat_map(|column| column.rows[index]);
        let cells = cells.map(|Mean(mean, error)| format!("{mean:.4} ± {error:.4}"));
        row(std::iter::once(who.name.clone()).chain(cells));
    }
}

/// Prints the mean over the tasks, one column per set of rules.
fn in_short(all: &[Contestant], columns: &[Column]) {
    let head = columns.iter().map(|column| column.rules.to_string());
    heading(
        &std::iter::once("policy".to_owned())
            .chain(head)
            .collect::<Vec<_>>(),
    );
    for (index, who) in all.iter().enumerate() {
        let mean = |column: &Column| column.rows[index].iter().map(|m| m.0).sum::<f64>() / 3.0;
        let cells = columns.iter().map(|column| format!("{:.3}", mean(column)));
        row(std::iter::once(who.name.clone()).chain(cells));
    }
}

/// Prints, for each set of rules and task, the scores of the four roles, whether they are in order,
/// and the best constant policy.
fn margins(all: &[Contestant], tricks: usize, columns: &[Column]) {
    let find = |name: &str| all.iter().position(|who| who.name == name).unwrap_or(0);
    let roles = TrustEnv::ROLES.in_order().map(find);
    let head = [
        "rules",
        "task",
        "random, heuristic, bayes, oracle",
        "in order",
        "best constant",
    ];
    heading(&head.map(str::to_owned));
    for column in columns {
        for (t, task) in Task::ALL.into_iter().enumerate() {
            let score = |index: usize| column.rows[index][t].0;
            let scores = roles.map(score);
            let ordered = scores.windows(2).all(|pair| pair[0] < pair[1]);
            let constants = PolicyName::ALL.len()..tricks;
            let best = constants.max_by(|a, b| score(*a).total_cmp(&score(*b)));
            let best = best.unwrap_or(0);
            let beats = if score(best) > scores[1] {
                ", beats the heuristic"
            } else {
                ""
            };
            row([
                column.rules.to_string(),
                task.to_string(),
                scores.map(|s| format!("{s:.3}")).join(", "),
                if ordered { "yes" } else { "no" }.to_owned(),
                format!("{} {:.3}{beats}", all[best].name, score(best)),
            ]);
        }
    }
}

fn main() {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let (Some(Ok(from)), Some(Ok(to))) = (numbers.next(), numbers.next()) else {
        println!("trust_rules: name the first seed and the one after the last, such as 1000 1500");
        return;
    };
    let (all, tricks) = contestants();
    let alone = Change::ALL
        .iter()
        .map(|change| Rules::REFERENCE.with(*change));
    let left = Change::ALL
        .iter()
        .map(|change| Rules::HARDENED.without(*change));
    let added = columns(std::iter::once(Rules::REFERENCE).chain(alone), from..to);
    let left_out = columns(std::iter::once(Rules::HARDENED).chain(left), from..to);
    println!("Seeds {from}..{to}, independent streams; mean score ± standard error.\n");
    in_full(&all, [&added[0], &left_out[0]]);
    println!("\nEach change alone, mean of the tasks:\n");
    in_short(&all, &added);
    println!("\nHardened without each change, mean of the tasks:\n");
    in_short(&all, &left_out);
    println!();
    margins(&all, tricks, &added);
    println!();
    margins(&all, tricks, &left_out);
}
