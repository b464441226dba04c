//! Messages between the page's shell and its engines.
//!
//! The shell (`web/shell`) draws the page and knows no world. An engine (`web/engine`, one program
//! for each world, run in a Web Worker) plays episodes and describes every frame of them as data. A
//! frame as the playing agent sees it is an [`AgentView`]; the part that is hidden from the agent
//! is a [`Truth`]. They are different types in different messages, and an engine sends a [`Truth`]
//! only while the shell asks for it with [`Request::ShowTruth`]. The [`Answer`] to a world's question is
//! sent alone, with [`Request::Answer`].
//!
//! [`chart_geometry`] and [`number_format`] are here too, because both sides draw charts: the shell
//! on the page, an engine in files to take away.
//!
//! Messages are encoded with postcard. The shell and the engines are built together, so the
//! encoding has no version.

mod analysis;
mod bytes;
mod chart;
pub mod chart_geometry;
mod decode;
mod files;
pub mod number_format;
mod panel;
mod records;
mod reply;
mod request;
mod spot;
mod training;
mod view;
mod world;

pub use analysis::{ActionValue, AnalysisUpdate, StepAnalysis};
pub use chart::{Bar, Chart, Line, Strip};
pub use decode::{DecodeError, decode};
pub use files::{Conversion, Evaluation, EvaluationRow, Export, ExportedFile, ForeignFile};
pub use panel::{Button, Card, Chip, Column, Edge, Face, Layout, Meter, Note, Panel, Share, Tone};
pub use records::{Link, Records, RecordsSection};
pub use reply::{
    DeferredReply, Difference, EpisodeScore, ListedReplay, Placement, PlayedEpisode, Reply,
    RunUpdate, Standings, TruthUpdate,
};
pub use request::{Branch, EpisodeRef, Request, TournamentSpec};
pub use spot::{Answer, BoardSign, Guess, SpotInfo, Suspect};
pub use training::{
    Attempt, AttemptStep, LearnerRequest, Rate, TrainingScore, TrainingSpec, TrainingUpdate,
    ValidationSet,
};
pub use view::{AgentView, RewardTerm, StepLine, Transcript, Truth, TruthNote};
pub use world::{Axis, Choice, PlayerInfo, Slot, TaskInfo, Verb, WorldInfo, readable_task};

use serde::Serialize;

/// Encodes a message.
///
/// # Errors
/// Returns an error if a sequence has no length; the types of this crate always have one.
pub fn encode<T: Serialize>(message: &T) -> Result<Vec<u8>, postcard::Error> {
    postcard::to_allocvec(message)
}
