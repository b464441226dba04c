//! Rows of tokens: from examples to rows that know where their completion begins, and which examples share a
//! row.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::corpus::{Example, Prompt, Role, Turn};
use crate::lm::{LmError, Message, Tokenizer};

/// What becomes of a row that is longer than the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum TooLong {
    /// Training does not begin.
    #[default]
    Refuse,
    /// It is left out, counted and reported.
    Drop,
    /// Its end is cut off, as TRL does; left out where no part of the completion is left.
    Cut,
}

/// How rows are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowOptions {
    /// Most tokens of a row.
    pub max_length: usize,
    /// What becomes of longer ones.
    pub too_long: TooLong,
    /// Whether only the completion is trained, not the prompt.
    pub completion_only: bool,
}

/// A row of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SftRow {
    /// Prompt and completion.
    pub ids: Vec<u32>,
    /// Tokens before the first one that is trained.
    pub start: usize,
}

impl SftRow {
    /// Tokens that are trained. The first token of a row has nothing before it to be predicted by.
    #[must_use]
    pub fn labels(&self) -> usize {
        self.ids.len().saturating_sub(self.start.max(1))
    }
}

/// All rows, and what could not be one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// Rows in the order of the examples.
    pub rows: Vec<SftRow>,
    /// Lines of the corpus that were left out as too long.
    pub dropped: Vec<usize>,
    /// Lines whose end was cut off.
    pub cut: Vec<usize>,
    /// Lines that were left out because no token of theirs would be trained, as where a template
    /// shows nothing of the answer.
    pub unlabelled: Vec<usize>,
    /// Tokens of the longest row that was kept.
    pub longest: usize,
}

/// Makes rows of examples. A chat goes through the template: its prompt is what the chat without
/// the answer, with the answer begun, and the whole chat have in common at their start.
///
/// # Errors
/// If there is no template for a chat, or a row is too long and that is refused.
pub fn prepare(
    tokenizer: &Tokenizer,
    examples: &[Example],
    options: RowOptions,
) -> Result<Prepared, LmError> {
    let mut prepared = Prepared::default();
    let (mut over, mut longest) = (0, (0, 0));
    for example in examples {
        let mut row = encode(tokenizer, example)?;
        if !options.completion_only {
            row.start = 0;
        }
        if row.labels() == 0 {
            prepared.unlabelled.push(example.line);
            continue;
        }
        let length = row.ids.len();
        if length > options.max_length {
            over += 1;
            if length > longest.0 {
                longest = (length, example.line);
            }
            row.ids.truncate(options.max_length);
            if options.too_long != TooLong::Cut || row.labels() == 0 {
                prepared.dropped.push(example.line);
                continue;
            }
            prepared.cut.push(example.line);
        }
        prepared.longest = prepared.longest.max(row.ids.len());
        prepared.rows.push(row);
    }
    if over > 0 && options.too_long == TooLong::Refuse {
        return Err(LmError::RowsTooLong {
            count: over,
            rows: examples.len(),
            longest: longest.0,
            line: longest.1,
            limit: options.max_length,
        });
    }
    Ok(prepared)
}

fn encode(tokenizer: &Tokenizer, example: &Example) -> Result<SftRow, LmError> {
    match &example.prompt {
        Prompt::Chat(turns) => {
            let mut messages: Vec<Message> = turns.iter().map(message).collect();
            let asked = tokenizer.encode_chat(&messages, None, true)?.ids;
            messages.push(Message::new("assistant", &example.completion));
            let ids = tokenizer.encode_chat(&messages, None, false)?.ids;
            let common = asked.iter().zip(&ids).take_while(|(a, b)| a == b);
            let start = common.count();
            Ok(SftRow { ids, start })
        }
        Prompt::Text(text) => {
            let asked = tokenizer.encode(text)?;
            // A text does not say where it ends, as a template does.
            let end = tokenizer.special_tokens().get("eos_token");
            let end = end.filter(|end| !example.completion.ends_with(*end));
            let end = end.map_or("", String::as_str);
            let ids = tokenizer.encode(&format!("{text}{}{end}", example.completion))?;
            let common = asked.iter().zip(&ids).take_while(|(a, b)| a == b);
            let start = common.count();
            Ok(SftRow { ids, start })
        }
    }
}

/// A turn as templates know it.
fn message(turn: &Turn) -> Message {
    let role = match turn.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    Message::new(role, &turn.content)
}

/// Puts lengths into rows of at most `limit`: the longest first, each into the row that it leaves the
/// least room in, into a new one where it fits nowhere. Of equal lengths the earlier comes first, of rows
/// with equal room the one that has had it longest. A length above the limit gets a row of its own.
///
/// Gives the places of the lengths, row by row.
#[must_use]
pub fn pack(lengths: &[usize], limit: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|place| std::cmp::Reverse(lengths[*place]));
    let mut rows: Vec<Vec<usize>> = Vec::new();
    // Rows with room, by how much it is.
    let mut open: BTreeMap<usize, VecDeque<usize>> = BTreeMap::new();
    for place in order {
        let length = lengths[place];
        let fitting = open.range_mut(length..).next();
        let found = fitting.and_then(|(room, rows)| Some((*room, rows.pop_front()?)));
        let (room, row) = found.unwrap_or_else(|| {
            rows.push(Vec::new());
            (limit, rows.len() - 1)
        });
        if open.get(&room).is_some_and(VecDeque::is_empty) {
            open.remove(&room);
        }
        rows[row].push(place);
        let left = room.saturating_sub(length);
        if left > 0 {
            open.entry(left).or_default().push_back(row);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `trl.data_utils.pack_dataset(…, strategy="bfd")` of TRL 1.16.0 on rows of these lengths.
    #[test]
    fn rows_are_those_of_trl() {
        let found = pack(&[5, 3, 7, 2, 6, 1, 4, 8, 3, 5], 8);
        let rows: [&[usize]; 6] = [&[7], &[2, 5], &[4, 3], &[0, 1], &[9, 8], &[6]];
        assert_eq!(found, rows);
        let found = pack(&[3, 3, 3, 3, 3, 5, 5, 2, 2, 2, 9, 1], 10);
        let rows: [&[usize]; 5] = [&[10, 11], &[5, 6], &[0, 1, 2], &[3, 4, 7, 8], &[9]];
        assert_eq!(found, rows);
        let lengths = [
            16, 38, 35, 9, 24, 39, 31, 38, 5, 39, 1, 31, 17, 36, 15, 13, 31, 35, 36, 31, 26, 10,
            15, 10,
        ];
        let found = pack(&lengths, 40);
        let rows: [&[usize]; 16] = [
            &[5, 10],
            &[9],
            &[1],
            &[7],
            &[13],
            &[18],
            &[2, 8],
            &[17],
            &[6, 3],
            &[11],
            &[16],
            &[19],
            &[20, 15],
            &[4, 0],
            &[12, 14],
            &[22, 21, 23],
        ];
        assert_eq!(found, rows);
        assert_eq!(pack(&[], 5), Vec::<Vec<usize>>::new());
    }

    proptest! {
        #[test]
        fn everything_is_in_one_row_that_holds_it(
            lengths in prop::collection::vec(1_usize..50, 0..60),
            limit in 1_usize..60,
        ) {
            let rows = pack(&lengths, limit);
            let mut places: Vec<usize> = rows.concat();
            places.sort_unstable();
            prop_assert_eq!(places, (0..lengths.len()).collect::<Vec<_>>());
            for row in &rows {
                let sum: usize = row.iter().map(|place| lengths[*place]).sum();
                prop_assert!(sum <= limit || row.len() == 1);
            }
        }
    }
}
