//! How much a run may use.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ConfigError;

/// How much one run may use before it is ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResourceLimits {
    /// Processor cores, with fractions: 0.5 is half of one core.
    #[serde(alias = "cpu-quota")]
    pub cpu_quota: f64,
    /// Memory of the whole process tree in MiB, scratch files included. A run that needs more is
    /// killed.
    #[serde(alias = "memory-mb")]
    pub memory_mb: u64,
    /// Memory and swap together, in MiB. -1 means no swap: `memory_mb` is all there is.
    #[serde(alias = "memory-swap-mb")]
    pub memory_swap_mb: i64,
    /// Processes and threads that are alive at one time.
    #[serde(alias = "pids-limit")]
    pub pids_limit: u32,
    /// Wall-clock seconds that one script may take, with fractions.
    #[serde(alias = "execution-timeout-sec")]
    pub execution_timeout_sec: f64,
    /// Seconds of processor time that one script and everything it starts may use together. Without
    /// it, only the wall clock and `cpu_quota` count.
    #[serde(alias = "cpu-time-sec")]
    pub cpu_time_sec: Option<f64>,
    /// Bytes of events, stdout and stderr together.
    #[serde(alias = "max-output-bytes")]
    pub max_output_bytes: u64,
    /// File descriptors that one process may hold.
    #[serde(alias = "open-files")]
    pub open_files: u32,
}

impl Default for ResourceLimits {
    fn default() -> Self {
        Self {
            cpu_quota: 0.5,
            memory_mb: 256,
            memory_swap_mb: -1,
            pids_limit: 64,
            execution_timeout_sec: 30.0,
            cpu_time_sec: None,
            max_output_bytes: 1_048_576,
            open_files: 1024,
        }
    }
}

impl ResourceLimits {
    /// Memory and swap together, in MiB. As much as memory alone if there is no swap.
    pub fn memory_and_swap_mb(&self) -> u64 {
        u64::try_from(self.memory_swap_mb).map_or(self.memory_mb, |both| both.max(self.memory_mb))
    }

    /// Refuses limits that no engine could enforce, or that no interpreter could run in.
    pub fn validate(&self) -> Result<(), ConfigError> {
        ConfigError::unless_in(
            0.01..=1024.0,
            "cpu_quota",
            self.cpu_quota,
            "it counts cores and the kernel schedules no less than a hundredth of one",
        )?;
        ConfigError::unless_in(
            16..=16_777_216,
            "memory_mb",
            self.memory_mb,
            "it counts MiB and a Python interpreter needs about 16 of them to start",
        )?;
        let swap_is_more = u64::try_from(self.memory_swap_mb).is_ok_and(|swap| swap > self.memory_mb);
        if self.memory_swap_mb != -1 && !swap_is_more {
            return Err(ConfigError::invalid(
                "memory_swap_mb",
                self.memory_swap_mb,
                format!(
                    "must be -1 or greater than memory_mb ({}), because it counts RAM and swap together",
                    self.memory_mb
                ),
            ));
        }
        ConfigError::unless_in(
            4..=4_194_304,
            "pids_limit",
            self.pids_limit,
            "the harness itself needs a few processes and the kernel numbers no more",
        )?;
        if !(self.execution_timeout_sec > 0.0 && self.execution_timeout_sec <= 86_400.0) {
            return Err(ConfigError::invalid(
                "execution_timeout_sec",
                self.execution_timeout_sec,
                "must be greater than 0 and at most 86400, because every run must end within a day",
            ));
        }
        if let Some(seconds) = self.cpu_time_sec
            && !(seconds > 0.0 && seconds <= 86_400.0 * 1024.0)
        {
            return Err(ConfigError::invalid(
                "cpu_time_sec",
                seconds,
                "must be greater than 0 and at most a day on 1024 cores; leave it out for no such limit",
            ));
        }
        ConfigError::unless_in(
            1024..=1_073_741_824,
            "max_output_bytes",
            self.max_output_bytes,
            "the host keeps the output in memory and an error report needs 1 KiB",
        )?;
        ConfigError::unless_in(
            16..=1_048_576,
            "open_files",
            self.open_files,
            "the interpreter holds a few descriptors of its own and the kernel allows no more",
        )
    }

