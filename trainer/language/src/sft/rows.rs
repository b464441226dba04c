//! Encoding of examples as token rows with the start of their completion, and packing of several
//! examples into a row.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use sentinel_lm::{EncodedText, LmError, Message, Tokenizer};
use sentinel_play::corpus::{ChatMessage, Example, Prompt, Role};
use serde::{Deserialize, Serialize};

/// The treatment of rows that are longer than the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum OverlongRows {
    /// Stop before training begins
    #[default]
    Refuse,
    /// Leave the row out, and report the number of such rows
    Drop,
    /// Cut off its end, as TRL does; leave it out if no trained token remains
    Cut,
}

/// Options of [`prepare_rows`], which encodes examples as rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowOptions {
    /// Largest number of tokens in a row.
    pub max_length: usize,
    /// Treatment of longer rows.
    pub too_long: OverlongRows,
    /// `true` to train on the completion only, not on the prompt.
    pub completion_only: bool,
    /// `true` to train on the last answer of a conversation only, not on all of them.
    pub last_answer_only: bool,
}

/// A row of tokens to train on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SftRow {
    /// Tokens of prompt and completion.
    pub ids: Vec<u32>,
    /// Index of the first token of the completion, from which on all are trained.
    pub start: usize,
    /// Indices of the tokens of earlier answers, which are trained as well.
    pub earlier: Vec<Range<usize>>,
}

impl SftRow {
    /// Returns `true` if the token at an index is trained. The first token of a row cannot be trained,
    /// because no token before it predicts it.
    #[must_use]
    pub fn is_label(&self, at: usize) -> bool {
        at > 0 && (at >= self.start || self.earlier.iter().any(|range| range.contains(&at)))
    }

    /// Returns the number of trained tokens.
    #[must_use]
    pub fn label_count(&self) -> usize {
        let all = 0..self.ids.len();
        all.filter(|at| self.is_label(*at)).count()
    }
}

/// The encoded rows, and the lines of the corpus that were left out or cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreparedRows {
    /// Rows in the order of the examples.
    pub rows: Vec<SftRow>,
    /// Lines of the corpus that were left out as too long.
    pub dropped: Vec<usize>,
    /// Lines of the corpus whose end was cut off.
    pub cut: Vec<usize>,
    /// Lines that were left out because none of their tokens would be trained, for example because
    /// the template does not render the answer.
    pub unlabeled: Vec<usize>,
    /// Number of tokens in the longest row.
    pub longest: usize,
}

