//! Digests for comparing two runs of an episode.
//!
//! A digest consists of two numbers: the number of bytes added, which changes with the encoding,
//! and an FNV-1a hash of those bytes, which changes with the values. Floats are added as their
//! bits, so values that print the same but differ in any bit give different digests.

use std::fmt;

/// A running byte count and 64-bit FNV-1a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    /// Number of bytes added so far.
    pub size: u32,
    /// FNV-1a hash of those bytes.
    pub hash: u64,
}

impl Default for Digest {
    fn default() -> Self {
        Self {
            size: 0,
            hash: 0xcbf2_9ce4_8422_2325,
        }
    }
}

impl Digest {
    /// Adds raw bytes to the digest.
    pub fn write_bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.size += bytes.len() as u32;
    }

    /// Adds a float as the eight little-endian bytes of its bit pattern.
    pub fn write_f64(&mut self, value: f64) {
        self.write_bytes(&value.to_bits().to_le_bytes());
    }

    /// Adds an integer as eight little-endian bytes.
    pub fn write_u64(&mut self, value: u64) {
        self.write_bytes(&value.to_le_bytes());
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{:016x}", self.size, self.hash)
    }
}

/// Formats 128 bits as a version-4 UUID; six of them are replaced by the version and variant bits.
pub(crate) fn format_uuid(high: u64, low: u64) -> String {
    let (a, b, c) = (high >> 32, high >> 16 & 0xffff, high & 0x0fff);
    let (d, e) = (low >> 48 & 0x3fff | 0x8000, low & 0xffff_ffff_ffff);
    format!("{a:08x}-{b:04x}-4{c:03x}-{d:04x}-{e:012x}")
}
