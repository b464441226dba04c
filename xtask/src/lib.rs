//! The tasks of `cargo xtask`, one module per task or tool; the browser tests share [`serve`] and
//! [`browser`].
//!
//! Overview: `main` reads the command line; [`demo`], [`site`], [`ci`], [`size`], [`golden`] and
//! [`e2e`] are the tasks; [`page`] builds the page from [`wasm_target`] (with [`debian`] and [`apt`]
//! below it) and [`tools`]; [`tidy`] checks the rules of the repository, with [`comments`], [`links`] and
//! [`imports`]; [`lighthouse`] grades the page; [`run`] runs every child process; [`dirs`] has every folder.

pub mod apt;
pub mod browser;
pub mod ci;
pub mod comments;
pub mod debian;
pub mod demo;
pub mod dirs;
pub mod e2e;
pub mod golden;
pub mod imports;
pub mod lighthouse;
pub mod links;
pub mod page;
pub mod run;
pub mod serve;
pub mod site;
pub mod size;
pub mod test_counts;
pub mod tidy;
pub mod tools;
pub mod wasm_split;
pub mod wasm_target;
pub mod worlds;
