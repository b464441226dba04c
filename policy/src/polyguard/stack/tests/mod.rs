//! Tests of the agents and of the modes of the stack.

mod agents;
mod modes;
