//! The names under which a server answers: the headers `Host` and `Origin` of a request.
//!
//! A browser sends both by itself and lets no page change them. `Host` tells a page whose name was
//! made to point to this machine (DNS rebinding), and `Origin` a page of another site.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, Version, header};

/// The host of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    /// A name in lower case, without the dot of the root.
    Name(String),
    /// An address of a machine.
    Address(IpAddr),
}

impl Host {
    /// Parses a host as URLs write it: an IPv6 address stands in brackets.
    fn parse(text: &str) -> Option<Self> {
        if let Some(inner) = text.strip_prefix('[') {
            let address: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
            return Some(Self::Address(IpAddr::from(address).to_canonical()));
        }
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Some(Self::Address(address.into()));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        let is_part = |part: &str| {
            let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            !part.is_empty() && part.bytes().all(known)
        };
        let is_name = name.len() <= 253 && name.split('.').all(is_part);
        is_name.then(|| Self::Name(name.to_ascii_lowercase()))
    }

    /// Returns `true` for names and addresses that are the own machine everywhere: no name server
    /// decides about them.
    fn is_loopback(&self) -> bool {
        match self {
            Self::Name(name) => name == "localhost" || name.ends_with(".localhost"),
            Self::Address(address) => address.is_loopback(),
        }
    }
}

/// A host with its port, as the header `Host` has it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Authority {
    host: Host,
    port: Option<u16>,
}

impl Authority {
    fn parse(text: &str) -> Option<Self> {
        let end_of_host = match text.rfind(']') {
            Some(bracket) => bracket + 1,
            None => text.find(':').unwrap_or(text.len()),
        };
        let (host, port) = text.split_at_checked(end_of_host)?;
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => None,
            Some("") => None,
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(digits.parse().ok()?)
            }
            _ => return None,
        };
        let host = Host::parse(host)?;
        Some(Self { host, port })
    }
}

/// The origin of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    /// The text as browsers send it.
    text: String,
    authority: Authority,
    /// The port of the scheme, which addresses leave out.
    default_port: Option<u16>,
}

impl Origin {
    /// Parses `scheme://host` or `scheme://host:port`.
    fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        if scheme.is_empty() || !scheme.bytes().all(known) {
            return None;
        }
        let scheme = scheme.to_ascii_lowercase();
        let default_port = match scheme.as_str() {
            "http" | "ws" => Some(80),
            "https" | "wss" => Some(443),
            _ => None,
        };
        let mut authority = Authority::parse(rest)?;
        authority.port = authority.port.filter(|port| Some(*port) != default_port);
        let host = match &authority.host {
            Host::Name(name) => name.clone(),
            Host::Address(IpAddr::V4(address)) => address.to_string(),
            Host::Address(IpAddr::V6(address)) => format!("[{address}]"),
        };
        let port = authority.port.map(|port| format!(":{port}"));
        Some(Self {
            text: format!("{scheme}://{host}{}", port.unwrap_or_default()),
            authority,
            default_port,
        })
    }

    /// Returns `true` if the page came from this host, over any scheme: a proxy may have added TLS.
    fn is_of(&self, host: &Authority) -> bool {
        let port = |authority: &Authority| authority.port.or(self.default_port);
        self.authority.host == host.host && port(&self.authority) == port(host)
    }
}

/// The error for a name that `--allow-host` or `--allow-origin` cannot take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The text is not a host.
    #[error(
        "--allow-host {0:?} is not the name of a host: give a name or an address without scheme and port, such as \
         play.example"
    )]
    Host(String),
    /// The text is not an origin.
    #[error(
        "--allow-origin {0:?} is not an origin: give scheme, host and port of one site, such as https://play.example \
         or http://localhost:3000; `null` and `*` stand for every site"
    )]
    Origin(String),
}

/// The hosts and origins whose requests are answered.
#[derive(Debug)]
pub(crate) struct AllowedNames {
    /// Asks for a `Host` that is a loopback name or one of `hosts`.
    checks_host: bool,
    hosts: Vec<Host>,
    origins: Vec<Origin>,
}

impl AllowedNames {
    /// Creates the check from the values of `--allow-host` and `--allow-origin`. `checks_host` asks for
    /// a known `Host` even if no host is named.
    pub(crate) fn new(
        checks_host: bool,
        hosts: &[String],
        origins: &[String],
    ) -> Result<Self, NameError> {
        let host = |text: &String| {
            // An IPv6 address may be given without the brackets of a URL.
            let bare = text.parse::<Ipv6Addr>().ok();
            let bare = bare.map(|address| Host::Address(IpAddr::from(address).to_canonical()));
            let host = bare.or_else(|| Host::parse(text));
            host.ok_or_else(|| NameError::Host(text.clone()))
        };
        let origin =
            |text: &String| Origin::parse(text).ok_or_else(|| NameError::Origin(text.clone()));
        Ok(Self {
            checks_host: checks_host || !hosts.is_empty(),
            hosts: hosts.iter().map(host).collect::<Result<_, _>>()?,
            origins: origins.iter().map(origin).collect::<Result<_, _>>()?,
        })
    }

