//! How many there may be in a cell of things that no kernel limit counts. The numbers are the same
//! on every engine.

/// Sockets of all kinds in the cell's network, including those without a descriptor.
pub const MOST_SOCKETS: u32 = 256;

/// Locks on parts of files, 192 bytes each.
pub const MOST_LOCKS: u32 = 4096;
