//! A row of features while it is written.

/// Writes numbers one after the other and checks that they fill the row.
pub(crate) struct Row<const N: usize> {
    values: [f32; N],
    len: usize,
}

impl<const N: usize> Row<N> {
    pub(crate) const fn new() -> Self {
        Self {
            values: [0.0; N],
            len: 0,
        }
    }

    pub(crate) fn push(&mut self, value: f64) {
        self.values[self.len] = value as f32;
        self.len += 1;
    }

    pub(crate) fn flag(&mut self, on: bool) {
        self.push(f64::from(u8::from(on)));
    }

    pub(crate) fn one_hot(&mut self, size: usize, at: Option<usize>) {
        for index in 0..size {
            self.flag(at == Some(index));
        }
    }

    pub(crate) fn finish(self) -> [f32; N] {
        debug_assert_eq!(self.len, N, "every feature is written once");
        self.values
    }
}
