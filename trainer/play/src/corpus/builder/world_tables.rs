//! Questions about the tables of a world. Every answer states what a line of a table states.
//!
//! Questions are made of all lines, also of those about held-out archetypes and pairs, which the
//! filter of the corpus then refuses and counts.

use std::collections::BTreeMap;

use sentinel_env::WorldName;
use sentinel_env::polyguard::{
    Archetype, Condition, FormularyName, Grade, Pair, TableFile, Tag, each_archetype,
};

use super::config::ProfileCounts;
use super::row::sha256;
use super::{CorpusRow, Message, RowOrigin};

/// The license of this repository.
pub(super) const LICENSE: &str = "MIT";

/// The rows of the tables, and the digests of the tables by their paths.
#[derive(Debug, Default)]
pub(super) struct TableRows {
    pub(super) rows: Vec<CorpusRow>,
    pub(super) tables: BTreeMap<String, String>,
}

/// Returns the rows about the tables of the worlds.
pub(super) fn table_rows(worlds: &[WorldName], counts: ProfileCounts) -> TableRows {
    let mut found = TableRows::default();
    if worlds.contains(&WorldName::Polyguard) {
        for name in FormularyName::ALL {
            let mut writer = Writer {
                formulary: name,
                phrasings: counts.phrasings,
                rows: &mut found.rows,
            };
            let [archetypes, pairs] = name.files();
            writer.archetypes(archetypes);
            writer.pairs(pairs);
            writer.unlisted_pairs(archetypes, counts.unlisted_pairs);
            for file in name.files() {
                let digest = sha256(file.text.as_bytes());
                found.tables.insert(file.path.to_owned(), digest);
            }
        }
    }
    for (position, row) in (0..).zip(&mut found.rows) {
        row.position = position;
    }
    found
}

/// A line of a table: the file, and the 1-based line of a row.
struct TableLine {
    file: TableFile,
    line: usize,
    cites: &'static str,
}

struct Writer<'a> {
    formulary: FormularyName,
    phrasings: usize,
    rows: &'a mut Vec<CorpusRow>,
}

