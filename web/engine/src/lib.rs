//! The page's engines: each plays the episodes of one world and describes every frame as data.
//!
//! [`Engine`] answers the messages of `sentinel-page-protocol`. It is generic over [`PageWorld`],
//! which a world implements once: names for menus, codes of actions in the address, and the views of
//! a frame. A view for the agent is made from a [`PublicFrame`], which holds no hidden state; hidden
//! state is in a [`Frame`], which only the functions that make a
//! [`Truth`](sentinel_page_protocol::Truth) receive.
//!
//! [`RecordsEngine`] plays nothing: it reads training logs and reports.
//!
//! An engine knows neither browser nor clock. The programs in `src/bin` connect it to a Web Worker.

pub mod actor;
mod cluster;
mod engine;
pub mod evaluation;
pub mod export;
pub mod file_library;
pub mod files;
pub mod format;
mod polyguard;
mod records;
pub mod run;
pub mod run_analysis;
pub mod standings;
pub mod tournament;
pub mod transcript;
mod trust;
pub mod worker;
pub mod world;

pub use engine::{Deferred, Engine, Fetching};
pub use records::RecordsEngine;
pub use run::{Frame, PublicFrame, Run};
pub use world::PageWorld;
