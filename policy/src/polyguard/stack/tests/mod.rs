//! Tests of the stack.

mod agents;
mod modes;
