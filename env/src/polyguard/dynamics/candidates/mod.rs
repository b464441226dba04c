//! The candidates of a step: up to ten acts proposed by rules, of which illegal ones are not shown.

mod proposals;
mod propose;
mod select;

pub(crate) use select::refresh_observation;
