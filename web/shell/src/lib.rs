//! The shell of the page. It draws what an engine describes and knows no world.
//!
//! [`page::Page`] holds the signals: the [`state::PageState`], which the address mirrors, and two
//! [`episode_view::EpisodeView`]s, the main episode and the one to compare it with. Engines run in
//! Web Workers ([`engine_pool::EnginePool`]) and answer with the types of `sentinel_page_protocol`.
//! An [`episode_view::EpisodeView`] keeps the frames of its run encoded and decodes the one at the
//! cursor; [`panel_signals::PanelSignals`] spreads that frame over one signal for each card, so
//! that only cards that changed are drawn again, in place. Components in [`ui`] take either parts
//! of an `AgentView` or, in [`ui::truth`] only, parts of a `Truth`.
//!
//! Attributes that tests rely on:
//!
//! | attribute | element |
//! |---|---|
//! | `data-of="trust"` | the page, with its world |
//! | `data-ready` | the page, once a frame of an episode is drawn |
//! | `data-world="cluster"`, `data-screen="training"`, `"episode"` or `"watch"` | links of the header |
//! | `data-pane="main"` or `"versus"`, `data-player` | an episode and its player |
//! | `data-score`, `data-frame` | the score so far, and the number of actions that led to it |
//! | `data-panel`, `data-card` | a panel by id, a card by key |
//! | `data-act` | a button that takes the action with this code |
//! | `data-pick` | a button that adds a card to the draft action |
//! | `data-note="branch"`, `"source"`, `"playing"` | notes on the episode |
//! | `data-chart` | a chart by id |
//! | `data-index` | a row of the list of actions |
//! | `data-truth` | everything of the Truth layer |
//! | `data-mean`, `data-half-width` | a player of the standings |
//! | `data-contestant`, `data-cell` | a switch of a player, or of an item of a task menu, for a tournament |
//! | `data-details`, `data-detail` | the button of a player's details, and the details |
//! | `data-pairs` | the differences of a player to the one that it is compared with |
//! | `data-differs` | a row of the list of actions that differs from the other episode |
//! | `data-line`, `data-current` | a line of play that was tried, and the one that is shown |
//! | `data-compared` | a policy in the comparison on one episode |
//! | `data-help` | text that has an explanation |
//! | `data-suspect`, `data-ended` | a suspect of the world's question by its index, and the question once it is answered |
//! | `data-mean-of` | the mean score of a player of the question |
//! | `data-take` | a button that saves or copies something |
//! | ids | `notices`, `seed`, `new-seed`, `player`, `versus`, `streams`, `rules`, `truth`, `play`, `back`, `forward`, `first`, `last`, `previous-notable`, `next-notable`, `scrubber`, `count`, `speed`, `resume`, `discard`, `act`, `act-warning`, `act-flag`, `act-slot-LETTER`, `axis-N`, `task`, `tournament`, `tournament-pause`, `tournament-stop`, `tournament-note`, `tournament-form`, `tournament-seeds`, `tournament-first`, `tournament-tasks`, `tournament-reference`, `first-difference`, `restart`, `help`, `help-open`, `share`, `theme`, `shortcuts`, `future`, `settings`, `drawer`, `show-ending`, `ending`, `drop`, `tip`, `undo`, `redo`, `today`, `compare`, `compare-stop`, `compare-note`, `copy-result`, `result-text`, `results-open`, `results`, `results-close`, `results-export`, `results-erase`, `results-erase-all`, `results-keep`, `question`, `hint`, `again`, `play-fresh`, `heard`, `files`, `files-open`, `files-read`, `evaluation`, `making`, `train-own`, `train-indicator`, `train-show`, `train-link` |

#![allow(
    clippy::redundant_closure,
    reason = "Leptos shares the code of closures that are written out in a view"
)]
#![allow(
    missing_docs,
    unreachable_pub,
    reason = "component macros make public items of their own"
)]

pub mod address;
pub mod attempts;
pub mod browser;
pub mod daily;
pub mod deferred;
pub mod dom;
pub mod draft_action;
pub mod dropped_files;
pub mod embed_code;
pub mod engine;
pub mod engine_pool;
pub mod episode_view;
pub mod own_results;
pub mod page;
pub mod panel_signals;
pub mod query;
pub mod reactive;
pub mod rules_param;
pub mod run_store;
pub mod standings;
pub mod state;
pub mod tournament_form;
pub mod training_curve;
pub mod training_form;
pub mod tried_lines;
pub mod ui;

pub use sentinel_page_protocol::{chart_geometry, number_format};
pub use ui::app;
