//! Gradients compared with finite differences of the loss, and properties of any batch. A module of
//! the test `tests/grpo_oracle.rs`, not of the library.

use sentinel_env::rng::derive_seed;
use sentinel_rl::RlError;
use sentinel_rl::advantage::{AdvantageConfig, Rewards, advantages};
use sentinel_rl::config::{ImportanceSamplingLevel, LossConfig, LossType};
use sentinel_rl::loss::{Advantages, LossInput, grpo_loss};

use super::near;

/// A deterministic generator of random numbers.
struct Noise {
    seed: u64,
    drawn: u64,
}

impl Noise {
    fn unit(&mut self) -> f64 {
        self.drawn += 1;
        (derive_seed(self.seed, self.drawn) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn many(&mut self, count: usize, low: f64, high: f64) -> Vec<f64> {
        (0..count)
            .map(|_| low + (high - low) * self.unit())
            .collect()
    }
}

const ROWS: usize = 3;
const TOKENS: usize = 5;

/// A batch of random inputs.
struct Random {
    logps: Vec<f64>,
    old_logps: Vec<f64>,
    ref_logps: Vec<f64>,
    entropies: Vec<f64>,
    mask: Vec<bool>,
    advantages: Vec<f64>,
    token_advantages: Vec<f64>,
    ratios: Vec<f64>,
}

impl Random {
    fn new(seed: u64) -> Self {
        let mut noise = Noise { seed, drawn: 0 };
        let size = ROWS * TOKENS;
        let logps = noise.many(size, -2.5, -0.1);
        let mut beside = |wide: f64| {
            let apart = noise.many(size, -wide, wide);
            logps.iter().zip(apart).map(|(a, b)| a + b).collect()
        };
        Self {
            old_logps: beside(0.6),
            ref_logps: beside(0.8),
            entropies: noise.many(size, 0.0, 2.0),
            mask: (0..size).map(|_| noise.unit() < 0.8).collect(),
            advantages: noise.many(ROWS, -1.5, 1.5),
            token_advantages: noise.many(size, -1.5, 1.5),
            ratios: noise.many(size, 0.2, 2.0),
            logps,
        }
    }

    fn input(&self, per_token: bool) -> LossInput<'_> {
        LossInput {
            tokens: TOKENS,
            logps: &self.logps,
            old_logps: Some(&self.old_logps),
            ref_logps: Some(&self.ref_logps),
            entropies: Some(&self.entropies),
            completion_mask: &self.mask,
            advantages: if per_token {
                Advantages::PerToken(&self.token_advantages)
            } else {
                Advantages::PerSequence(&self.advantages)
            },
            num_items_in_batch: Some(23.0),
            importance_sampling_ratio: Some(&self.ratios),
            sampling_logps: None,
        }
    }

    fn loss(&self, config: &LossConfig, per_token: bool) -> f64 {
        grpo_loss(config, &self.input(per_token)).unwrap().loss
    }
}

const ALL: [LossType; 8] = [
    LossType::Grpo,
    LossType::Bnpo,
    LossType::DrGrpo,
    LossType::Dapo,
    LossType::Cispo,
    LossType::Sapo,
    LossType::Luspo,
    LossType::Vespo,
];

/// Compares the gradients of a loss type with finite differences of the loss.
///
/// The weights of CISPO and VESPO are constants of the gradient but not of the loss. For these the
/// old log-probability is shifted as well, which keeps every ratio, and so every weight, unchanged.
fn assert_gradient_matches_slope(loss_type: LossType, level: ImportanceSamplingLevel, seed: u64) {
    let weighted = matches!(loss_type, LossType::Cispo | LossType::Vespo);
    let per_token = seed % 2 == 1;
    let config = LossConfig {
        loss_type,
        importance_sampling_level: level,
        beta: 0.3,
        use_bias_correction_kl: !weighted && !seed.is_multiple_of(3),
        delta: seed.is_multiple_of(4).then_some(1.4),
        entropy_coef: 0.05,
        gradient_accumulation_steps: 2.0,
        steps_per_generation: Some(4),
        ..LossConfig::default()
    };
    let mut random = Random::new(seed);
    let output = grpo_loss(&config, &random.input(per_token)).unwrap();
    let step = 1e-6;
    for at in 0..ROWS * TOKENS {
        let mut moved = |by: f64| {
            random.logps[at] += by;
            random.old_logps[at] += if weighted { by } else { 0.0 };
            random.loss(&config, per_token)
        };
        let (_, above, below, _) = (moved(0.0), moved(step), moved(-2.0 * step), moved(step));
        let slope = (above - below) / (2.0 * step);
        let gradient = output.grad_logps[at];
        assert!(
            near(gradient, slope, 2e-7),
            "{loss_type:?} {level:?} seed {seed}: grad_logps[{at}] is {gradient}, the slope {slope}"
        );
        let mut moved = |by: f64| {
            random.entropies[at] += by;
            random.loss(&config, per_token)
        };
        let (above, below) = (moved(step), moved(-2.0 * step));
        random.entropies[at] += step;
        let slope = (above - below) / (2.0 * step);
        let gradient = output.grad_entropies.as_ref().unwrap()[at];
        assert!(near(gradient, slope, 2e-7), "grad_entropies[{at}]");
    }
}

#[test]
fn loss_gradients_match_finite_differences() {
    for loss_type in ALL {
        for seed in 0..40 {
            assert_gradient_matches_slope(loss_type, ImportanceSamplingLevel::Token, seed);
            assert_gradient_matches_slope(loss_type, ImportanceSamplingLevel::Sequence, seed);
        }
    }
}

#[test]
fn per_token_and_per_sequence_advantages_agree() {
    let mut random = Random::new(7);
    let repeated = random.advantages.iter().flat_map(|a| [*a; TOKENS]);
    random.token_advantages = repeated.collect();
    for loss_type in ALL {
        let config = LossConfig {
            loss_type,
            off_policy_mask_threshold: Some(0.01),
            top_entropy_quantile: 0.5,
            ..LossConfig::default()
        };
        let whole = grpo_loss(&config, &random.input(false)).unwrap();
        let each = grpo_loss(&config, &random.input(true)).unwrap();
        assert_eq!((whole.loss, whole.grad_logps), (each.loss, each.grad_logps));
    }
}

#[test]
fn masked_tokens_do_not_affect_loss() {
    let mut random = Random::new(11);
    for loss_type in ALL {
        let config = LossConfig {
            loss_type,
            beta: 0.1,
            entropy_coef: 0.01,
            ..LossConfig::default()
        };
        random = Random::new(11);
        let clean = grpo_loss(&config, &random.input(true)).unwrap();
        let hidden: Vec<usize> = (0..ROWS * TOKENS).filter(|at| !random.mask[*at]).collect();
        assert!(!hidden.is_empty());
        for at in hidden {
            random.logps[at] = f64::NAN;
            random.ref_logps[at] = f64::NEG_INFINITY;
            random.entropies[at] = f64::NAN;
            random.ratios[at] = f64::NAN;
        }
        assert_eq!(grpo_loss(&config, &random.input(true)).unwrap(), clean);
    }
    random.mask.fill(false);
    let nothing = random.loss(&LossConfig::default(), false);
    assert!(nothing.abs() < f64::EPSILON, "{nothing}");
}

#[test]
fn invalid_loss_input_error_names_field() {
    let random = Random::new(3);
    let error = |config: &LossConfig, input: &LossInput<'_>| {
        grpo_loss(config, input).unwrap_err().to_string()
    };
    let plain = LossConfig::default();
    let short = LossInput {
        old_logps: Some(&random.old_logps[1..]),
        ..random.input(false)
    };
    assert!(error(&plain, &short).starts_with("old_logps holds 14 values"));
    let unnumbered = LossInput {
        num_items_in_batch: None,
        ref_logps: None,
        entropies: None,
        ..random.input(false)
    };
    assert!(error(&plain, &unnumbered).contains("num_items_in_batch"));
    let grpo = LossConfig {
        loss_type: LossType::Grpo,
        ..plain
    };
    let with = |change: fn(&mut LossConfig)| {
        let mut config = grpo.clone();
        change(&mut config);
        error(&config, &unnumbered)
    };
    assert!(with(|c| c.beta = 0.1).contains("ref_logps"));
    assert!(with(|c| c.entropy_coef = 0.1).contains("entropies"));
    assert!(with(|c| c.top_entropy_quantile = 0.5).contains("entropies"));
    assert!(with(|c| c.epsilon = f64::NAN).contains("epsilon is NaN"));
    assert!(with(|c| c.num_processes = 0).contains("num_processes is 0"));
    assert!(serde_json::from_str::<LossConfig>(r#"{"epsilonn": 0.1}"#).is_err());

    let groups = AdvantageConfig {
        num_generations: 4,
        ..AdvantageConfig::default()
    };
    let rewards = Rewards {
        names: &["score"],
        values: &[Some(1.0); 6],
    };
    let refused = advantages(&groups, rewards);
    assert!(matches!(refused, Err(RlError::Shape { .. })), "{refused:?}");
}
