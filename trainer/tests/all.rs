//! The tests of the command and of the library as users meet them. They are one program, since
//! every program is linked with the tensor library, which takes longer than most of them run.

mod common;

mod ablate;
mod analyze;
mod bad_input;
mod bound;
mod charts;
mod cluster;
mod corpus;
mod corpus_forms;
mod doctor;
mod documents;
mod eval;
mod hub;
mod kills;
mod learn;
mod net_parity;
mod options;
mod outputs;
#[path = "liar_bandit.rs"]
mod outside_environment;
mod own_environment;
mod recipes;
mod replay;
mod replay_properties;
mod report;
mod rollout;
mod run_log;
mod serve;
mod sweep;
mod sweep_stops;
mod trace;
mod train;
mod transcripts;
mod worlds;
