//! The formats in which a GGUF file stores numbers. Quantized ones are blocks with common scales.
//!
//! The order of the operations in f32 is that of the Python package `gguf`, by which transformers reads such a
//! file, so that the numbers are equal to the bit.

use half::{bf16, f16};

/// The format of a tensor's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TensorType {
    F32,
    F16,
    Bf16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q4K,
    Q5K,
    Q6K,
}

impl TensorType {
    /// All formats that can be read.
    pub(super) const ALL: [Self; 11] = [
        Self::F32,
        Self::F16,
        Self::Bf16,
        Self::Q4_0,
        Self::Q4_1,
        Self::Q5_0,
        Self::Q5_1,
        Self::Q8_0,
        Self::Q4K,
        Self::Q5K,
        Self::Q6K,
    ];

    /// Returns the number of the format in files, its name, the numbers of a block and its bytes.
    const fn properties(self) -> (u32, &'static str, usize, usize) {
        match self {
            Self::F32 => (0, "F32", 1, 4),
            Self::F16 => (1, "F16", 1, 2),
            Self::Q4_0 => (2, "Q4_0", 32, 18),
            Self::Q4_1 => (3, "Q4_1", 32, 20),
            Self::Q5_0 => (6, "Q5_0", 32, 22),
            Self::Q5_1 => (7, "Q5_1", 32, 24),
            Self::Q8_0 => (8, "Q8_0", 32, 34),
            Self::Q4K => (12, "Q4_K", 256, 144),
            Self::Q5K => (13, "Q5_K", 256, 176),
            Self::Q6K => (14, "Q6_K", 256, 210),
            Self::Bf16 => (30, "BF16", 1, 2),
        }
    }

    /// Returns the number of the format in files.
    pub(super) const fn id(self) -> u32 {
        self.properties().0
    }

    /// Returns the format with a number, or `None` if it cannot be read.
    pub(super) fn from_id(id: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.id() == id)
    }

    pub(super) const fn name(self) -> &'static str {
        self.properties().1
    }

    /// Returns the count of numbers in a block, and its bytes.
    pub(super) const fn block(self) -> (usize, usize) {
        let (_, _, numbers, bytes) = self.properties();
        (numbers, bytes)
    }

    /// Appends the numbers of whole blocks to `out`.
    pub(super) fn dequantize(self, data: &[u8], out: &mut Vec<f32>) {
        match self {
            Self::F32 => each(data, |bytes| out.push(f32::from_le_bytes(*bytes))),
            Self::F16 => each(data, |bytes| out.push(f16::from_le_bytes(*bytes).to_f32())),
            Self::Bf16 => each(data, |bytes| out.push(bf16::from_le_bytes(*bytes).to_f32())),
            Self::Q4_0 => each(data, |block| q4_0(block, out)),
            Self::Q4_1 => each(data, |block| q4_1(block, out)),
            Self::Q5_0 => each(data, |block| q5_0(block, out)),
            Self::Q5_1 => each(data, |block| q5_1(block, out)),
            Self::Q8_0 => each(data, |block| q8_0(block, out)),
            Self::Q4K => each(data, |block| q4_k(block, out)),
            Self::Q5K => each(data, |block| q5_k(block, out)),
            Self::Q6K => each(data, |block| q6_k(block, out)),
        }
    }
}

/// Calls a function with each block of N bytes.
fn each<const N: usize>(data: &[u8], visit: impl FnMut(&[u8; N])) {
    data.as_chunks::<N>().0.iter().for_each(visit);
}

/// Returns a scale, which is stored in f16.
fn scale(low: u8, high: u8) -> f32 {
    f16::from_le_bytes([low, high]).to_f32()
}

/// Returns the lower halves of bytes, then the upper ones.
fn halves(bytes: &[u8]) -> impl Iterator<Item = u8> {
    let low = bytes.iter().map(|byte| byte & 15);
    low.chain(bytes.iter().map(|byte| byte >> 4))
}

/// Returns the halves of 16 bytes, each with a fifth bit.
fn with_fifth_bit(bits: [u8; 4], bytes: &[u8]) -> impl Iterator<Item = u8> {
    let bits = u32::from_le_bytes(bits);
    let fifth = (0..32).map(move |at| ((bits >> at) & 1) as u8);
    halves(bytes).zip(fifth).map(|(low, bit)| low | (bit << 4))
}

fn q4_0(block: &[u8; 18], out: &mut Vec<f32>) {
    let [low, high, bytes @ ..] = block;
    let d = scale(*low, *high);
    out.extend(halves(bytes).map(|q| d * (f32::from(q) - 8.0)));
}

fn q4_1(block: &[u8; 20], out: &mut Vec<f32>) {
    let [low, high, min_low, min_high, bytes @ ..] = block;
    let (d, min) = (scale(*low, *high), scale(*min_low, *min_high));
    out.extend(halves(bytes).map(|q| d * f32::from(q) + min));
}

