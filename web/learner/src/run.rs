//! A training run of one world: phases, updates, and evaluations between them.
//!
//! An update has parts that any engine can play, see [`Part`]; their episodes are joined in order, so
//! that the weights do not depend on who played what. An evaluation is divided too, and goes on while
//! the next update learns.

use std::ops::Range;

use sentinel_compact::evaluate::{GreedyEpisode, episode_count, validation_setup};
use sentinel_compact::learn::model_config;
use sentinel_compact::plain::{Cpu, Matrix};
use sentinel_compact::trainer::Best;
use sentinel_compact::{Error, Learn, Method, PlayedEpisodes, Scores, TrainConfig, Trainer};
use sentinel_page_engine::PageWorld;
use sentinel_page_protocol::{ExportedFile, TrainingSpec, TrainingUpdate, decode, encode};
use sentinel_policy::nn::{Architecture as _, Model, Weights};

use crate::division::Division;
use crate::evaluation;
use crate::part::{Part, Played, Work, values};
use crate::run_log::{Entry, PhaseLog, now_ms};
use crate::settings::{EVALUATE_EVERY, commands, phases, with_values};
use crate::training_run::{Progress, RunCheckpoint, TrainingRun, digest, hash_of};

/// An evaluation under way.
struct Evaluation<A> {
    /// Number of updates that the policy had.
    updates: usize,
    /// Index of the phase in which it had them.
    phase: usize,
    weights: Weights<A>,
    episodes: Division<Vec<GreedyEpisode>>,
}

/// A training run of the world `W`.
pub(crate) struct Run<W: Learn> {
    spec: TrainingSpec,
    phases: Vec<TrainConfig>,
    /// Index of the current phase.
    phase: usize,
    trainer: Trainer<W, Matrix>,
    tasks: Vec<W::Task>,
    /// Number of engines that play.
    engines: u64,
    /// Number of updates of earlier phases.
    before: usize,
    total: usize,
    /// Environment steps of earlier phases.
    steps_before: u64,
    /// Number of updates at the newest evaluation that was begun; `None` before the first one.
    evaluated: Option<usize>,
    /// The evaluation under way; `None` between two.
    evaluation: Option<Evaluation<W::Net>>,
    /// The episodes of the update under way; `None` between two.
    update: Option<Division<PlayedEpisodes<W>>>,
    /// Time at which that update began, in milliseconds.
    update_began: f64,
    /// Log of the current phase.
    log: PhaseLog,
    failure: String,
    /// Milliseconds of work before the state from which it continues.
    worked_before: f64,
    /// Commands that train the same.
    command: String,
}

impl<W: Learn + PageWorld> Run<W> {
    /// Prepares a run that `helpers` other engines play with this one. It starts from the state `saved`
    /// unless that is empty, else from `published` if it is there, else from fresh weights.
    ///
    /// # Errors
    /// Returns a phrase about a setting that is not possible, or about a saved state that does not fit.
    pub(crate) fn new(
        mut spec: TrainingSpec,
        helpers: u8,
        saved: &[u8],
        published: Option<&[u8]>,
    ) -> Result<Self, String> {
        let published = published.map(Model::<W::Net>::from_bytes).transpose();
        let published = published.map_err(|error| format!("the published policy: {error}"))?;
        if let Some(model) = &published {
            spec.hidden = u32::try_from(model.config.net.hidden()).ok();
        }
        let phases = phases::<W>(&spec)?;
        let total = phases.iter().map(|phase| phase.max_steps).sum();
        let message = |error: sentinel_compact::Error| error.to_string();
        let first = phases.first().ok_or("a run needs a phase")?;
        let tasks = first.selected::<W>().map_err(message)?;
        let grpo = phases.last().unwrap_or(first);
        let rules = grpo.rules::<W>().map_err(message)?;
        let folder = match spec.start.as_str() {
            "" => "",
            _ => W::published_model(rules),
        };
        let command = commands(&phases, folder);
        let spec = with_values(spec, grpo);
        let start = match published {
            Some(model) => model.weights,
            None => Weights::init(W::net(first), first.seed),
        };
        if *start.config() != W::net(first) {
            return Err("the published policy has another network".to_owned());
        }
        let mut run = Self {
            spec,
            trainer: Trainer::on_device(first.clone(), start, &Cpu).map_err(message)?,
            phases,
            phase: 0,
            tasks,
            engines: 1 + u64::from(helpers),
            before: 0,
            total,
            steps_before: 0,
            evaluated: None,
            evaluation: None,
            update: None,
            update_began: 0.0,
            log: PhaseLog::new(),
            failure: String::new(),
            worked_before: 0.0,
            command,
        };
        if !saved.is_empty() {
            run.restore(saved)?;
        }
        Ok(run)
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), String> {
        let saved: RunCheckpoint = decode(saved).map_err(|_| "the saved state cannot be read")?;
        let phase = saved.phase as usize;
        let config = self.phases.get(phase);
        let config = config.filter(|_| saved.configs == hash_of(&self.phases));
        let config = config.ok_or("the saved state belongs to another version of the page")?;
        let config = config.clone();
        let best = saved.best(W::net(&config))?;
        self.trainer =
            Trainer::from_state(config, saved.trainer, &Cpu).map_err(|error| error.to_string())?;
        best.into_iter()
            .for_each(|best| self.trainer.offer_best(best));
        self.log = saved.log;
        self.phase = phase;
        (self.before, self.steps_before) = (saved.before as usize, saved.steps_before);
        self.evaluated = saved.evaluated.map(|updates| updates as usize);
        self.worked_before = saved.worked_ms;
        Ok(())
    }

