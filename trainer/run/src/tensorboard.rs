//! A writer of TensorBoard event files; their two formats need no library.
//!
//! The file is a list of TFRecords, each a protobuf `Event`. Tags begin as Hugging Face's do:
//! `train/`, `eval/` and `test/`.

use super::event::{Event, named_scores};

/// The wall times of steps, derived from the start of the run and the durations of its steps, so that
/// the file is always the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallTimes {
    start: Option<f64>,
    passed: f64,
}

impl WallTimes {
    /// Advances by an event of the run. Returns `true` if the run began with it.
    pub fn advance(&mut self, event: &Event) -> bool {
        match event {
            Event::Started { unix_time, .. } if self.start.is_none() => {
                self.start = Some(*unix_time);
                return true;
            }
            Event::Step { metrics, .. } => {
                self.passed += metrics.get("step_time").copied().unwrap_or(0.0);
            }
            _ => {}
        }
        false
    }

    /// Returns the seconds that all steps took together.
    #[must_use]
    pub const fn passed(&self) -> f64 {
        self.passed
    }

    /// Returns the time at the end of the last step, in seconds since 1970.
    #[must_use]
    pub fn now(&self) -> f64 {
        self.start.unwrap_or(0.0) + self.passed
    }
}

/// Returns the bytes that an event of a run adds to the file: its beginning at the start of the
/// run, and a record if the event has numbers. `tasks` are the names of the tasks that scores are
/// of.
#[must_use]
pub fn records(event: &Event, tasks: &[String], wall_times: &mut WallTimes) -> Vec<u8> {
    let mut bytes = Vec::new();
    if wall_times.advance(event) {
        let mut version = wall(wall_times.now());
        field(&mut version, 3, b"brain.Event:2");
        record(&mut bytes, &version);
    }
    let (prefix, step, values) = match event {
        Event::Step { step, metrics, .. } => {
            ("train", *step, metrics.clone().into_iter().collect())
        }
        Event::Eval {
            step,
            scores,
            metrics,
        } => {
            let mut values = named_scores(tasks, scores);
            values.extend(metrics.clone());
            ("eval", *step, values)
        }
        Event::Finished {
            step,
            scores: Some(scores),
            ..
        } => ("test", *step, named_scores(tasks, scores)),
        _ => return bytes,
    };
    record(&mut bytes, &point(prefix, step, values, wall_times.now()));
    bytes
}

/// Returns an `Event` with the values of one step, without those that are not finite.
fn point(prefix: &str, step: usize, values: Vec<(String, f64)>, time: f64) -> Vec<u8> {
    let mut summary = Vec::new();
    for (name, value) in values {
        // A finite f64 may be too large for the file's f32.
        let value = value as f32;
        if value.is_finite() {
            field(&mut summary, 1, &scalar(&format!("{prefix}/{name}"), value));
        }
    }
    let mut message = wall(time);
    message.push(2 << 3);
    varint(&mut message, step as u64);
    field(&mut message, 5, &summary);
    message
}

/// Returns an `Event` that holds only `wall_time`: field 1, 64 bits.
fn wall(seconds: f64) -> Vec<u8> {
    let mut message = vec![(1 << 3) | 1];
    message.extend(seconds.to_le_bytes());
    message
}

/// Returns a `Summary.Value`: a tag, and `simple_value` of 32 bits.
fn scalar(tag: &str, value: f32) -> Vec<u8> {
    let mut message = Vec::new();
    field(&mut message, 1, tag.as_bytes());
    message.push((2 << 3) | 5);
    message.extend(value.to_le_bytes());
    message
}

/// Appends a field with a length: text, or a message.
fn field(message: &mut Vec<u8>, number: u8, content: &[u8]) {
    message.push((number << 3) | 2);
    varint(message, content.len() as u64);
    message.extend(content);
}

/// Appends a varint: seven bits per byte, the lowest first; the top bit marks that more follow.
fn varint(message: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

/// Appends a TFRecord: length, checksum of the length, data, checksum of the data.
fn record(file: &mut Vec<u8>, data: &[u8]) {
    let length = (data.len() as u64).to_le_bytes();
    file.extend(length);
    file.extend(masked(&length).to_le_bytes());
    file.extend(data);
    file.extend(masked(data).to_le_bytes());
}

/// Returns TFRecord's checksum: CRC-32C, rotated and offset, because a checksum of checksums is
/// weak.
fn masked(data: &[u8]) -> u32 {
    let crc = crc32c(data);
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Returns the CRC-32C (Castagnoli) of `data`, low bit first.
fn crc32c(data: &[u8]) -> u32 {
    !data.iter().fold(!0, |crc: u32, byte| {
        TABLE[((crc ^ u32::from(*byte)) & 0xff) as usize] ^ (crc >> 8)
    })
}

/// The CRC-32C of each byte.
static TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            crc = (crc >> 1) ^ (0x82f6_3b78 * (crc & 1));
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    #[test]
    fn crc32c_matches_test_vector() {
        assert_eq!(super::crc32c(b"123456789"), 0xe306_9283);
    }
}
