//! Who may ask: a browser of this machine that was given the address.
//!
//! Any program of this machine, and by way of a browser any page of the web, can send requests to the port. The token in
//! the path is known to those who were shown the address alone. The name of the host is held against our own, so that no
//! other name that is made to mean this machine (DNS rebinding) reaches the page; so is the origin of scripts.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};
use warplens_base::error::{Error, Result};
use warplens_report::render::svg;

/// Random bytes of a token that we make.
const TOKEN_BYTES: usize = 24;
/// Characters that a token of the user has at least: 128 bits, if they are random.
const LEAST_TOKEN: usize = 22;
/// Longest path with query.
const MOST_ADDRESS: usize = 8 << 10;

/// What a request is held against.
#[derive(Debug)]
pub(crate) struct Guard {
    token: String,
    /// Names of this server as browsers send them.
    hosts: [String; 2],
    policy: HeaderValue,
}

/// A token that nobody guesses.
pub(crate) fn new_token() -> Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| Error::input(format!("the system has no random numbers: {error}")))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Refuses a token of the user that can be guessed, or that is no part of an address.
pub(crate) fn check_token(token: &str) -> Result<()> {
    let is_plain = token.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    match is_plain && token.len() >= LEAST_TOKEN {
        true => Ok(()),
        false => Err(Error::usage(format!("a token has at least {LEAST_TOKEN} letters, digits, `-` or `_`"))
            .with_help("leave it out for a new one each time")),
    }
}

impl Guard {
    pub(crate) fn new(token: String, address: SocketAddr) -> Self {
        let port = address.port();
        let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        Self { token, hosts, policy: policy() }
    }

    /// The address of the page.
    pub(crate) fn address(&self) -> String {
        format!("http://{}/{}/", self.hosts[0], self.token)
    }

    /// Why a request is refused. A stranger learns nothing but that.
    fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> std::result::Result<(), StatusCode> {
        if uri.path_and_query().is_some_and(|text| text.as_str().len() > MOST_ADDRESS) {
            return Err(StatusCode::URI_TOO_LONG);
        }
        let is_own = |host: &str| self.hosts.iter().any(|own| own == host);
        let mut named = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (named.next(), named.next()) else { return Err(StatusCode::FORBIDDEN) };
        let in_address = uri.authority().is_none_or(|authority| is_own(authority.as_str()));
        if !in_address || !host.to_str().is_ok_and(is_own) || !self.is_own_origin(headers) {
            return Err(StatusCode::FORBIDDEN);
        }
        let first = uri.path().strip_prefix('/').and_then(|path| path.split('/').next()).unwrap_or_default();
        if !is_same(first.as_bytes(), self.token.as_bytes()) {
            return Err(StatusCode::NOT_FOUND);
        }
        if !matches!(*method, Method::GET | Method::HEAD) {
            return Err(StatusCode::METHOD_NOT_ALLOWED);
        }
        let length = headers.get(header::CONTENT_LENGTH);
        if headers.contains_key(header::TRANSFER_ENCODING) || length.is_some_and(|length| length != "0") {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        Ok(())
    }

    /// True unless a browser says that another page asks. A link to the page may stand anywhere.
    fn is_own_origin(&self, headers: &HeaderMap) -> bool {
        let is_own = |origin: &HeaderValue| {
            let host = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
            host.is_some_and(|host| self.hosts.iter().any(|own| own == host))
        };
        let word = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let is_link = word("sec-fetch-mode") == Some("navigate");
        let site = word("sec-fetch-site").is_none_or(|site| matches!(site, "same-origin" | "none"));
        headers.get_all(header::ORIGIN).iter().all(is_own) && (site || is_link)
    }
}

/// Whether two words are the same, in a time that does not tell where they differ.
fn is_same(left: &[u8], right: &[u8]) -> bool {
    let differences = left.iter().zip(right).fold(0, |found, (left, right)| found | (left ^ right));
    left.len() == right.len() && std::hint::black_box(differences) == 0
}

/// Lets requests through that may be answered, and tells the browser what the answer may do.
pub(crate) async fn guard(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let mut response = match guard.check(request.method(), request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(status) => status.into_response(),
    };
    let fixed = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ];
    let headers = response.headers_mut();
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for name in ["cross-origin-resource-policy", "cross-origin-opener-policy"] {
        headers.insert(name, HeaderValue::from_static("same-origin"));
    }
    headers.insert(header::CONTENT_SECURITY_POLICY, guard.policy.clone());
    response
}

/// What the page may do: run its own script, ask its own server, and have its own looks and those of its pictures.
fn policy() -> HeaderValue {
    let pictures = STANDARD.encode(Sha256::digest(svg::style()));
    let text = format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-{pictures}'; connect-src 'self'; \
         img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    HeaderValue::from_str(&text).expect("it is plain ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_and_never_the_same() {
        let (one, other) = (new_token().unwrap(), new_token().unwrap());
        assert!(one != other && one.len() == 32);
        check_token(&one).unwrap();
        assert!(check_token("short").is_err() && check_token(&"a/b".repeat(20)).is_err());
    }

    #[test]
    fn words_are_the_same_only_as_a_whole() {
        assert!(is_same(b"abc", b"abc"));
        assert!(!is_same(b"abc", b"abd") && !is_same(b"ab", b"abc") && !is_same(b"", b"abc"));
    }
}
