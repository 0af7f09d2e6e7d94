//! The proxy's own HTTP answers: refusals and failures. They are JSON, because the reader is often
//! a model.

use belljar_core::NetworkPolicy;
use belljar_core::policy::Denial;
use serde_json::json;

/// The most entries of the policy that a refusal lists.
const MOST_ALLOWED: usize = 50;

/// 403, with the rule and what would have been allowed.
pub(crate) fn denial(policy: &NetworkPolicy, denial: &Denial) -> Vec<u8> {
    let list = policy.allowlist_env();
    let allowed: Vec<&str> = list.split(',').filter(|pair| !pair.is_empty()).take(MOST_ALLOWED).collect();
    // Written by hand to fix the order: what happened comes first.
    let denied = json!(format!("{}:{}", denial.host, denial.port));
    let (rule, allowed) = (json!(denial.rule.to_string()), json!(allowed));
    let body = format!(r#"{{"denied":{denied},"rule":{rule},"allowed":{allowed}}}"#);
    // Python's clients show only the reason line of a refused tunnel, so the rule is there too.
    message(&format!("403 Forbidden: {}", denial.rule), &body)
}

/// 502 or 504: the host is allowed, but talking to it failed.
pub(crate) fn failure(host: &str, port: u16, failure: &crate::upstream::Failure) -> Vec<u8> {
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

#[cfg(test)]
mod tests {
    use belljar_core::policy::Rule;

    use super::*;

    #[test]
    fn a_refusal_is_json_a_model_can_act_on_whatever_the_guest_wrote() {
        let policy = NetworkPolicy { allowed_hosts: vec!["a.com".into()], ..NetworkPolicy::default() };
        let text = |host: &str| {
            let words = denial(&policy, &Denial::new(host, 443, Rule::NotListed));
            String::from_utf8(words).unwrap().split_once("\r\n\r\n").unwrap().1.to_owned()
        };
        assert_eq!(
            text("evil.com"),
            r#"{"denied":"evil.com:443","rule":"not in allowed_hosts","allowed":["a.com:443"]}"#
        );
        let hostile = "\"},\u{1}\r\n\r\n{";
        let parsed: serde_json::Value = serde_json::from_str(&text(hostile)).unwrap();
        assert_eq!(parsed["rule"], "not in allowed_hosts");
    }
}
