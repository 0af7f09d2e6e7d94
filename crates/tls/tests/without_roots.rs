//! A machine without root certificates, as a process sees it whose `SSL_CERT_FILE` leads nowhere.

use std::process::Command;

/// Only the process that the test below starts has this variable.
const INSIDE: &str = "BELLJAR_TEST_WITHOUT_ROOTS";

#[test]
fn https_is_refused_with_advice_and_plain_http_goes_on() {
    if std::env::var_os(INSIDE).is_none() {
        let this = std::env::current_exe().expect("a running program has a path");
        let done = Command::new(this)
            .args(["--exact", "https_is_refused_with_advice_and_plain_http_goes_on"])
            .envs([(INSIDE, "1"), ("SSL_CERT_FILE", "/nowhere/roots.pem")])
            .env_remove("SSL_CERT_DIR")
            .output()
            .expect("a test can be started again");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
        return;
    }
    let refused = belljar_tls::client_config("https").expect_err("nobody can be trusted").to_string();
    assert!(refused.contains("/nowhere/roots.pem") && refused.contains("ca-certificates"), "{refused}");
    belljar_tls::client_config("http").expect("plain HTTP needs no certificate");
}
