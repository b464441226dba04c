//! The `sentinel` command.
fn main() {}
