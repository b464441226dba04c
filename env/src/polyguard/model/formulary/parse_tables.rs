//! Parsing of the formulary tables, with located errors, and the two formularies that are part of
//! the crate.

use std::sync::LazyLock;

use super::archetype::{Archetype, ArchetypeId};
use super::pair::{Grade, Pair};
use super::table::Formulary;
use super::vocabulary::{Condition, Conditions, Tag, Tags};
use crate::num::parse_decimal;

/// An error in a table, with its location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of {table}: {problem}")]
struct TableError {
    /// Name of the table.
    table: &'static str,
    /// Line number; the heading is line 1.
    line: usize,
    /// The problem in that line.
    problem: Problem,
}

/// The problem in a row of a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Problem {
    /// The row has too few or too many fields.
    #[error("found {found} fields, expected {expected}")]
    Fields {
        /// Number of fields found.
        found: usize,
        /// Number of fields expected.
        expected: usize,
    },
    /// The word is not in its vocabulary.
    #[error("unknown {what} {word:?}")]
    Unknown {
        /// The kind of word expected.
        what: &'static str,
        /// The word that was found.
        word: String,
    },
    /// The entry is already in the table.
    #[error("{0} is listed twice")]
    Twice(String),
    /// The entry refers to itself.
    #[error("{0} refers to itself")]
    Itself(String),
    /// A required field is empty.
    #[error("no {0}")]
    Missing(&'static str),
    /// The table has more rows than a bit set can hold.
    #[error("more than {0} rows")]
    TooMany(usize),
}

fn unknown(what: &'static str, word: &str) -> Problem {
    Problem::Unknown {
        what,
        word: word.to_owned(),
    }
}

