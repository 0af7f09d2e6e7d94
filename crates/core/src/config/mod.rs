//! Describes an environment. Pure and serialisable, and checked before anything is made from it.
//!
//! A [`SandboxConfig`] is the whole policy of a sandbox. It says *what* may happen, never how an
//! engine does it. So a machine that could not run it can still write, read, compare and refuse it.
//!
//! ```text
//!  TOML, JSON ──► SandboxConfig ──validate──► engines, pools, builders
//!                 ├─ PythonVersion             which interpreter
//!                 ├─ dependencies, preload     what is installed, what is warm
//!                 ├─ ResourceLimits            how much
//!                 ├─ NetworkPolicy             which hosts
//!                 ├─ FileResource              which host files, at which path (HostPathMap)
//!                 ├─ secrets, env              which variables
//!                 ├─ ExecutionMode             whole scripts or steps
//!                 └─ Protection                what it refuses to run without
//! ```
//!
//! The fields are plain and public, so a config is built like any struct.
//! [`SandboxConfig::validate`] is the gate. Reading a document validates it. Code that takes a
//! config from a caller validates it before it spends anything. A refusal is a [`ConfigError`] that
//! names the field, the value and the rule.
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
//! assert_eq!(
//!     error.to_string(),
//!     "unknown key `pool_sise` at line 1, column 1: did you mean `pool_size`?"
//! );
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
mod python_range;
mod resource;
mod sandbox;
mod table;

pub use dependency::{Requirement, RequirementFault};
pub use environment::{ENTRY_BYTES, ENVIRONMENT_BYTES, POINTER_BYTES, entry_bytes};
pub(crate) use environment::{check_alone as check_environment, check_secrets};
pub use error::ConfigError;
pub use injection::Injection;
pub use limits::ResourceLimits;
pub use mode::ExecutionMode;
pub use network::NetworkPolicy;
pub use protection::{Protection, UnknownProtection};
pub use python::{PythonVersion, PythonVersionError};
pub use python_range::{PythonRange, PythonRangeError};
pub use resource::{FileResource, HostPathMap};
pub use sandbox::SandboxConfig;
