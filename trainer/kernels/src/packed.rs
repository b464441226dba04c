//! Products of a few rows with a large weight, as decoding computes them.
//!
//! Such a product waits for the memory that holds the weight. The weight is arranged once, in the order in which
//! it is read, and each number is read once for several rows; in bf16 it is half as much to read.

use pulp::{Arch, Simd};

use crate::panels::{Blocks, InRegisters, PANEL, Weight, rows_from};

/// A weight, `[outputs, inputs]`, arranged for [`PackedWeight::product`].
///
/// A panel holds 32 outputs: for each input, the weights of all of them. The last one is filled with zeros.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedWeight {
    outputs: usize,
    inputs: usize,
    panels: Panels,
}

/// The numbers of all panels.
#[derive(Clone, Debug, PartialEq)]
enum Panels {
    /// Shape `[panels, inputs, 32]`.
    F32(Vec<f32>),
    /// `[panels, inputs / 2, 32]`: two bf16, that of the first of two inputs in the lower half.
    Bf16(Vec<u32>),
}

impl PackedWeight {
    /// Arranges a weight in row-major order.
    ///
    /// # Panics
    /// If the length is not `outputs * inputs`.
    #[must_use]
    pub fn from_f32(weight: &[f32], outputs: usize, inputs: usize) -> Self {
        Self {
            outputs,
            inputs,
            panels: Panels::F32(pack(weight, outputs, inputs, 1, |of_input| of_input[0])),
        }
    }

    /// Arranges a weight in row-major order, given as the bits of bf16.
    ///
    /// # Panics
    /// If the length is not `outputs * inputs`.
    #[must_use]
    pub fn from_bf16_bits(weight: &[u16], outputs: usize, inputs: usize) -> Self {
        Self {
            outputs,
            inputs,
            panels: Panels::Bf16(pack(weight, outputs, inputs, 2, |of_inputs| {
                let second = of_inputs.get(1).map_or(0, |bits| u32::from(*bits));
                second << 16 | u32::from(of_inputs[0])
            })),
        }
    }

    /// Returns the number of outputs.
    #[must_use]
    pub const fn outputs(&self) -> usize {
        self.outputs
    }

    /// Returns the number of inputs.
    #[must_use]
    pub const fn inputs(&self) -> usize {
        self.inputs
    }

    /// Returns `true` if the weight is in bf16.
    #[must_use]
    pub const fn is_bf16(&self) -> bool {
        matches!(self.panels, Panels::Bf16(_))
    }

    /// Returns the number of outputs in a part of the weight, if it is divided into at most `count` parts.
    #[must_use]
    pub const fn part_size(&self, count: usize) -> usize {
        let panels = self.outputs.div_ceil(PANEL);
        let count = if count == 0 { 1 } else { count };
        panels.div_ceil(count) * PANEL
    }

    /// Computes `x Wᵀ` for `x`, `[rows, inputs]`, and the outputs from `first` on, and writes it to `out`,
    /// `[rows, width]`. Every output is summed over the inputs in order, with one rounding for each input, so it
    /// depends neither on the other rows nor on the processor.
    ///
    /// # Panics
    /// If `first` is not a multiple of 32, or a length does not fit the shape.
    pub fn product(&self, x: &[f32], first: usize, width: usize, out: &mut [f32]) {
        assert!(
            first.is_multiple_of(PANEL) && first + width <= self.outputs,
            "outputs"
        );
        if width == 0 || self.inputs == 0 {
            out.fill(0.0);
            return;
        }
        let rows = x.len() / self.inputs;
        assert!(
            x.len() == rows * self.inputs && out.len() == rows * width,
            "rows"
        );
        match &self.panels {
            Panels::F32(panels) => self.dispatch(panels, x, first, width, out),
            Panels::Bf16(panels) => self.dispatch(panels, x, first, width, out),
        }
    }

    fn dispatch<W: Weight>(
        &self,
        panels: &[W],
        x: &[f32],
        first: usize,
        width: usize,
        out: &mut [f32],
    ) {
        let size = panels.len() / self.outputs.div_ceil(PANEL);
        let computed = first / PANEL..(first + width).div_ceil(PANEL);
        Arch::new().dispatch(InRegisters(Product {
            panels: &panels[computed.start * size..computed.end * size],
            size,
            x,
            inputs: self.inputs,
            width,
            out,
        }));
    }
}

/// Returns the panels of a weight in row-major order; `join` makes one number of those of `group` inputs.
fn pack<W: Copy, P: Copy + Default>(
    weight: &[W],
    outputs: usize,
    inputs: usize,
    group: usize,
    join: impl Fn(&[W]) -> P,
) -> Vec<P> {
    assert_eq!(weight.len(), outputs * inputs, "weight");
    let size = PANEL * inputs.div_ceil(group);
    let mut panels = vec![P::default(); outputs.div_ceil(PANEL) * size];
    if inputs == 0 {
        return panels;
    }
    let of_panel = weight.chunks(PANEL * inputs);
    for (panel, rows) in panels.chunks_exact_mut(size).zip(of_panel) {
        for (output, row) in rows.chunks_exact(inputs).enumerate() {
            for (at, of_inputs) in row.chunks(group).enumerate() {
                panel[at * PANEL + output] = join(of_inputs);
            }
        }
    }
    panels
}

