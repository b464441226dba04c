//! The reports that ship with the page: files of `sentinel report`, and one of `sentinel ablate`.

mod charts;
mod file;
mod labels;
mod tables;

use sentinel_page_protocol::{Records, RecordsSection};

use crate::files::{Fetched, text};

/// Paths of the files of `sentinel report`, relative to the page.
const REPORTS: [&str; 3] = [
    "results/report/results.json",
    "results/trust-sweep/results.json",
    "results/polyguard-sweep/results.json",
];
/// Path of the file of `sentinel ablate`.
const ABLATIONS: &str = "results/policy_ablations.json";

/// A section of the screen, with the world that it is about; `None` for several.
#[derive(Clone)]
struct WorldSection {
    world: Option<String>,
    section: RecordsSection,
}

impl WorldSection {
    fn new(world: &str, section: RecordsSection) -> Self {
        Self {
            world: Some(world.to_owned()),
            section,
        }
    }
}

/// The files with their sections, in the order of the screen.
#[derive(Default)]
pub(super) struct Reports {
    files: Vec<(String, Fetched<Vec<WorldSection>>)>,
    /// The world whose sections come first, while the shell waits for the screen.
    wanted: Option<String>,
}

impl Reports {
    /// Returns `true` for the path of a file that this type reads.
    pub(super) fn has(path: &str) -> bool {
        path == ABLATIONS || REPORTS.contains(&path)
    }

    /// Returns the paths of the files that have to be fetched for a screen that begins with `world`.
    pub(super) fn request(&mut self, world: String) -> Vec<String> {
        self.wanted = Some(world);
        let paths = REPORTS.into_iter().chain([ABLATIONS]);
        let missing = paths.filter(|path| {
            let found = self.files.iter().find(|(known, _)| known == path);
            found.is_none_or(|(_, file)| file.is_missing())
        });
        let missing: Vec<String> = missing.map(str::to_owned).collect();
        for path in &missing {
            self.set(path, Fetched::Loading);
        }
        missing
    }

    /// Takes a file that was fetched.
    ///
    /// # Errors
    /// Returns a sentence if it is missing or cannot be read.
    pub(super) fn take(
        &mut self,
        path: &str,
        content: Result<Vec<u8>, String>,
    ) -> Result<(), String> {
        let read = content
            .and_then(|bytes| text(path, bytes))
            .and_then(|text| sections(path, &text));
        let (file, result) = match read {
            Ok(sections) => (Fetched::Ready(sections), Ok(())),
            Err(reason) => (Fetched::Failed(reason.clone()), Err(reason)),
        };
        self.set(path, file);
        result
    }

    /// Returns the screen once all files have arrived or failed, once for each request.
    pub(super) fn screen(&mut self) -> Option<Records> {
        let loading = |(_, file): &(String, _)| matches!(file, Fetched::Loading);
        if self.files.iter().any(loading) {
            return None;
        }
        let world = self.wanted.take();
        world.as_ref()?;
        let files = self.files.iter().filter_map(|(_, file)| file.ready());
        let (own, others): (Vec<_>, Vec<_>) =
            files.flatten().partition(|found| found.world == world);
        let sections = own.iter().chain(&others);
        Some(Records {
            screen: "results".to_owned(),
            title: "Results".to_owned(),
            detail: "Every number comes from a recorded run. Its links replay the episodes behind it in this tab.".to_owned(),
            sections: sections.map(|found| found.section.clone()).collect(),
        })
    }

    fn set(&mut self, path: &str, file: Fetched<Vec<WorldSection>>) {
        match self.files.iter_mut().find(|(known, _)| known == path) {
            Some((_, place)) => *place = file,
            None => self.files.push((path.to_owned(), file)),
        }
    }
}

/// Returns the sections of a file.
fn sections(path: &str, text: &str) -> Result<Vec<WorldSection>, String> {
    if path == ABLATIONS {
        let stack = tables::ablation_of_the_stack(&file::parse(path, text)?);
        return Ok(vec![WorldSection::new("polyguard", stack)]);
    }
    let results = file::parse_results(path, text)?;
    let mut sections = tables::baselines(&results.evaluations);
    sections.extend(tables::ablations(&results.evaluations));
    let sweeps = results.sweeps.iter();
    sections.extend(sweeps.map(|sweep| tables::sweep(path, sweep, &results)));
    if results.sweeps.is_empty() {
        sections.push(WorldSection {
            world: None,
            section: charts::section(path, &results),
        });
    }
    Ok(sections)
}
