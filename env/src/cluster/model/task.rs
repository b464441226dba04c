//! The sizes of the tasks, and the ids of jobs and GPUs (spec cluster §1).
//!
//! A [`JobId`] or [`GpuId`] may be too large for a task; [`Episode`](crate::cluster::Episode)
//! checks this.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::schema::impl_json_schema;
use crate::task::Task;

/// The fixed parameters of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Number of jobs in the queue.
    pub jobs: u8,
    /// Number of GPUs in the pool.
    pub gpus: u8,
    /// Maximum number of steps in an episode.
    pub max_steps: u8,
    /// Probability per step that a GPU with jobs fails.
    pub failure_chance: f64,
    /// `true` if an adversary attacks.
    pub adversary: bool,
}

impl Size {
    /// Returns the parameters of `task`.
    #[must_use]
    pub const fn for_task(task: Task) -> Self {
        let (jobs, gpus, max_steps, failure_chance, adversary) = match task {
            Task::Task1 => (10, 8, 30, 0.0, false),
            Task::Task2 => (20, 12, 60, 0.02, false),
            Task::Task3 => (30, 16, 120, 0.03, true),
        };
        Self {
            jobs,
            gpus,
            max_steps,
            failure_chance,
            adversary,
        }
    }
}

/// Number of jobs in the largest task (spec cluster §1).
pub const JOBS_MAX: usize = 30;
/// Number of GPUs in the largest task (spec cluster §1).
pub const GPUS_MAX: usize = 16;

/// A job id, written as `JOB-000` and up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u8);

/// A GPU id, written as `GPU-00` and up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GpuId(pub u8);

impl JobId {
    /// Parses a job id in exactly the form that payloads use.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        number(name, "JOB-", 3).map(Self)
    }

    /// Returns the position in the queue.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl GpuId {
    /// Parses a GPU id in exactly the form that payloads use.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        number(name, "GPU-", 2).map(Self)
    }

    /// Returns the position in the pool.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

fn number(name: &str, prefix: &str, digits: usize) -> Option<u8> {
    let text = name.strip_prefix(prefix)?;
    let plain = text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_id(f, "JOB-", self.0, 3)
    }
}

impl fmt::Display for GpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_id(f, "GPU-", self.0, 2)
    }
}

/// Writes `prefix` and `number` with at least `digits` digits, which must be 2 or 3. Payloads
/// contain dozens of ids, and padding with the standard formatter took a sixth of a session's time.
fn write_id(f: &mut fmt::Formatter<'_>, prefix: &str, number: u8, digits: usize) -> fmt::Result {
    let all = [number / 100, number / 10 % 10, number % 10].map(|digit| b'0' + digit);
    let shown = if number < 100 { 3 - digits } else { 0 };
    f.write_str(prefix)?;
    f.write_str(std::str::from_utf8(&all[shown..]).unwrap_or_default())
}

impl Serialize for JobId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl_json_schema!([] JobId, "JobId", |_generator| schemars::json_schema!({
    "type": "string", "pattern": "^JOB-[0-9]{3}$",
}));

impl Serialize for GpuId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl_json_schema!([] GpuId, "GpuId", |_generator| schemars::json_schema!({
    "type": "string", "pattern": "^GPU-[0-9]{2,3}$",
}));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_zero_padded() {
        for number in 0..=u8::MAX {
            assert_eq!(JobId(number).to_string(), format!("JOB-{number:03}"));
            assert_eq!(GpuId(number).to_string(), format!("GPU-{number:02}"));
        }
    }

    #[test]
    fn id_parsing_accepts_only_display_form() {
        for n in 0..JOBS_MAX as u8 {
            assert_eq!(JobId::parse(&JobId(n).to_string()), Some(JobId(n)));
        }
        for n in 0..GPUS_MAX as u8 {
            assert_eq!(GpuId::parse(&GpuId(n).to_string()), Some(GpuId(n)));
        }
        for bad in [
            "", "JOB-", "JOB-1", "JOB-0001", "job-001", "JOB-+01", "GPU-01",
        ] {
            assert_eq!(JobId::parse(bad), None, "{bad}");
        }
        for bad in ["GPU-1", "GPU-001", "JOB-001", "FAB-1234", "JOB-999"] {
            assert_eq!(GpuId::parse(bad), None, "{bad}");
        }
    }
}
