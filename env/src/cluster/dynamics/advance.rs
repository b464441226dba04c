//! The part of a step that does not depend on the action: jobs progress, deadlines expire, GPUs
//! fail (spec cluster §4.6, §7).

use crate::cluster::model::{
    Agent, Change, ClaimKind, GpuId, JobId, JobStatus, PoolTick, Size, State,
};
use crate::slot::Slot;

impl State {
    /// Advances running jobs, then enforces deadlines. Returns a bit mask of the completed jobs.
    #[inline]
    pub(crate) fn advance(&mut self) -> u32 {
        let step = self.observation.step_count;
        let halted = self.is_halted();
        let mut completed = 0;
        for id in self.observation.jobs.ids_by_status(JobStatus::Running) {
            let job = self.observation.jobs.get_mut(id);
            if step > job.deadline {
                self.time_out(id);
                continue;
            }
            if halted {
                continue;
            }
            let speed = self.hidden.behavior(job.worker).speed();
            let progress = &mut self.hidden.progress[id.index()];
            *progress = (*progress + speed / f64::from(job.steps)).min(1.0);
            job.reported = job.reported.max(*progress);
            if *progress >= 1.0 {
                completed |= 1 << id.0;
                self.complete(id);
            }
        }
        for id in self.observation.jobs.ids_by_status(JobStatus::Queued) {
            if step > self.observation.jobs.get_mut(id).deadline {
                self.time_out(id);
            }
        }
        completed
    }

    /// Marks a job as timed out and clears the GPU in its row. Under the reference's rules, the job
    /// keeps its GPU memory (quirk C2).
    fn time_out(&mut self, id: JobId) {
        if self.rules().has(Change::Timeouts) {
            self.remove_from_gpu(id);
        }
        let jobs = &mut self.observation.jobs;
        jobs.set_status(id, JobStatus::TimedOut);
        jobs.get_mut(id).assigned = None;
    }

    fn complete(&mut self, id: JobId) {
        self.observation.jobs.set_status(id, JobStatus::Complete);
        self.remove_from_gpu(id);
        let job = self.observation.jobs.get_mut(id);
        job.completed_at = Some(self.observation.step_count);
        job.assigned = None;
        let worker = job.worker.unwrap_or(Slot::ALL[0]);
        self.record_claim(Agent::Worker(worker), ClaimKind::Completed);
    }

    /// Removes a job from the GPU whose memory it holds. Returns `false` if it holds none.
    pub(crate) fn remove_from_gpu(&mut self, id: JobId) -> bool {
        let job = self.observation.jobs.get_mut(id);
        let Some(gpu) = job.placed.take() else {
            return false;
        };
        self.hidden.pool.release(gpu, job.memory);
        true
    }

    /// Moves a job back to the queue. It keeps its progress, but not its GPU and worker.
    pub(crate) fn requeue(&mut self, id: JobId) {
        let jobs = &mut self.observation.jobs;
        jobs.set_status(id, JobStatus::Queued);
        let job = jobs.get_mut(id);
        job.assigned = None;
        job.worker = None;
    }

    /// Advances the GPU pool by one step of failures and recoveries.
    #[inline]
    pub(crate) fn tick_pool(&mut self) -> PoolTick {
        let chance = Size::for_task(self.observation.task).failure_chance;
        let tick = self.hidden.pool.tick(chance, &mut self.hidden.failures);
        for _ in 0..tick.failed.count_ones() {
            self.record_action(Agent::Cluster);
        }
        if tick.recovered != 0 {
            // A recovered GPU has lost its contents; its jobs continue without a GPU (quirk C3).
            self.each_on(tick.recovered, |state, id| {
                state.observation.jobs.get_mut(id).placed = None;
            });
        }
        if tick.failed != 0 && self.rules().has(Change::Failures) {
            // Running jobs on the GPU are queued again; jobs that had timed out there release its
            // memory.
            self.each_on(tick.failed, |state, id| {
                state.remove_from_gpu(id);
                if state.observation.jobs.get_mut(id).status == JobStatus::Running {
                    state.requeue(id);
                }
            });
        }
        tick
    }

    fn each_on(&mut self, gpus: u16, change: impl Fn(&mut Self, JobId)) {
        for id in (0..self.observation.jobs.rows().len() as u8).map(JobId) {
            let placed = self.observation.jobs.get_mut(id).placed;
            if placed.is_some_and(|gpu| among(gpus, gpu)) {
                change(self, id);
            }
        }
    }
}

const fn among(gpus: u16, gpu: GpuId) -> bool {
    gpus >> gpu.0 & 1 == 1
}
