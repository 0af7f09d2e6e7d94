//! What the proxy itself says over HTTP: refusals and failures, in JSON, because the reader is often a model.

use belljar_core::NetworkPolicy;
use belljar_core::policy::Denial;
use serde_json::json;

/// The most entries of the policy that a refusal lists.
const MOST_ALLOWED: usize = 50;

/// 403, with the rule and what would have been allowed.
pub(crate) fn denial(policy: &NetworkPolicy, denial: &Denial) -> Vec<u8> {
    let list = policy.allowlist_env();
    let allowed: Vec<&str> = list.split(',').filter(|pair| !pair.is_empty()).take(MOST_ALLOWED).collect();
    let body = json!({
        "denied": format!("{}:{}", denial.host, denial.port),
        "rule": denial.rule.to_string(),
        "allowed": allowed,
    });
    // Python's clients show the reason of a refused tunnel and nothing else of it, so the rule stands there too.
    message(&format!("403 Forbidden: {}", denial.rule), &body.to_string())
}

/// 502 or 504: allowed, but it did not work.
pub(crate) fn failure(host: &str, port: u16, failure: &crate::dial::Failure) -> Vec<u8> {
    let status = if failure.is_timeout() { "504 Gateway Timeout" } else { "502 Bad Gateway" };
    let body = json!({ "failed": format!("{host}:{port}"), "reason": failure.to_string() });
    message(status, &body.to_string())
}

fn message(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}
