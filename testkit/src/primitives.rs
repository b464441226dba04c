//! Checks the test vectors of the random generator, of rounding and of the scenarios.

use sentinel_env::num::round_to;
use sentinel_env::rng::PyRandom;
use sentinel_env::trust::Scenario;
use serde_json::{Value, json};
use sha2::{Digest, Sha512};

use crate::compare::differences;

/// Returns the differences of one vector.
pub(crate) fn check(kind: &str, row: &Value) -> Vec<String> {
    match kind {
        "rng" => rng(row),
        "round" => rounding(row),
        _ => scenario(row),
    }
}

fn rng(row: &Value) -> Vec<String> {
    let text = row["seed"].as_str().unwrap_or_default();
    let is_text = row["seed_is_text"].as_bool().unwrap_or(false);
    let words = if is_text {
        text_words(text)
    } else {
        decimal_words(text)
    };
    let fresh = || PyRandom::from_words(&words);
    let floats = |n, mut draw: Box<dyn FnMut() -> f64>| (0..n).map(|_| draw()).collect::<Vec<_>>();
    let shuffled = |n: u32| {
        let mut list: Vec<u32> = (0..n).collect();
        fresh().shuffle(&mut list);
        list
    };
    let choices = |n: u32| {
        let mut rng = fresh();
        (0..8).map(|_| rng.below(n)).collect::<Vec<_>>()
    };
    let mut a = fresh();
    let mut b = fresh();
    let mut c = fresh();
    let mut d = fresh();
    let mut bits = fresh();
    let one_then_random = move || {
        b.below(1);
        b.random()
    };
    let randints: Vec<Vec<u32>> = (0..4)
        .map(|_| {
            let ranges = [(1, 5), (10, 75), (2, 12), (24, 120), (1, 4), (1000, 9999)];
            let mut list: Vec<u32> = ranges
                .iter()
                .map(|(low, high)| c.randint(*low, *high))
                .collect();
            list.push(c.below(12));
            list
        })
        .collect();
    let ours = json!({
        "kind": "rng", "seed": text, "seed_is_text": is_text,
        "random": floats(8, Box::new(move || a.random())),
        "getrandbits32": (0..8).map(|_| bits.next_u32()).collect::<Vec<_>>(),
        "shuffle5": shuffled(5), "shuffle20": shuffled(20),
        "choice40": choices(40), "choice5": choices(5),
        "choice1_then_random": floats(4, Box::new(one_then_random)),
        "randints": randints,
        "uniform": floats(4, Box::new(move || d.uniform(-0.05, 0.05))),
    });
    differences(row, &ours, &[])
}

/// Returns the 32-bit words of the absolute value of a decimal integer of any size, least
/// significant first.
fn decimal_words(text: &str) -> Vec<u32> {
    let mut words: Vec<u32> = Vec::new();
    for digit in text.bytes().filter(u8::is_ascii_digit) {
        let mut carry = u64::from(digit - b'0');
        for word in &mut words {
            let value = u64::from(*word) * 10 + carry;
            *word = value as u32;
            carry = value >> 32;
        }
        if carry > 0 {
            words.push(carry as u32);
        }
    }
    words
}

/// Returns the words of a text seed: its bytes followed by their SHA-512, read as one big-endian
/// integer.
fn text_words(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.extend_from_slice(&Sha512::digest(text.as_bytes()));
    bytes.reverse();
    let word = |chunk: &[u8]| {
        chunk
            .iter()
            .rev()
            .fold(0, |word, byte| word << 8 | u32::from(*byte))
    };
    let mut words: Vec<u32> = bytes.chunks(4).map(word).collect();
    while words.last() == Some(&0) {
        words.pop();
    }
    words
}

fn rounding(row: &Value) -> Vec<String> {
    let rows = row["rows"].as_array().cloned().unwrap_or_default();
    let ours: Vec<Value> = rows
        .iter()
        .map(|r| {
            let x = r[0].as_f64().unwrap_or(f64::NAN);
            json!([
                r[0],
                round_to(x, 0),
                round_to(x, 2),
                round_to(x, 3),
                round_to(x, 4),
                format!("{x:.1}"),
                format!("{x:.2}"),
                format!("{:.0}%", x * 100.0),
            ])
        })
        .collect();
    differences(&row["rows"], &Value::Array(ours), &[])
}

fn scenario(row: &Value) -> Vec<String> {
    let id = row["id"].as_str().unwrap_or_default();
    let Ok(scenario) = Scenario::from_id(id) else {
        return vec![format!("no scenario {id}")];
    };
    let name = |number: usize| format!("T{number:02}");
    let nodes: Vec<Value> = scenario
        .nodes()
        .map(|node| {
            let before: Vec<String> = node
                .depends_on
                .iter()
                .map(|n| name(usize::from(*n)))
                .collect();
            json!([name(node.index + 1), node.domain, node.stakes, before])
        })
        .collect();
    let ours = json!({"kind": "scenario", "id": id, "task": scenario.task, "nodes": nodes});
    differences(row, &ours, &[])
}
