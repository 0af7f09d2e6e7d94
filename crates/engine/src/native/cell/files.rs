//! A cell's workspace, by the descriptor that it gave the host when it was made.

use std::io;
use std::sync::Arc;

use super::NativeCell;
use crate::cell::{CellFiles, CellLife, Files};
use crate::engine::BoxFuture;
use crate::files::{Tree, Worker};
use crate::native::ids::LeasedId;

impl CellFiles for NativeCell {
    /// The descriptor keeps the files, also when every process is gone.
    fn still(&mut self) {
        self.kill();
    }

    fn files(&mut self) -> BoxFuture<'_, io::Result<Box<dyn Files + '_>>> {
        let opened = self.open_workspace().map(|files| Box::new(files) as Box<dyn Files>);
        Box::pin(std::future::ready(opened))
    }
}

impl NativeCell {
    fn open_workspace(&self) -> io::Result<Worker> {
        let parts = self.parts();
        // The workspace is the first of the scratch spaces (`layout::SCRATCH`).
        let workspace = parts.scratch.first().ok_or(io::ErrorKind::NotFound)?.try_clone()?;
        let owner = parts.share.host_id.as_ref().map(LeasedId::on_host);
        let tree = Tree::new(workspace)?.without(&self.template.granted_inside);
        Worker::start(Arc::new(tree), owner)
    }
}
