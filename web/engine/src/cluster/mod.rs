//! The cluster world.
