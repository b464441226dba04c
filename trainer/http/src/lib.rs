//! An HTTP client with retries, time limits and size limits, for all requests of the trainer but the
//! download of base models.
//!
//! It must never know what is asked for (only [`HfEnvironment`] knows where the Hugging Face Hub is and
//! its token), nor any other crate of this workspace. Read [`HttpClient`] first, then `request.rs`.
//!
//! ```no_run
//! use sentinel_http::{HttpClient, HttpConfig, Request};
//!
//! let client = HttpClient::new(HttpConfig::default());
//! let request = Request::get("https://example.org/rows")?.query(&[("offset", "100")]);
//! let page: serde_json::Value = client.send(&request)?.json()?;
//! # Ok::<(), sentinel_http::HttpError>(())
//! ```
//!
//! A failed request is repeated with growing pauses, or after the time that the server asks for,
//! until the number of retries or the deadline is reached:
//!
//! | failure | repeated |
//! |---|---|
//! | status 429 or 503: the server did not process the request | always |
//! | status 408, 500, 502 or 504; no answer; a broken connection | unless it is a POST that is not [`repeatable`](Request::repeatable) |
//! | any other status, an answer that is too large | never |
//!
//! A [`Token`] is sent only over https or to this machine, not to another host that a server
//! redirects to, and is in no message.

mod client;
mod error;
mod hf_environment;
mod request;

pub use client::{HttpClient, HttpConfig, sleep_unless};
pub use error::{HttpError, TokenFault};
pub use hf_environment::HfEnvironment;
pub use request::{Content, HF_TOKEN, Method, Request, Response, Token, without_secrets};