/// Iterates over the rows of a table, without its heading, with their line numbers.
fn rows<const N: usize>(
    table: &'static str,
    text: &'static str,
) -> impl Iterator<Item = (usize, Result<[&'static str; N], TableError>)> {
    text.lines().enumerate().skip(1).map(move |(at, row)| {
        let fields: Vec<&str> = row.split(',').collect();
        let found = fields.len();
        let wrong = |_| TableError {
            table,
            line: at + 1,
            problem: Problem::Fields { found, expected: N },
        };
        (at + 1, fields.try_into().map_err(wrong))
    })
}

/// Parses the two tables of a formulary.
fn formulary(archetypes: &'static str, pairs: &'static str) -> Result<Formulary, TableError> {
    let table = "archetypes";
    let mut read: Vec<Archetype> = Vec::new();
    let mut classes: Vec<&str> = Vec::new();
    for (line, fields) in rows::<9>(table, archetypes) {
        let fields = fields?;
        let at = |problem| TableError {
            table,
            line,
            problem,
        };
        if read.iter().any(|row| row.name == fields[0]) {
            return Err(at(Problem::Twice(fields[0].to_owned())));
        }
        let place = classes.iter().position(|class| *class == fields[1]);
        let class_id = place.unwrap_or_else(|| {
            classes.push(fields[1]);
            classes.len() - 1
        });
        read.push(archetype(fields, class_id as u8).map_err(at)?);
        // With the product, the drugs must fit into a 64-bit set.
        if read.len() > 62 {
            return Err(at(Problem::TooMany(62)));
        }
    }
    for (line, fields) in rows::<9>(table, archetypes) {
        let (fields, at) = (fields?, |problem| TableError {
            table,
            line,
            problem,
        });
        let bits = substitutes(&read, fields[7], fields[0]).map_err(at)?;
        read[line - 2].substitutes = bits;
    }
    let pairs = self::pairs(&read, pairs)?;
    Ok(Formulary::new(read, pairs))
}

fn substitutes(read: &[Archetype], names: &str, own: &str) -> Result<u64, Problem> {
    let mut bits = 0;
    for name in names.split_whitespace() {
        if name == own {
            return Err(Problem::Itself(own.to_owned()));
        }
        bits |= find(read, name)?.bit();
    }
    Ok(bits)
}

fn find(read: &[Archetype], name: &str) -> Result<ArchetypeId, Problem> {
    let place = read.iter().position(|row| row.name == name);
    Ok(ArchetypeId(
        place.ok_or_else(|| unknown("archetype", name))? as u8,
    ))
}

fn archetype(fields: [&str; 9], class_id: u8) -> Result<Archetype, Problem> {
    let [name, class, acb, renal, flags, tags, treats, _, source] = fields;
    let (mut known_tags, mut conditions) = (Tags::EMPTY, Conditions::EMPTY);
    for tag in tags.split_whitespace() {
        known_tags.insert(Tag::parse(tag).ok_or_else(|| unknown("tag", tag))?);
    }
    let mut indication = None;
    for word in treats.split_whitespace() {
        let condition = Condition::parse(word).ok_or_else(|| unknown("condition", word))?;
        indication = indication.or(Some(condition));
        conditions.insert(condition);
    }
    if let Some(flag) = flags
        .split_whitespace()
        .find(|f| !["C", "T", "N", "H"].contains(f))
    {
        return Err(unknown("flag", flag));
    }
    let flag = |letter| flags.split_whitespace().any(|f| f == letter);
    let renal_below = match renal {
        "" => None,
        _ => Some(parse_decimal(renal).ok_or_else(|| unknown("eGFR", renal))?),
    };
    if source.is_empty() {
        return Err(Problem::Missing("source"));
    }
    Ok(Archetype {
        name: name.to_owned(),
        class: class.to_owned(),
        class_id,
        acb: acb
            .parse()
            .ok()
            .filter(|acb| *acb <= 3)
            .ok_or_else(|| unknown("acb", acb))?,
        renal_below,
        cns: flag("C"),
        taper: flag("T"),
        narrow: flag("N"),
        held_out: flag("H"),
        tags: known_tags,
        treats: conditions,
        indication: indication.ok_or(Problem::Missing("condition that it treats"))?,
        substitutes: 0,
        source: source.to_owned(),
    })
}

fn pairs(read: &[Archetype], text: &'static str) -> Result<Vec<Pair>, TableError> {
    let table = "pairs";
    let mut pairs: Vec<Pair> = Vec::new();
    for (line, fields) in rows::<5>(table, text) {
        let (fields, at) = (fields?, |problem| TableError {
            table,
            line,
            problem,
        });
        let pair = pair(read, fields).map_err(at)?;
        let ends = |p: &Pair| (p.first.min(p.second), p.first.max(p.second));
        if pairs.iter().any(|known| ends(known) == ends(&pair)) {
            return Err(at(Problem::Twice(format!(
                "{} with {}",
                fields[0], fields[1]
            ))));
        }
        pairs.push(pair);
        if pairs.len() > 64 {
            return Err(at(Problem::TooMany(64)));
        }
    }
    Ok(pairs)
}

fn pair(read: &[Archetype], fields: [&str; 5]) -> Result<Pair, Problem> {
    let [first, second, grade, split, source] = fields;
    let (a, b) = (find(read, first)?, find(read, second)?);
    if a == b {
        return Err(Problem::Itself(first.to_owned()));
    }
    let marked = match split {
        "" => false,
        "held_out" => true,
        _ => return Err(unknown("split", split)),
    };
    if source.is_empty() {
        return Err(Problem::Missing("source"));
    }
    Ok(Pair {
        first: a,
        second: b,
        grade: Grade::parse(grade).ok_or_else(|| unknown("grade", grade))?,
        held_out: marked || read[a.index()].held_out || read[b.index()].held_out,
        source: source.to_owned(),
    })
}

fn shipped(archetypes: &'static str, pairs: &'static str) -> Formulary {
    match formulary(archetypes, pairs) {
        Ok(formulary) => formulary,
        // The tables are part of the program, and a test parses both.
        Err(e) => unreachable!("invalid built-in table: {e}"),
    }
}

/// A table that is part of the crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFile {
    /// The path of the file in the repository.
    pub path: &'static str,
    /// The content of the file, with a heading in line 1.
    pub text: &'static str,
}

/// Defines a [`TableFile`] by the name of its file.
macro_rules! table_file {
    ($name:literal) => {
        TableFile {
            path: concat!("env/src/polyguard/data/", $name),
            text: include_str!(concat!("../../data/", $name)),
        }
    };
}

/// The archetypes and the pairs of the formulary `reference`.
pub(crate) const REFERENCE_FILES: [TableFile; 2] = [
    table_file!("reference.csv"),
    table_file!("reference_pairs.csv"),
];
/// The archetypes and the pairs of the formulary `extended`.
pub(crate) const EXTENDED_FILES: [TableFile; 2] = [
    table_file!("extended.csv"),
    table_file!("extended_pairs.csv"),
];

static REFERENCE: LazyLock<Formulary> = LazyLock::new(|| {
    let [archetypes, pairs] = REFERENCE_FILES;
    shipped(archetypes.text, pairs.text).with_terms_of(&EXTENDED)
});
static EXTENDED: LazyLock<Formulary> = LazyLock::new(|| {
    let [archetypes, pairs] = EXTENDED_FILES;
    let formulary = shipped(archetypes.text, pairs.text);
    let own = formulary.clone();
    formulary.with_terms_of(&own)
});

