//! Secrets that no script could be given, or that could not be hidden, are refused by name.

use belljar_runtime::{Fault, Runtime, RuntimeError, SandboxConfig, Secret, SecretError, Secrets};
use belljar_testing::{build, config};

use crate::{NAME, assert_absent};

const VALUE: &str = "hunter2-hunter2";

/// The error of building a runtime with these secrets, on an engine that is never opened.
async fn refusal(secrets: Secrets) -> RuntimeError {
    Runtime::builder().secrets(secrets).build().await.err().expect("it is refused")
}

#[tokio::test]
async fn what_an_environment_variable_cannot_hold_is_refused_where_it_is_given() {
    let error = refusal(Secrets::new().with(NAME, Secret::new(format!("{VALUE}\0more")))).await;
    assert!(matches!(&error, RuntimeError::Secret(SecretError::Nul { name }) if name == NAME), "{error}");
    assert!(error.to_string().contains(NAME) && error.to_string().contains("NUL"), "{error}");
    assert_absent(VALUE, "the error", &format!("{error} {error:?}"));
    for name in ["", "A=B", "A\0B"] {
        let error = refusal(Secrets::new().with(name, Secret::new(VALUE))).await;
        assert!(matches!(&error, RuntimeError::Secret(SecretError::Name { .. })), "{error}");
        assert_eq!(error.fault(), Fault::Caller);
        assert_absent(VALUE, "the error", &format!("{error} {error:?}"));
    }
}

#[tokio::test]
async fn more_than_a_sandbox_can_carry_is_refused_before_it_is_made() {
    let numbered = |count: usize, value: &str| -> Secrets {
        (0..count).map(|number| (format!("KEY_{number}"), Secret::new(value))).collect()
    };
    let names = |count: usize| (0..count).map(|number| format!("KEY_{number}")).collect::<Vec<_>>();
    for (count, bytes, said) in [
        (1, 1 << 20, "KEY_0 is too long"),
        (10_000, 16, "has 10000 secrets and may have 1000"),
        (20, 100_000, "and may take 1048576"),
    ] {
        let secrets = numbered(count, &"x".repeat(bytes));
        let Some(runtime) = build(Runtime::builder().secrets(secrets)) else { return };
        let config = SandboxConfig { secrets: names(count), ..config() };
        let error = runtime.sandbox(config).await.err().expect("it is refused");
        assert_eq!(error.fault(), Fault::Caller, "{error}");
        assert!(error.to_string().contains(said), "{error}");
        assert!(runtime.templates().is_empty(), "a template was made for it");
    }
}
