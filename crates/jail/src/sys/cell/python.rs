//! The cell library's interface to CPython: a module `belljar_cell` with two functions.
//!
//! `configure(plan, init)` is called once. `serve(control)` makes cells until the host hangs up. It
//! returns in each cell, which is confined by then, with the cell's channel and whether somebody is
//! waiting for it.
//!
//! The module is written against the stable ABI by hand, because it needs only six declarations and
//! the library is built without crates.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use super::kernel;
use super::plan::CellPlan;
use super::{large_pages, serve};

type Object = *mut c_void;

unsafe extern "C" {
    fn PyModule_Create2(definition: *mut ModuleDefinition, version: c_int) -> Object;
    fn PyArg_ParseTuple(arguments: Object, format: *const c_char, ...) -> c_int;
    fn PyBytes_AsStringAndSize(object: Object, buffer: *mut *mut c_char, length: *mut isize) -> c_int;
    fn Py_BuildValue(format: *const c_char, ...) -> Object;
    fn PyErr_SetString(kind: Object, message: *const c_char);
    fn PyOS_BeforeFork();
    fn PyOS_AfterFork_Child();
    static PyExc_OSError: Object;
    static PyExc_ValueError: Object;
}

#[repr(C)]
struct ModuleDefinition {
    /// `PyObject_HEAD`: a reference count and a type, which CPython fills in.
    refcount: isize,
    kind: Object,
    init: *const c_void,
    index: isize,
    copy: Object,
    name: *const c_char,
    doc: *const c_char,
    size: isize,
    methods: *const Method,
    slots: *const c_void,
    traverse: *const c_void,
    clear: *const c_void,
    free: *const c_void,
}

#[repr(C)]
struct Method {
    name: *const c_char,
    function: Option<unsafe extern "C" fn(Object, Object) -> Object>,
    flags: c_int,
    doc: *const c_char,
}

const METH_VARARGS: c_int = 1;

struct Shared<T>(T);
// SAFETY: CPython reads and writes these tables under its own lock, and the zygote has one thread.
unsafe impl<T> Sync for Shared<T> {}

static METHODS: Shared<[Method; 3]> = Shared([
    Method { name: c"configure".as_ptr(), function: Some(configure), flags: METH_VARARGS, doc: null() },
    Method { name: c"serve".as_ptr(), function: Some(serve), flags: METH_VARARGS, doc: null() },
    Method { name: null(), function: None, flags: 0, doc: null() },
]);

static mut DEFINITION: ModuleDefinition = ModuleDefinition {
    refcount: 1,
    kind: null_mut(),
    init: null(),
    index: 0,
    copy: null_mut(),
    name: c"belljar_cell".as_ptr(),
    doc: null(),
    size: -1,
    methods: METHODS.0.as_ptr(),
    slots: null(),
    traverse: null(),
    clear: null(),
    free: null(),
};

/// The plan, and the program of PID 1.
static SETUP: OnceLock<(CellPlan, c_int)> = OnceLock::new();

/// Called by CPython when the module is imported.
// SAFETY: the name is the one CPython's import looks up, and nothing else in the process defines
// it.
#[unsafe(no_mangle)]
pub extern "C" fn PyInit_belljar_cell() -> Object {
    const STABLE_ABI: c_int = 3;
    // SAFETY: the definition has the stable ABI's layout and lives for ever.
    unsafe { PyModule_Create2(&raw mut DEFINITION, STABLE_ABI) }
}

unsafe extern "C" fn configure(_module: Object, arguments: Object) -> Object {
    let (mut plan, mut init): (Object, c_int) = (null_mut(), -1);
    // SAFETY: the format matches the pointers passed; on failure CPython has set the exception.
    let bytes = unsafe {
        if PyArg_ParseTuple(arguments, c"Si".as_ptr(), &raw mut plan, &raw mut init) == 0 {
            return null_mut();
        }
        bytes_of(plan)
    };
    let Some(bytes) = bytes else { return null_mut() };
    let plan = CellPlan::decode(bytes);
    // Install it before anything else is loaded, so that tools and packages are under it too.
    let filtered = plan.as_ref().map(|plan| kernel::install_filter(&plan.zygote_filter));
    if let Some(Err(error)) = filtered {
        return raise(&format!("seccomp: {error}"));
    }
    match plan.map(|plan| SETUP.set((plan, init))) {
        // SAFETY: an empty format builds None.
        Some(Ok(())) => unsafe { Py_BuildValue(c"".as_ptr()) },
        // SAFETY: the exception and the message are valid for the call.
        _ => unsafe {
            PyErr_SetString(PyExc_ValueError, c"not a cell plan, or configured twice".as_ptr());
            null_mut()
        },
    }
}

unsafe extern "C" fn serve(_module: Object, arguments: Object) -> Object {
    let mut control: c_int = -1;
    // SAFETY: the format matches the pointer passed; on failure CPython has set the exception.
    if unsafe { PyArg_ParseTuple(arguments, c"i".as_ptr(), &raw mut control) } == 0 {
        return null_mut();
    }
    let Some((plan, init)) = SETUP.get() else {
        // SAFETY: the exception and the message are valid for the call.
        unsafe { PyErr_SetString(PyExc_ValueError, c"configure() comes first".as_ptr()) };
        return null_mut();
    };
    // This is only an optimisation. If it fails, cells work all the same.
    if cfg!(target_arch = "x86_64") {
        let _ = large_pages::move_to_large_pages();
    }
    // Called once for all cells. From here on the zygote only clones, so it stays in the state it
    // must have right before a fork.
    // SAFETY: called with the interpreter's lock held, as CPython asks, and paired with the call
    // below in every child.
    unsafe { PyOS_BeforeFork() };
    let served = serve::serve(plan, *init, control);
    // SAFETY: only a child comes here, or a zygote that cannot continue; the values match their
    // formats.
    unsafe {
        match served {
            Ok(born) => {
                PyOS_AfterFork_Child();
                Py_BuildValue(c"(ii)".as_ptr(), born.channel, c_int::from(born.hurry))
            }
            Err(error) => raise(&format!("control socket: {error}")),
        }
    }
}

/// Sets an `OSError` and returns what CPython expects in that case.
fn raise(message: &str) -> Object {
    let message = std::ffi::CString::new(message).unwrap_or_default();
    // SAFETY: called with the interpreter's lock held; the exception and the message are valid for
    // the call.
    unsafe { PyErr_SetString(PyExc_OSError, message.as_ptr()) };
    null_mut()
}

/// # Safety
/// `object` must be a live bytes object, and outlive what is returned.
unsafe fn bytes_of<'a>(object: Object) -> Option<&'a [u8]> {
    let (mut start, mut length) = (null_mut(), 0);
    // SAFETY: the caller vouches for the object; on success the two describe its contents.
    unsafe {
        (PyBytes_AsStringAndSize(object, &raw mut start, &raw mut length) == 0)
            .then(|| std::slice::from_raw_parts(start.cast::<u8>(), length as usize))
    }
}
