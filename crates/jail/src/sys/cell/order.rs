//! The host's request to a zygote for one cell, as bytes. Both ends are built from this file
//! together, so it carries no version.

use std::num::{NonZeroU16, NonZeroU32};

use super::kept_name::KeptName;

/// How to make one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellOrder {
    /// The kept workspace that it gets. Without one it gets an empty place in memory.
    pub workspace: Option<KeptName>,
    /// The id to act under in the zygote's user namespace. `None` if that namespace has only one.
    pub host_id: Option<NonZeroU32>,
    /// The number of the cell's network namespace.
    pub network: u32,
    /// Whether that number needs a new namespace, because somebody made a socket in the present
    /// one.
    pub fresh_network: bool,
    /// Whether somebody is waiting for this cell.
    pub hurry: bool,
    /// How many descriptors come with it. The kernel leaves out what a zygote has no room for, and
    /// a cell without one of its control groups would have no limit.
    pub descriptors: u32,
    /// The port on the cell's loopback where the host's proxy listens. `None` if the cell has no
    /// egress.
    pub egress_port: Option<NonZeroU16>,
}

impl CellOrder {
    /// The length of an order.
    pub(crate) const BYTES: usize = Self::WORDS * 4 + KeptName::LONGEST;
    const WORDS: usize = 6;

    /// The order as bytes.
    pub fn encode(self) -> [u8; Self::BYTES] {
        let words = [
            self.host_id.map_or(0, NonZeroU32::get),
            self.network,
            u32::from(self.fresh_network),
            u32::from(self.hurry),
            self.descriptors,
            self.egress_port.map_or(0, |port| u32::from(port.get())),
        ];
        let mut bytes = [0; Self::BYTES];
        let (front, name) = bytes.split_at_mut(Self::WORDS * 4);
        for (chunk, word) in front.chunks_exact_mut(4).zip(words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        if let Some(workspace) = self.workspace {
            let chars = workspace.as_str().as_bytes();
            name[..chars.len()].copy_from_slice(chars);
        }
        bytes
    }

    /// Reads an order back. An invalid port means no egress.
    pub(crate) fn decode(bytes: [u8; Self::BYTES]) -> Self {
        let mut words = [0; Self::WORDS];
        let (front, name) = bytes.split_at(Self::WORDS * 4);
        for (word, chunk) in words.iter_mut().zip(front.as_chunks().0) {
            *word = u32::from_le_bytes(*chunk);
        }
        let [host_id, network, fresh_network, hurry, descriptors, egress_port] = words;
        Self {
            workspace: KeptName::from_padded(name),
            host_id: NonZeroU32::new(host_id),
            network,
            fresh_network: fresh_network != 0,
            hurry: hurry != 0,
            descriptors,
            egress_port: u16::try_from(egress_port).ok().and_then(NonZeroU16::new),
        }
    }
}

#[cfg(all(test, not(belljar_cell_library)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_order_survives_the_trip(host_id in any::<u32>(), network in any::<u32>(), fresh_network in any::<bool>(), hurry in any::<bool>(), descriptors in any::<u32>(), port in any::<u16>(), name in "[A-Za-z0-9_-]{0,64}") {
            let order = CellOrder {
                workspace: KeptName::new(&name),
                host_id: NonZeroU32::new(host_id),
                network,
                fresh_network,
                hurry,
                descriptors,
                egress_port: NonZeroU16::new(port),
            };
            prop_assert_eq!(CellOrder::decode(order.encode()), order);
        }
    }
}
