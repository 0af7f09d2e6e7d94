//! Files that the blocks of one call wrote.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::{Context, File, OutputSpec, Workspace, WorkspaceError, WorkspaceFs};

/// Which files were there before the blocks ran.
#[derive(Debug)]
pub(crate) struct Before<'a> {
    spec: &'a OutputSpec,
    /// Their lengths and the digests of what was read of them.
    files: BTreeMap<String, (u64, [u8; 32])>,
}

impl<'a> Before<'a> {
    /// No files.
    pub(crate) fn nothing(spec: &'a OutputSpec) -> Self {
        Self { spec, files: BTreeMap::new() }
    }

    /// Those of a workspace.
    pub(crate) async fn look(
        ctx: &Context,
        fs: &dyn WorkspaceFs,
        ws: &Workspace,
        spec: &'a OutputSpec,
    ) -> Result<Self, WorkspaceError> {
        let files = fs.collect(ctx, ws, &spec.globs).await?;
        let known = files.iter().map(|file| (file.name.clone(), (file.size_bytes, digest(file))));
        Ok(Self { spec, files: known.collect() })
    }

    /// Files that are new or changed, within the limits, and how many were cut or left out.
    pub(crate) async fn new_files(
        self,
        ctx: &Context,
        fs: &dyn WorkspaceFs,
        ws: &Workspace,
    ) -> Result<(Vec<File>, usize), WorkspaceError> {
        let found = fs.collect(ctx, ws, &self.spec.globs).await?;
        let is_new = |file: &File| self.files.get(&file.name) != Some(&(file.size_bytes, digest(file)));
        Ok(within(self.spec, found.into_iter().filter(is_new)))
    }
}

fn digest(file: &File) -> [u8; 32] {
    Sha256::digest(&file.content).into()
}

fn within(spec: &OutputSpec, files: impl Iterator<Item = File>) -> (Vec<File>, usize) {
    let spec = spec.clone().with_defaults();
    let (mut kept, mut left_out, mut room) = (Vec::new(), 0, spec.max_total_bytes);
    for mut file in files {
        if kept.len() == spec.max_files || (room == 0 && file.size_bytes > 0) {
            left_out += 1;
            continue;
        }
        let most = usize::try_from(spec.max_file_bytes.min(room)).unwrap_or(usize::MAX);
        file.content.truncate(most);
        file.truncated = (file.content.len() as u64) < file.size_bytes;
        left_out += usize::from(file.truncated);
        room -= file.content.len() as u64;
        kept.push(file);
    }
    (kept, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, content: &str) -> File {
        File {
            name: name.to_owned(),
            content: content.into(),
            size_bytes: content.len() as u64,
            ..File::default()
        }
    }

    #[test]
    fn files_beyond_the_limits_are_counted() {
        let spec =
            OutputSpec { max_files: 3, max_file_bytes: 3, max_total_bytes: 5, ..OutputSpec::default() };
        let files = ["aa", "bbbb", "", "dd"].map(|content| file(content, content));
        let (kept, left_out) = within(&spec, files.into_iter());
        let texts: Vec<_> = kept.iter().map(|file| (file.text().into_owned(), file.truncated)).collect();
        assert_eq!(texts, [("aa".to_owned(), false), ("bbb".to_owned(), true), (String::new(), false)]);
        assert_eq!(left_out, 2);
    }
}