    /// The wall-clock limit. It is never zero, because zero means "no limit" to a timer.
    pub fn execution_timeout(&self) -> Duration {
        Duration::try_from_secs_f64(self.execution_timeout_sec)
            .unwrap_or_default()
            .max(Duration::from_millis(1))
    }

    /// The limit on processor time, if any.
    pub fn cpu_time(&self) -> Option<Duration> {
        self.cpu_time_sec.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default())
    }

    /// The memory limit in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_mb.saturating_mul(1024 * 1024)
    }

    /// How much sockets may hold in addition, in bytes. This is for control groups of version 1,
    /// where the kernel counts it apart from other memory. In version 2 it is part of the memory
    /// limit.
    pub fn socket_memory_bytes(&self) -> u64 {
        const LEAST: u64 = 4 << 20;
        (self.memory_bytes() / 8).max(LEAST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid_and_those_of_the_reference() {
        let limits = ResourceLimits::default();
        assert_eq!(limits.validate(), Ok(()));
        assert_eq!(limits.execution_timeout(), Duration::from_secs(30));
        assert_eq!(limits.memory_bytes(), 268_435_456);
    }

    #[test]
    fn swap_counts_memory_and_swap_together() {
        let limits = ResourceLimits { memory_swap_mb: 128, ..ResourceLimits::default() };
        assert_eq!(
            limits.validate().unwrap_err().to_string(),
            "memory_swap_mb = 128 is invalid: must be -1 or greater than memory_mb (256), \
             because it counts RAM and swap together"
        );
        let limits = |memory_swap_mb| ResourceLimits { memory_swap_mb, ..ResourceLimits::default() };
        assert!(limits(-1).validate().is_ok() && limits(257).validate().is_ok());
        for bad in [256, 0, -2, i64::MIN] {
            assert!(limits(bad).validate().is_err(), "{bad}");
        }
    }

    #[test]
    fn each_bad_limit_is_refused_by_field_value_and_rule() {
        let base = ResourceLimits::default;
        let table = [
            (ResourceLimits { cpu_quota: 0.0, ..base() }, "cpu_quota = 0.0 is invalid: must be from 0.01 to"),
            (ResourceLimits { cpu_quota: f64::NAN, ..base() }, "cpu_quota = NaN is invalid: must be from"),
            (
                ResourceLimits { cpu_quota: f64::INFINITY, ..base() },
                "cpu_quota = inf is invalid: must be from",
            ),
            (
                ResourceLimits { memory_mb: 0, ..base() },
                "memory_mb = 0 is invalid: must be from 16 to 16777216",
            ),
            (ResourceLimits { memory_mb: u64::MAX, ..base() }, "memory_mb = 18446744073709551615 is invalid"),
            (
                ResourceLimits { pids_limit: 3, ..base() },
                "pids_limit = 3 is invalid: must be from 4 to 4194304",
            ),
            (
                ResourceLimits { execution_timeout_sec: 0.0, ..base() },
                "execution_timeout_sec = 0.0 is invalid: must be greater than 0 and at most 86400",
            ),
            (
                ResourceLimits { execution_timeout_sec: f64::NAN, ..base() },
                "execution_timeout_sec = NaN is invalid: must be greater than 0",
            ),
            (
                ResourceLimits { max_output_bytes: 1023, ..base() },
                "max_output_bytes = 1023 is invalid: must be from 1024 to 1073741824",
            ),
            (
                ResourceLimits { open_files: 15, ..base() },
                "open_files = 15 is invalid: must be from 16 to 1048576",
            ),
        ];
        for (limits, expected) in table {
            let text = limits.validate().unwrap_err().to_string();
            assert!(text.starts_with(expected), "{text}");
        }
    }

    #[test]
    fn a_timeout_is_never_zero_and_never_panics() {
        for sec in [1e-12, -1.0, f64::NAN, f64::INFINITY] {
            let limits = ResourceLimits { execution_timeout_sec: sec, ..ResourceLimits::default() };
            assert_eq!(limits.execution_timeout(), Duration::from_millis(1));
        }
    }
}
