//! A chart with the digests and fallbacks of the files that its numbers come from.

use std::path::Path;

use sentinel_base::Error;
use sentinel_base::provenance::Provenance;

use crate::charts::Chart;

/// A chart with where its numbers come from.
#[derive(Clone, Debug)]
pub(super) struct SourcedChart {
    /// The chart to be drawn.
    pub(super) chart: Chart,
    /// The digests of its inputs, and their fallbacks.
    pub(super) provenance: Provenance,
}

/// Returns the provenance of a chart of some files: their digests and fallbacks.
pub(super) fn provenance_of<'a>(
    files: impl IntoIterator<Item = (&'a Path, Option<&'a Provenance>)>,
) -> Result<Provenance, Error> {
    let mut provenance = Provenance::new();
    for (path, found) in files {
        provenance.add_file(&path.display().to_string(), path)?;
        provenance.add_fallbacks(found.into_iter().flat_map(|found| found.fallbacks.clone()));
    }
    Ok(provenance)
}
