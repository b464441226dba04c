//! Scores of policies cell by cell, while the world is being balanced.
use sentinel_env::polyguard::*;
use sentinel_policy::play::Oracle as _;
use sentinel_policy::play::{Player, Policy, drive};
use sentinel_policy::polyguard::*;

struct Fn_(fn(&Observation) -> Option<CandidateId>);
impl Policy<PolyguardWorld> for Fn_ {
    fn choose(&mut self, o: &Observation) -> Action {
        Action::explained(o, (self.0)(o).unwrap_or(CandidateId::FIRST))
    }
}
fn kind(o: &Observation, k: Kind) -> Option<CandidateId> {
    o.candidates.find(|c| c.act.kind == k).map(|c| c.id)
}
fn review(o: &Observation) -> Option<CandidateId> {
    o.candidates.find(|c| c.act.kind.is_review()).map(|c| c.id)
}
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n: u64 = args.get(1).and_then(|a| a.parse().ok()).unwrap_or(50);
    if args.get(1).is_some_and(|a| a == "speed") {
        return speed(&args);
    }
    if args.get(1).is_some_and(|a| a == "why") {
        return why(&args);
    }
    let hard = args.get(2).is_none_or(|a| a == "hardened");
    let rules = if hard {
        Rules::HARDENED
    } else {
        Rules::REFERENCE
    };
    type P = (&'static str, Box<dyn Fn(u64) -> Player<PolyguardWorld>>);
    let f =
        |f: fn(&Observation) -> Option<CandidateId>| -> Box<dyn Fn(u64) -> Player<PolyguardWorld>> {
            Box::new(move |_| Player::Public(Box::new(Fn_(f))))
        };
    let all: Vec<P> = vec![
        ("keep", Box::new(|_| Player::Public(Box::new(NoChange)))),
        (
            "random",
            Box::new(|s| Player::Public(Box::new(Random::new(s)))),
        ),
        (
            "greedy",
            Box::new(|_| Player::Public(Box::new(GreedyRegimen))),
        ),
        ("stop", f(|o| kind(o, Kind::StopDrug))),
        (
            "subst",
            f(|o| kind(o, Kind::SubstituteWithinClass).or(kind(o, Kind::RecommendAlternative))),
        ),
        ("fetch", f(|o| kind(o, Kind::FetchExternalEvidence))),
        ("review", f(review)),
        (
            "fe-rev",
            f(|o| {
                if o.history.is_empty() {
                    kind(o, Kind::FetchExternalEvidence)
                } else {
                    review(o)
                }
            }),
        ),
        (
            "inf-kp",
            f(|o| {
                if o.history.is_empty() {
                    o.candidates
                        .find(|c| c.act.kind.is_information())
                        .map(|c| c.id)
                } else {
                    None
                }
            }),
        ),
        ("last", f(|o| o.candidates.iter().next_back().map(|c| c.id))),
        ("rules", Box::new(|_| Player::Public(Box::new(RulesOnly)))),
        (
            "oracle",
            Box::new(|_| Player::Cheating(Box::new(Oracle::new(1)))),
        ),
        (
            "oracle2",
            Box::new(|_| Player::Cheating(Box::new(Oracle::new(2)))),
        ),
    ];
    print!("{:34}", "");
    for (name, _) in &all {
        print!("{name:>11}");
    }
    println!();
    for case in Case::ALL {
        print!("{:34}", case.name());
        for (name, make) in &all {
            let n = if name.starts_with("oracle2") {
                n.min(20)
            } else {
                n
            };
            let (mut sum, mut safe, mut bad) = (0.0, 0, 0);
            for seed in 0..n {
                let mut p = make(seed);
                let e = drive::<PolyguardWorld>(
                    &Setup::new(case, seed).under(rules),
                    |e| p.act(e),
                    |_, _| (),
                );
                sum += e.score();
                safe += u32::from(e.observation().end == Some(End::SafeResolution));
                bad += u32::from(matches!(
                    e.observation().end,
                    Some(End::ExploitDetection | End::RepeatedInvalid | End::Destabilised)
                ));
            }
            let n = n as f64;
            print!(
                "{:5.2}{:3.0}{:3.0}",
                sum / n,
                100.0 * f64::from(safe) / n,
                100.0 * f64::from(bad) / n
            );
        }
        println!();
    }
    let _ = |mut o: Oracle, e: &Episode| o.choose(e.observation(), e.hidden());
}

