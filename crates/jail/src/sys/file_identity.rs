//! Whose files a thread makes and may open.

use std::io;

/// From now on this thread makes and opens files as this user and group, and has no right of root
/// over files. Other threads are not affected. There is no way back: end the thread when it is
/// done.
#[cfg(target_os = "linux")]
pub(crate) fn take_file_identity(id: u32) -> io::Result<()> {
    use std::ffi::{c_int, c_uint};

    unsafe extern "C" {
        fn setfsuid(id: c_uint) -> c_int;
        fn setfsgid(id: c_uint) -> c_int;
    }
    /// Is nobody, and so changes nothing. What comes back is the present id.
    const ASK: c_uint = c_uint::MAX;
    // SAFETY: none takes a pointer. The C library passes them on for the calling thread alone. The
    // group comes first: the right to change it goes with the user.
    let now = unsafe {
        setfsgid(id);
        setfsuid(id);
        (setfsuid(ASK) as u32, setfsgid(ASK) as u32)
    };
    if now == (id, id) { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// Only Linux has this.
#[cfg(not(target_os = "linux"))]
pub(crate) fn take_file_identity(_id: u32) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
