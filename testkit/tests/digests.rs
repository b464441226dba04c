//! Checks the recorded digests natively. The browser test checks the same lists in WebAssembly.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use sentinel_testkit::check_digests;
use sentinel_testkit::testdata::TestData;

#[test]
fn digests_match_recording() {
    let data = TestData::find();
    for (name, text) in data.digests().unwrap() {
        let outcome = check_digests(&text);
        // Each list of the repository holds hundreds of episodes. Without this check, an empty list
        // would pass.
        let least = if name == "trust" { 700 } else { 200 };
        assert!(
            !data.ours || outcome.checked > least,
            "{name}: only {} episodes",
            outcome.checked
        );
        assert_eq!(outcome.failed, 0, "{name}: {:#?}", outcome.messages);
    }
}
