//! Compares every recorded row field by field.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test stops early, and says how much it compared"
)]

use sentinel_testkit::testdata::{OURS, TestData};
use sentinel_testkit::{Outcome, check_golden};

#[test]
fn golden_rows_match_recording() {
    let data = TestData::find();
    let mut total = Outcome::default();
    for (name, text) in data.golden().unwrap() {
        let outcome = check_golden(&text);
        let (equal, differ) = (outcome.checked - outcome.failed, outcome.failed);
        println!(
            "{name}: {equal} rows equal, {differ} differ, {} of other worlds",
            outcome.skipped
        );
        // Without this check, skipped rows would look like equal ones.
        for (_, rows) in OURS.iter().filter(|(ours, _)| data.ours && *ours == name) {
            assert_eq!(outcome.checked, *rows, "{name}: rows compared");
        }
        total.merge(outcome);
    }
    assert!(total.checked > 0, "nothing was compared");
    assert_eq!(total.failed, 0, "{:#?}", total.messages);
}
