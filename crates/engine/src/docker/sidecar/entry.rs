//! How a program that links this crate becomes the proxy in a container. It is put into an image,
//! and started there under another name. In a shared library this does nothing.

use super::server;

/// The name under which the program is the proxy.
pub(super) const PROXY_NAME: &str = "/belljar-egress-proxy";

belljar_jail::run_instead_of_main!(PROXY_NAME, server::run);
