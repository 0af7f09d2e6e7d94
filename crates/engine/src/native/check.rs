//! What a blueprint asks for that this machine may be unable to enforce. It is refused before
//! anything starts, and never ignored.

use belljar_core::config::SandboxConfig;
use belljar_jail::cgroup::{Cgroups, Controller};

use super::NAME;
use crate::check::{self, unenforceable, why};
use crate::engine::Blueprint;
use crate::{Capabilities, EngineError, ProtectionState};

/// The highest limit on processes that control groups take, on any machine.
pub(super) const MOST_PROCESSES: u64 = 4_194_304;

/// Refuses what cannot be enforced here.
pub(super) fn check(
    blueprint: &Blueprint,
    here: &Capabilities,
    cgroups: &Cgroups,
) -> Result<(), EngineError> {
    let config = &blueprint.config;
    check::config(config)?;
    // The minimum protection, which no config can lower.
    let mut obstacles = here.obstacles.iter().filter_map(|name| here.protection(name));
    if let Some(obstacle) = obstacles.next() {
        let (reason, remedy) = why(&obstacle.state);
        return Err(EngineError::Machine { what: obstacle.name, reason, remedy });
    }
    check::required(NAME, config, here)?;
    limits(config, here, cgroups)?;
    processes(config, "/proc/sys/kernel")?;
    check::tool_names(blueprint)
}

/// Refuses limits that this kernel cannot count and that nothing else can enforce.
fn limits(config: &SandboxConfig, here: &Capabilities, cgroups: &Cgroups) -> Result<(), EngineError> {
    let limits = &config.resource_limits;
    if let Some(seconds) = limits.cpu_time_sec
        && !cgroups.has(Controller::CpuAccounting)
    {
        let state = here.protection("cgroup_cpu").map(|protection| protection.state.clone());
        let missing = ProtectionState::Missing {
            reason: "processor time is not counted here".into(),
            remedy: String::new(),
        };
        let what = format!("resource_limits.cpu_time_sec = {seconds}");
        return Err(unenforceable(NAME, what, &state.filter(|state| !state.is_active()).unwrap_or(missing)));
    }
    if limits.memory_swap_mb >= 0 && cgroups.has(Controller::Memory) && !cgroups.limits_swap() && has_swap() {
        return Err(EngineError::Unenforceable {
            engine: NAME,
            what: format!("resource_limits.memory_swap_mb = {}", limits.memory_swap_mb),
            reason: "this kernel has swap and does not count it".into(),
            remedy: "boot it with `swapaccount=1`, or leave memory_swap_mb at -1".into(),
        });
    }
    Ok(())
}

/// Refuses more processes and threads than the whole machine may have.
fn processes(config: &SandboxConfig, settings: &str) -> Result<(), EngineError> {
    let read = |name: &'static str| {
        let text = std::fs::read_to_string(format!("{settings}/{name}")).ok()?;
        Some((text.trim().parse::<u64>().ok()?, name))
    };
    let Some((most, name)) = ["pid_max", "threads-max"].into_iter().filter_map(read).min() else {
        return Ok(());
    };
    let asked = config.resource_limits.pids_limit;
    if u64::from(asked) <= most {
        return Ok(());
    }
    Err(EngineError::Exceeds {
        engine: NAME,
        what: format!("resource_limits.pids_limit = {asked}"),
        reason: format!("this whole machine may have {most} processes and threads (kernel.{name})"),
        remedy: format!("Set pids_limit to {most} or less, or raise kernel.{name}"),
    })
}

/// Whether the machine swaps at all. Without swap, every limit on swap is kept.
fn has_swap() -> bool {
    std::fs::read_to_string("/proc/swaps").is_ok_and(|text| text.lines().count() > 1)
}

#[cfg(test)]
mod tests {
    use belljar_core::config::Protection;

    use super::*;
    use crate::ProtectionStatus as Found;

    /// A machine that has everything except what is listed.
    fn machine(without: &[&'static str]) -> Capabilities {
        let names = Protection::ALL.iter().flat_map(Protection::layers).map(|layer| layer.name());
        let protections = names.chain(["private_root"]).map(|name| Found {
            name,
            purpose: "",
            state: if without.contains(&name) {
                ProtectionState::Missing { reason: "not here".into(), remedy: "elsewhere".into() }
            } else {
                ProtectionState::Active { detail: String::new() }
            },
        });
        let protections: Vec<_> = protections.collect();
        let obstacles = ["user_namespace", "network_namespace", "seccomp", "capabilities", "private_root"];
        let obstacles = obstacles.into_iter().filter(|name| without.contains(name)).collect();
        Capabilities { protections, egress_policy: true, obstacles, ..Capabilities::default() }
    }

    fn refusal(config: SandboxConfig, here: &Capabilities) -> Option<String> {
        let blueprint = Blueprint::new(config);
        let cgroups = Cgroups::none("none for this test");
        check(&blueprint, here, &cgroups).err().map(|error| error.to_string())
    }

    #[test]
    fn the_floor_cannot_be_lowered() {
        for missing in ["user_namespace", "network_namespace", "seccomp", "capabilities", "private_root"] {
            let said = refusal(SandboxConfig::default(), &machine(&[missing])).expect("refused");
            assert!(said.contains(missing) && said.contains("elsewhere"), "{said}");
        }
        assert_eq!(refusal(SandboxConfig::default(), &machine(&["landlock", "cgroup_memory"])), None);
    }

    #[test]
    fn what_is_required_is_named_when_it_is_missing() {
        for (required, missing) in [
            (Protection::Landlock, "landlock"),
            (Protection::Cgroup, "cgroup_pids"),
            (Protection::CgroupMemory, "cgroup_memory"),
        ] {
            let config = SandboxConfig { require: vec![required], ..SandboxConfig::default() };
            let said = refusal(config.clone(), &machine(&[missing])).expect("refused");
            assert!(said.contains(missing) && said.contains("elsewhere"), "{said}");
            assert_eq!(refusal(config, &machine(&[])), None);
        }
    }

    #[test]
    fn more_processes_than_the_machine_may_have_are_refused_with_both_numbers() {
        let settings = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(settings.path().join(name), text).unwrap();
        write("pid_max", "32768\n");
        write("threads-max", "190000\n");
        let path = settings.path().to_str().unwrap();
        let with = |pids_limit| {
            let mut config = SandboxConfig::default();
            config.resource_limits.pids_limit = pids_limit;
            processes(&config, path).err().map(|error| error.to_string())
        };
        assert_eq!(with(32_768), None);
        assert_eq!(
            with(32_769).unwrap(),
            "resource_limits.pids_limit = 32769 is more than this machine has for the native engine: this whole machine may have \
             32768 processes and threads (kernel.pid_max). Set pids_limit to 32768 or less, or raise kernel.pid_max"
        );
        write("threads-max", "1000");
        assert!(with(1001).unwrap().contains("(kernel.threads-max)"));
        assert_eq!(processes(&SandboxConfig::default(), "/nowhere").ok(), Some(()));
    }

    #[test]
    fn processor_time_is_limited_only_where_it_is_counted() {
        let mut config = SandboxConfig::default();
        config.resource_limits.cpu_time_sec = Some(1.0);
        let said = refusal(config, &machine(&["cgroup_cpu"])).expect("refused");
        assert!(said.contains("cpu_time_sec") && said.contains("elsewhere"), "{said}");
    }
}
