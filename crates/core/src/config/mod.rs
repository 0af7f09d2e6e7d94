//! What an environment is: pure, serialisable, checked before anything is made from it.
//!
//! A [`SandboxConfig`] is the whole policy of a sandbox. It says *what* may happen, never how an engine brings it about,
//! so it can be written, read, compared and refused on a machine that could not run it.
//!
//! ```text
//!  TOML / JSON ──from_toml──► SandboxConfig ──validate──► engines, pools, builders
//!                             ├─ PythonVersion             which interpreter
//!                             ├─ dependencies, preload     what is installed, what is warm
//!                             ├─ ResourceLimits            how much
//!                             ├─ NetworkPolicy             whom it may talk to
//!                             ├─ FileResource              which host files it sees (HostPathMap: seen from where)
//!                             ├─ secrets, env              what it is told
//!                             ├─ ExecutionMode             whole scripts or steps
//!                             └─ Protection                what it refuses to run without
//! ```
//!
//! The fields are plain and public, so a config is built like any struct; [`SandboxConfig::validate`] is the gate. Reading
//! a document goes through it, and whoever takes a config from a caller calls it before spending anything. A refusal is
//! a [`ConfigError`] that names the field, the value and the rule.
//!
//! ```
//! use belljar_core::config::SandboxConfig;
//!
//! let config = SandboxConfig::from_toml(
//!     r#"
//!     name = "analytics"
//!     dependencies = ["pandas"]
//!     [network-policy]
//!     allowed-hosts = ["api.stripe.com"]
//!     "#,
//! )?;
//! assert_eq!(config.network_policy.allowlist_env(), "api.stripe.com:443");
//!
//! let error = SandboxConfig::from_toml("pool_sise = 3").unwrap_err();
//! assert_eq!(error.to_string(), "unknown key `pool_sise` at line 1, column 1: did you mean `pool_size`?");
//! # Ok::<(), belljar_core::config::ConfigError>(())
//! ```

mod dependency;
mod document;
mod environment;
mod error;
mod injection;
mod limits;
mod mode;
mod network;
mod protection;
mod python;
mod resource;
mod sandbox;
mod table;

pub use dependency::{Requirement, RequirementFault};
pub use error::ConfigError;
pub use injection::Injection;
pub use limits::ResourceLimits;
pub use mode::ExecutionMode;
pub use network::NetworkPolicy;
pub use protection::{Protection, UnknownProtection};
pub use python::{PythonVersion, PythonVersionError};
pub use resource::{FileResource, HostPathMap};
pub use sandbox::SandboxConfig;
