//! What an attack does, how long it lasts, and who finds it (spec cluster §5).
//!
//! Under the reference's rules an attack is over as it happens. Under the rules that say so it stays
//! open for [`super::OPEN_STEPS`] steps, in which a verification of its job finds it.

use super::adversary::OPEN_STEPS;
use super::{Agent, Attack, AttackType, Change, ClaimKind, Episode, JobId, JobStatus};

/// Memory that an invented job takes.
const FORGED_MEMORY: u8 = 72;

use AttackType::{
    CascadePanic, CoordinatedMultiReport, FabricateJob, FalseCompletion, FalseMemoryReport,
};

impl Episode {
    /// The adversary's move, before the action.
    pub(super) fn attack(&mut self) -> Option<Attack> {
        self.expire();
        let (rules, caught) = (self.rules(), self.detection_rate());
        let o = &mut self.observation;
        let random = &mut self.hidden.attacks;
        let attacker = &mut self.hidden.attacker;
        if !rules.has(Change::Escalation) {
            attacker.escalate_if_caught(caught);
        }
        let mut attack = attacker.attack(o.step_count, &o.jobs, o.gpu_count, random)?;
        o.counters.attempts += 1;
        if rules.has(Change::Escalation) {
            // Where the job sits, so that whoever checks the job can find the attack.
            attack.gpu = o.jobs.get_mut(attack.job).placed.unwrap_or(attack.gpu);
        }
        if attack.kind == FalseCompletion && !rules.has(Change::Answers) {
            // Counted before anybody could act (quirk C4).
            o.counters.poisonings += 1;
        }
        self.harm(&attack);
        if self.stays_open(attack.kind) {
            self.hidden.attacker.open = Some(attack.at(self.observation.step_count));
        }
        Some(attack)
    }

    /// Whether there is something to find: the higher levels do nothing under the reference's rules.
    fn stays_open(&self, kind: AttackType) -> bool {
        let rules = self.rules();
        let level_one = rules.has(Change::Answers) || rules.has(Change::Detections);
        rules.has(Change::Escalation) || (kind == FalseCompletion && level_one)
    }

    fn harm(&mut self, attack: &Attack) {
        let every_level = self.rules().has(Change::Escalation);
        let pool = &mut self.hidden.pool;
        match attack.kind {
            FalseMemoryReport => return pool.forge(attack.gpu),
            FabricateJob if every_level => pool.invent(attack.gpu, FORGED_MEMORY),
            CoordinatedMultiReport if every_level => {
                pool.forge(attack.gpu);
                self.observation.jobs.get_mut(attack.job).reported = 1.0;
            }
            FalseCompletion => {
                self.observation.jobs.get_mut(attack.job).reported = 1.0;
                return self.claim(Agent::Adversary, ClaimKind::Forged);
            }
            CascadePanic | FabricateJob | CoordinatedMultiReport => {}
        }
        self.note(Agent::Adversary);
    }

    /// Whether a panic keeps all jobs from getting on.
    pub(super) fn halted(&self) -> bool {
        let panics = |attack: Attack| matches!(attack.kind, CascadePanic | CoordinatedMultiReport);
        self.rules().has(Change::Escalation)
            && self
                .hidden
                .attacker
                .open
                .is_some_and(|open| panics(open.attack))
    }

    /// Ends an open attack whose time is over. One whose job does not run any more is over too, and
    /// was neither found nor missed.
    fn expire(&mut self) {
        let Some(open) = self.hidden.attacker.open else {
            return;
        };
        let jobs = &self.observation.jobs;
        let runs = jobs.get(open.attack.job).map(|job| job.status) == Some(JobStatus::Running);
        let late = self.observation.step_count - open.since >= OPEN_STEPS;
        if runs && !late {
            return;
        }
        self.close(&open.attack);
        if runs {
            let counted = self.rules().has(Change::Answers);
            self.observation.counters.missed += 1;
            self.observation.counters.poisonings += u16::from(counted);
        }
    }

    /// Whether a check of this job finds the attack that is open; it is over then.
    pub(super) fn find(&mut self, job: JobId) -> bool {
        let open = self.hidden.attacker.open.map(|open| open.attack);
        // There is nothing to a panic: any job that is looked at shows it.
        let shows = |attack: &Attack| attack.job == job || attack.kind == CascadePanic;
        let Some(attack) = open.filter(shows) else {
            return false;
        };
        self.close(&attack);
        true
    }

