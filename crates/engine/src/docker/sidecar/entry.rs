//! How this very program is the proxy in a container: it is put into an image and started there under another name.

use super::server;

/// The name.
pub(super) const PROXY_NAME: &str = "/belljar-egress-proxy";

belljar_jail::run_instead_of_main!(PROXY_NAME, server::run);
