//! A place, from its URL.

use belljar_core::Secret;
use url::Url;

use super::place::Place;
use crate::ArtifactError;

/// What the URL of a bucket does not say. What is left open is taken from `AWS_ENDPOINT_URL`,
/// `AWS_REGION`, `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`.
#[derive(Clone, Debug, Default)]
pub struct StoreOptions {
    /// The server, if it is not Amazon's. With `http:` only on this machine.
    pub endpoint: Option<String>,
    /// The region of the bucket.
    pub region: Option<String>,
    /// Who asks.
    pub access_key_id: Option<String>,
    /// The proof of it.
    pub secret_access_key: Option<Secret>,
    /// Comes with keys that expire.
    pub session_token: Option<Secret>,
}

/// The place of a URL.
pub(super) fn place(url: &str, options: StoreOptions) -> Result<Place, ArtifactError> {
    let failed = |url: &str, problem: String| ArtifactError::Url { url: url.to_owned(), problem };
    let parsed =
        Url::parse(url).map_err(|error| failed("this is no URL", format!("{error}; try {KNOWN}")))?;
    // Somebody may have written keys into it, which no message repeats.
    let has_extra = !parsed.username().is_empty() || parsed.password().is_some();
    if has_extra || parsed.query().is_some() || parsed.fragment().is_some() {
        let shown = format!("{}://…", parsed.scheme());
        return Err(failed(&shown, format!("keys and options do not belong into the URL; write {KNOWN}")));
    }
    match parsed.scheme() {
        "file" => match parsed.to_file_path() {
            Ok(path) => Ok(Place::directory(&path)),
            Err(()) => Err(failed(url, "write it with three slashes: file:///path".to_owned())),
        },
        "s3" => bucket(&parsed, options).map_err(|problem| failed(url, problem)),
        _ => Err(failed(url, format!("write {KNOWN}"))),
    }
}

const KNOWN: &str = "file:///path or s3://bucket/prefix";

#[cfg(feature = "s3")]
use super::s3::place as bucket;

#[cfg(not(feature = "s3"))]
fn bucket(_: &Url, _: StoreOptions) -> Result<Place, String> {
    Err("this program was built without the feature `s3`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(url: &str, options: StoreOptions) -> String {
        place(url, options).err().expect("no place").to_string()
    }

    #[test]
    fn a_file_url_is_a_directory() {
        assert_eq!(place("file:///srv/a%20b", StoreOptions::default()).unwrap().name, "/srv/a b");
        assert!(error("file://host/path", StoreOptions::default()).contains("three slashes"));
    }

    #[test]
    fn what_names_no_place_says_what_would() {
        for url in ["", "/tmp/x", "ftp://x/y", "gs://bucket"] {
            assert!(error(url, StoreOptions::default()).contains(KNOWN), "{url}");
        }
    }

    #[test]
    fn keys_in_a_url_are_refused_and_not_repeated() {
        for url in ["s3://AKIA:hunter2@bucket/x", "s3://bucket/x?secret=hunter2", "s3://bucket#hunter2"] {
            let said = error(url, StoreOptions::default());
            assert!(said.contains("do not belong") && !said.contains("hunter2"), "{said}");
        }
    }

    #[cfg(feature = "s3")]
    #[test]
    fn http_is_for_this_machine() {
        let to = |endpoint: &str| StoreOptions { endpoint: Some(endpoint.into()), ..Default::default() };
        for endpoint in
            ["http://127.0.0.1:9000", "http://localhost:1", "http://[::1]:9", "https://s3.example"]
        {
            assert_eq!(place("s3://bucket/a/b", to(endpoint)).unwrap().name, "s3://bucket/a/b", "{endpoint}");
        }
        for endpoint in ["http://s3.example", "http://10.0.0.1", "http://localhost.example"] {
            assert!(error("s3://bucket", to(endpoint)).contains("others can read along"), "{endpoint}");
        }
        assert!(error("s3://bucket", to("ftp://x")).contains("https://"));
        assert!(error("s3://bucket", to("nowhere")).contains("no URL"));
    }
}
