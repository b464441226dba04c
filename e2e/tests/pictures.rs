//! The page looks as in the committed pictures, which `cargo xtask screenshots` makes.

use anyhow::{Result, ensure};
use sentinel_e2e::pictures::{Maker, PICTURES, check, take};
use sentinel_e2e::{Browser, screenshots, serve_page};
use std::io::Write;

#[tokio::test]
async fn page_looks_as_in_the_committed_pictures() -> Result<()> {
    let server = serve_page()?;
    let browser = Browser::start().await?;
    let mut different = Vec::new();
    for picture in &PICTURES {
        let new = take(&browser, &server, picture).await?;
        let maker = Maker::of_page(&browser).await?;
        if let Some(reason) = Maker::of_committed()?.difference(&maker) {
            // Not with a macro: the output of a test that passes would be dropped.
            writeln!(std::io::stderr(), "{reason}")?;
            return Ok(());
        }
        different.extend(check(picture, &new, &screenshots())?);
    }
    ensure!(different.is_empty(), "{}", different.join("\n"));
    Ok(())
}
