//! A headless browser with an empty profile: Chromium, or Firefox for a few tests.

use crate::chrome_command::ChromeCommand;
use crate::driver::Driver;
use crate::test_input::input;
use anyhow::{Context, Result, bail};
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Map, Value, json};
use std::ops::Deref;
use std::path::Path;
use std::time::{Duration, Instant};

/// The time limit of [`Browser::wait_until`]; generous, since test machines are often busy.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time limit of one script in milliseconds; millions of steps inside wasm are one script.
const SCRIPT_LIMIT_MS: u64 = 300_000;
/// Flags for an isolated run: no first-run pages, no background network traffic, and no sandbox
/// (which root cannot have).
const FLAGS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
];

/// Settings of Firefox: errors of a page are printed, and nothing is fetched in the background.
const FIREFOX_PREFERENCES: [(&str, bool); 3] = [
    ("devtools.console.stdout.content", true),
    ("app.normandy.enabled", false),
    ("nimbus.rollouts.enabled", false),
];
/// Prefixes of the lines in which Firefox reports a page error. Its own errors name no web
/// address, and their text has no quotes.
const FIREFOX_ERRORS: [&str; 2] = ["console.error: \"", "JavaScript error: http"];

/// A running browser, which dereferences to fantoccini's client: `browser.goto(…)` and
/// `browser.find(…)` work.
#[derive(Debug)]
pub struct Browser {
    client: Client,
    // Field order matters: the driver stops before its profile folder is removed.
    driver: Driver,
    profile: Option<tempfile::TempDir>,
}

impl Deref for Browser {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Browser {
    /// Starts Chromium with a window of 1280 × 800 CSS pixels.
    ///
    /// # Errors
    /// Returns an error if Chromium or its driver is missing or does not start.
    pub async fn start() -> Result<Self> {
        let programs = xtask::browser::find().context(
            "no Chromium or no chromedriver on PATH: run `cargo xtask test`, which installs them",
        )?;
        let driver = Driver::start(&programs.driver)?;
        let profile = tempfile::tempdir().context("no folder for the browser's profile")?;
        let mut flags: Vec<String> = FLAGS.map(String::from).into();
        flags.push(format!("--user-data-dir={}", profile.path().display()));
        let capabilities = json!({
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": programs.browser, "args": flags},
            "goog:loggingPrefs": {"browser": "ALL"},
            "timeouts": {"script": SCRIPT_LIMIT_MS},
        });
        let client = connect(&driver, &programs.browser, capabilities).await?;
        let browser = Self {
            client,
            driver,
            profile: Some(profile),
        };
        browser.viewport(1280, 800).await?;
        Ok(browser)
    }

    /// Starts Firefox. Commands of the DevTools protocol, among them all emulation, are Chromium's.
    ///
    /// # Errors
    /// Returns an error if `SENTINEL_FIREFOX` or `SENTINEL_GECKODRIVER` names no program, or one
    /// does not start.
    pub async fn start_firefox() -> Result<Self> {
        let program = input("SENTINEL_FIREFOX")?;
        let mut driver = Driver::start(&input("SENTINEL_GECKODRIVER")?)?;
        let preferences = FIREFOX_PREFERENCES.map(|(name, on)| (name.to_owned(), Value::Bool(on)));
        let preferences = Map::from_iter(preferences);
        let capabilities = json!({
            "browserName": "firefox",
            "moz:firefoxOptions": {
                "binary": program,
                "args": ["-headless"],
                "prefs": preferences,
            },
            "timeouts": {"script": SCRIPT_LIMIT_MS},
        });
        let client = connect(&driver, &program, capabilities).await?;
        let session = client
            .session_id()
            .await?
            .context("Firefox has no session")?;
        driver.ends_session(&session);
        client.set_window_size(1280, 800).await?;
        Ok(Self {
            client,
            driver,
            profile: None,
        })
    }

