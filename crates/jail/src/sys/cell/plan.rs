//! What the zygote does to every cell it makes, as bytes.
//!
//! The host computes the plan once per template. The cell library follows it for every cell.

use super::encoding::{Reader, bytes, list, number};

/// Everything that is the same for all cells of a template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CellPlan {
    /// The user and group id inside a cell.
    pub guest_id: u32,
    /// The descriptor of a cell's channel, as far as the limit on descriptors allows.
    pub channel: u32,
    /// File systems to mount, in order.
    pub mounts: Vec<PlannedMount>,
    /// Limits to set, in order.
    pub rlimits: Vec<PlannedLimit>,
    /// Bytes of data beyond what the cell starts with. 0 means no limit.
    pub extra_data: u64,
    /// The same for address space, whatever is mapped there.
    pub extra_addresses: u64,
    /// The most bytes a connection buffers each way. 0 leaves it to the kernel.
    pub socket_buffer: u64,
    /// Where the directory with the kept workspaces is, if a cell may have one of them and gets it
    /// by its name. Empty otherwise. No cell sees the directory itself.
    pub store: String,
    /// Where Landlock lets a cell write. Empty if the kernel has no Landlock.
    pub writable: Vec<String>,
    /// The Landlock version to write rules for, or 0 for none.
    pub landlock: u32,
    /// The seccomp program, in the kernel's layout, that the zygote installs for itself and all its
    /// cells.
    pub zygote_filter: Vec<u8>,
    /// The program that each cell adds. It asks PID 1 about sockets.
    pub cell_filter: Vec<u8>,
    /// The same without asking, for use where nobody can be asked.
    pub unwatched_filter: Vec<u8>,
}

/// One file system to mount in a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedMount {
    /// `tmpfs` or `proc`, or what is bound there, or [`LENT`].
    pub kind: String,
    /// Where it is mounted.
    pub target: String,
    /// `MS_*` flags.
    pub flags: u64,
    /// The file system's own options, [`MAKE_DIRECTORY`] or [`MAKE_FILE`].
    pub options: String,
}

/// The kind of a mount that comes with the order for a cell.
pub(crate) const LENT: &str = "lent";
/// In the options of a mount: its place is a directory that is not there yet.
pub(crate) const MAKE_DIRECTORY: &str = "make=directory";
/// In the options of a mount: its place is a file that is not there yet.
pub(crate) const MAKE_FILE: &str = "make=file";

/// One `setrlimit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedLimit {
    /// `RLIMIT_*`.
    pub resource: u32,
    /// The soft and the hard limit.
    pub value: u64,
}

impl CellPlan {
    /// How many mounts come with an order.
    pub(crate) fn lent(&self) -> usize {
        self.mounts.iter().filter(|mount| mount.kind == LENT).count()
    }

    /// The plan as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        number(&mut out, u64::from(self.guest_id));
        number(&mut out, u64::from(self.channel));
        number(&mut out, u64::from(self.landlock));
        number(&mut out, self.extra_data);
        number(&mut out, self.extra_addresses);
        number(&mut out, self.socket_buffer);
        list(&mut out, &self.mounts, |out, mount| {
            bytes(out, &mount.kind);
            bytes(out, &mount.target);
            number(out, mount.flags);
            bytes(out, &mount.options);
        });
        list(&mut out, &self.rlimits, |out, limit| {
            number(out, u64::from(limit.resource));
            number(out, limit.value);
        });
        bytes(&mut out, &self.store);
        list(&mut out, &self.writable, |out, path| bytes(out, path));
        for filter in [&self.zygote_filter, &self.cell_filter, &self.unwatched_filter] {
            bytes(&mut out, filter);
        }
        out
    }

    /// Reads a plan back. Returns `None` if the bytes are not a plan.
    pub fn decode(encoded: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(encoded);
        let plan = Self {
            guest_id: reader.number()? as u32,
            channel: reader.number()? as u32,
            landlock: reader.number()? as u32,
            extra_data: reader.number()?,
            extra_addresses: reader.number()?,
            socket_buffer: reader.number()?,
            mounts: reader.list(|reader| {
                Some(PlannedMount {
                    kind: reader.text()?,
                    target: reader.text()?,
                    flags: reader.number()?,
                    options: reader.text()?,
                })
            })?,
            rlimits: reader.list(|reader| {
                Some(PlannedLimit { resource: reader.number()? as u32, value: reader.number()? })
            })?,
            store: reader.text()?,
            writable: reader.list(Reader::text)?,
            zygote_filter: reader.bytes()?.to_vec(),
            cell_filter: reader.bytes()?.to_vec(),
            unwatched_filter: reader.bytes()?.to_vec(),
        };
        reader.is_at_the_end().then_some(plan)
    }
}

#[cfg(all(test, not(belljar_cell_library)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_plan_survives_the_trip(
            guest_id in 0u32..70_000,
            channel in 0u32..70_000,
            landlock in 0u32..9,
            extras in any::<[u64; 3]>(),
            mounts in prop::collection::vec(("[a-z]{1,6}", "/[a-z/]{0,9}", any::<u64>(), ".{0,12}"), 0..5),
            rlimits in prop::collection::vec((0u32..16, any::<u64>()), 0..5),
            store in "[a-z/]{0,9}",
            writable in prop::collection::vec("/[a-z/]{0,9}", 0..5),
            filters in prop::array::uniform3(prop::collection::vec(any::<u8>(), 0..64)),
        ) {
            let ([extra_data, extra_addresses, socket_buffer], [zygote_filter, cell_filter, unwatched_filter]) = (extras, filters);
            let plan = CellPlan {
                guest_id,
                channel,
                landlock,
                extra_data,
                extra_addresses,
                socket_buffer,
                mounts: mounts
                    .into_iter()
                    .map(|(kind, target, flags, options)| PlannedMount { kind, target, flags, options })
                    .collect(),
                rlimits: rlimits.into_iter().map(|(resource, value)| PlannedLimit { resource, value }).collect(),
                store,
                writable,
                zygote_filter,
                cell_filter,
                unwatched_filter,
            };
            let encoded = plan.encode();
            prop_assert_eq!(CellPlan::decode(&encoded), Some(plan));
            prop_assert_eq!(CellPlan::decode(&encoded[..encoded.len() - 1]), None);
        }
    }
}
