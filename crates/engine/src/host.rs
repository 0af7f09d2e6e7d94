//! For programs that run at the limits of their own process.

pub use belljar_jail::shortage;
pub use belljar_jail::survive_file_size_limit;