impl Writer<'_> {
    /// Adds one row per phrasing of a question.
    fn ask(&mut self, place: &TableLine, questions: [String; 3], answer: &str) {
        let formulary = self.formulary;
        for question in questions.iter().take(self.phrasings) {
            let prompt = format!(
                "PolyGuard simulation, formulary {formulary}, not for patient care. {question}"
            );
            self.rows.push(CorpusRow {
                prompt: vec![Message::user(prompt)],
                completion: answer.to_owned(),
                origin: RowOrigin::Table {
                    table: place.file.path,
                    line: place.line,
                    cites: place.cites,
                },
                license: LICENSE.to_owned(),
                position: 0,
            });
        }
    }

    fn archetypes(&mut self, file: TableFile) {
        for (at, archetype) in self.formulary.tables().archetypes().iter().enumerate() {
            // The heading is line 1.
            let place = TableLine {
                file,
                line: at + 2,
                cites: &archetype.source,
            };
            self.traits(&place, archetype);
            self.effects(&place, archetype);
        }
    }

    /// Adds questions about what an archetype is and what it is for.
    fn traits(&mut self, place: &TableLine, archetype: &Archetype) {
        let name = &archetype.name;
        let classes = [
            format!("Which class does {name} belong to?"),
            format!("Name the class of {name}."),
            format!("The class of {name} is:"),
        ];
        self.ask(place, classes, &archetype.class);
        let treats: Vec<&str> = archetype.treats.iter().map(Condition::name).collect();
        let conditions = [
            format!("Which conditions does {name} treat?"),
            format!("Name what {name} is taken for."),
            format!("The conditions that {name} treats are:"),
        ];
        self.ask(place, conditions, &treats.join(", "));
        let tables = self.formulary.tables();
        let listed: Vec<&str> = each_archetype(archetype.substitutes)
            .map(|id| tables.get(id).name.as_str())
            .collect();
        let substitutes = [
            format!("Which substitutes are listed for {name}?"),
            format!("Name the listed substitutes of {name}."),
            format!("In place of {name}, the table lists:"),
        ];
        self.ask(place, substitutes, &or_none(&listed));
    }

    /// Adds questions about the risks of an archetype.
    fn effects(&mut self, place: &TableLine, archetype: &Archetype) {
        let name = &archetype.name;
        let limits = [
            format!("Below which eGFR is {name} unsafe?"),
            format!("Name the eGFR limit of {name}."),
            format!("The eGFR below which {name} must not be taken is:"),
        ];
        let limit = archetype.renal_below.map(|below| format!("{below} mL/min"));
        self.ask(place, limits, limit.as_deref().unwrap_or("none listed"));
        let stops = [
            format!("Can {name} be stopped at once, or must it be tapered?"),
            format!("How is {name} stopped?"),
            format!("To stop {name}:"),
        ];
        let stop = if archetype.taper {
            "taper it"
        } else {
            "stop it at once"
        };
        self.ask(place, stops, stop);
        let burdens = [
            format!("How many points of anticholinergic burden has {name}?"),
            format!("Name the anticholinergic burden of {name}."),
            format!("The anticholinergic points of {name} are:"),
        ];
        self.ask(place, burdens, &archetype.acb.to_string());
        let tags: Vec<&str> = archetype.tags.iter().map(Tag::name).collect();
        let hints = [
            format!("Which interaction tags has {name}?"),
            format!("Name the tags of {name}."),
            format!("The tags of {name} are:"),
        ];
        self.ask(place, hints, &or_none(&tags));
        for (is_set, what) in [
            (archetype.cns, "act on the central nervous system"),
            (
                archetype.narrow,
                "have a narrow window between too little and too much",
            ),
        ] {
            let questions = [
                format!("Does {name} {what}?"),
                format!("Say yes or no: does {name} {what}?"),
                format!("Is it listed that {name} does {what}?"),
            ];
            self.ask(place, questions, if is_set { "yes" } else { "no" });
        }
    }

    fn pairs(&mut self, file: TableFile) {
        let tables = self.formulary.tables();
        for (at, pair) in tables.pairs().iter().enumerate() {
            let place = TableLine {
                file,
                line: at + 2,
                cites: &pair.source,
            };
            let [a, b] = [pair.first, pair.second].map(|id| tables.get(id).name.as_str());
            self.ask(&place, together(a, b), severity(pair));
        }
    }

    /// Adds questions about pairs that the table of pairs does not list; `count` of them, spread
    /// over the table by the digests of their names.
    fn unlisted_pairs(&mut self, archetypes: TableFile, count: usize) {
        let tables = self.formulary.tables();
        let mut found = Vec::new();
        for (at, first) in tables.ids().enumerate() {
            for second in tables.ids().skip(at + 1) {
                if tables.pair_between(first, second).is_none() {
                    let names = [first, second].map(|id| tables.get(id).name.as_str());
                    let digest = sha256(names.join(" ").as_bytes());
                    found.push((digest, at + 2, names));
                }
            }
        }
        found.sort_unstable();
        for (_, line, [a, b]) in found.into_iter().take(count) {
            let place = TableLine {
                file: archetypes,
                line,
                cites: "no listed pair",
            };
            self.ask(&place, together(a, b), "no listed interaction");
        }
    }
}

fn together(a: &str, b: &str) -> [String; 3] {
    [
        format!("How severe is the interaction of {a} and {b}?"),
        format!("A patient takes {b} and {a}. Name the severity of their interaction."),
        format!("The severity of {a} together with {b} is:"),
    ]
}

/// Returns the severity of a pair in words.
fn severity(pair: &Pair) -> &'static str {
    match pair.grade {
        Grade::MajorIfRenal => "major at an eGFR below 60 mL/min, else moderate",
        grade => grade.at(None).name(),
    }
}

fn or_none(words: &[&str]) -> String {
    if words.is_empty() {
        "none listed".to_owned()
    } else {
        words.join(", ")
    }
}
