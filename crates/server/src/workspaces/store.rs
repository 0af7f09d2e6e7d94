//! Finds workspaces, makes them, and counts them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use belljar::workspace::{OpenWorkspace, WorkspaceError, WorkspacePolicy, Workspaces, WorkspacesOptions};
use belljar::{Runtime, SandboxConfig};
use tokio::sync::oneshot;

use super::Name;
use crate::guard::Client;
use crate::options::ServerLimits;
use crate::problem::{Code, Problem};
use crate::shares::{Share, Shares};
use crate::tokens::Scope;

/// The workspaces of a server.
pub(crate) struct WorkspaceStore {
    runtime: Runtime,
    directory: PathBuf,
    /// What one may hold.
    bytes: u64,
    /// How many a token may have.
    most: usize,
    /// For files. It never needs a sandbox.
    files: Workspaces,
    /// For programs: one for each sandbox that they were asked to run in, on the same directory.
    programs: Mutex<BTreeMap<String, Workspaces>>,
    /// Those that are being made. They count, too.
    making: Mutex<BTreeSet<Name>>,
    transfers: Arc<Shares>,
}

impl WorkspaceStore {
    /// Opens the workspaces below a state directory.
    pub(crate) fn open(
        runtime: &Runtime,
        state: &Path,
        limits: &ServerLimits,
    ) -> Result<Self, WorkspaceError> {
        // Engines do not share one, because their programs are different users.
        let directory = state.join("workspaces").join(runtime.engine_name());
        let options = options(&directory, limits.workspace_bytes, SandboxConfig::default());
        Ok(Self {
            runtime: runtime.clone(),
            files: Workspaces::unprepared(runtime, options)?,
            directory,
            bytes: limits.workspace_bytes,
            most: limits.workspaces,
            programs: Mutex::default(),
            making: Mutex::default(),
            transfers: Shares::new("files on their way", limits.transfers as u64),
        })
    }

    /// One that a client may look at.
    pub(crate) fn seen(&self, client: &Client, id: &str) -> Result<(Name, OpenWorkspace), Problem> {
        self.find(id, Name::asked(client, id).filter(|name| client.may_see(&name.owner)))
    }

    /// One that a client may change.
    pub(crate) fn changed(&self, client: &Client, id: &str) -> Result<(Name, OpenWorkspace), Problem> {
        client.needs(Scope::Run)?;
        self.find(id, Name::asked(client, id).filter(|name| client.may_change(&name.owner)))
    }

    /// The same, and one of its own is made if it is not there.
    pub(crate) async fn changed_or_made(&self, client: &Client, id: &str) -> Result<Name, Problem> {
        match self.changed(client, id) {
            Err(problem) if problem.code == Code::NotFound && !id.contains('.') => {}
            found => return found.map(|(name, _)| name),
        }
        let name = Name::new(client, id)?;
        self.make(&name, WorkspacePolicy::default()).await?;
        Ok(name)
    }

    fn find(&self, id: &str, name: Option<Name>) -> Result<(Name, OpenWorkspace), Problem> {
        let missing = || Problem::no_such("workspace", id);
        let name = name.ok_or_else(missing)?;
        match self.files.find(&name.key()) {
            Ok(found) => Ok((name, found)),
            Err(WorkspaceError::NotFound { .. }) => Err(missing()),
            Err(error) => Err(error.into()),
        }
    }

    /// The same one, to run programs of a sandbox in.
    pub(crate) fn to_run_in(
        &self,
        name: &Name,
        sandbox: &str,
        config: &SandboxConfig,
    ) -> Result<OpenWorkspace, Problem> {
        let mut all = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        let workspaces = match all.get(sandbox) {
            Some(known) => known,
            None => {
                let options = options(&self.directory, self.bytes, config.clone());
                let opened = Workspaces::unprepared(&self.runtime, options)?;
                all.entry(sandbox.to_owned()).or_insert(opened)
            }
        };
        Ok(workspaces.find(&name.key())?)
    }

    /// All of them, with what they were made with.
    pub(crate) async fn all(&self) -> Result<Vec<(Name, WorkspacePolicy)>, Problem> {
        let (workspaces, (done, listed)) = (self.files.clone(), oneshot::channel());
        let list = move || drop(done.send(workspaces.list()));
        let thread = std::thread::Builder::new().name("belljar-ws-list".to_owned()).spawn(list);
        thread.map_err(WorkspaceError::io("list", "."))?;
        let gone = |_| Problem::new(Code::Internal, "the workspaces cannot be listed");
        let listed = listed.await.map_err(gone)??;
        Ok(listed
            .into_iter()
            .filter_map(|(key, policy)| Name::of_key(&key).map(|name| (name, policy)))
            .collect())
    }

    /// Makes one.
    pub(crate) async fn make(&self, name: &Name, policy: WorkspacePolicy) -> Result<OpenWorkspace, Problem> {
        let _making = self.reserve(name).await?;
        Ok(self.files.workspace_with(&name.key(), policy).await?)
    }

    /// Makes a second one of the same content.
    pub(crate) async fn fork(&self, from: &OpenWorkspace, name: &Name) -> Result<OpenWorkspace, Problem> {
        let _making = self.reserve(name).await?;
        Ok(from.fork(&name.key()).await?)
    }

    /// Keeps a name for one that is about to be made, if nobody has it and its owner may have more.
    async fn reserve(&self, name: &Name) -> Result<Making<'_>, Problem> {
        let taken = || {
            let detail = format!("there is a workspace {:?} already", name.name.as_str());
            Problem::new(Code::Conflict, detail).at("name")
        };
        if !self.making().insert(name.clone()) {
            return Err(taken());
        }
        let making = Making { store: self, name: name.clone() };
        let all: BTreeSet<Name> = self.all().await?.into_iter().map(|(other, _)| other).collect();
        if all.contains(name) {
            return Err(taken());
        }
        let is_theirs = |other: &&Name| other.owner == name.owner;
        let (most, with_this) = (self.most, all.union(&self.making()).filter(is_theirs).count());
        if with_this > most {
            let detail = format!("this token has {most} workspaces, as many as it may: remove one");
            return Err(Problem::new(Code::RateLimited, detail));
        }
        Ok(making)
    }

    fn making(&self) -> MutexGuard<'_, BTreeSet<Name>> {
        self.making.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place to send or receive a file. Each takes a thread.
    pub(crate) fn transfer(&self, client: &Client) -> Result<Share, Problem> {
        self.transfers.take(&client.id, 1, None)
    }
}

/// One that is being made, until this is dropped.
struct Making<'a> {
    store: &'a WorkspaceStore,
    name: Name,
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.store.making().remove(&self.name);
    }
}

fn options(directory: &Path, bytes: u64, config: SandboxConfig) -> WorkspacesOptions {
    let mut options = WorkspacesOptions::new(directory);
    options.max_disk_bytes = bytes;
    options.config = config;
    options
}