    /// Returns the allowed origins as browsers send them.
    pub(crate) fn origins(&self) -> impl Iterator<Item = HeaderValue> {
        let texts = self.origins.iter().map(|origin| &origin.text);
        texts.filter_map(|text| HeaderValue::from_str(text).ok())
    }

    /// Returns status and words of the refusal of a request; `None` if it is answered.
    pub(crate) fn refusal(&self, request: &Request) -> Option<(StatusCode, String)> {
        let headers = request.headers();
        let mut named = headers.get_all(header::HOST).iter();
        let host = named.next();
        if named.next().is_some() {
            let words = "the header Host is there more than once";
            return Some((StatusCode::BAD_REQUEST, words.to_owned()));
        }
        // An absolute address counts more than the header; so both have to be right.
        let target = request.uri().authority().map(|name| name.as_str());
        if host.is_none() && target.is_none() && request.version() >= Version::HTTP_11 {
            let words = "the header Host is missing: HTTP/1.1 asks for it";
            return Some((StatusCode::BAD_REQUEST, words.to_owned()));
        }
        let host = host.map(|value| value.to_str().unwrap_or("?"));
        for name in [target, host].into_iter().flatten() {
            if let Some(words) = self.host_refusal(name) {
                return Some((StatusCode::FORBIDDEN, words));
            }
        }
        let own = target.or(host).and_then(Authority::parse);
        for origin in headers.get_all(header::ORIGIN) {
            let origin = origin.to_str().unwrap_or("?");
            if let Some(words) = self.origin_refusal(origin, own.as_ref()) {
                return Some((StatusCode::FORBIDDEN, words));
            }
        }
        None
    }

    fn host_refusal(&self, name: &str) -> Option<String> {
        if !self.checks_host {
            return None;
        }
        let shown: String = name.chars().take(64).collect();
        let Some(Authority { host, .. }) = Authority::parse(name) else {
            return Some(format!("the header Host is not a name: {shown:?}"));
        };
        let is_known = host.is_loopback() || self.hosts.contains(&host);
        (!is_known).then(|| {
            format!(
                "this server does not answer under the name {shown:?}: use localhost, or start it with --allow-host \
                 and this name, without its port"
            )
        })
    }