fn why(args: &[String]) {
    let case = Case::parse(&args[2]).expect("case");
    let depth = args[4].parse().expect("depth (0: rules)");
    for seed in 0..args[3].parse().expect("n") {
        let mut p: Player<PolyguardWorld> = if depth == 0 {
            Player::Public(Box::new(RulesOnly))
        } else {
            Player::Cheating(Box::new(Oracle::new(depth)))
        };
        let mut trace = Vec::new();
        let e = drive::<PolyguardWorld>(
            &Setup::new(case, seed).under(Rules::HARDENED),
            |e| p.act(e),
            |e, s| {
                let f = e.observation().formulary();
                let n = |d: Drug| d.name(f).to_owned();
                let act = s.act.map(|a| {
                    format!(
                        "{} {} {}",
                        a.kind.name(),
                        a.drug.map(n).unwrap_or_default(),
                        match a.arg {
                            Arg::None => String::new(),
                            Arg::Dose(d) => format!("{d:+}"),
                            Arg::Target(t) => n(t),
                        }
                    )
                });
                trace.push(format!(
                    "   {} {:?} {:?} total {:.2} risk {:.2}->{:.2} D {:.2} res {:?}",
                    act.unwrap_or_default(),
                    s.violation,
                    s.exploit,
                    s.total,
                    s.risk[0],
                    s.risk[1],
                    s.stability[1],
                    s.resolved
                ));
            },
        );
        let o = e.observation();
        if o.end == Some(End::SafeResolution) {
            continue;
        }
        println!(
            "seed {seed} {:?} score {:.2} untreated {} new pairs {:x} D* {:.2} of {:.2}",
            o.end,
            e.score(),
            e.untreated(),
            e.serious_pairs() & !e.hidden().start.serious,
            e.hidden().stability_target,
            e.hidden().start.stability
        );
        for i in e.hidden().issues() {
            println!("   issue {i:?} {}", e.is_resolved(i));
        }
        let f = o.formulary();
        for (at, r) in o.regimen.iter().enumerate() {
            println!(
                "      {} {:?} ind {:?} taper {} stale {} needed {}",
                r.drug.name(f),
                r.bucket,
                r.indication,
                r.tapering,
                r.stale,
                e.hidden().truth(at).needed
            );
        }
        for t in trace {
            println!("{t}");
        }
    }
}

fn speed(args: &[String]) {
    let case = Case::parse(&args[2]).expect("case");
    let mut eps = Vec::new();
    for seed in 0..200 {
        let mut p = Random::new(seed);
        let mut acts = Vec::new();
        let setup = Setup::new(case, seed).under(Rules::HARDENED);
        drive::<PolyguardWorld>(
            &setup,
            |e| {
                (!e.observation().done()).then(|| {
                    let a = p.choose(e.observation());
                    acts.push(a);
                    a
                })
            },
            |_, _| (),
        );
        eps.push((Episode::reset(&setup), acts));
    }
    let steps: usize = eps.iter().map(|e| e.1.len()).sum();
    let reps: usize = std::env::var("REPS")
        .ok()
        .and_then(|r| r.parse().ok())
        .unwrap_or(100);
    let t = std::time::Instant::now();
    for _ in 0..reps {
        for (e, acts) in &eps {
            let mut e = e.clone();
            for a in acts {
                std::hint::black_box(e.step(*a).ok());
            }
        }
    }
    let s = t.elapsed().as_secs_f64();
    println!(
        "{case} {} steps, {:.0} steps/s, {:.2} us",
        steps * reps,
        (steps * reps) as f64 / s,
        s * 1e6 / (steps * reps) as f64
    );
}
