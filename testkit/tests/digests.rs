//! The recorded digests, natively. The browser test checks the same list inside wasm.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use sentinel_testkit::check_digests;
use sentinel_testkit::testdata::TestData;

#[test]
fn every_digest_is_the_recorded_one() {
    let data = TestData::find();
    for (name, text) in data.digests().unwrap() {
        let outcome = check_digests(&text);
        assert!(
            !data.ours || outcome.checked > 700,
            "{name}: only {} episodes",
            outcome.checked
        );
        assert_eq!(outcome.failed, 0, "{name}: {:#?}", outcome.messages);
    }
}
