//! What the host asks of a zygote for one cell, as bytes. Both ends are built from this file together, so it carries no version.

use std::num::{NonZeroU16, NonZeroU32};

/// How one cell is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellOrder {
    /// The id to act under in the zygote's user namespace; `None` where that has but one.
    pub host_id: Option<NonZeroU32>,
    /// The number of the network namespace that shall be its own.
    pub network: u32,
    /// Whether that number must be given a new namespace, because somebody has made a socket in the present one.
    pub fresh_network: bool,
    /// Whether somebody waits for it.
    pub hurry: bool,
    /// The port on its loopback behind which the host listens, if it may talk to anybody.
    pub way_out: Option<NonZeroU16>,
}

impl CellOrder {
    /// How long one is.
    pub(crate) const BYTES: usize = 20;

    /// The order as bytes.
    pub fn encode(self) -> [u8; Self::BYTES] {
        let words = [
            self.host_id.map_or(0, NonZeroU32::get),
            self.network,
            u32::from(self.fresh_network),
            u32::from(self.hurry),
            self.way_out.map_or(0, |port| u32::from(port.get())),
        ];
        let mut bytes = [0; Self::BYTES];
        for (chunk, word) in bytes.chunks_exact_mut(4).zip(words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Reads one back. A port that is none is no way out.
    pub(crate) fn decode(bytes: [u8; Self::BYTES]) -> Self {
        let mut words = [0; Self::BYTES / 4];
        for (word, chunk) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u32::from_le_bytes(*chunk);
        }
        let [host_id, network, fresh_network, hurry, way_out] = words;
        Self {
            host_id: NonZeroU32::new(host_id),
            network,
            fresh_network: fresh_network != 0,
            hurry: hurry != 0,
            way_out: u16::try_from(way_out).ok().and_then(NonZeroU16::new),
        }
    }
}

#[cfg(all(test, not(belljar_cell_library)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_order_survives_the_trip(host_id in any::<u32>(), network in any::<u32>(), fresh_network in any::<bool>(), hurry in any::<bool>(), port in any::<u16>()) {
            let order = CellOrder {
                host_id: NonZeroU32::new(host_id),
                network,
                fresh_network,
                hurry,
                way_out: NonZeroU16::new(port),
            };
            prop_assert_eq!(CellOrder::decode(order.encode()), order);
        }
    }
}
