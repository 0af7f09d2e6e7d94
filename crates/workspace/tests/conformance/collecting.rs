//! Files out of a workspace, and into artifacts.

use belljar_artifacts::load_artifact;
use belljar_testing::runtime;
use belljar_workspace::{OutputSpec, PutFile, WorkspaceError};

use crate::place::{inline, place, with_artifacts};

fn saving(pattern: &str) -> OutputSpec {
    OutputSpec { globs: vec![pattern.to_owned()], save: true, ..OutputSpec::default() }
}

#[tokio::test]
async fn case_42_each_file_is_collected_once_and_nothing_from_outside() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    std::fs::write(place.home.path().join("ext.txt"), "outside").unwrap();
    job.does("mkdir out/d; echo a > out/a.txt; echo b > out/d/b.txt; ln -s /etc/passwd out/link.txt; ln -s nowhere out/broken.txt; ln -s a.txt out/again.txt; ln -s loop out/loop; ln -s / out/root").await;
    assert_eq!(job.names(&["out/*.txt", "out/a.txt", "$OUTPUT_DIR/**"]).await, ["out/a.txt", "out/d/b.txt"]);
    assert_eq!(job.names(&["out/**"]).await, ["out/a.txt", "out/d/b.txt"]);
    assert_eq!(job.names(&["out/again.txt"]).await, ["out/a.txt"]);
    for nothing in [
        "../*.txt",
        "../../ext.txt",
        "out/link.txt",
        "out/broken.txt",
        "out/loop",
        "out/d",
        ".",
        "",
        "/etc/passwd",
        "out/root/etc/passwd",
        "out/root/**",
    ] {
        assert_eq!(job.names(&[nothing]).await, [""; 0], "{nothing}");
    }
    assert!(job.collect(&[]).await.is_empty());
}

#[tokio::test]
async fn case_43_a_large_file_is_collected_in_part_and_its_size_is_true() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let size = (4 << 20) + 123;
    job.put("out/big.bin", vec![7; size]).await;
    job.put("out/small.txt", "héllo").await;
    let files = job.collect(&["out/*"]).await;
    assert_eq!(
        (files[0].content.len(), files[0].size_bytes, files[0].truncated),
        (4 << 20, size as u64, true)
    );
    assert_eq!((files[1].text().as_ref(), files[1].size_bytes, files[1].truncated), ("héllo", 6, false));
    assert_eq!(files[1].mime_type, "text/plain; charset=utf-8");
}

#[tokio::test]
async fn case_44_files_that_are_being_written_for_us_are_hidden_and_no_others() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    job.put(".metadata.user.tmp", "theirs").await;
    job.put("deep/.metadata.user.tmp", "theirs").await;
    job.put("work/.belljar-00.tmp", "ours").await;
    let names = job.names(&["**"]).await;
    assert_eq!(names, [".metadata.user.tmp", "deep/.metadata.user.tmp", "metadata.json"]);
}

#[tokio::test]
async fn case_53_outputs_are_saved_with_a_prefix() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    job.does("echo a > out/a.txt; echo b > out/b.txt").await;
    let (ctx, artifacts) = with_artifacts();
    let spec =
        OutputSpec { max_files: 2, name_template: "prefix-".to_owned(), inline: true, ..saving("out/*") };
    let manifest = job.outputs(&ctx, spec).await.unwrap();
    let saved: Vec<_> = manifest.files.iter().map(|file| (file.saved_as.as_str(), file.version)).collect();
    assert_eq!(saved, [("prefix-out/a.txt", 0), ("prefix-out/b.txt", 0)]);
    assert!(!manifest.limits_hit && manifest.files[0].content == b"a\n");
    let (bytes, mime, _) = load_artifact(&artifacts, "prefix-out/b.txt", None).await.unwrap();
    assert_eq!((bytes.as_ref(), mime.as_str()), (&b"b\n"[..], "text/plain; charset=utf-8"));
    // Without inline the manifest has no content.
    let manifest = job.outputs(&ctx, saving("out/*")).await.unwrap();
    assert!(manifest.files.iter().all(|file| file.content.is_empty() && file.size_bytes == 2));
    let record = job.text("metadata.json").await.unwrap();
    assert!(record.contains("prefix-out/a.txt"), "{record}");
}

#[tokio::test]
async fn case_54_no_more_files_than_asked_for() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    job.does("echo a > out/a.txt; echo b > out/b.txt").await;
    let (ctx, artifacts) = with_artifacts();
    let manifest = job.outputs(&ctx, OutputSpec { max_files: 1, ..saving("out/*") }).await.unwrap();
    assert_eq!((manifest.files.len(), manifest.limits_hit), (1, true));
    let service = artifacts.service.unwrap();
    assert_eq!(service.list_keys(&artifacts.session).await.unwrap(), ["out/a.txt"]);
    let manifest = job.outputs(&ctx, OutputSpec { max_total_bytes: 3, ..inline("out/*") }).await.unwrap();
    let contents: Vec<_> = manifest.files.iter().map(|file| file.content.clone()).collect();
    assert_eq!((contents, manifest.limits_hit), (vec![b"a\n".to_vec(), b"b".to_vec()], true));
}

