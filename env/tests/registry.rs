//! Properties that hold for the worlds of the registry together.

use sentinel_env::{Protocol, WorldName, in_world};

/// Smaller salts are the numbers of random streams, whose seeds must not be public.
#[test]
fn world_id_salts_are_distinct() {
    let mut salts: Vec<u64> = Vec::new();
    for world in WorldName::ALL {
        let salt = in_world!(*world, W => <W as Protocol>::ID_SALT);
        salts.extend([salt, salt + 1]);
    }
    let count = salts.len();
    salts.sort_unstable();
    salts.dedup();
    assert_eq!(salts.len(), count, "{salts:?}");
    assert!(salts[0] >= 10, "{salts:?}");
}
