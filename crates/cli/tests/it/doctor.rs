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
    assert_eq!(checks, ["kernel", "user", "cache", "engine", "python", "installer", "first run"]);
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
    let outcome = belljar(&["bench", "--json", "--count", "3"], "");
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let report = outcome.json();
    let figures = report["figures"].as_array().unwrap();
    let names: Vec<_> = figures.iter().map(|figure| figure["what"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "warm run, never-used cell",
            "warm run, back to back",
            "step in a session on a held cell",
            "floor: socket round trip to a forked Python",
            "cell creation",
            "cold template start",
            "python3 -c pass",
        ]
    );
    assert!(figures.iter().all(|figure| figure["count"] == 3 && figure["p50_us"].as_f64().unwrap() > 0.0));
    assert!(report["machine"]["cores"].as_u64().unwrap() > 0);
    assert!(report["machine"]["kernel"].is_string() && report["python"].is_string());
}
