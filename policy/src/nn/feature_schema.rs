//! Feature rows with named columns.

/// The feature names of one kind of row, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureSchema {
    /// The kind of object that a row describes, such as `slot` or `global`.
    pub row: &'static str,
    /// One name per feature. The features of a one-hot group have names such as `task=task1`.
    pub names: &'static [&'static str],
}

impl FeatureSchema {
    /// Creates the schema of one kind of row.
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

/// Writes one row of features in the order of its schema, into an array or into the slice of a
/// [`RowWriter`].
///
/// The number of features is checked in every build. Names are checked only with debug assertions,
/// so tests verify each value against its name at no cost in release builds.
#[derive(Clone, Debug)]
pub struct FeatureWriter<R> {
    /// Compiled only with debug assertions, so that the names are not part of the page's download.
    #[cfg(debug_assertions)]
    schema: &'static FeatureSchema,
    row: R,
    len: usize,
}

/// A writer for one row of a feature matrix.
pub type RowWriter<'a> = FeatureWriter<&'a mut [f32]>;

impl<const N: usize> FeatureWriter<[f32; N]> {
    /// Creates a writer for an array row of zeros.
    ///
    /// # Panics
    /// If the schema and the row differ in width.
    #[must_use]
    pub const fn new(schema: &'static FeatureSchema) -> Self {
        assert!(
            schema.width() == N,
            "a row has as many features as its schema"
        );
        Self {
            #[cfg(debug_assertions)]
            schema,
            row: [0.0; N],
            len: 0,
        }
    }
}

impl<'a> RowWriter<'a> {
    /// Creates a writer over a slice, which must hold zeros.
    ///
    /// # Panics
    /// If the schema and the slice differ in width.
    #[must_use]
    pub const fn for_row(schema: &'static FeatureSchema, row: &'a mut [f32]) -> Self {
        assert!(
            schema.width() == row.len(),
            "a row has as many features as its schema"
        );
        Self {
            #[cfg(debug_assertions)]
            schema,
            row,
            len: 0,
        }
    }
}

impl<R: AsMut<[f32]>> FeatureWriter<R> {
    /// Checks the name of the next column if debug assertions are on, and panics if `is_name`
    /// rejects it.
    #[inline]
    fn check(&self, name: &str, is_name: impl Fn(&str) -> bool) {
        #[cfg(debug_assertions)]
        {
            let column = self.schema.names.get(self.len).copied();
            let column = column.unwrap_or("past the last one");
            assert!(is_name(column), "the column is {column}, not {name}");
        }
        #[cfg(not(debug_assertions))]
        let _ = (name, is_name);
    }

    /// Writes one value to the next column.
    ///
    /// # Panics
    /// If the row is full.
    #[inline]
    pub fn push(&mut self, name: &str, value: f64) {
        self.check(name, |column| column == name);
        self.row.as_mut()[self.len] = value as f32;
        self.len += 1;
    }

    /// Writes 1 if `on` is `true`, else 0.
    ///
    /// # Panics
    /// If the row is full.
    #[inline]
    pub fn push_bool(&mut self, name: &str, on: bool) {
        self.push(name, f64::from(u8::from(on)));
    }

    /// Writes `size` values: 1 at index `at`, 0 elsewhere. Their names in the schema start with
    /// `name=`.
    ///
    /// # Panics
    /// If they do not fit into the row.
    #[inline]
    pub fn push_one_hot(&mut self, name: &str, size: usize, at: Option<usize>) {
        for index in 0..size {
            self.check(name, |column| {
                let value = column.strip_prefix(name);
                value.is_some_and(|value| value.starts_with('='))
            });
            self.row.as_mut()[self.len] = f32::from(u8::from(at == Some(index)));
            self.len += 1;
        }
    }

    /// Skips `count` features, which stay 0: a part of the row that does not apply.
    ///
    /// # Panics
    /// If they do not fit into the row.
    #[inline]
    pub fn skip(&mut self, count: usize) {
        assert!(
            self.len + count <= self.row.as_mut().len(),
            "a skipped part fits into its row"
        );
        self.len += count;
    }

    /// Returns the completed row.
    ///
    /// # Panics
    /// If a feature is missing.
    #[inline]
    #[must_use]
    pub fn finish(mut self) -> R {
        assert!(
            self.len == self.row.as_mut().len(),
            "every feature of a row is written once"
        );
        self.row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: FeatureSchema = FeatureSchema::new("arm", &["claim", "lied"]);

    #[test]
    fn row_writer_matches_feature_writer() {
        let mut rows = [0.0; 4];
        for row in rows.chunks_exact_mut(2) {
            let mut row = RowWriter::for_row(&SCHEMA, row);
            row.push("claim", 0.5);
            row.push_bool("lied", true);
            let _ = row.finish();
        }
        let mut row = FeatureWriter::new(&SCHEMA);
        row.push("claim", 0.5);
        row.push_bool("lied", true);
        let [claim, lied] = row.finish();
        assert_eq!(rows, [claim, lied, claim, lied]);
    }

    #[test]
    #[should_panic(expected = "every feature of a row is written once")]
    fn missing_feature_panics() {
        let mut row = [0.0; 2];
        let mut writer = RowWriter::for_row(&SCHEMA, &mut row);
        writer.push("claim", 0.5);
        let _ = writer.finish();
    }

    #[test]
    #[should_panic]
    fn extra_feature_panics() {
        let mut row = [0.0; 2];
        let mut writer = RowWriter::for_row(&SCHEMA, &mut row);
        for name in ["claim", "lied", "more"] {
            writer.push(name, 0.5);
        }
    }

    #[cfg(debug_assertions)]
    #[test]
    #[should_panic]
    fn wrong_feature_name_panics() {
        let mut row = [0.0; 2];
        RowWriter::for_row(&SCHEMA, &mut row).push("lied", 0.5);
    }
}
