//! The recorded digests, natively. The browser test checks the same list inside wasm.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test stops early, and says how much it compared"
)]

use sentinel_testkit::{check_digests, testdata};

#[test]
fn every_digest_is_the_recorded_one() {
    let path = testdata::folder().join("digests/trust.json");
    if !path.exists() && std::env::var_os("SENTINEL_TESTDATA").is_some() {
        println!(
            "{} is not there: a folder of recorded traces need not have digests",
            path.display()
        );
        return;
    }
    let outcome = check_digests(&testdata::read(&path).unwrap());
    assert!(outcome.checked > 700, "only {} episodes", outcome.checked);
    assert_eq!(outcome.failed, 0, "{:#?}", outcome.messages);
}
