//! placeholder
/// placeholder
pub struct GuestPath;
/// placeholder
pub struct GuestPathError;
