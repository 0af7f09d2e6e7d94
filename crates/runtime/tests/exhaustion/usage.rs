//! What is reported about an honest run is right within a tenth.

use belljar_runtime::SandboxConfig;
use belljar_testing::{config, control_groups_of, data, has, runtime, sandbox_with, slowness};

use crate::attack::Attack;

#[tokio::test]
async fn processor_time_is_that_of_the_script_and_its_children() {
    let attack = Attack::new().needs(&["cgroup_cpu"]).with(|config| config.resource_limits.cpu_quota = 4.0);
    // What its process did before it was given a script does not count.
    let script = "def spent(): return sum(os.times()[:4])\nbefore = spent()\n\
                  def burn():\n    while time.process_time() < 0.6: pass\npids = []\nfor _ in range(2):\n    pid = os.fork()\n    if pid == 0:\n        burn(); os._exit(0)\n    pids.append(pid)\n\
                  for pid in pids: os.waitpid(pid, 0)\nemit_result(spent() - before)";
    let Some(result) = attack.run(script).await else { return };
    let (own_count, counted) = (data(&result).parse::<f64>().unwrap(), result.usage.cpu_ms.unwrap() / 1e3);
    // Reading the script and saying its result do.
    let most = own_count * 1.1 + 0.03 * f64::from(slowness());
    assert!(
        (own_count * 0.9..most).contains(&counted),
        "the kernel counted {counted} s, the script {own_count} s"
    );
}

#[tokio::test]
async fn peak_memory_is_what_was_touched() {
    let attack =
        Attack::new().needs(&["cgroup_memory"]).with(|config| config.resource_limits.memory_mb = 512);
    let script = "held = bytearray(b'x') * (200 << 20)\ndel held\nemit_result(None)";
    let Some(result) = attack.run(script).await else { return };
    let (touched, counted) = (200 << 20, result.usage.peak_memory_bytes.unwrap());
    assert!((touched..touched + touched / 10).contains(&counted), "the kernel counted {counted} bytes");
}

#[tokio::test]
async fn wall_time_is_the_callers() {
    let Some(result) = Attack::new().run("time.sleep(0.5)\nemit_result(None)").await else { return };
    assert!(result.usage.wall_ms >= 500.0, "{:?}", result.usage);
}

#[tokio::test]
async fn memory_and_swap_together_are_limited_where_swap_is_counted() {
    let Some(runtime) = runtime() else { return };
    if !has(&runtime, "cgroup_memory") {
        return;
    }
    let mut config = SandboxConfig { name: "swap".into(), ..config() };
    config.resource_limits.memory_mb = 64;
    config.resource_limits.memory_swap_mb = 96;
    let sandbox = sandbox_with(&runtime, config).await;
    let _held = sandbox.session().await.unwrap();
    let limits: Vec<String> = control_groups_of(std::process::id())
        .iter()
        .flat_map(|group| std::fs::read_dir(group).unwrap().flatten())
        .filter_map(|cell| {
            let first = std::fs::read_to_string(cell.path().join("memory.memsw.limit_in_bytes"));
            first.or_else(|_| std::fs::read_to_string(cell.path().join("memory.swap.max"))).ok()
        })
        .collect();
    if limits.is_empty() {
        println!("swap: skipped (this kernel does not count it)");
        return;
    }
    // The first generation counts both together, the second swap by itself.
    let expected = [(96u64 << 20).to_string(), (32u64 << 20).to_string()];
    assert!(limits.iter().all(|limit| expected.contains(&limit.trim().to_owned())), "{limits:?}");
}
