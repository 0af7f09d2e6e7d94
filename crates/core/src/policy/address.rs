//! Which addresses are not part of the internet.
//!
//! A name under somebody's control can lead anywhere. So an address is good only if it is known to
//! be global unicast. IPv6 is denied by default outside `2000::/3`. A form that carries an IPv4
//! address is judged by that address.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What kind of address it is, if it is not an ordinary one on the internet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddressKind {
    /// `0.0.0.0/8` and `::`. They reach the machine itself.
    Unspecified,
    /// `127.0.0.0/8` and `::1`.
    Loopback,
    /// A cloud provider's service for credentials and settings.
    Metadata,
    /// `169.254.0.0/16` and `fe80::/10`.
    LinkLocal,
    /// RFC 1918, `fc00::/7` and `fec0::/10`.
    Private,
    /// `100.64.0.0/10`: addresses behind a provider's NAT.
    Shared,
    /// Addresses for measurements and for documentation.
    Documentation,
    /// Addresses of groups of machines.
    Multicast,
    /// An IPv4 address written as IPv6. No honest resolver answers with one.
    Mapped,
    /// Any other address that is not global unicast.
    Reserved,
}

impl fmt::Display for AddressKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unspecified => "unspecified",
            Self::Loopback => "loopback",
            Self::Metadata => "cloud metadata",
            Self::LinkLocal => "link-local",
            Self::Private => "private",
            Self::Shared => "shared (carrier NAT)",
            Self::Documentation => "documentation or benchmarking",
            Self::Multicast => "multicast or broadcast",
            Self::Mapped => "IPv4-in-IPv6",
            Self::Reserved => "reserved",
        })
    }
}

/// What is special about an address. `None` for an ordinary address on the internet.
pub fn kind_of(address: IpAddr) -> Option<AddressKind> {
    match address {
        IpAddr::V4(address) => kind_of_v4(address),
        IpAddr::V6(address) => kind_of_v6(address),
    }
}

fn kind_of_v4(address: Ipv4Addr) -> Option<AddressKind> {
    use AddressKind::*;
    Some(match address.octets() {
        [0, ..] => Unspecified,
        [127, ..] => Loopback,
        // The second one is Azure's. It looks like any other public address.
        [169, 254, 169, 254] | [168, 63, 129, 16] => Metadata,
        [169, 254, ..] => LinkLocal,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Private,
        [100, 64..=127, ..] => Shared,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] | [198, 18..=19, ..] => Documentation,
        [224..=239, ..] | [255, 255, 255, 255] => Multicast,
        // Protocol assignments, the old 6to4 relays, and the class that was never given out.
        [192, 0, 0, _] | [192, 88, 99, _] | [240..=255, ..] => Reserved,
        _ => return None,
    })
}

fn kind_of_v6(address: Ipv6Addr) -> Option<AddressKind> {
    use AddressKind::*;
    let segments = address.segments();
    let carried = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    Some(match segments {
        [0, 0, 0, 0, 0, 0, 0, 0] => Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => Loopback,
        // The mapped form, the compatible form that nobody uses any longer, and SIIT's.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => {
            kind_of_v4(carried(high, low)).unwrap_or(Mapped)
        }
        // With NAT64 an IPv6-only host reaches IPv4. Nobody can know where its local-use prefix
        // leads.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => return kind_of_v4(carried(high, low)),
        [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254] => Metadata,
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Private,
        [0xfe80..=0xfebf, ..] => LinkLocal,
        [0xff00..=0xffff, ..] => Multicast,
        [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] | [0x2001, 2, 0, ..] => Documentation,
        // 2001::/23 is for protocols, such as Teredo.
        [0x2001, 0..=0x01ff, ..] => Reserved,
        [0x2002, high, low, ..] => return kind_of_v4(carried(high, low)),
        // ISATAP hides an IPv4 address in the last half.
        [.., 0 | 0x200, 0x5efe, high, low] => return kind_of_v4(carried(high, low)),
        [0x2000..=0x3fff, ..] => return None,
        _ => Reserved,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_range_has_its_name_at_both_ends() {
        use AddressKind::*;
        let table = [
            (Unspecified, "0.0.0.0 0.255.255.255 ::"),
            (Loopback, "127.0.0.0 127.255.255.255 ::1 ::ffff:127.0.0.1 ::7f00:1 2002:7f00:1::"),
            (
                Metadata,
                "169.254.169.254 168.63.129.16 fd00:ec2::254 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe",
            ),
            (LinkLocal, "169.254.0.0 169.254.255.255 fe80:: febf:ffff::1"),
            (Private, "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255"),
            (Private, "fc00:: fdff:ffff::1 fec0:: feff::1 ::ffff:0:a00:1 2a00::5efe:a00:1"),
            (Shared, "100.64.0.0 100.127.255.255 100.100.100.200"),
            (Documentation, "192.0.2.1 198.51.100.9 203.0.113.255 198.18.0.0 198.19.255.255 2001:db8::1"),
            (Documentation, "3fff::1 3fff:fff::1 2001:2::1"),
            (Multicast, "224.0.0.1 239.255.255.255 255.255.255.255 ff02::1 ffff::"),
            (Mapped, "::ffff:8.8.8.8 ::8.8.8.8"),
            (Reserved, "192.0.0.192 192.88.99.1 240.0.0.1 255.255.255.254 100::1 5f00::1 64:ff9b:1::1"),
            (Reserved, "2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:10::1 2001:20::1 4000::1 1::1"),
        ];
        for (kind, addresses) in table {
            for address in addresses.split(' ') {
                assert_eq!(kind_of(address.parse().unwrap()), Some(kind), "{address}");
            }
        }
    }

    #[test]
    fn the_internet_is_ordinary_right_up_to_the_borders() {
        for address in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "8.8.8.8",
            "2001:4860:4860::8888",
            "2606:4700::1111",
            "64:ff9b::808:808",
            "2002:808:808::1",
            "2001:200::1",
            "3fff:1000::1",
            "3ffe::1",
        ] {
            assert_eq!(kind_of(address.parse().unwrap()), None, "{address}");
        }
    }

    proptest! {
        /// A forbidden IPv4 address stays forbidden in every form.
        #[test]
        fn clothes_do_not_make_an_address_ordinary(bits: u32) {
            let v4 = Ipv4Addr::from(bits);
            let (high, low) = ((bits >> 16) as u16, bits as u16);
            let dressed = [
                Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low),
                Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
                Ipv6Addr::new(0x2001, 0, 0x4136, 0xe378, 0, 0, !high, !low),
                Ipv6Addr::new(0x2a00, 0, 0, 0, 0, 0x5efe, high, low),
                Ipv6Addr::new(0x2a00, 0, 0, 0, 0x200, 0x5efe, high, low),
            ];
            if kind_of(v4.into()).is_some() {
                for address in dressed {
                    prop_assert!(kind_of(address.into()).is_some(), "{} as {}", v4, address);
                }
            }
        }

        #[test]
        fn outside_global_unicast_only_nat64_is_ordinary(bits: u128) {
            let address = Ipv6Addr::from(bits);
            let first = address.segments()[0];
            if !(0x2000..=0x3fff).contains(&first) && first != 0x64 {
                prop_assert!(kind_of(address.into()).is_some());
            }
        }
    }
}
