use crate::belljar::{belljar, command, finish};

#[test]
fn doctor_json_is_one_object_with_every_protection_and_a_first_run() {
    let outcome = belljar(&["doctor", "--json"], "");
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let report = outcome.json();
    assert_eq!(report["ok"], true);
    let states = report["protections"].as_array().unwrap();
    for name in ["user_namespace", "pid_namespace", "seccomp", "landlock", "cgroup_memory"] {
        let row =
            states.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name}: {report:#}"));
        assert!(matches!(row["state"].as_str(), Some("active" | "degraded" | "missing")), "{row}");
        assert_eq!(row["state"] == "active", row["remedy"].is_null(), "{row}");
    }
    let checks: Vec<_> =
        report["checks"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(
        checks,
        ["kernel", "user", "cache", "control groups", "engine", "python", "installer", "first run"]
    );
}

#[test]
fn doctor_for_people_says_the_same() {
    let outcome = belljar(&["doctor"], "");
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert!(!outcome.stdout.contains('\x1b'), "{:?}", outcome.stdout);
    for word in ["user_namespace", "active", "python", "first run", "Cells can be made here"] {
        assert!(outcome.stdout.contains(word), "{word}: {}", outcome.stdout);
    }
}

#[test]
fn doctor_says_that_a_cache_cannot_be_written_and_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let mut doctor = command(&["doctor", "--json"]);
    doctor.env("BELLJAR_CACHE", file.join("cache"));
    let report = finish(doctor, "").json();
    let cache = report["checks"].as_array().unwrap().iter().find(|row| row["name"] == "cache").unwrap();
    assert_eq!(cache["state"], "failed");
    assert!(cache["remedy"].as_str().unwrap().contains("BELLJAR_CACHE"), "{cache}");
}

#[test]
fn bench_json_has_every_figure_and_the_machine() {
    let small = ["bench", "--json", "--count", "3", "--seconds", "0.05", "--cells", "10"];
    let outcome = belljar(&small, "");
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let report = outcome.json();
    let names = |part: &str| -> Vec<String> {
        let rows = report[part].as_array().unwrap();
        rows.iter().map(|row| row["what"].as_str().unwrap().to_owned()).collect()
    };
    let figures = names("figures");
    for expected in [
        "warm run, never-used cell",
        "warm run, back to back",
        "step in a session on a held cell",
        "cell creation",
        "cold template start",
        "floor: socket round trip to a forked Python",
        "python3 -c pass",
        "a run among 32 callers",
        "a run in a burst of 100",
        "result of 900 KB",
        "warm run beside 10 idle cells",
    ] {
        assert!(figures.iter().any(|name| name == expected), "{expected} is missing in {figures:?}");
    }
    let rates = names("rates");
    assert!(rates.iter().any(|name| name == "event stream"), "{rates:?}");
    let measured = report["figures"].as_array().unwrap();
    assert!(measured.iter().all(|figure| figure["p50_us"].as_f64().unwrap() > 0.0));
    assert!(report["skipped"][0].as_str().unwrap().contains("--pandas"));
    assert!(report["machine"]["cores"].as_u64().unwrap() > 0);
    assert!(report["machine"]["kernel"].is_string() && report["python"].is_string());
}