fn q5_0(block: &[u8; 22], out: &mut Vec<f32>) {
    let [low, high, b0, b1, b2, b3, bytes @ ..] = block;
    let d = scale(*low, *high);
    let quants = with_fifth_bit([*b0, *b1, *b2, *b3], bytes);
    out.extend(quants.map(|q| d * (f32::from(q) - 16.0)));
}

fn q5_1(block: &[u8; 24], out: &mut Vec<f32>) {
    let [low, high, min_low, min_high, b0, b1, b2, b3, bytes @ ..] = block;
    let (d, min) = (scale(*low, *high), scale(*min_low, *min_high));
    let quants = with_fifth_bit([*b0, *b1, *b2, *b3], bytes);
    out.extend(quants.map(|q| d * f32::from(q) + min));
}

fn q8_0(block: &[u8; 34], out: &mut Vec<f32>) {
    let [low, high, bytes @ ..] = block;
    let d = scale(*low, *high);
    out.extend(bytes.iter().map(|q| f32::from(q.cast_signed()) * d));
}

/// Returns scale and minimum of each of the eight parts of a block: six bits each, in twelve bytes.
fn six_bit_scales(bytes: &[u8; 12]) -> impl Iterator<Item = (u8, u8)> {
    let (scales, rest) = bytes.split_at(4);
    let (minima, rest) = rest.split_at(4);
    let pairs = scales.iter().zip(minima);
    let first = pairs.clone().map(|(scale, min)| (scale & 63, min & 63));
    let last = pairs.zip(rest).map(|((scale, min), rest)| {
        let upper = |byte: &u8| (byte >> 2) & 48;
        ((rest & 15) | upper(scale), (rest >> 4) | upper(min))
    });
    first.chain(last)
}

/// Appends the numbers of a block whose eight parts have 32 quants each, with scale and minimum.
fn scaled_parts(
    scales: [f32; 2],
    parts: impl Iterator<Item = (u8, u8)>,
    mut quants: impl Iterator<Item = u8>,
    out: &mut Vec<f32>,
) {
    let [d, d_min] = scales;
    for (scale, min) in parts {
        let (d, min) = (d * f32::from(scale), d_min * f32::from(min));
        let part = quants.by_ref().take(32);
        out.extend(part.map(|q| d * f32::from(q) - min));
    }
}

fn q4_k(block: &[u8; 144], out: &mut Vec<f32>) {
    let [low, high, min_low, min_high, rest @ ..] = block;
    let Some((parts, bytes)) = rest.split_first_chunk() else {
        return;
    };
    let scales = [scale(*low, *high), scale(*min_low, *min_high)];
    let quants = bytes.as_chunks::<32>().0.iter();
    let quants = quants.flat_map(|bytes| halves(bytes));
    scaled_parts(scales, six_bit_scales(parts), quants, out);
}

fn q5_k(block: &[u8; 176], out: &mut Vec<f32>) {
    let [low, high, min_low, min_high, rest @ ..] = block;
    let Some((parts, rest)) = rest.split_first_chunk() else {
        return;
    };
    let (fifth, bytes) = rest.split_at(32);
    let scales = [scale(*low, *high), scale(*min_low, *min_high)];
    let quants = bytes.as_chunks::<32>().0.iter();
    let quants = quants.flat_map(|bytes| halves(bytes));
    // Bit n of a byte belongs to part n.
    let fifth = (0..8).flat_map(|part| fifth.iter().map(move |byte| (byte >> part) & 1));
    let quants = quants.zip(fifth).map(|(low, bit)| low | (bit << 4));
    scaled_parts(scales, six_bit_scales(parts), quants, out);
}

fn q6_k(block: &[u8; 210], out: &mut Vec<f32>) {
    let (low, rest) = block.split_at(128);
    let (high, rest) = rest.split_at(64);
    let (scales, d) = rest.split_at(16);
    let &[d_low, d_high] = d else {
        return;
    };
    let d = scale(d_low, d_high);
    let low = low.as_chunks::<64>().0.iter();
    let low = low.flat_map(|bytes| halves(bytes));
    let high = high.as_chunks::<32>().0.iter();
    let high = high.flat_map(|bytes| {
        [0, 2, 4, 6]
            .into_iter()
            .flat_map(|shift| bytes.iter().map(move |byte| (byte >> shift) & 3))
    });
    let mut quants = low.zip(high).map(|(low, high)| low | (high << 4));
    for scale in scales {
        let d = d * f32::from(scale.cast_signed());
        let part = quants.by_ref().take(16);
        out.extend(part.map(|q| d * (f32::from(q) - 32.0)));
    }
}