    fn phase_name(&self) -> &'static str {
        match self.trainer.config().method {
            Method::Imitation => "imitation",
            Method::Grpo | Method::ExpertIteration => "grpo",
        }
    }

    fn done(&self) -> usize {
        self.before + self.trainer.updates_done()
    }

    /// Goes on to the next phase if this one is over.
    fn enter_phase(&mut self) -> Result<(), String> {
        if !self.trainer.finished() {
            return Ok(());
        }
        let Some(next) = self.phases.get(self.phase + 1) else {
            return Ok(());
        };
        let weights = self.trainer.weights().clone();
        let trainer = Trainer::on_device(next.clone(), weights, &Cpu);
        let trainer = trainer.map_err(|error| error.to_string())?;
        self.phase += 1;
        self.before += self.trainer.updates_done();
        self.steps_before += self.trainer.env_steps();
        let scores = self.log.newest_scores(self.trainer.updates_done()).cloned();
        (self.trainer, self.log) = (trainer, PhaseLog::new());
        if let Some(scores) = scores {
            self.log_scores(0, self.trainer.weights().clone(), scores);
        }
        Ok(())
    }

    /// Logs the scores of a policy after `step` updates of the phase, and keeps it if it is the best one.
    fn log_scores(&mut self, step: usize, weights: Weights<W::Net>, scores: Scores) {
        self.trainer.offer_best(Best {
            step,
            score: scores.overall,
            weights,
        });
        self.log.add(step, Entry::Evaluation(scores));
    }

    /// Returns `true` if an evaluation is due and was not begun.
    fn owes_evaluation(&self) -> bool {
        let done = self.done();
        let is_due = done.is_multiple_of(EVALUATE_EVERY) || done == self.total;
        is_due && self.evaluated != Some(done)
    }

    /// Begins an evaluation if one is due and the former one is over.
    fn begin_evaluation(&mut self) {
        if !self.owes_evaluation() || self.evaluation.is_some() {
            return;
        }
        let done = self.done();
        let count = episode_count(&self.tasks, self.trainer.config().validation_seeds);
        self.evaluated = Some(done);
        self.evaluation = Some(Evaluation {
            updates: done,
            phase: self.phase,
            weights: self.trainer.weights().clone(),
            episodes: Division::among(count, self.engines, 1),
        });
    }

    /// Takes the next part of the update or, if `evaluates`, of the evaluation.
    fn next_part(&mut self, evaluates: bool) -> Option<(Work, Range<u64>)> {
        if evaluates {
            let evaluation = self.evaluation.as_mut()?;
            let updates = evaluation.updates as u64;
            Some((Work::Evaluation { updates }, evaluation.episodes.take()?))
        } else {
            let range = self.update.as_mut()?.take()?;
            let update = self.trainer.updates_done() as u64;
            Some((Work::Update { update }, range))
        }
    }

    /// Returns the phase and the weights with which a part is played.
    fn policy_of(&self, work: Work) -> (usize, &Weights<W::Net>) {
        match (work, &self.evaluation) {
            (Work::Evaluation { .. }, Some(evaluation)) => (evaluation.phase, &evaluation.weights),
            _ => (self.phase, self.trainer.weights()),
        }
    }

    /// Takes the episodes of a part; those of an earlier update or evaluation are dropped.
    fn put(&mut self, work: Work, part: &Range<u64>, played: Played<W>) {
        if played.count() as u64 != part.end.saturating_sub(part.start) {
            return;
        }
        let now = self.trainer.updates_done() as u64;
        match (work, played) {
            (Work::Update { update }, Played::Update(episodes)) if update == now => {
                if let Some(division) = &mut self.update {
                    division.put(part, episodes);
                }
            }
            (Work::Evaluation { updates }, Played::Evaluation(episodes)) => {
                let evaluation = self.evaluation.as_mut();
                if let Some(all) = evaluation.filter(|all| all.updates as u64 == updates) {
                    all.episodes.put(part, episodes);
                }
            }
            _ => {}
        }
    }

    /// Plays a part itself; returns `false` if none is left.
    fn play_part(&mut self, evaluates: bool) -> Result<bool, String> {
        let Some((work, range)) = self.next_part(evaluates) else {
            return Ok(false);
        };
        let (phase, weights) = self.policy_of(work);
        let played = Played::new(work, &self.phases[phase], weights, range.clone())?;
        self.put(work, &range, played);
        Ok(true)
    }

    /// Returns the results of the evaluation once all its parts are there.
    fn end_evaluation(&mut self) -> Result<Option<TrainingUpdate>, String> {
        let is_complete = |all: &mut Evaluation<_>| all.episodes.is_complete();
        let Some(evaluation) = self.evaluation.take_if(is_complete) else {
            return Ok(None);
        };
        let config = &self.phases[evaluation.phase];
        let (rules, seeds) = (config.rules::<W>(), config.validation_seeds);
        let rules = rules.map_err(|error| error.to_string())?;
        let weights = evaluation.weights;
        let attempt = |task| {
            let setup = validation_setup::<W>(rules, task, seeds.range().start);
            evaluation::attempt::<W>(&weights, &setup)
        };
        let attempt = W::shown_task(&self.tasks).map(attempt);
        let episodes: Vec<_> = evaluation.episodes.into_results().flatten().collect();
        // One of an earlier phase than that which its policy starts is not of this log.
        if let Some(step) = evaluation.updates.checked_sub(self.before) {
            self.log_scores(step, weights, evaluation::scores(&episodes, seeds));
        }
        Ok(Some(TrainingUpdate {
            evaluation: Some(evaluation::score(
                count(evaluation.updates),
                &episodes,
                seeds,
            )),
            rates: evaluation::rates::<W>(&episodes),
            attempt,
            ..self.state()
        }))
    }

    /// Learns from the episodes of the update once all are there.
    fn end_update(&mut self) -> Result<Option<TrainingUpdate>, String> {
        let is_complete = |division: &mut Division<_>| division.is_complete();
        let Some(division) = self.update.take_if(is_complete) else {
            return Ok(None);
        };
        let mut parts = division.into_results();
        let mut all = parts.next().ok_or("an update needs episodes")?;
        for part in parts {
            if !all.append(part) {
                return Err("an engine played another phase".to_owned());
            }
        }
        let learned = self.trainer.update_from(all);
        let metrics = learned.map_err(|error| match error {
            Error::Diverged { .. } => format!(
                "{error}. At a learning rate of {} the weights have left the range of numbers; a \
                 smaller one keeps them in it",
                self.trainer.config().learning_rate
            ),
            other => other.to_string(),
        })?;
        let seconds = (now_ms() - self.update_began) / 1000.0;
        let metrics = metrics
            .into_iter()
            .chain([("step_time".to_owned(), seconds)]);
        let entry = Entry::Update(metrics.collect());
        self.log.add(self.trainer.updates_done(), entry);
        Ok(Some(self.state()))
    }

    /// Takes the next step of the run: see [`TrainingRun::advance`].
    fn try_advance(&mut self) -> Result<Progress, String> {
        let update = |state| Ok(Progress::Update(Box::new(state)));
        self.begin_evaluation();
        if let Some(state) = self.end_evaluation()? {
            return update(state);
        }
        // Alone, it evaluates the policy before it changes; others can do that meanwhile.
        if self.engines == 1 && self.play_part(true)? {
            return Ok(Progress::Part);
        }
        if self.play_part(false)? {
            return Ok(Progress::Part);
        }
        // An evaluation that is due must not wait for more than one update.
        let lags = self
            .evaluation
            .as_ref()
            .is_some_and(|e| e.updates < self.done());
        if lags && self.play_part(true)? {
            return Ok(Progress::Part);
        }
        if let Some(state) = self.end_update()? {
            return update(state);
        }
        match self.play_part(true)? {
            true => Ok(Progress::Part),
            false => Ok(Progress::Waiting),
        }
    }
}