    /// Sets the page's size to `width` × `height` CSS pixels, which may be narrower than a window
    /// can be.
    ///
    /// # Errors
    /// Returns an error if the browser is gone.
    pub async fn viewport(&self, width: u32, height: u32) -> Result<()> {
        let parameters = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
        });
        self.dev_tools("Emulation.setDeviceMetricsOverride", parameters)
            .await?;
        Ok(())
    }

    /// Emulates a user who prefers dark (or light) colors.
    ///
    /// # Errors
    /// Returns an error if the browser is gone.
    pub async fn prefer_dark(&self, dark: bool) -> Result<()> {
        let value = if dark { "dark" } else { "light" };
        self.prefer(&[("prefers-color-scheme", value)]).await
    }

    /// Emulates a user with these preferences, in place of earlier ones: names and values of CSS
    /// media features.
    ///
    /// # Errors
    /// Returns an error if the browser is gone.
    pub async fn prefer(&self, features: &[(&str, &str)]) -> Result<()> {
        let feature = |(name, value): &(&str, &str)| json!({"name": name, "value": value});
        let features: Vec<Value> = features.iter().map(feature).collect();
        self.dev_tools("Emulation.setEmulatedMedia", json!({"features": features}))
            .await?;
        Ok(())
    }

    /// Takes the network away from the page, or gives it back.
    ///
    /// # Errors
    /// Returns an error if the browser is gone.
    pub async fn go_offline(&self, offline: bool) -> Result<()> {
        let parameters = json!({
            "offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1,
        });
        self.dev_tools("Network.enable", json!({})).await?;
        self.dev_tools("Network.emulateNetworkConditions", parameters)
            .await?;
        Ok(())
    }

    /// Runs a command of the DevTools protocol.
    ///
    /// # Errors
    /// Returns an error if the browser refuses the command.
    pub async fn dev_tools(&self, name: &'static str, parameters: Value) -> Result<Value> {
        let command = ChromeCommand::DevTools { name, parameters };
        let answer = self.client.issue_cmd(command).await;
        answer.with_context(|| format!("the browser refused {name}"))
    }

    /// Returns the errors that the page logged since the last call: `console.error`, uncaught
    /// exceptions, panics and, in Chromium alone, files that did not load.
    ///
    /// # Errors
    /// Returns an error if the browser is gone.
    pub async fn take_console_errors(&self) -> Result<Vec<String>> {
        if self.profile.is_none() {
            // Firefox prints an error a moment after it happened.
            tokio::time::sleep(Duration::from_millis(300)).await;
            let is_error =
                |line: &String| FIREFOX_ERRORS.iter().any(|begin| line.starts_with(begin));
            return Ok(self
                .driver
                .take_output()
                .into_iter()
                .filter(is_error)
                .collect());
        }
        let log = self.client.issue_cmd(ChromeCommand::TakeLog).await?;
        let entries = log.as_array().cloned().unwrap_or_default();
        Ok(entries
            .iter()
            .filter(|entry| entry["level"] == "SEVERE")
            .filter_map(|entry| entry["message"].as_str())
            // The browser requests a favicon from every host; a missing one is not an error of the
            // page.
            .filter(|message| !message.contains("/favicon.ico"))
            .map(String::from)
            .collect())
    }

    /// Waits until a JavaScript expression is true.
    ///
    /// # Errors
    /// Returns an error if it stays false for half a minute; the error quotes the page's text and
    /// its console errors.
    pub async fn wait_until(&self, expression: &str) -> Result<()> {
        if self.becomes(expression, PATIENCE).await? {
            return Ok(());
        }
        let text = self
            .client
            .execute("return document.body.innerText.slice(0, 2000);", vec![])
            .await?;
        bail!(
            "never became true: {expression}\nconsole errors: {:?}\nthe page says: {text}",
            self.take_console_errors().await?
        )
    }

    /// Waits until a JavaScript expression is true; returns `false` if it stays false for `limit`.
    ///
    /// # Errors
    /// Returns an error if the browser is gone.
    pub async fn becomes(&self, expression: &str, limit: Duration) -> Result<bool> {
        let script = format!("return Boolean({expression});");
        let start = Instant::now();
        while start.elapsed() < limit {
            if self.client.execute(&script, vec![]).await? == Value::Bool(true) {
                return Ok(true);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(false)
    }

    /// Returns the visible text of the first element that matches a CSS selector, after waiting for
    /// one.
    ///
    /// # Errors
    /// Returns an error if no such element appears.
    pub async fn text(&self, selector: &str) -> Result<String> {
        self.wait_for(selector).await?;
        let element = self.client.find(Locator::Css(selector)).await?;
        Ok(element.text().await?)
    }

    /// Clicks the first element that matches a CSS selector, after waiting for one.
    ///
    /// # Errors
    /// Returns an error if no such element appears or something covers it.
    pub async fn click(&self, selector: &str) -> Result<()> {
        self.wait_for(selector).await?;
        let element = self.client.find(Locator::Css(selector)).await?;
        // The driver scrolls only to elements outside the window, not to those that a fixed bar
        // covers.
        let quoted = Value::from(selector);
        let center =
            format!("document.querySelector({quoted}).scrollIntoView({{block: 'center'}});");
        self.client.execute(&center, vec![]).await?;
        let clicked = element.click().await;
        clicked.with_context(|| format!("cannot click {selector}"))
    }

    /// Sends keys to the page as a user would type them; `fantoccini::key::Key` names the special
    /// ones.
    ///
    /// # Errors
    /// Returns an error if the browser is gone.
    pub async fn press(&self, keys: &str) -> Result<()> {
        let body = self.client.active_element().await?;
        Ok(body.send_keys(keys).await?)
    }

    /// Waits until an element matches a CSS selector.
    ///
    /// # Errors
    /// Returns an error if no such element appears.
    pub async fn wait_for(&self, selector: &str) -> Result<()> {
        let quoted = Value::from(selector);
        self.wait_until(&format!("document.querySelector({quoted})"))
            .await
    }

    /// Writes a PNG of the visible part of the page.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub async fn save_screenshot(&self, file: &Path) -> Result<()> {
        let png = self.client.screenshot().await?;
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(file, png).with_context(|| format!("cannot write {}", file.display()))
    }
}

/// Starts a browser by its driver.
async fn connect(driver: &Driver, program: &Path, capabilities: Value) -> Result<Client> {
    let capabilities: Map<String, Value> = serde_json::from_value(capabilities)?;
    ClientBuilder::new(HttpConnector::new())
        .capabilities(capabilities)
        .connect(&driver.url())
        .await
        .with_context(|| format!("{} does not start", program.display()))
}
