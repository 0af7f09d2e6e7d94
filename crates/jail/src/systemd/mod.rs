//! Asks systemd for a group of our own: a transient scope, in which nothing of systemd's is.
//!
//! An ordinary user may change nothing in the tree of control groups but what was delegated to
//! them. Their own manager (`systemd --user`) has such a part of the tree, and hands some of it on
//! to whom it is asked for. Root asks the system's manager, because whoever writes into a group
//! that systemd has not delegated is in its way.
//!
//! The few messages are written by hand (`message`), over a plain socket (`bus`). A library for
//! D-Bus (zbus) would bring twenty more crates to everybody who embeds this one.

mod bus;
mod message;

use std::path::{Path, PathBuf};
use std::time::Duration;

use belljar_core::environment;
use bus::{BusError, Connection, Peer};
use message::{Body, Call, Value, Writer};
use rustix::process::geteuid;

/// How long a manager may take for all that it is asked. It takes a few milliseconds, but the
/// machine may be busy.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);

/// A systemd that may be asked.
#[derive(Debug, Clone)]
pub struct Manager {
    of_user: bool,
    sockets: Vec<(PathBuf, Peer)>,
}

/// Why there is no scope.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScopeError {
    /// Nobody listens where the manager should.
    #[error("{manager} is not there")]
    Absent { manager: &'static str },
    /// The manager did not answer, or said no.
    #[error("{manager} gave no group: {reason}")]
    Refused { manager: &'static str, reason: String },
}

/// What a new scope is to be like.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct ScopeWishes {
    /// The slice that it is put in, if not the manager's default.
    pub(crate) slice: Option<String>,
    /// Limits, by systemd's names.
    pub(crate) limits: Vec<(&'static str, u64)>,
}

impl Manager {
    /// The manager of this process's user. `None` if systemd does not run this machine.
    pub fn of_this_process() -> Option<Self> {
        if !Path::new("/run/systemd/system").is_dir() {
            return None;
        }
        let user = geteuid();
        if user.is_root() {
            return Some(Self::of_the_system());
        }
        // The variable is missing where nobody logged in: in services, or after `su`.
        let known = std::env::var_os(environment::XDG_RUNTIME_DIR).map(PathBuf::from);
        let usual = PathBuf::from(format!("/run/user/{}", user.as_raw()));
        let mut places: Vec<PathBuf> = known.into_iter().chain([usual]).collect();
        places.dedup();
        // Systemd itself first, as its own tools do. To connect to a bus would start it where
        // nobody has used one yet.
        let sockets = places
            .iter()
            .flat_map(|at| [(at.join("systemd/private"), Peer::Service), (at.join("bus"), Peer::Bus)]);
        Some(Self { of_user: true, sockets: sockets.collect() })
    }

    /// The manager of the whole system. Everybody may ask it about units.
    pub(crate) fn of_the_system() -> Self {
        let sockets = vec![
            ("/run/systemd/private".into(), Peer::Service),
            ("/run/dbus/system_bus_socket".into(), Peer::Bus),
        ];
        Self { of_user: false, sockets }
    }

    /// A manager that nobody can reach.
    #[cfg(test)]
    pub(crate) fn at_nowhere(of_user: bool) -> Self {
        Self { of_user, sockets: Vec::new() }
    }

    /// Whether it is the manager of one user, and not the system's.
    pub fn is_of_user(&self) -> bool {
        self.of_user
    }

    /// Whose manager it is, in words.
    pub fn name(&self) -> &'static str {
        if self.of_user { "this user's systemd" } else { "systemd" }
    }

    /// Makes a scope of this name, in which is this process. Comes back once it is there.
    pub(crate) fn start_scope(
        &self,
        unit: &str,
        process: u32,
        wishes: &ScopeWishes,
    ) -> Result<(), ScopeError> {
        let (mut connection, peer) = self.connect()?;
        self.refused((|| {
            if peer == Peer::Bus {
                connection.listen_for(
                    "type='signal',sender='org.freedesktop.systemd1',\
                     interface='org.freedesktop.systemd1.Manager',member='JobRemoved'",
                )?;
            }
            let mut properties = vec![
                ("Description", Value::Text("Cells of Belljar".into())),
                ("PIDs", Value::Numbers(vec![process])),
                ("Delegate", Value::Bool(true)),
                // It goes when its last process has gone, however that ended.
                ("CollectMode", Value::Text("inactive-or-failed".into())),
            ];
            properties.extend(wishes.slice.iter().map(|slice| ("Slice", Value::Text(slice.clone()))));
            properties.extend(wishes.limits.iter().map(|(name, limit)| (*name, Value::U64(*limit))));
            let mut arguments = Writer::default();
            arguments.text(unit).text("fail").properties(&properties).no_structures();
            let call = Call { method: "StartTransientUnit", signature: "ssa(sv)a(sa(sv))", ..MANAGER };
            let mut heard = Vec::new();
            let job = connection.call_hearing(&call, &arguments, &mut heard)?.text().unwrap_or_default();
            loop {
                let earlier = (!heard.is_empty()).then(|| heard.remove(0));
                let (name, body) = earlier.map_or_else(|| connection.next_signal(), Ok)?;
                match result_of(&job, &name, body) {
                    None => {}
                    Some(result) if result == "done" => return Ok(()),
                    Some(result) => {
                        return Err(BusError::Refused {
                            name: result,
                            text: format!("{unit} did not start"),
                        });
                    }
                }
            }
        })())
    }

    /// Whether there is such a unit, as far as can be known.
    pub(crate) fn has(&self, unit: &str) -> bool {
        let Ok((mut connection, _)) = self.connect() else { return true };
        !matches!(unit_path(&mut connection, unit), Err(BusError::Refused { name, .. }) if name == NO_SUCH_UNIT)
    }

    /// Whether a unit has this group, and has been delegated it.
    pub(crate) fn delegates(&self, unit: &str, group: &str) -> bool {
        let interface = match unit.rsplit_once('.') {
            Some((_, "service")) => "org.freedesktop.systemd1.Service",
            Some((_, "scope")) => "org.freedesktop.systemd1.Scope",
            // Systemd delegates nothing else.
            _ => return false,
        };
        let ask = || -> Option<bool> {
            let (mut connection, _) = self.connect().ok()?;
            let path = unit_path(&mut connection, unit).ok()?.text()?;
            let mut property = |name: &str| {
                let mut arguments = Writer::default();
                arguments.text(interface).text(name);
                let interface = "org.freedesktop.DBus.Properties";
                let call = Call { path: &path, interface, method: "Get", signature: "ss", ..MANAGER };
                connection.call(&call, &arguments).ok()
            };
            let is_its_group = property("ControlGroup")?.variant("s")?.text()? == group;
            Some(is_its_group && property("Delegate")?.variant("b")?.number()? == 1)
        };
        ask().unwrap_or(false)
    }

    /// Puts a process into a group below a scope.
    ///
    /// Its user cannot do so by hand if the process comes from a login session: the closest group
    /// that is above both belongs to root.
    pub(crate) fn attach(&self, unit: &str, below: &str, process: u32) -> Result<(), ScopeError> {
        let (mut connection, _) = self.connect()?;
        let mut arguments = Writer::default();
        arguments.text(unit).text(below).numbers(&[process]);
        let call = Call { method: "AttachProcessesToUnit", signature: "ssau", ..MANAGER };
        self.refused(connection.call(&call, &arguments).map(drop))
    }

    fn connect(&self) -> Result<(Connection, Peer), ScopeError> {
        let mut last = None;
        for (socket, peer) in &self.sockets {
            match Connection::open(socket, *peer, ANSWERED_WITHIN) {
                Ok(connection) => return Ok((connection, *peer)),
                // Where nobody listens, or not to us, the next may do.
                Err(BusError::Connection(error)) if is_absent(&error) => {}
                Err(error) => last = Some(error),
            }
        }
        match last {
            None => Err(ScopeError::Absent { manager: self.name() }),
            Some(error) => self.refused(Err(error)),
        }
    }

    fn refused<T>(&self, result: Result<T, BusError>) -> Result<T, ScopeError> {
        result.map_err(|error| ScopeError::Refused { manager: self.name(), reason: error.to_string() })
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionRefused, NotFound, PermissionDenied};
    matches!(error.kind(), NotFound | ConnectionRefused | PermissionDenied)
}

/// How a job has ended, if the signal says so of this one.
fn result_of(job: &str, signal: &str, mut body: Body) -> Option<String> {
    let _number = (signal == "JobRemoved").then(|| body.number())??;
    let is_ours = body.text()? == job;
    let _unit = body.text()?;
    is_ours.then(|| body.text())?
}

/// How a manager says that there is no such unit.
const NO_SUCH_UNIT: &str = "org.freedesktop.systemd1.NoSuchUnit";

/// Asks for the path under which a unit can be asked about itself.
fn unit_path(connection: &mut Connection, unit: &str) -> Result<Body, BusError> {
    let mut arguments = Writer::default();
    arguments.text(unit);
    connection.call(&Call { method: "GetUnit", signature: "s", ..MANAGER }, &arguments)
}

/// The object of systemd's that makes units.
const MANAGER: Call<'static> = Call {
    destination: "org.freedesktop.systemd1",
    path: "/org/freedesktop/systemd1",
    interface: "org.freedesktop.systemd1.Manager",
    method: "",
    signature: "",
};