impl<W: Learn + PageWorld> TrainingRun for Run<W> {
    fn has_updates(&self) -> bool {
        // An evaluation that is due waits for the former one, and the update waits for it.
        let waits = self.evaluation.is_some() && self.owes_evaluation();
        self.failure.is_empty() && self.done() < self.total && !waits
    }

    fn is_updating(&self) -> bool {
        self.update.is_some()
    }

    fn is_evaluating(&self) -> bool {
        self.evaluation.is_some()
    }

    fn begin_update(&mut self) -> Result<(), String> {
        // The policy of an evaluation is that of the phase that is left.
        self.begin_evaluation();
        self.enter_phase()?;
        let episodes = self.trainer.config().episodes_per_update as u64;
        self.update_began = now_ms();
        let rollouts = self.trainer.config().num_generations as u64;
        self.update = Some(Division::among(episodes, self.engines, rollouts));
        Ok(())
    }

    fn take_part(&mut self) -> Option<Vec<u8>> {
        if !self.failure.is_empty() {
            return None;
        }
        let next = self.next_part(false).or_else(|| self.next_part(true));
        let (work, range) = next?;
        let (phase, weights) = self.policy_of(work);
        let part = Part {
            spec: self.spec.clone(),
            phase,
            work,
            weights: values(weights),
            first: range.start,
            last: range.end,
        };
        encode(&part).ok()
    }

