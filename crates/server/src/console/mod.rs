//! `/`: a page to watch runs and to begin some.
//!
//! ```text
//!  browser ──GET /, /console/…──► these files: no data in them, so no token is needed
//!     │
//!     └──fetch /v1/…, with the token that was typed──► guard ──► as every other client
//! ```
//!
//! The page is a client like any other. It shows what guests made, so it is held by a policy: it
//! runs no script and loads nothing but these files, talks to this server alone, and cannot be put
//! into a frame. Inside of it, text of a guest is only ever text. `frame.js` has the one exception,
//! a frame that may do nothing.
//!
//! | file | what it is |
//! |---|---|
//! | `main.js` | the token, and how the parts fit together |
//! | `api.js` | questions to the server, and a run's events without a gap |
//! | `runs.js`, `gauges.js`, `compose.js`, `files.js` | the parts of the page |
//! | `transcript.js` | one run: its events and its end |
//! | `display.js`, `table.js`, `frame.js` | what a script shows |
//! | `text.js`, `dom.js` | how text is shown, and how elements are made |

use std::sync::Arc;

use axum::Router;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{Method, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::state::App;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// What the page may do. Frames have no address of their own (`srcdoc`), so none is allowed.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data:; frame-src 'none'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types belljar-frame";

macro_rules! files {
    ($($path:literal $kind:ident $file:literal;)*) => {
        /// Path, type and content.
        const FILES: &[(&str, &str, &str)] = &[$(($path, $kind, include_str!($file)),)*];
    };
}

files! {
    "/" HTML "index.html";
    "/console/console.css" CSS "console.css";
    "/console/icon.svg" SVG "icon.svg";
    "/console/api.js" JS "api.js";
    "/console/compose.js" JS "compose.js";
    "/console/display.js" JS "display.js";
    "/console/dom.js" JS "dom.js";
    "/console/files.js" JS "files.js";
    "/console/frame.js" JS "frame.js";
    "/console/gauges.js" JS "gauges.js";
    "/console/main.js" JS "main.js";
    "/console/runs.js" JS "runs.js";
    "/console/table.js" JS "table.js";
    "/console/text.js" JS "text.js";
    "/console/transcript.js" JS "transcript.js";
}

pub(crate) fn routes() -> Router<Arc<App>> {
    FILES.iter().fold(Router::new(), |router, &(path, kind, content)| {
        router.route(path, get(async move || file(kind, content)))
    })
}

/// Whether this asks for the page, which has no data in it.
pub(crate) fn is_page(method: &Method, uri: &Uri) -> bool {
    let is_read = *method == Method::GET || *method == Method::HEAD;
    is_read && FILES.iter().any(|(path, ..)| *path == uri.path())
}

fn file(kind: &'static str, content: &'static str) -> Response {
    let headers = [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        // The files of two versions do not fit together.
        (CACHE_CONTROL, "no-cache"),
    ];
    (headers, content).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn scripts() -> impl Iterator<Item = (&'static str, &'static str)> {
        FILES.iter().filter(|(_, kind, _)| *kind == JS).map(|(path, _, content)| (*path, *content))
    }

    #[test]
    fn every_file_of_the_page_is_served_and_every_import_is_there() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/console");
        let names = std::fs::read_dir(here).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
        let on_disk: BTreeSet<_> = names.filter(|name| name != "mod.rs" && name != "index.html").collect();
        let served = FILES.iter().filter_map(|(path, ..)| path.strip_prefix("/console/").map(str::to_owned));
        assert_eq!(on_disk, served.collect());
        for (path, script) in scripts() {
            for line in script.lines().filter(|line| line.starts_with("import ")) {
                let from = line.split('"').nth(1).unwrap();
                let imported = from.strip_prefix("./").unwrap_or_else(|| panic!("{path}: {line}"));
                assert!(on_disk.contains(imported), "{path}: {line}");
            }
        }
    }

    #[test]
    fn markup_is_handed_to_the_browser_in_one_file_only() {
        for (path, script) in scripts() {
            for sink in
                ["innerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "setHTML"]
            {
                assert!(!script.contains(sink), "{path} has {sink}");
            }
            for sink in ["srcdoc", "DOMParser", "createPolicy", "outerHTML"] {
                assert!(!script.contains(sink) || path == "/console/frame.js", "{path} has {sink}");
            }
        }
    }

    #[test]
    fn the_page_has_no_script_or_style_of_its_own_and_names_no_other_host() {
        let (.., page) = FILES[0];
        let is_code =
            |word: &str| word.contains('=') && (word.starts_with("on") || word.starts_with("style"));
        assert!(!page.contains("<style") && !page.split_whitespace().any(is_code), "inline code");
        assert_eq!(page.matches("<script").count(), page.matches("<script type=\"module\" src=").count());
        for (path, _, content) in FILES.iter().filter(|(_, kind, _)| *kind != SVG) {
            assert!(!content.contains("http://") && !content.contains("https://"), "{path} names a host");
        }
    }
}
