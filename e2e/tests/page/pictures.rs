//! The page looks as in the committed pictures, which `cargo xtask screenshots` makes.

use anyhow::Result;
use sentinel_e2e::pictures::check_all;
use sentinel_e2e::{Browser, serve_page};
use std::io::Write;

#[tokio::test]
async fn page_looks_as_in_the_committed_pictures() -> Result<()> {
    let server = serve_page()?;
    let browser = Browser::start().await?;
    if let Some(reason) = check_all(&browser, &server).await? {
        // Not with a macro: the output of a test that passes would be dropped.
        writeln!(std::io::stderr(), "{reason}")?;
    }
    Ok(())
}
