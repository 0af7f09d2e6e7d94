//! How many there may be in a cell of what no limit of the kernel's counts. The same on every engine.

/// Sockets of all kinds in its network, those that nobody has a descriptor of included.
pub const MOST_SOCKETS: u32 = 256;

/// Locks on parts of files; 192 bytes each.
pub const MOST_LOCKS: u32 = 4096;
