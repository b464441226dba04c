//! Makes the pictures of the page: `cargo xtask screenshots`. With `--check` it compares them with
//! the committed ones instead, except for the animated one.

// A command-line program prints to the terminal.
#![allow(clippy::print_stdout)]

use anyhow::Result;
use sentinel_e2e::pictures::{PICTURES, RenderEnvironment, check_all, committed, take};
use sentinel_e2e::{Browser, film, serve_page};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let only_check = std::env::args().any(|argument| argument == "--check");
    let server = serve_page()?;
    let browser = Browser::start().await?;
    if only_check {
        if let Some(reason) = check_all(&browser, &server).await? {
            println!("{reason}");
        }
        return Ok(());
    }
    for picture in &PICTURES {
        let new = take(&browser, &server, picture).await?;
        new.save(&committed(picture.file))?;
        RenderEnvironment::of_page(&browser).await?.save()?;
        println!("{}", picture.file);
    }
    let frames = film::take(&browser, &server).await?;
    film::save(&frames, &committed(film::FILM))?;
    println!("{}", film::FILM);
    Ok(())
}