    fn origin_refusal(&self, text: &str, own: Option<&Authority>) -> Option<String> {
        let shown: String = text.chars().take(64).collect();
        let Some(origin) = Origin::parse(text) else {
            return Some(format!(
                "pages of the origin {shown:?} cannot use this server: any site can have it. Serve the page over HTTP \
                 and start the server with --allow-origin and the origin of the page"
            ));
        };
        let is_allowed = self.origins.iter().any(|known| known.text == origin.text);
        // Programs of the own machine reach the server without a browser, too.
        let is_local =
            origin.authority.host.is_loopback() && own.is_some_and(|own| own.host.is_loopback());
        let is_own = own.is_some_and(|own| origin.is_of(own));
        let is_site = origin.text.starts_with("http://") || origin.text.starts_with("https://");
        (!is_allowed && !(is_site && (is_local || is_own))).then(|| {
            format!(
                "pages of {shown:?} may not use this server: start it with --allow-origin and this origin if the page \
                 is yours"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn status(allowed: &AllowedNames, headers: &[(&str, &str)]) -> Option<u16> {
        let mut request = Request::builder().uri("/state");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::empty()).expect("a request");
        allowed.refusal(&request).map(|(status, _)| status.as_u16())
    }

    fn names(checks_host: bool, hosts: &[&str], origins: &[&str]) -> AllowedNames {
        let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        AllowedNames::new(checks_host, &texts(hosts), &texts(origins)).expect("names")
    }

    #[test]
    fn loopback_names_are_answered_and_others_refused() {
        let local = names(true, &[], &[]);
        for host in [
            "localhost",
            "LOCALHOST:8000",
            "localhost.:80",
            "localhost:",
            "app.localhost:3000",
            "127.0.0.1",
            "127.9.8.7:1",
            "[::1]",
            "[::1]:8000",
            "[0:0:0:0:0:0:0:1]:8000",
            "[::ffff:127.0.0.1]:8000",
        ] {
            assert_eq!(status(&local, &[("host", host)]), None, "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:8000",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "evillocalhost",
            ".localhost",
            "localhost..",
            "localhost:80:80",
            "localhost:99999",
            "localhost:x",
            "localhost@evil.example",
            "user@localhost",
            "localhost/x",
            "localhost, evil.example",
            "127.1",
            "2130706433",
            "0x7f.0.0.1",
            "0.0.0.0:8000",
            "192.168.0.1",
            "10.0.0.1:8000",
            "[::]:8000",
            "::1",
            "[::1",
            "[::1]x",
            "[localhost]",
            "[fe80::1%25eth0]",
        ] {
            assert_eq!(status(&local, &[("host", host)]), Some(403), "{host}");
        }
        assert_eq!(status(&local, &[]), Some(400), "HTTP/1.1 without a host");
        let twice = [("host", "localhost"), ("host", "localhost")];
        assert_eq!(status(&local, &twice), Some(400));
    }

    #[test]
    fn named_hosts_are_answered() {
        let named = names(false, &["Play.Example", "10.0.0.7", "fd00::7"], &[]);
        for host in [
            "play.example:8000",
            "PLAY.example.",
            "10.0.0.7:1",
            "[fd00::7]:80",
            "localhost:8000",
        ] {
            assert_eq!(status(&named, &[("host", host)]), None, "{host}");
        }
        for host in ["sub.play.example", "example", "10.0.0.8"] {
            assert_eq!(status(&named, &[("host", host)]), Some(403), "{host}");
        }
        let open = names(false, &[], &[]);
        assert_eq!(status(&open, &[("host", "any.example")]), None);
        for text in ["http://play.example", "play.example:80", "", "*", "a b"] {
            let error = AllowedNames::new(true, &[text.to_owned()], &[]).expect_err("no host");
            assert_eq!(error, NameError::Host(text.to_owned()));
        }
    }

    #[test]
    fn origins_are_the_hosts_own_loopback_or_allowed() {
        let origins = ["https://play.example", "http://Dev.example:80"];
        let server = names(false, &[], &origins);
        for (host, origin) in [
            ("localhost:8000", "http://localhost:8000"),
            ("localhost:8000", "http://127.0.0.1:3000"),
            ("127.0.0.1:8000", "http://app.localhost"),
            ("[::1]:8000", "https://localhost"),
            ("play.me", "https://play.me"),
            ("play.me", "http://play.me"),
            ("play.me:443", "https://play.me"),
            ("play.me:8443", "https://PLAY.me:8443"),
            ("any.example", "https://play.example"),
            ("any.example", "http://dev.example"),
        ] {
            let found = status(&server, &[("host", host), ("origin", origin)]);
            assert_eq!(found, None, "{origin} at {host}");
        }
        for (host, origin) in [
            ("localhost:8000", "http://evil.example"),
            ("localhost:8000", "http://localhost.evil.example:8000"),
            ("localhost:8000", "null"),
            ("localhost:8000", ""),
            ("localhost:8000", "localhost:8000"),
            ("localhost:8000", "http://localhost:8000/path"),
            ("localhost:8000", "http://localhost:8000@evil.example"),
            (
                "localhost:8000",
                "http://localhost:8000 http://evil.example",
            ),
            ("localhost:8000", "file://"),
            ("localhost:8000", "x://localhost:8000"),
            ("play.me:8000", "x://play.me:8000"),
            ("play.me", "http://localhost:3000"),
            ("play.me", "https://play.me:8443"),
            ("play.me", "https://sub.play.me"),
            ("any.example", "http://play.example"),
            ("any.example", "https://play.example:8443"),
            ("any.example", "https://play.example.evil"),
        ] {
            let found = status(&server, &[("host", host), ("origin", origin)]);
            assert_eq!(found, Some(403), "{origin} at {host}");
        }
        let two = [
            ("host", "localhost"),
            ("origin", "http://localhost"),
            ("origin", "http://evil.example"),
        ];
        assert_eq!(status(&server, &two), Some(403));
        let sent: Vec<_> = server.origins().collect();
        assert_eq!(sent, ["https://play.example", "http://dev.example"]);
        for text in ["*", "null", "play.example", "https://play.example/", "://x"] {
            let error = AllowedNames::new(true, &[], &[text.to_owned()]).expect_err("no origin");
            assert_eq!(error, NameError::Origin(text.to_owned()));
        }
    }

    #[test]
    fn absolute_addresses_and_old_versions_are_checked() {
        let local = names(true, &[], &[]);
        let ask = |uri: &str, host: Option<&str>, version| {
            let mut request = Request::builder().uri(uri).version(version);
            if let Some(host) = host {
                request = request.header("host", host);
            }
            let request = request.body(Body::empty()).expect("a request");
            local.refusal(&request).map(|(status, _)| status.as_u16())
        };
        let evil = "http://evil.example/state";
        assert_eq!(ask(evil, Some("localhost"), Version::HTTP_11), Some(403));
        let own = "http://localhost:8000/state";
        assert_eq!(ask(own, Some("evil.example"), Version::HTTP_11), Some(403));
        assert_eq!(ask(own, Some("localhost:8000"), Version::HTTP_11), None);
        assert_eq!(ask("/state", None, Version::HTTP_10), None);
        assert_eq!(
            ask("/state", Some("evil.example"), Version::HTTP_10),
            Some(403)
        );
    }
}
