//! The engine of the world `cluster`.

fn main() {}
