//! Header names as the least careful server reads them.

/// A name as servers read it that pass headers on as variables (CGI, WSGI). Letter case does not
/// matter. All characters that are not letters or digits are equal. Two names that are equal here
/// may be the same header to some server.
pub fn folded(name: &str) -> String {
    name.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { byte.to_ascii_lowercase() as char } else { '-' })
        .collect()
}

/// Whether a header is about one connection and ends with it. Takes its [`folded`] name.
pub fn is_for_one_connection(folded: &str) -> bool {
    const NAMES: [&str; 7] =
        ["connection", "http2-settings", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"];
    NAMES.contains(&folded) || folded.starts_with("proxy-")
}

/// Whether a header frames or routes a message. A proxy writes these itself. Takes its [`folded`]
/// name.
pub fn is_for_the_proxy(folded: &str) -> bool {
    matches!(folded, "content-length" | "expect" | "host") || is_for_one_connection(folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_one_server_takes_for_the_same_are_the_same() {
        for name in ["X-Api-Key", "x_api_key", "X.API~KEY", "x-api_key"] {
            assert_eq!(folded(name), "x-api-key", "{name}");
        }
        assert_ne!(folded("X-ApiKey"), folded("X-Api-Key"));
    }

    #[test]
    fn what_frames_and_routes_is_known_in_any_spelling() {
        for name in
            ["Content_Length", "TRANSFER-ENCODING", "transfer_encoding", "Host", "Proxy_Anything", "TE"]
        {
            assert!(is_for_the_proxy(&folded(name)), "{name}");
        }
        for name in ["Authorization", "X-Host", "Content-Type", "Cookie"] {
            assert!(!is_for_the_proxy(&folded(name)), "{name}");
        }
    }
}
