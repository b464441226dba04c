//! Digests.
use crate::Outcome;
/// x
pub fn check_digests(_t:&str)->Outcome{Outcome::default()}
