//! Where packages and what is known about interpreters are kept.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use belljar_core::environment;
use rustix::process::geteuid;

/// Where packages and what is known about interpreters are kept, unless an engine is set up
/// otherwise: `$BELLJAR_CACHE`, or `belljar` in `$CACHE_DIRECTORY`, `$XDG_CACHE_HOME` or
/// `~/.cache`. A service may have no `$HOME`. Then the home in `/etc/passwd` counts, if it is this
/// user's. `None` if there is none of them. Then nothing is kept, and no packages can be installed.
pub fn default_cache_dir() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // There may be several, with colons between them.
    let of_unit = || {
        let all = std::env::var(environment::CACHE_DIRECTORY).ok()?;
        all.split(':').next().filter(|first| !first.is_empty()).map(PathBuf::from)
    };
    let home = || set(environment::HOME).or_else(home_of_this_user);
    set(environment::CACHE).or_else(|| {
        let parent = of_unit()
            .or_else(|| set(environment::XDG_CACHE_HOME))
            .or_else(|| home().map(|home| home.join(".cache")))?;
        Some(parent.join("belljar"))
    })
}

fn home_of_this_user() -> Option<PathBuf> {
    let user = geteuid().as_raw();
    let home = home_in(&fs::read_to_string("/etc/passwd").ok()?, user)?;
    // Users that only run services often have a home that is not there, or is somebody else's.
    fs::metadata(&home)
        .ok()
        .filter(|found| found.is_dir() && found.uid() == user && home != Path::new("/"))?;
    Some(home)
}

fn home_in(passwd: &str, user: u32) -> Option<PathBuf> {
    passwd.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [_name, _password, id, _group, _comment, home, ..] = fields[..] else { return None };
        (id.parse() == Ok(user) && home.starts_with('/')).then(|| PathBuf::from(home))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_is_the_one_of_that_user() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\n+::::::\nu:x:1000:1000::/home/u:/bin/sh\n";
        assert_eq!(home_in(passwd, 0), Some("/root".into()));
        assert_eq!(home_in(passwd, 1000), Some("/home/u".into()));
        assert_eq!(home_in(passwd, 7), None);
        assert_eq!(home_in("short:x:7\nu:x:7:7::relative:/bin/sh", 7), None);
    }
}
