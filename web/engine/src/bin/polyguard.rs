//! The engine of the world `polyguard`.

fn main() {}