struct Product<'a, W> {
    panels: &'a [W],
    /// Length of a panel.
    size: usize,
    x: &'a [f32],
    inputs: usize,
    width: usize,
    out: &'a mut [f32],
}

impl<W: Weight> Blocks for Product<'_, W> {
    #[inline(always)]
    fn compute<S: Simd, const ROWS: usize, const VECTORS: usize>(mut self, simd: S) {
        let rows = self.x.len() / self.inputs;
        for (number, panel) in self.panels.chunks_exact(self.size).enumerate() {
            let column = number * PANEL;
            let mut row = 0;
            while row < rows {
                match rows - row {
                    1 => self.block::<S, 1, VECTORS>(simd, panel, [row, column]),
                    2 => self.block::<S, 2, VECTORS>(simd, panel, [row, column]),
                    3 | 4 => self.block::<S, 4, VECTORS>(simd, panel, [row, column]),
                    _ => self.block::<S, ROWS, VECTORS>(simd, panel, [row, column]),
                }
                row += ROWS;
            }
        }
    }
}

impl<W: Weight> Product<'_, W> {
    /// Computes a panel of at most `ROWS` rows, and stores it from a row and a column on.
    #[inline(always)]
    fn block<S: Simd, const ROWS: usize, const VECTORS: usize>(
        &mut self,
        simd: S,
        panel: &[W],
        [row, column]: [usize; 2],
    ) {
        let rows = self.x.len() / self.inputs;
        let xs: [&[f32]; ROWS] = rows_from(self.x, self.inputs, [row, rows]);
        let step = VECTORS * S::F32_LANES;
        for first in (0..PANEL).step_by(step) {
            let mut sums = [[simd.splat_f32s(0.0); VECTORS]; ROWS];
            W::add_products(simd, panel, first, xs, &mut sums);
            let Some(count) = self.width.checked_sub(column + first) else {
                return;
            };
            for (at, sums) in sums.iter().enumerate().take(rows - row) {
                let start = (row + at) * self.width + column + first;
                let stored = self.out[start..start + count.min(step)].chunks_mut(S::F32_LANES);
                for (out, sum) in stored.zip(sums) {
                    simd.partial_store_f32s(out, *sum);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panels::tests::numbers;

    fn plain(x: &[f32], weight: &[f32], inputs: usize) -> Vec<f32> {
        let dot =
            |x: &[f32], w: &[f32]| x.iter().zip(w).fold(0.0, |sum, (x, w)| x.mul_add(*w, sum));
        let rows = x.chunks_exact(inputs);
        rows.flat_map(|x| weight.chunks_exact(inputs).map(move |w| dot(x, w)))
            .collect()
    }

    #[test]
    fn products_equal_plain_sums_bit_for_bit() {
        for (outputs, inputs) in [(1, 1), (31, 5), (32, 7), (33, 64), (100, 3), (128, 40)] {
            let weight = numbers(outputs * inputs, 1);
            let bits: Vec<u16> = weight.iter().map(|w| (w.to_bits() >> 16) as u16).collect();
            let rounded: Vec<f32> = bits
                .iter()
                .map(|bits| f32::from_bits(u32::from(*bits) << 16))
                .collect();
            for rows in 1..20 {
                let x = numbers(rows * inputs, 2);
                for (packed, weight) in [
                    (PackedWeight::from_f32(&weight, outputs, inputs), &weight),
                    (
                        PackedWeight::from_bf16_bits(&bits, outputs, inputs),
                        &rounded,
                    ),
                ] {
                    let expected = plain(&x, weight, inputs);
                    let mut found = vec![f32::NAN; rows * outputs];
                    packed.product(&x, 0, outputs, &mut found);
                    assert_eq!(found, expected, "{rows} rows, {outputs} x {inputs}");
                }
            }
        }
    }

    #[test]
    fn parts_of_a_product_are_columns_of_the_whole() {
        let (outputs, inputs, rows) = (100, 9, 3);
        let packed = PackedWeight::from_f32(&numbers(outputs * inputs, 3), outputs, inputs);
        let x = numbers(rows * inputs, 4);
        let mut whole = vec![0.0; rows * outputs];
        packed.product(&x, 0, outputs, &mut whole);
        let size = packed.part_size(3);
        assert_eq!(size, 64);
        for first in (0..outputs).step_by(size) {
            let width = size.min(outputs - first);
            let mut part = vec![0.0; rows * width];
            packed.product(&x, first, width, &mut part);
            for (part, whole) in part.chunks(width).zip(whole.chunks(outputs)) {
                assert_eq!(part, &whole[first..first + width]);
            }
        }
    }
}
