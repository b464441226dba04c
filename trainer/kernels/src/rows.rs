//! The layout of an input.

/// A matrix whose rows are contiguous, but not necessarily next to each other.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    values: &'a [f32],
    stride: usize,
    width: usize,
}

impl<'a> Rows<'a> {
    /// Creates a matrix of rows of `width` numbers, each `stride` after the one before; `None` if the
    /// rows overlap or are empty.
    #[must_use]
    pub const fn new(values: &'a [f32], stride: usize, width: usize) -> Option<Self> {
        if width == 0 || stride < width {
            return None;
        }
        Some(Self {
            values,
            stride,
            width,
        })
    }

    /// Returns the number of columns.
    #[must_use]
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Iterates over the rows. A last row that is too short is left out.
    #[inline(always)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a [f32]> {
        let width = self.width;
        let rows = self.values.chunks(self.stride);
        rows.filter_map(move |row| row.get(..width))
    }
}
