//! Every recorded row, compared field by field.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test stops early, and says how much it compared"
)]

use sentinel_testkit::{Outcome, check_golden, testdata};

#[test]
fn every_recorded_row_comes_out_the_same() {
    let files = testdata::files("golden").unwrap();
    assert!(
        !files.is_empty(),
        "no recorded data in {}",
        testdata::folder().display()
    );
    let mut total = Outcome::default();
    for path in files {
        let outcome = check_golden(&testdata::read(&path).unwrap());
        println!(
            "{}: {} rows equal, {} differ, {} of other worlds",
            path.display(),
            outcome.checked - outcome.failed,
            outcome.failed,
            outcome.skipped
        );
        total.merge(outcome);
    }
    assert!(total.checked > 0, "nothing was compared");
    assert_eq!(total.failed, 0, "{:#?}", total.messages);
}
