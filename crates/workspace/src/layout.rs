//! Names inside a workspace, and of the variables that tell a program about them.
//!
//! Where a workspace itself is in a guest is in [`belljar_core::layout`].

/// Staged skills, which programs only read.
pub const SKILLS: &str = "skills";
/// Intermediate files that all runs share.
pub const WORK: &str = "work";
/// One directory for each run.
pub const RUNS: &str = "runs";
/// Results that are collected.
pub const OUT: &str = "out";
/// Where code blocks are written, and where they run.
pub const INLINE_SOURCES: &str = "src";
/// Where inputs are staged that do not say where.
pub const INPUTS: &str = "work/inputs";
/// The workspace's record of what was staged and collected. It is at the root.
pub const METADATA: &str = "metadata.json";
/// The directories that every workspace has.
pub const DIRECTORIES: [&str; 4] = [SKILLS, WORK, RUNS, OUT];

/// The variable with the path of the workspace.
pub const WORKSPACE_DIR: &str = "WORKSPACE_DIR";
/// The variable with the path of [`SKILLS`].
pub const SKILLS_DIR: &str = "SKILLS_DIR";
/// The variable with the path of [`WORK`].
pub const WORK_DIR: &str = "WORK_DIR";
/// The variable with the path of [`OUT`].
pub const OUTPUT_DIR: &str = "OUTPUT_DIR";
/// The variable with the path of this run's own directory, which is below [`RUNS`].
pub const RUN_DIR: &str = "RUN_DIR";
/// The variable with the name of the skill that a program belongs to. No engine sets it; whoever
/// runs a skill does.
pub const SKILL_NAME: &str = "SKILL_NAME";

/// The mode of a file that is put without one, and of sources that an interpreter reads.
pub const SCRIPT_MODE: u32 = 0o644;
/// The mode of a file that is run by its own name.
pub const EXECUTABLE_MODE: u32 = 0o755;
