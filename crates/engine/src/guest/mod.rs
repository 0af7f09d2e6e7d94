//! The guest's side: programs that run in cells, carried inside this crate, and what they find
//! there.
//!
//! * [`descriptor`] says what a language is. [`PYTHON`] is the only one.
//! * `harness.py` and the package `python/` run scripts and tell the host what happens. On the
//!   native engine they are the zygote too.

pub mod descriptor;
mod python;

use std::collections::BTreeMap;
use std::num::NonZeroU16;

use belljar_core::tool::{Failure, Tool};
use belljar_core::wire::OUTCOME_GRACE;
use belljar_core::{NetworkPolicy, json, layout};

use crate::engine::Blueprint;

pub use descriptor::{Guest, GuestFile, Provision, Spawn};
pub use python::PYTHON;

/// Where a guest finds the proxy. Any port would do: the loopback is its own.
pub(crate) const PROXY_PORT: NonZeroU16 = NonZeroU16::new(3128).expect("it is not zero");
/// The variables that name a place to write to. A script's own files are in its home. What packages
/// keep for themselves is elsewhere.
pub(crate) const PLACES: [(&str, &str); 6] = [
    ("HOME", layout::WORKSPACE),
    ("TMPDIR", "/tmp"),
    ("XDG_CACHE_HOME", "/tmp/.cache"),
    ("XDG_CONFIG_HOME", "/tmp/.config"),
    ("XDG_DATA_HOME", "/tmp/.local/share"),
    ("XDG_STATE_HOME", "/tmp/.local/state"),
];
/// Where programs in a guest look for the settings of fontconfig.
pub(crate) const FONT_SETTINGS: &str = "/etc/fonts/fonts.conf";
/// Those settings.
#[cfg(any(feature = "native", feature = "docker"))]
pub(crate) const FONTS: &str = include_str!("fonts.conf");
/// The variables by which programs are told which certificates to trust.
#[cfg(any(feature = "native", feature = "docker"))]
pub(crate) const TRUST_VARIABLES: [&str; 5] =
    ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "NODE_EXTRA_CA_CERTS"];

/// What programs in a guest are told once, before they load what all cells share.
pub fn template_settings(blueprint: &Blueprint) -> serde_json::Value {
    serde_json::json!({
        "preload": blueprint.config.preload,
        "dependencies": blueprint.config.dependencies,
        // Whether its cells become programs.
        "programs": blueprint.has_terminals,
        "host_tools": blueprint.host_tools.iter().map(face).collect::<Vec<_>>(),
        // Names only. A tool file that asks for one while it is loaded is loaded in the cell.
        "secrets": if blueprint.tools.is_empty() { &[][..] } else { &blueprint.config.secrets },
        // The host's rules. The harness refuses by the same ones, where the script can still see
        // why.
        "rules": {
            "deepest": json::DEEPEST,
            "longest_integer": json::LONGEST_INTEGER,
            "seconds_after_result": OUTCOME_GRACE.as_secs_f64(),
            "most_displays": belljar_core::display::MOST_DISPLAYS,
        },
        "layout": {
            "workspace": layout::WORKSPACE,
            "tools": layout::TOOLS,
            "layer": layout::LAYER,
            "scratch": layout::SCRATCH,
            "belljar": layout::BELLJAR,
            "authorities": layout::AUTHORITIES,
            "channel": layout::CHANNEL,
        },
    })
}

/// What a script sees of a tool that the host carries out: a function.
pub(crate) fn face(tool: &Tool) -> serde_json::Value {
    let positional = tool.positional();
    let parameters = tool.parameters.iter().enumerate().map(|(number, parameter)| {
        serde_json::json!({
            "name": parameter.name,
            "annotation": parameter.annotation(),
            // What is shown. The host decides what it is if a call does not give it.
            "default": parameter.default,
            "required": parameter.is_required(),
            "keyword_only": number >= positional,
        })
    });
    serde_json::json!({
        "name": tool.name,
        "doc": tool.documentation(),
        "parameters": parameters.collect::<Vec<_>>(),
        "raises": tool.failure == Failure::Exception,
    })
}

/// The certificates that this machine trusts, as text.
#[cfg(any(feature = "native", feature = "docker"))]
pub(crate) fn host_bundle() -> Option<String> {
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"]
        .iter()
        .find_map(|path| std::fs::read_to_string(path).ok())
}

/// The variables every script sees; those of the config win.
pub fn environment(blueprint: &Blueprint) -> BTreeMap<String, String> {
    let threads = blueprint.config.resource_limits.cpu_quota.ceil().max(1.0).to_string();
    let path = format!("{}/bin:{}/bin:/usr/local/bin:/usr/bin:/bin", layout::LAYER, layout::PYTHON);
    let mut env: BTreeMap<String, String> = [
        ("PATH", path.as_str()),
        ("USER", "sandbox"),
        ("LOGNAME", "sandbox"),
        ("LANG", "C.UTF-8"),
        ("FONTCONFIG_FILE", FONT_SETTINGS),
        // There is no screen and no loudspeaker.
        ("MPLBACKEND", "agg"),
        ("QT_QPA_PLATFORM", "offscreen"),
        ("SDL_VIDEODRIVER", "dummy"),
        ("SDL_AUDIODRIVER", "dummy"),
        // Numeric libraries would size their thread pools by the machine's cores, not by the cell's
        // share.
        ("OMP_NUM_THREADS", &threads),
        ("OPENBLAS_NUM_THREADS", &threads),
        ("MKL_NUM_THREADS", &threads),
        ("NUMEXPR_NUM_THREADS", &threads),
        ("NUMBA_NUM_THREADS", &threads),
        ("POLARS_MAX_THREADS", &threads),
        ("RAYON_NUM_THREADS", &threads),
        // The same for processes of joblib and scikit-learn, which would look for the machine's
        // cores in vain, and say so.
        ("LOKY_MAX_CPU_COUNT", &threads),
        // Arrow would start a thread when it is imported, and could not be preloaded.
        ("JE_ARROW_MALLOC_CONF", "background_thread:false"),
    ]
    .into_iter()
    .chain(PLACES)
    .chain(PYTHON.variables.iter().copied())
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .collect();
    env.extend(proxy_variables(&blueprint.config.network_policy));
    env.extend(blueprint.config.env.clone());
    env
}

/// What programs look at to find a proxy; most read only one spelling.
fn proxy_variables(policy: &NetworkPolicy) -> Vec<(String, String)> {
    if policy.is_isolated() {
        return Vec::new();
    }
    let proxy = format!("http://127.0.0.1:{PROXY_PORT}");
    let direct = "localhost,127.0.0.1,::1";
    [("HTTP_PROXY", proxy.as_str()), ("HTTPS_PROXY", &proxy), ("ALL_PROXY", &proxy), ("NO_PROXY", direct)]
        .into_iter()
        .flat_map(|(name, value)| {
            [(name.to_owned(), value.to_owned()), (name.to_lowercase(), value.to_owned())]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use belljar_core::config::SandboxConfig;

    use super::*;
    use crate::engine::ToolSource;

    #[test]
    fn names_of_secrets_are_told_where_there_are_tools_that_may_read_them() {
        let config = SandboxConfig { secrets: vec!["KEY".into()], ..SandboxConfig::default() };
        let mut blueprint = Blueprint::new(config);
        assert_eq!(template_settings(&blueprint)["secrets"], serde_json::json!([]));
        blueprint.tools.push(ToolSource { file_name: "t.py".into(), source: String::new() });
        assert_eq!(template_settings(&blueprint)["secrets"], serde_json::json!(["KEY"]));
    }
}
