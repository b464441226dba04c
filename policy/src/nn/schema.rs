//! Rows of features with named columns.

/// The names of the features of one kind of row, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureSchema {
    /// What a row describes, such as `slot` or `global`.
    pub row: &'static str,
    /// One name per feature. A one-hot group has names such as `task=task1`.
    pub names: &'static [&'static str],
}

impl FeatureSchema {
    /// A schema of rows with these features.
    #[must_use]
    pub const fn new(row: &'static str, names: &'static [&'static str]) -> Self {
        Self { row, names }
    }

    /// Returns the number of features of a row.
    #[must_use]
    pub const fn width(&self) -> usize {
        self.names.len()
    }
}

/// Writes one row of features in the order of its schema.
///
/// The number of features is checked in every build. Names are checked where debug assertions are
/// on, so that tests hold each value to its name and a release build pays nothing for it.
#[derive(Clone, Debug)]
pub struct FeatureWriter<const N: usize> {
    schema: &'static FeatureSchema,
    values: [f32; N],
    len: usize,
}

impl<const N: usize> FeatureWriter<N> {
    /// A row with nothing written yet.
    ///
    /// # Panics
    /// If the schema has another width than the row.
    #[must_use]
    pub const fn new(schema: &'static FeatureSchema) -> Self {
        assert!(
            schema.width() == N,
            "a row has as many features as its schema"
        );
        Self {
            schema,
            values: [0.0; N],
            len: 0,
        }
    }

    /// Writes a number.
    ///
    /// # Panics
    /// If the row is full.
    #[inline]
    pub fn push(&mut self, name: &str, value: f64) {
        debug_assert_eq!(self.schema.names.get(self.len), Some(&name));
        self.values[self.len] = value as f32;
        self.len += 1;
    }

    /// Writes 1 where `on` holds, else 0.
    ///
    /// # Panics
    /// If the row is full.
    #[inline]
    pub fn flag(&mut self, name: &str, on: bool) {
        self.push(name, f64::from(u8::from(on)));
    }

    /// Writes `size` numbers: 1 at `at`, else 0. Their names are `name=` and a value.
    ///
    /// # Panics
    /// If they do not fit into the row.
    #[inline]
    pub fn one_hot(&mut self, name: &str, size: usize, at: Option<usize>) {
        for index in 0..size {
            let column = self.schema.names.get(self.len).copied().unwrap_or_default();
            debug_assert!(
                column
                    .strip_prefix(name)
                    .is_some_and(|value| value.starts_with('=')),
                "{column} is no value of {name}"
            );
            self.flag(column, at == Some(index));
        }
    }

    /// Leaves `count` features at 0: a part of the row that does not apply.
    ///
    /// # Panics
    /// If they do not fit into the row.
    #[inline]
    pub fn skip(&mut self, count: usize) {
        assert!(self.len + count <= N, "a skipped part fits into its row");
        self.len += count;
    }

    /// Returns the row.
    ///
    /// # Panics
    /// If a feature is missing.
    #[inline]
    #[must_use]
    pub fn finish(self) -> [f32; N] {
        assert!(self.len == N, "every feature of a row is written once");
        self.values
    }
}
