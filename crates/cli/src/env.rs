//! What the command reads from its environment by itself. The names are in [`belljar::environment`].
//!
//! Besides these, every name given to `--secret` or listed under `secrets` in a sandbox file is looked up.

use std::ffi::OsString;
use std::path::PathBuf;

use belljar::environment::{CACHE, HOME, XDG_CACHE_HOME};
pub(crate) use belljar::environment::{ENGINE, HOST_PATH_MAP, LOG, MEMORY, SANDBOX, TIMEOUT};

/// Where dependency layers are kept: `$BELLJAR_CACHE`, else the user's cache directory; nothing where there is
/// no user.
pub(crate) fn cache_directory() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from);
    set(CACHE)
        .or_else(|| set(XDG_CACHE_HOME).map(|cache| cache.join("belljar")))
        .or_else(|| set(HOME).map(|home| home.join(".cache/belljar")))
}
