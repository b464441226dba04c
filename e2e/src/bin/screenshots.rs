//! Makes the pictures of the page: `cargo xtask screenshots`. With `--check` it compares them with
//! the committed ones instead.

// A command-line program prints to the terminal.
#![allow(clippy::print_stdout)]

use anyhow::{Result, ensure};
use sentinel_e2e::pictures::{Maker, PICTURES, check, committed, take};
use sentinel_e2e::{Browser, screenshots, serve_page};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let only_check = std::env::args().any(|argument| argument == "--check");
    let server = serve_page()?;
    let browser = Browser::start().await?;
    let mut different = Vec::new();
    for picture in &PICTURES {
        let new = take(&browser, &server, picture).await?;
        let maker = Maker::of_page(&browser).await?;
        if !only_check {
            new.save(&committed(picture.file))?;
            maker.save()?;
            println!("{}", picture.file);
        } else if let Some(reason) = Maker::of_committed()?.difference(&maker) {
            println!("{reason}");
            return Ok(());
        } else {
            different.extend(check(picture, &new, &screenshots())?);
        }
    }
    ensure!(different.is_empty(), "{}", different.join("\n"));
    Ok(())
}
