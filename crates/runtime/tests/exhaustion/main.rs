//! Attacks on the machine's resources. Each must end with the verdict of the limit it ran into, and
//! be felt by nobody else.
//!
//! ```text
//!  attack.rs      runs one attack beside a neighbour, and looks at what is left
//!  processes.rs   forks, threads, zombies, descriptors
//!  memory.rs      heap, mappings, files in memory, page tables, buffers
//!  disk.rs        bytes and inodes of every place that can be written to
//!  output.rs      everything that can be said, too much of it
//!  time.rs        the clock, processor time, a share of a core
//!  usage.rs       what is reported about an honest run
//! ```
//!
//! Where limits on whole process trees cannot be had (an ordinary user without delegated control
//! groups) the tests that need them say so and pass.

#![expect(clippy::print_stdout, reason = "a skipped test says why, and a neighbour's latency is told")]
#![expect(clippy::disallowed_methods, reason = "a test has a tokio runtime to itself")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod attack;

mod disk;
mod memory;
mod output;
mod processes;
mod time;
mod uncounted;
mod usage;