impl Formulary {
    /// Returns the tables that PolyGuard's public pages state.
    #[must_use]
    pub fn reference() -> &'static Self {
        &REFERENCE
    }

    /// Returns the larger tables, made for this project.
    #[must_use]
    pub fn extended() -> &'static Self {
        &EXTENDED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "heading\n";

    fn read_error(archetypes: &'static str, pairs: &'static str) -> String {
        formulary(archetypes, pairs).map_or_else(|e| e.to_string(), |_| "fine".to_owned())
    }

    #[test]
    fn invalid_table_error_names_fault() {
        const A: &str = "h\na_like,x,0,,,,pain,,s\nb_like,y,0,,,,pain,a_like,s";
        assert_eq!(read_error(A, HEAD), "fine");
        for (table, expected) in [
            (
                "h\na,x,0",
                "line 2 of archetypes: found 3 fields, expected 9",
            ),
            (
                "h\na,x,0,,,,pain,,s\na,x,0,,,,pain,,s",
                "line 3 of archetypes: a is listed twice",
            ),
            ("h\na,x,0,,,,pain,a,s", "a refers to itself"),
            ("h\na,x,0,,,,pain,b,s", "unknown archetype \"b\""),
            ("h\na,x,0,,,fun,pain,,s", "unknown tag \"fun\""),
            ("h\na,x,0,,,,fun,,s", "unknown condition \"fun\""),
            ("h\na,x,0,,Q,,pain,,s", "unknown flag \"Q\""),
            ("h\na,x,9,,,,pain,,s", "unknown acb \"9\""),
            ("h\na,x,0,low,,,pain,,s", "unknown eGFR \"low\""),
            ("h\na,x,0,,,,,,s", "no condition"),
            ("h\na,x,0,,,,pain,,", "no source"),
        ] {
            let message = read_error(table, HEAD);
            assert!(message.contains(expected), "{message}");
        }
        for (pairs, expected) in [
            (
                "h\na_like,c_like,M,,s",
                "line 2 of pairs: unknown archetype \"c_like\"",
            ),
            ("h\na_like,a_like,M,,s", "refers to itself"),
            ("h\na_like,b_like,X,,s", "unknown grade \"X\""),
            ("h\na_like,b_like,M,maybe,s", "unknown split \"maybe\""),
            (
                "h\na_like,b_like,M,,s\nb_like,a_like,m,,s",
                "line 3 of pairs",
            ),
            ("h\na_like,b_like,M,,", "no source"),
        ] {
            let message = read_error(A, pairs);
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn extended_formulary_counts_match_spec() {
        let f = Formulary::extended();
        assert_eq!(f.archetypes().len(), 46);
        assert_eq!(f.held_out().count_ones(), 9);
        assert_eq!(f.pairs().len(), 50);
        assert_eq!(f.pairs().iter().filter(|p| p.held_out).count(), 22);
        let suspected: u32 = f.ids().map(|id| f.suspects(id).count_ones()).sum();
        assert_eq!(suspected / 2, 132, "pairs that public traits hint at");
        let hits = f
            .pairs()
            .iter()
            .filter(|p| f.suspects(p.first) & p.second.bit() != 0);
        assert_eq!(hits.count(), 46, "of them listed");
    }

    #[test]
    fn reference_formulary_matches_published_pages() {
        let f = Formulary::reference();
        assert_eq!(f.archetypes().len(), 14);
        let risky = |a: &str, b: &str| {
            let (a, b) = (f.find(a).expect("listed"), f.find(b).expect("listed"));
            f.pair_between(a, b).map(|pair| f.pair(pair).grade)
        };
        assert_eq!(risky("warfarin_like", "nsaid_like"), Some(Grade::Major));
        assert_eq!(
            risky("opioid_like", "benzodiazepine_like"),
            Some(Grade::Major)
        );
        assert_eq!(risky("statin_like", "ppi_like"), None);
        assert_eq!(f.pairs().len(), 2);
        let words = f.ids().map(|id| {
            Formulary::extended().archetypes()[f.term_index(id) as usize]
                .name
                .as_str()
        });
        assert!(
            words.eq(f.archetypes().iter().map(|a| a.name.as_str())),
            "one vocabulary"
        );
        let renal = f
            .archetypes()
            .iter()
            .filter(|a| a.renal_below == Some(30.0));
        let names: Vec<&str> = renal.map(|a| a.name.as_str()).collect();
        assert_eq!(names, ["nsaid_like", "metformin_like"]);
    }
}
