//! Reading and writing of reports: JSON files that are written atomically, with errors that name
//! the file, its fault and the command that makes it.

use std::fmt::Display;
use std::io::ErrorKind;
use std::path::Path;

use sentinel_base::provenance::file_digest;
use sentinel_base::{Error, files};
use sentinel_policy::python_json;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads a report. `remedy` is the end of an error's sentence, such as "make it with `sentinel
/// sweep`".
///
/// # Errors
/// Returns an error if the file is missing, cut off or not a report of this kind.
pub fn read_json<T: DeserializeOwned>(path: &Path, remedy: &str) -> Result<T, Error> {
    read(path, remedy, |bytes| serde_json::from_slice(bytes))
}

/// Reads a `trainer_state.json` as [`read_json`] reads a report. Numbers that are not finite are
/// read as `null`.
///
/// # Errors
/// Returns an error if the file is missing, cut off or not the log of a training run.
pub fn read_trainer_state<T: DeserializeOwned>(path: &Path, remedy: &str) -> Result<T, Error> {
    read(path, remedy, python_json::from_slice)
}

/// Returns the error of a report, or of its folder, that is missing, cut off or invalid; `remedy` names
/// the command that makes it.
pub fn report_error(path: &Path, reason: impl Display, remedy: impl Display) -> Error {
    Error::invalid(path, format!("{reason}; {remedy}"))
}

fn read<T>(
    path: &Path,
    remedy: &str,
    parse: impl FnOnce(&[u8]) -> Result<T, serde_json::Error>,
) -> Result<T, Error> {
    let report = |reason: String| report_error(path, reason, remedy);
    let bytes = std::fs::read(path).map_err(|source| match source.kind() {
        ErrorKind::NotFound => report("there is no such file".to_owned()),
        _ => Error::Read {
            path: path.to_owned(),
            source,
        },
    })?;
    parse(&bytes).map_err(|error| {
        let reason = if error.is_eof() {
            "the file is cut off".to_owned()
        } else {
            format!("not a report of this kind ({error})")
        };
        report(reason)
    })
}

/// Writes a report as JSON, indented by two, with a final line break. The folder is created if
/// needed.
///
/// # Errors
/// Returns an error if it cannot be written; an earlier file then stays.
pub fn write_json<T: Serialize>(path: &Path, report: &T) -> Result<(), Error> {
    files::create_folder(files::parent_folder(path))?;
    let text = serde_json::to_string_pretty(report)? + "\n";
    files::write_atomic(path, text.as_bytes())
}

/// Returns the SHA-256 of a file in hexadecimal digits.
///
/// # Errors
/// Returns an error if it cannot be read.
pub fn digest(path: &Path) -> Result<String, Error> {
    file_digest(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    type Tested = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn invalid_json_file_error_names_reason_and_remedy() -> Tested {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a/b/report.json");
        let read_text = |path: &Path| {
            let read = read_json::<Vec<u32>>(path, "make it with `sentinel x`");
            read.map_or_else(|error| error.to_string(), |found| format!("{found:?}"))
        };
        assert!(read_text(&path).contains("there is no such file; make it with `sentinel x`"));
        write_json(&path, &vec![1, 2])?;
        assert_eq!(read_text(&path), "[1, 2]");
        assert_eq!(std::fs::read_to_string(&path)?, "[\n  1,\n  2\n]\n");
        std::fs::write(&path, "[1, ")?;
        assert!(
            read_text(&path).contains("the file is cut off"),
            "{}",
            read_text(&path)
        );
        std::fs::write(&path, "{}")?;
        assert!(read_text(&path).contains("not a report of this kind"));
        assert!(read_text(folder.path()).contains("cannot read"));
        Ok(())
    }

    /// A full disk and a folder that cannot be created are errors, and lose nothing.
    #[cfg(target_os = "linux")]
    #[test]
    fn failed_report_write_is_an_error() -> Tested {
        let full = write_json(Path::new("/dev/full"), &1).map_err(|error| error.to_string());
        assert!(full.is_err_and(|text| text.contains("/dev/full")));
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("file");
        std::fs::write(&file, "x")?;
        let below = write_json(&file.join("report.json"), &1).map_err(|error| error.to_string());
        assert!(below.is_err_and(|text| text.contains("cannot write")));
        assert_eq!(std::fs::read_to_string(&file)?, "x");
        Ok(())
    }
}
