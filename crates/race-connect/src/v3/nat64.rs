use std::{
    fmt,
    net::{Ipv4Addr, Ipv6Addr},
};

/// The prefix of a NAT64 (PREF64): IPv4 addresses are written into IPv6 addresses behind it
/// (RFC 6052).
///
/// ```
/// use race_connect::v3::Nat64Prefix;
///
/// let prefix = Nat64Prefix::WELL_KNOWN; // 64:ff9b::/96
/// let v6 = prefix.synthesize([192, 0, 2, 33].into()).unwrap();
/// assert_eq!(v6.to_string(), "64:ff9b::c000:221");
/// assert_eq!(prefix.extract(v6), Some([192, 0, 2, 33].into()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Nat64Prefix {
    prefix: u128,
    length: u8,
}

/// Bits 64 to 71 of a synthesized address are zero (RFC 6052, section 2.2).
const RESERVED: u128 = 0xff << 56;

impl Nat64Prefix {
    /// The lengths that a prefix may have, in bits.
    pub const LENGTHS: [u8; 6] = [32, 40, 48, 56, 64, 96];

    /// The well-known prefix, `64:ff9b::/96`.
    pub const WELL_KNOWN: Self = Self {
        prefix: 0x0064_ff9b << 96,
        length: 96,
    };

    /// Creates a prefix; `None` if its length is not 32, 40, 48, 56, 64 or 96, or if bits 64 to 71
    /// are not zero. What follows the prefix in `address` is ignored.
    #[must_use]
    pub fn new(address: Ipv6Addr, length: u8) -> Option<Self> {
        let prefix = address.to_bits() & mask(length)?;
        (prefix & RESERVED == 0).then_some(Self { prefix, length })
    }

    /// Returns the IPv6 address by which the NAT64 reaches an IPv4 address.
    ///
    /// `None` if the address belongs to a host or a network: 0.0.0.0/8, 127.0.0.0/8,
    /// 169.254.0.0/16, 224.0.0.0/4 and 255.255.255.255. Behind the well-known prefix there are no
    /// private addresses either (RFC 6052, section 3.1).
    #[must_use]
    pub fn synthesize(self, address: Ipv4Addr) -> Option<Ipv6Addr> {
        if Self::is_scoped(address) || (self == Self::WELL_KNOWN && address.is_private()) {
            return None;
        }
        let bits = u128::from(address.to_bits());
        let embedded = match self.length {
            96 => bits,
            // The address is split around the reserved bits.
            length => {
                let after_prefix = bits << (96 - length);
                let high = after_prefix & !u128::from(u64::MAX);
                let low = after_prefix & u128::from(u64::MAX);
                high | (low >> 8)
            }
        };
        Some(Ipv6Addr::from_bits(self.prefix | embedded))
    }

    /// Returns the IPv4 address in a synthesized one; `None` if the address is not behind this
    /// prefix.
    #[must_use]
    pub fn extract(self, address: Ipv6Addr) -> Option<Ipv4Addr> {
        let bits = address.to_bits();
        if bits & mask(self.length)? != self.prefix {
            return None;
        }
        let embedded = match self.length {
            96 => bits,
            _ if bits & RESERVED != 0 => return None,
            length => {
                let high = bits & !u128::from(u64::MAX);
                let low = bits & u128::from(u64::MAX);
                (high | (low << 8)) >> (96 - length)
            }
        };
        Some(Ipv4Addr::from_bits(embedded as u32))
    }

    /// Whether an address belongs to a host or a link, so that no NAT64 has it.
    pub(super) fn is_scoped(address: Ipv4Addr) -> bool {
        address.octets()[0] == 0
            || address.is_loopback()
            || address.is_link_local()
            || address.is_multicast()
            || address.is_broadcast()
    }

    /// Returns the prefixes that the AAAA records of `ipv4only.arpa` show: that name has two IPv4
    /// addresses, 192.0.0.170 and 192.0.0.171, and no IPv6 address but those that a DNS64 makes
    /// (RFC 7050).
    #[must_use]
    pub fn discover(addresses: &[Ipv6Addr]) -> Vec<Self> {
        let shown = ANALYSIS.map(|known| Self::before(known, addresses));
        let mut shown = shown.into_iter().flatten();
        shown.find(|it| !it.is_empty()).unwrap_or_default()
    }

    /// Returns the prefixes after which a known address stands; `None` if it is in one address
    /// twice, since a prefix can contain it. The other known address then decides (RFC 7050,
    /// section 3).
    fn before(known: Ipv4Addr, addresses: &[Ipv6Addr]) -> Option<Vec<Self>> {
        let mut prefixes = Vec::new();
        for address in addresses {
            let candidates = Self::LENGTHS.map(|length| Self::new(*address, length));
            let candidates = candidates.into_iter().flatten();
            let mut found = candidates.filter(|it| it.extract(*address) == Some(known));
            let prefix = found.next();
            if found.next().is_some() {
                return None;
            }
            prefixes.extend(prefix.filter(|it| !prefixes.contains(it)));
        }
        Some(prefixes)
    }
}

/// The addresses of `ipv4only.arpa`.
const ANALYSIS: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 0, 170), Ipv4Addr::new(192, 0, 0, 171)];

/// The bits of a prefix of this length, if a prefix may have it.
fn mask(length: u8) -> Option<u128> {
    let is_allowed = Nat64Prefix::LENGTHS.contains(&length);
    is_allowed.then(|| u128::MAX << (128 - u32::from(length)))
}

impl fmt::Display for Nat64Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Ipv6Addr::from_bits(self.prefix), self.length)
    }
}
