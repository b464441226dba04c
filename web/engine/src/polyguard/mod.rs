//! The PolyGuard world.
