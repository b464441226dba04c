//! Compares the recorded episodes of the polyguard world with the current ones, as text.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use std::collections::BTreeSet;

use sentinel_env::polyguard::TaskSpec;
use sentinel_testkit::snapshot::{COMMAND, difference, file_name, folder, render};

#[test]
fn episode_snapshots_match_recording() {
    let mut differences = Vec::new();
    for case in TaskSpec::ALL {
        let name = file_name(case);
        let recorded = std::fs::read_to_string(folder().join(&name))
            .unwrap_or_else(|error| panic!("{name}: {error}; record it: {COMMAND}"));
        // A checkout may have converted the line endings.
        let recorded = recorded.replace("\r\n", "\n");
        differences.extend(difference(&name, &recorded, &render(case)));
    }
    assert!(
        differences.is_empty(),
        "{} of 24 differ\n{}",
        differences.len(),
        differences.join("\n")
    );
}

#[test]
fn snapshot_files_match_task_cells() {
    let files = folder().read_dir().unwrap();
    let files: BTreeSet<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    let cells: BTreeSet<String> = TaskSpec::ALL.into_iter().map(file_name).collect();
    assert_eq!(files, cells);
    assert_eq!(cells.len(), 24);
}
