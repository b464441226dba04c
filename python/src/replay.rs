//! Replay files: reading and verification.

use std::sync::Arc;

use pyo3::prelude::*;
use sentinel_env::{WorldName, in_world};
use sentinel_policy::replay::{Diagnostic, ReplayFile};

use crate::spec::value_error;

/// The rows of a replay file.
#[pyclass(module = "sentinel_env._native", name = "ReplayFile", frozen)]
pub(crate) struct PyReplayFile {
    file: Arc<ReplayFile>,
}

#[pymethods]
impl PyReplayFile {
    /// Parses the bytes of a file. Lines that are not rows become [`PyReplayFile::problems`].
    #[new]
    fn new(py: Python<'_>, bytes: &[u8]) -> Self {
        let file = py.detach(|| {
            let mut file = ReplayFile::default();
            for line in bytes.split(|byte| *byte == b'\n') {
                file.push_bytes(line);
            }
            file
        });
        Self {
            file: Arc::new(file),
        }
    }

    fn __len__(&self) -> usize {
        self.file.row_count()
    }

    /// The number of lines that are not rows.
    #[getter]
    fn problem_count(&self) -> usize {
        self.file.problem_count()
    }

    /// Returns the lines that are not rows, at most the first 1000, as number and reason.
    fn problems(&self) -> Vec<(usize, String)> {
        let pair = |problem: &Diagnostic| (problem.line, problem.reason.clone());
        self.file.problems().iter().map(pair).collect()
    }

    /// Returns every row as line number, world and JSON, by world and episode.
    fn rows(&self, py: Python<'_>) -> PyResult<Vec<(usize, &'static str, String)>> {
        py.detach(|| {
            let mut rows = Vec::with_capacity(self.file.row_count());
            for world in WorldName::ALL {
                in_world!(*world, W => {
                    for located in self.file.replay::<W>().into_iter().flat_map(|r| r.iter()) {
                        let text = serde_json::to_string(&located.row).map_err(value_error)?;
                        rows.push((located.line, world.name(), text));
                    }
                });
            }
            Ok(rows)
        })
    }

    /// Plays every episode again and compares it with its rows. Returns the result as JSON, and
    /// `true` if everything fits.
    fn verify(&self, py: Python<'_>) -> PyResult<(String, bool)> {
        py.detach(|| {
            let found = self.file.verify();
            let text = serde_json::to_string(&found).map_err(value_error)?;
            Ok((text, found.fits()))
        })
    }
}