    fn put_part(&mut self, episodes: &[u8]) -> Result<(), String> {
        let answer = decode::<crate::part::Answer<W>>(episodes);
        let answer = answer.map_err(|_| "an engine sent episodes that cannot be read")?;
        let played = answer.played?;
        self.put(answer.work, &(answer.first..answer.last), played);
        Ok(())
    }

    fn play_alone(&mut self) {
        self.engines = 1;
        if let Some(update) = &mut self.update {
            update.give_back();
        }
        if let Some(evaluation) = &mut self.evaluation {
            evaluation.episodes.give_back();
        }
    }

    fn advance(&mut self) -> Progress {
        if !self.failure.is_empty() {
            return Progress::Waiting;
        }
        self.try_advance().unwrap_or_else(|reason| {
            self.fail(&reason);
            Progress::Update(Box::new(self.state()))
        })
    }

    fn state(&self) -> TrainingUpdate {
        let seeds = self.trainer.config().validation_seeds;
        TrainingUpdate {
            spec: self.spec.clone(),
            command: self.command.clone(),
            phase: self.phase_name().to_owned(),
            updates: count(self.done()),
            total: count(self.total),
            env_steps: self.steps_before + self.trainer.env_steps(),
            validation: evaluation::validation_set::<W>(&self.tasks, seeds),
            digest: digest(self.trainer.weights()),
            failure: self.failure.clone(),
            ..TrainingUpdate::default()
        }
    }

    fn model(&self) -> Result<Vec<u8>, String> {
        let model = Model {
            config: model_config::<W>(self.trainer.config()),
            weights: self.trainer.weights().clone(),
        };
        model.to_bytes().map_err(|error| error.to_string())
    }

    fn archive(&self) -> Option<Result<ExportedFile, String>> {
        if !self.failure.is_empty() {
            let reason = "The run has ended early and cannot be continued. Save its model.";
            return Some(Err(reason.to_owned()));
        }
        let is_evaluated = self.evaluation.is_none() && !self.owes_evaluation();
        is_evaluated.then(|| self.log.archive(&self.trainer, self.phase_name()))
    }

    fn worked_before(&self) -> f64 {
        self.worked_before
    }

    fn saved(&self, worked_ms: f64) -> Option<Vec<u8>> {
        let best = self.trainer.best();
        let saved = RunCheckpoint {
            configs: hash_of(&self.phases),
            phase: count(self.phase),
            before: count(self.before),
            evaluated: self.evaluated.map(count),
            steps_before: self.steps_before,
            worked_ms,
            trainer: self.trainer.state().ok()?,
            best: best.map(|best| (best.step, best.score, values(&best.weights))),
            log: self.log.clone(),
        };
        encode(&saved).ok()
    }

    fn fail(&mut self, reason: &str) {
        self.failure = format!("Training ended: {reason}.");
        (self.update, self.evaluation) = (None, None);
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