#[tokio::test]
async fn case_55_half_a_file_is_shown_but_never_saved() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    job.put("out/a.bin", vec![b'x'; 1024]).await;
    let (ctx, artifacts) = with_artifacts();
    let refused = job.outputs(&ctx, OutputSpec { max_file_bytes: 16, ..saving("out/*") }).await.unwrap_err();
    assert!(matches!(refused, WorkspaceError::Truncated { .. }), "{refused:?}");
    let service = artifacts.service.unwrap();
    assert!(service.list_keys(&artifacts.session).await.unwrap().is_empty());
    let manifest = job.outputs(&ctx, OutputSpec { max_file_bytes: 16, ..inline("out/*") }).await.unwrap();
    let file = &manifest.files[0];
    assert_eq!(
        (file.content.len(), file.size_bytes, file.truncated, manifest.limits_hit),
        (16, 1024, true, true)
    );
}

#[tokio::test]
async fn case_56_a_file_of_10_mib_is_saved_whole() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let content: Vec<u8> = (0..10 << 20).map(|at: u32| (at % 251) as u8).collect();
    job.put("out/a.bin", content.clone()).await;
    let (ctx, artifacts) = with_artifacts();
    let spec = OutputSpec { max_file_bytes: 64 << 20, ..saving("out/*") };
    let manifest = job.outputs(&ctx, spec).await.unwrap();
    assert!(!manifest.limits_hit && !manifest.files[0].truncated);
    let (bytes, _, _) = load_artifact(&artifacts, "out/a.bin", None).await.unwrap();
    assert!(bytes == content);
}

#[tokio::test]
async fn case_57_what_is_saved_but_not_recorded_is_told() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    job.does("echo a > out/a.txt; rm metadata.json; mkdir -p metadata.json/in-the-way").await;
    let (ctx, artifacts) = with_artifacts();
    let failed = job.outputs(&ctx, saving("out/*")).await.unwrap_err();
    let WorkspaceError::PartialOutputCommit { manifest, .. } = &failed else { panic!("{failed:?}") };
    assert_eq!((manifest.files[0].saved_as.as_str(), manifest.files[0].version), ("out/a.txt", 0));
    assert_eq!(load_artifact(&artifacts, "out/a.txt", None).await.unwrap().2, 0);
    assert!(!failed.is_worth_a_new_workspace());
    // Nothing temporary stays.
    let names = crate::place::listing(job.dir());
    assert_eq!(names, ["metadata.json", "out", "runs", "skills", "work"]);
}

#[tokio::test]
async fn case_58_outputs_that_lead_nowhere_are_skipped() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    job.does("ln -s nowhere out/broken; echo a > out/a").await;
    let (ctx, _) = with_artifacts();
    for (pattern, count) in [(".", 0), ("../ext.txt", 0), ("out/*", 1), ("out/broken", 0)] {
        let manifest = job.outputs(&ctx, OutputSpec { inline: true, ..saving(pattern) }).await.unwrap();
        assert_eq!(manifest.files.len(), count, "{pattern}");
    }
}

#[tokio::test]
async fn case_59_a_link_to_the_host_is_no_output() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    job.does("ln -s /etc/passwd out/link; ln -s /etc out/etc").await;
    let (ctx, artifacts) = with_artifacts();
    for pattern in ["out/**", "out/link", "out/etc/passwd"] {
        let manifest = job.outputs(&ctx, OutputSpec { inline: true, ..saving(pattern) }).await.unwrap();
        assert!(manifest.files.is_empty(), "{pattern}: {manifest:?}");
    }
    assert!(artifacts.service.unwrap().list_keys(&artifacts.session).await.unwrap().is_empty());
}

#[tokio::test]
async fn one_file_that_cannot_be_saved_does_not_keep_others_from_being_saved() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    job.py("open(b'out/\\xff', 'w').write('odd'); open('out/z', 'w').write('z')").await;
    let (ctx, artifacts) = with_artifacts();
    let manifest = job.outputs(&ctx, saving("out/*")).await.unwrap();
    let saved: Vec<_> = manifest.files.iter().map(|file| file.saved_as.as_str()).collect();
    assert_eq!((saved, manifest.limits_hit), (vec!["out/z", ""], true));
    let keys = artifacts.service.unwrap().list_keys(&artifacts.session).await.unwrap();
    assert_eq!(keys, ["out/z"]);
}

#[tokio::test]
async fn ten_thousand_small_files_are_collected() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    job.py("for n in range(10_000): open(f'out/{n:05}', 'w').write(str(n))").await;
    let files = job.collect(&["out/*"]).await;
    assert_eq!(files.len(), 10_000);
    assert!(files.iter().enumerate().all(|(number, file)| file.text() == number.to_string()));
    let manifest = job.outputs(&with_artifacts().0, inline("out/*")).await.unwrap();
    assert_eq!((manifest.files.len(), manifest.limits_hit), (OutputSpec::DEFAULT_MAX_FILES, true));
}

#[tokio::test]
async fn a_thousand_files_are_put() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let files = (0..1000).map(|number| PutFile::new(format!("in/{number}"), number.to_string())).collect();
    job.try_put(files).await.unwrap();
    assert_eq!(
        job.does("cat in/* | wc -c; ls in | wc -l").await.split_whitespace().collect::<Vec<_>>(),
        ["2890", "1000"]
    );
}
