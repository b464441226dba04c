//! The launcher that started this process, as the environment describes it.

/// The environment variable that makes every process a run of its own.
pub const INDEPENDENT: &str = "SENTINEL_INDEPENDENT_RANKS";

/// Environment variables with the number of processes, most specific first: Open MPI, launchers of the
/// PMI family (MPICH, Intel MPI, `srun --mpi=pmi2`), and `srun`. A batch script, also of an array job,
/// has none of them: SLURM sets the last one only in the steps that `srun` starts.
const SIZES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"];

/// The launch of several processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Number of processes; above 1.
    pub size: usize,
    /// Name of the environment variable that holds it.
    pub variable: &'static str,
}

impl Launch {
    /// Returns the launch that the environment describes; `None` if this is the only process, or each
    /// is a run of its own. `variable` returns the value of an environment variable.
    pub fn detect(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let set = |name| variable(name).filter(|value| !value.is_empty() && value != "0");
        if set(INDEPENDENT).is_some() {
            return None;
        }
        let mut sizes = SIZES.iter().filter_map(|name| Some((name, set(name)?)));
        let (name, size) = sizes.next()?;
        let size = size.trim().parse().ok().filter(|size| *size > 1)?;
        Some(Self {
            size,
            variable: name,
        })
    }

    /// Returns the launch of this process.
    pub(super) fn of_this_process() -> Option<Self> {
        Self::detect(|name| std::env::var(name).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(variables: &[(&str, &str)]) -> Option<(usize, &'static str)> {
        let value = |name: &str| {
            let found = variables.iter().find(|(given, _)| *given == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Launch::detect(value).map(|launch| (launch.size, launch.variable))
    }

    #[test]
    fn launchers_of_several_processes_are_detected() {
        let open_mpi = ("OMPI_COMM_WORLD_SIZE", "4");
        assert_eq!(detected(&[open_mpi]), Some((4, open_mpi.0)));
        assert_eq!(detected(&[("PMI_SIZE", "2")]), Some((2, "PMI_SIZE")));
        let step = ("SLURM_STEP_NUM_TASKS", "8");
        let in_step = [("SLURM_NTASKS", "8"), ("SLURM_PROCID", "3"), step];
        assert_eq!(detected(&in_step), Some((8, step.0)));
    }

    #[test]
    fn single_processes_and_independent_runs_are_not_launches() {
        assert_eq!(detected(&[]), None);
        // A batch script runs once, however many tasks it reserves; so does a task of an array.
        let script = [("SLURM_NTASKS", "8"), ("SLURM_PROCID", "0")];
        assert_eq!(detected(&script), None);
        let array = [("SLURM_ARRAY_TASK_ID", "3"), ("SLURM_STEP_NUM_TASKS", "1")];
        assert_eq!(detected(&array), None);
        // mpirun inside of a step decides.
        let inner = [("OMPI_COMM_WORLD_SIZE", "1"), ("SLURM_STEP_NUM_TASKS", "2")];
        assert_eq!(detected(&inner), None);
        let alone = [("OMPI_COMM_WORLD_SIZE", "4"), (INDEPENDENT, "1")];
        assert_eq!(detected(&alone), None);
        let not_alone = [("OMPI_COMM_WORLD_SIZE", "4"), (INDEPENDENT, "0")];
        assert_eq!(detected(&not_alone).map(|(size, _)| size), Some(4));
    }
}