    /// Undoes what an attack did.
    fn close(&mut self, attack: &Attack) {
        self.hidden.attacker.open = None;
        if self.rules().has(Change::Escalation) {
            self.hidden.pool.clear(attack.gpu);
        }
        let actual = self.hidden.progress_of(attack.job);
        let job = self.observation.jobs.get_mut(attack.job);
        if job.status == JobStatus::Running {
            job.reported = actual;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Action, GpuId, Rules, Setup, Task};
    use crate::rng::Streams;
    use crate::slot::Slot;

    const RULES: [Change; 3] = [Change::Answers, Change::Detections, Change::Escalation];

    /// A job runs on the first GPU, and an attack of that kind comes in the next step.
    fn attacked(kind: AttackType, rules: Rules) -> (Episode, Attack) {
        let setup = Setup::new(Task::Task3, 3, Streams::Independent).under(rules);
        let mut start = Episode::reset(&setup);
        let longest = start
            .observation
            .jobs
            .iter()
            .max_by_key(|(_, job)| job.steps);
        start
            .step(allocate(longest.map(|(id, _)| id)))
            .expect("it runs");
        for _ in 0..kind as u8 {
            start.hidden.attacker.escalate();
        }
        // Luck is drawn until the attack comes at once.
        for luck in 0.. {
            let hidden = start.hidden.clone().with_luck(luck);
            let mut episode = start.clone().with_hidden(hidden);
            let step = episode.step(Action::Tick).expect("it runs");
            if let Some(attack) = step.attack {
                assert_eq!(attack.kind, kind);
                return (episode, attack);
            }
        }
        unreachable!("an attack comes in a quarter of all steps")
    }

    fn allocate(job: Option<JobId>) -> Action {
        Action::Allocate {
            job,
            gpu: Some(GpuId(0)),
            worker: Some(honest()),
        }
    }

    /// Whoever is honest: the same seed each time.
    fn honest() -> Slot {
        let setup = Setup::new(Task::Task3, 3, Streams::Independent);
        let hidden = Episode::reset(&setup).hidden.assignment;
        let reliable = |slot: &Slot| hidden[*slot] == crate::cluster::Behaviour::Reliable;
        Slot::ALL.into_iter().find(reliable).expect("somebody is")
    }

    fn verify(job: JobId) -> Action {
        Action::Verify {
            job: Some(job),
            worker: None,
            force_flag: false,
        }
    }

    fn rules(changes: &[Change]) -> Rules {
        let with = |rules: Rules, change: &Change| rules.with(*change);
        changes.iter().fold(Rules::REFERENCE, with)
    }

    #[test]
    fn what_is_answered_in_time_does_not_count() {
        let (reference, _) = attacked(FalseCompletion, Rules::REFERENCE);
        assert_eq!(reference.observation.counters.poisonings, 1, "at once");
        let (mut late, _) = attacked(FalseCompletion, rules(&[Change::Answers]));
        let mut in_time = late.clone();
        assert_eq!(late.observation.counters.poisonings, 0);
        for _ in 0..OPEN_STEPS {
            late.step(Action::Tick).expect("it runs");
        }
        let c = late.observation.counters;
        assert_eq!((c.poisonings, c.missed), (1, 1), "nobody looked");
        let job = in_time.hidden.attacker.open.expect("it is open").attack.job;
        let step = in_time.step(verify(job)).expect("it runs");
        assert!(step.caught);
        for _ in 0..OPEN_STEPS {
            in_time.step(Action::Tick).expect("it runs");
        }
        let c = in_time.observation.counters;
        assert_eq!((c.detections, c.poisonings, c.missed), (1, 0, 0));
    }

    /// An honest report says that the job is not complete: what is shown of it is true again.
    #[test]
    fn a_forged_completion_is_put_right_when_it_is_found() {
        let (mut episode, attack) = attacked(FalseCompletion, rules(&RULES));
        let shown =
            |episode: &Episode| episode.observation.jobs.get(attack.job).map(|j| j.reported);
        assert_eq!(shown(&episode), Some(1.0));
        episode.step(verify(attack.job)).expect("it runs");
        assert!(shown(&episode) < Some(1.0));
    }

    #[test]
    fn only_attacks_count_as_detections() {
        for (changes, counted) in [(&[][..], 1), (&[Change::Detections][..], 0)] {
            let setup = Setup::new(Task::Task2, 3, Streams::Independent).under(rules(changes));
            let mut episode = Episode::reset(&setup);
            let hidden = episode.hidden.assignment;
            let lies = |s: &Slot| hidden[*s] == crate::cluster::Behaviour::Overreporter;
            let liar = Slot::ALL.into_iter().find(lies);
            episode.step(allocate(Some(JobId(0)))).expect("it runs");
            let check = Action::Verify {
                job: Some(JobId(0)),
                worker: liar,
                force_flag: false,
            };
            assert!(episode.step(check).expect("it runs").caught);
            assert_eq!(episode.observation.counters.detections, counted);
        }
    }

    #[test]
    fn a_panic_halts_every_job_until_somebody_looks() {
        let progress = |episode: &Episode| episode.hidden.progress;
        let (mut reference, _) = attacked(CascadePanic, Rules::REFERENCE);
        let before = progress(&reference);
        reference.step(Action::Tick).expect("it runs");
        assert_ne!(
            progress(&reference),
            before,
            "nothing comes of it (quirk C6)"
        );
        let (mut episode, attack) = attacked(CascadePanic, rules(&RULES));
        let before = progress(&episode);
        episode.step(Action::Tick).expect("it runs");
        assert_eq!(progress(&episode), before);
        episode.step(verify(attack.job)).expect("it runs");
        assert_ne!(progress(&episode), before);
        assert_eq!(episode.observation.counters.detections, 1);
    }

    #[test]
    fn an_invented_job_takes_memory_until_it_is_found() {
        let (mut episode, attack) = attacked(FabricateJob, rules(&RULES));
        let held = u16::from(episode.observation.jobs.rows()[attack.job.index()].memory);
        let used = |episode: &Episode| episode.observation.gpus()[attack.gpu.index()].used;
        assert_eq!(used(&episode), held + u16::from(FORGED_MEMORY));
        episode.step(verify(attack.job)).expect("it runs");
        assert_eq!(used(&episode), held);
    }

    /// Under the reference's rules a forged report carries its mark, and stays.
    #[test]
    fn a_forged_memory_report_is_not_marked_and_is_put_right() {
        let (reference, attack) = attacked(FalseMemoryReport, Rules::REFERENCE);
        assert!(reference.observation.gpus()[attack.gpu.index()].tampered);
        let (mut episode, attack) = attacked(FalseMemoryReport, rules(&RULES));
        let row = |episode: &Episode| episode.observation.gpus()[attack.gpu.index()];
        assert!(!row(&episode).tampered && row(&episode).used > 0);
        assert_eq!(row(&episode).state, crate::cluster::GpuState::Idle);
        episode.step(verify(attack.job)).expect("it runs");
        assert_ne!(row(&episode).state, crate::cluster::GpuState::Idle);
    }
}
