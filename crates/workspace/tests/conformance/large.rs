//! Large files, in and out, in little memory.

use std::io::Write;

use belljar_testing::{in_time, runtime};
use belljar_workspace::{InputSpec, OutputSpec};
use sha2::{Digest, Sha256};

use crate::place::place;

/// How much memory this process has had at most. Under nextest it is one test.
pub(crate) fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
}

/// A writer that keeps a digest and nothing else.
#[derive(Default)]
struct Digesting(Sha256, u64);

impl Write for Digesting {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        self.1 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn large_files_go_in_and_out_in_little_memory() {
    let Some(runtime) = runtime() else { return };
    let mib: u64 =
        std::env::var("BELLJAR_TEST_LARGE_MIB").ok().and_then(|mib| mib.parse().ok()).unwrap_or(256);
    let place = place(&runtime).await;
    let job = place.workspaces.workspace("job").await.unwrap();
    let source = place.outside("source").join("large");
    let (mut file, mut written) = (std::fs::File::create(&source).unwrap(), Digesting::default());
    let mut piece = vec![0u8; 1 << 20];
    for number in 0..mib {
        piece
            .iter_mut()
            .enumerate()
            .for_each(|(at, byte)| *byte = (at as u64 ^ number.wrapping_mul(31)) as u8);
        file.write_all(&piece).unwrap();
        written.write_all(&piece).unwrap();
    }
    let expected = written.0.finalize();
    let before = peak_mib();

    in_time(job.put_from(&source, "in/large")).await.unwrap();
    let mut read = Digesting::default();
    assert_eq!(in_time(job.read_into("in/large", &mut read)).await.unwrap(), mib << 20);
    assert_eq!(read.0.finalize(), expected);

    // Into an artifact, and out of it again.
    let artifacts = place.outside("artifacts");
    let service = std::sync::Arc::new(belljar_artifacts::ArtifactStore::local(&artifacts));
    let given = belljar_artifacts::ArtifactContext { service: Some(service), ..Default::default() };
    let ctx = belljar_workspace::Context::new().with(given);
    let most = 4 << 30;
    let spec = OutputSpec {
        globs: vec!["in/large".to_owned()],
        max_file_bytes: most,
        max_total_bytes: most,
        save: true,
        ..Default::default()
    };
    let manifest = in_time(job.collect_outputs(&ctx, spec)).await.unwrap();
    assert_eq!((manifest.files[0].size_bytes, manifest.limits_hit), (mib << 20, false));
    let staged = InputSpec { to: "back".to_owned(), ..InputSpec::new("artifact://in/large") };
    in_time(job.stage_inputs(&ctx, vec![staged])).await.unwrap();
    let mut read = Digesting::default();
    in_time(job.read_into("back", &mut read)).await.unwrap();
    assert_eq!(read.0.finalize(), expected);

    let twin = in_time(job.fork("twin")).await.unwrap();
    assert!(in_time(job.diff(&twin)).await.unwrap().is_empty());
    let grown = peak_mib() - before;
    assert!(grown < 64, "{grown} MiB more");
}

#[tokio::test]
async fn a_large_output_of_a_program_is_streamed_to_its_spill_file() {
    let Some(runtime) = runtime() else { return };
    let place = place(&runtime).await;
    let job = place.job().await;
    let before = peak_mib();
    let result = job.sh("head -c 100000000 /dev/zero").await;
    let cut = result.truncated.stdout.expect("it is cut");
    assert_eq!((cut.total_bytes, result.stdout.len()), (100_000_000, 1 << 20));
    let spill = job.dir().join(cut.spill.unwrap());
    assert_eq!(std::fs::metadata(spill).unwrap().len(), 64 << 20);
    let grown = peak_mib() - before;
    assert!(grown < 64, "{grown} MiB more");
}
