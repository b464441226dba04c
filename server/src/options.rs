//! The options of a server, and the limits derived from them.

use std::path::PathBuf;
use std::time::Duration;

use sentinel_env::WorldName;
use sentinel_env::rng::Streams;

/// The options of `sentinel serve`.
#[derive(Clone, Debug, clap::Args)]
pub struct ServeOptions {
    /// Default world for resets that do not name one: trust, cluster or polyguard
    #[arg(long, value_name = "WORLD", default_value_t = WorldName::DEFAULT, value_parser = parse_world)]
    pub world: WorldName,
    /// Default task for resets that do not name one
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
    /// Default rules for resets that do not name any, such as hardened [default: reference, as in the
    /// published system]
    #[arg(long, value_name = "RULES")]
    pub rules: Option<String>,
    /// Default streams for resets that do not name any: reference or independent
    #[arg(long, value_name = "STREAMS", value_parser = parse_streams)]
    pub streams: Option<Streams>,
    /// Policy that answers /act: a name, a model's folder, or active
    #[arg(long, value_name = "NAME|MODEL")]
    pub policy: Option<String>,
    /// Variables of the chat template of the policy, a language model, as a JSON object [default: those
    /// that it was trained with]
    #[arg(long, value_name = "JSON", requires = "policy")]
    pub chat_template_kwargs: Option<String>,
    /// Language model that completes prompts under /v1/, as vLLM's server does: a folder, or a name on
    /// the Hugging Face Hub
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Name of the language model in requests [default: that of --model]
    #[arg(long, value_name = "NAME", requires = "model")]
    pub served_model_name: Option<String>,
    /// Folder below which /v1/load_lora_adapter may read adapters; without it, none is loaded
    #[arg(long, value_name = "FOLDER", requires = "model")]
    pub adapter_root: Option<PathBuf>,
    /// Maximum number of adapters that are loaded at a time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub max_adapters: u32,
    /// Address or name to listen on; a non-loopback address requires a token
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub host: String,
    /// Port to listen on; 0 chooses a free one
    #[arg(long, value_name = "PORT", default_value_t = 8000)]
    pub port: u16,
    /// Token that requests must carry as `Authorization: Bearer TOKEN`; the variable SENTINEL_TOKEN
    /// keeps it out of the list of processes
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
    /// Listen beyond loopback without a token, for a container whose platform guards it
    #[arg(long)]
    pub allow_anonymous: bool,
    /// Name under which the server answers beside loopback names, as the header Host has it, without its
    /// port; may be repeated. Beyond loopback, and with a token, every name is answered unless one is given
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// Site whose pages may use the server from a browser, such as `https://play.example`; may be repeated.
    /// Pages of the server itself, and local pages on a local server, always may
    #[arg(long, value_name = "ORIGIN")]
    pub allow_origin: Vec<String>,
    /// Folder of the built page, served under /
    #[arg(long, value_name = "FOLDER")]
    pub page: Option<PathBuf>,
    /// Show hidden state in replies under /sentinel/ before the end of an episode, for evaluators
    #[arg(long)]
    pub reveal_hidden: bool,
    /// Maximum number of concurrent OpenEnv sessions; more are refused with CAPACITY_REACHED
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max_sessions: u32,
    /// Seconds after which a session that is not used ends
    #[arg(long, value_name = "SECONDS", default_value_t = 1800, value_parser = clap::value_parser!(u64).range(1..))]
    pub idle_timeout: u64,
    /// Seconds after which a session ends in any case
    #[arg(long, value_name = "SECONDS", default_value_t = 86_400, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_age: u64,
    /// Seconds between pings of the server to a WebSocket
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub ping_interval: u64,
    /// Seconds without any frame, pongs included, after which a WebSocket is considered disconnected
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub ping_deadline: u64,
    /// Largest message and request body in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 262_144, value_parser = clap::value_parser!(u32).range(1024..))]
    pub max_message: u32,
    /// Messages per second of a WebSocket, and requests per second of an address, those with a wrong token
    /// included; 0 for no limit
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub rate: u32,
    /// Seconds for the headers and the body of a request, and for its answer
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    pub request_timeout: u64,
    /// Seconds that running steps have to finish when the server stops
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub grace: u64,
    /// Write the log as JSON lines
    #[arg(long)]
    pub log_json: bool,
}

fn parse_world(text: &str) -> Result<WorldName, String> {
    WorldName::parse(text).ok_or_else(|| format!("use {}", WorldName::joined_names(" or ")))
}

fn parse_streams(text: &str) -> Result<Streams, String> {
    Streams::parse(text)
        .ok_or_else(|| format!("use {}", <Streams as sentinel_env::Named>::joined_names()))
}

/// The limits that a server keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most OpenEnv sessions at a time.
    pub max_sessions: usize,
    /// Time after which a session that is not used ends.
    pub idle_timeout: Duration,
    /// Time after which a session ends in any case.
    pub max_age: Duration,
    /// Time between pings of the server to a WebSocket.
    pub ping_interval: Duration,
    /// Time without any frame after which a WebSocket is considered disconnected.
    pub ping_deadline: Duration,
    /// Largest message and request body, in bytes.
    pub max_message: usize,
    /// Messages per second of a WebSocket and requests per second of an address; 0 for no limit.
    pub rate: u32,
    /// Time for the headers and the body of a request, and for its answer.
    pub request_timeout: Duration,
    /// Time that running steps have to finish when the server stops.
    pub grace: Duration,
}

impl ServeOptions {
    /// Returns the limits that the options set.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits {
            max_sessions: self.max_sessions as usize,
            idle_timeout: Duration::from_secs(self.idle_timeout),
            max_age: Duration::from_secs(self.max_age),
            ping_interval: Duration::from_secs(self.ping_interval),
            ping_deadline: Duration::from_secs(self.ping_deadline),
            max_message: self.max_message as usize,
            rate: self.rate,
            request_timeout: Duration::from_secs(self.request_timeout),
            grace: Duration::from_secs(self.grace),
        }
    }
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            world: WorldName::DEFAULT,
            task: None,
            rules: None,
            streams: None,
            policy: None,
            chat_template_kwargs: None,
            model: None,
            served_model_name: None,
            adapter_root: None,
            max_adapters: 8,
            host: "127.0.0.1".to_owned(),
            port: 8000,
            token: None,
            allow_anonymous: false,
            allow_host: Vec::new(),
            allow_origin: Vec::new(),
            page: None,
            reveal_hidden: false,
            max_sessions: 1024,
            idle_timeout: 1800,
            max_age: 86_400,
            ping_interval: 20,
            ping_deadline: 60,
            max_message: 262_144,
            rate: 0,
            request_timeout: 30,
            grace: 10,
            log_json: false,
        }
    }
}