/// Encodes examples as rows.
///
/// A chat is rendered with the chat template. Its prompt is the common beginning of two renderings:
/// the chat without the answer but with the generation prompt, and the whole chat. So is that of an earlier
/// answer, which ends where the template ends its message.
///
/// # Errors
/// If a chat needs a template and there is none or it rejects the chat, or a row is too long and `too_long` is
/// [`OverlongRows::Refuse`].
pub fn prepare_rows(
    tokenizer: &Tokenizer,
    examples: &[Example],
    options: RowOptions,
) -> Result<PreparedRows, LmError> {
    let mut prepared = PreparedRows::default();
    let (mut over, mut longest) = (0, (0, 0));
    for example in examples {
        let earlier = options.completion_only && !options.last_answer_only;
        let row = encode(tokenizer, example, earlier);
        let mut row = row.map_err(|error| LmError::Row {
            line: example.line,
            source: Box::new(error),
        })?;
        if !options.completion_only {
            row.start = 0;
        }
        if row.label_count() == 0 {
            prepared.unlabeled.push(example.line);
            continue;
        }
        let length = row.ids.len();
        if length > options.max_length {
            over += 1;
            if length > longest.0 {
                longest = (length, example.line);
            }
            row.ids.truncate(options.max_length);
            if options.too_long != OverlongRows::Cut || row.label_count() == 0 {
                prepared.dropped.push(example.line);
                continue;
            }
            prepared.cut.push(example.line);
        }
        prepared.longest = prepared.longest.max(row.ids.len());
        prepared.rows.push(row);
    }
    if over > 0 && options.too_long == OverlongRows::Refuse {
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

/// Encodes an example, with the places of earlier answers if `earlier`.
fn encode(tokenizer: &Tokenizer, example: &Example, earlier: bool) -> Result<SftRow, LmError> {
    match &example.prompt {
        Prompt::Chat(turns) => {
            let mut messages: Vec<Message> = turns.iter().map(message).collect();
            let asked = tokenizer.encode_chat(&messages, None, true)?.ids;
            messages.push(Message::new("assistant", &example.completion));
            let whole = tokenizer.template()?.render(&messages, None, false)?.text;
            let encoded = tokenizer.encode_with_places(&whole)?;
            let earlier = if earlier && example.is_conversation {
                earlier_answers(tokenizer, turns, &messages, &whole, &encoded)?
            } else {
                Vec::new()
            };
            Ok(SftRow {
                start: common_length(&asked, &encoded.ids),
                ids: encoded.ids,
                earlier,
            })
        }
        Prompt::Text(text) => {
            let asked = tokenizer.encode_prompt(text)?;
            // Without a template, nothing marks the end of the text.
            let end = tokenizer.special_tokens().get("eos_token");
            let end = end.filter(|end| !example.completion.ends_with(*end));
            let end = end.map_or("", String::as_str);
            let ids = tokenizer.encode_prompt(&format!("{text}{}{end}", example.completion))?;
            Ok(SftRow {
                start: common_length(&asked, &ids),
                ids,
                earlier: Vec::new(),
            })
        }
    }
}

/// Returns the tokens of all answers among `turns`, the prompt of the conversation `messages`, each with the end
/// of its message. `whole` is the rendered conversation.
fn earlier_answers(
    tokenizer: &Tokenizer,
    turns: &[ChatMessage],
    messages: &[Message],
    whole: &str,
    encoded: &EncodedText,
) -> Result<Vec<Range<usize>>, LmError> {
    let answers = (0..)
        .zip(turns)
        .filter(|(_, turn)| turn.role == Role::Assistant);
    let answers: Vec<(usize, &ChatMessage)> = answers.collect();
    if answers.is_empty() {
        return Ok(Vec::new());
    }
    let template = tokenizer.template()?;
    let end_of_message = template.message_end()?;
    let end_tokens = tokenizer.encode_with_places(&end_of_message)?;
    let (mut found, mut done) = (Vec::with_capacity(answers.len()), 0);
    for (at, turn) in answers {
        let asked = template.render(&messages[..at], None, true)?.text;
        let start = common_prefix(&asked, whole);
        // A template may write the answer with something before it, such as empty thoughts, and without the
        // white space around it.
        let after = whole.get(start..).filter(|_| start >= done);
        let place = after.and_then(|after| {
            let texts = [turn.content.as_str(), turn.content.trim()].into_iter();
            let places = texts.filter_map(|text| Some((after.find(text)?, text.len())));
            places.min_by_key(|(place, length)| (*place, Reverse(*length)))
        });
        let Some((place, length)) = place else {
            let reason = "it does not write an earlier answer of a conversation as it is; use --last-answer-only";
            return Err(template.refused(reason));
        };
        done = start + place + length;
        // Some templates write more after the last message only, with which a token ends here.
        let closed = common_prefix(&whole[done..], &end_of_message);
        let ends = end_tokens.places.iter().map(|place| place.end);
        done += ends.take_while(|end| *end <= closed).last().unwrap_or(0);
        found.push(encoded.tokens_of(&(start..done)));
    }
    Ok(found)
}

/// Returns the length of the longest common beginning of two lists of tokens.
fn common_length(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Returns the length in bytes of the longest common beginning of two texts.
fn common_prefix(a: &str, b: &str) -> usize {
    let same = a.char_indices().zip(b.chars());
    let other = same.into_iter().find(|((_, a), b)| a != b);
    other.map_or(a.len().min(b.len()), |((at, _), _)| at)
}

/// Converts a turn to a message of a chat template.
fn message(turn: &ChatMessage) -> Message {
    let role = match turn.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    Message::new(role, &turn.content)
}

/// Packs lengths into rows of at most `limit` by best-fit decreasing, as TRL's `bfd` strategy.
///
/// The longest comes first, and goes into the row that it leaves the least room in, or into a new
/// row if it fits in none. Of equal lengths the earlier comes first; of rows with equal room the
/// one that has had it longest is used. A length above the limit gets a row of its own.
///
/// Returns the indices of the lengths, row by row.
#[must_use]
pub fn pack_best_fit(lengths: &[usize], limit: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|place| Reverse(lengths[*place]));
    let mut rows: Vec<Vec<usize>> = Vec::new();
    // Rows with remaining room, keyed by the amount.
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

    /// Results of `trl.data_utils.pack_dataset(…, strategy="bfd")` of TRL 1.16.0 for rows of these
    /// lengths.
    #[test]
    fn bfd_packing_matches_trl() {
        let found = pack_best_fit(&[5, 3, 7, 2, 6, 1, 4, 8, 3, 5], 8);
        let rows: [&[usize]; 6] = [&[7], &[2, 5], &[4, 3], &[0, 1], &[9, 8], &[6]];
        assert_eq!(found, rows);
        let found = pack_best_fit(&[3, 3, 3, 3, 3, 5, 5, 2, 2, 2, 9, 1], 10);
        let rows: [&[usize]; 5] = [&[10, 11], &[5, 6], &[0, 1, 2], &[3, 4, 7, 8], &[9]];
        assert_eq!(found, rows);
        let lengths = [
            16, 38, 35, 9, 24, 39, 31, 38, 5, 39, 1, 31, 17, 36, 15, 13, 31, 35, 36, 31, 26, 10,
            15, 10,
        ];
        let found = pack_best_fit(&lengths, 40);
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
        assert_eq!(pack_best_fit(&[], 5), Vec::<Vec<usize>>::new());
    }

    proptest! {
        #[test]
        fn packed_rows_hold_each_example_once_within_limit(
            lengths in prop::collection::vec(1_usize..50, 0..60),
            limit in 1_usize..60,
        ) {
            let rows = pack_best_fit(&lengths, limit);
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
