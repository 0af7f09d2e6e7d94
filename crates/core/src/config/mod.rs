//! Declarative sandbox configs.

mod mode;

pub use mode::ExecutionMode;
