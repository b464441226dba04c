//! The built page in headless Chromium, whose folder `SENTINEL_DIST` names. One program, so that it is
//! linked once.

mod analysis;
mod board;
mod compare;
mod embed;
mod episode;
mod files;
mod harness;
mod hints;
mod input;
mod looks;
mod offline;
mod pictures;
mod play;
mod results;
mod shifts;
mod spot;
mod train;
mod train_workers;
mod words;
mod workers;
