//! A TensorBoard event file, written by hand: its two formats are small.
//!
//! The file is a list of TFRecords, each a protobuf `Event`. Tags begin as Hugging Face's do:
//! `train/`, `eval/` and `test/`.

use super::named;
use crate::compact::events::Event;

/// Returns the bytes of the file. `tasks` are the names of the tasks that were played. `wall_time`
/// returns the time of a step in seconds since 1970.
#[must_use]
pub fn bytes(tasks: &[&str], events: &[Event], wall_time: &dyn Fn(usize) -> f64) -> Vec<u8> {
    let points = events.iter().filter_map(|event| match event {
        Event::Step { step, metrics } => Some(Point {
            prefix: "train",
            step: *step,
            values: metrics.clone().into_iter().collect(),
        }),
        Event::Eval { step, scores } => Some(Point {
            prefix: "eval",
            step: *step,
            values: named(tasks, scores),
        }),
        Event::Finished { step, scores, .. } => Some(Point {
            prefix: "test",
            step: *step,
            values: named(tasks, scores),
        }),
        Event::Started { .. } | Event::Saved { .. } => None,
    });
    encode(points, wall_time)
}

/// Values of one step.
pub(crate) struct Point {
    /// The prefix of its tags.
    pub(crate) prefix: &'static str,
    /// The step.
    pub(crate) step: usize,
    /// Values by name.
    pub(crate) values: Vec<(String, f64)>,
}

/// Returns the bytes of a file with these points. A value that is not finite is left out.
pub(crate) fn encode(
    points: impl Iterator<Item = Point>,
    wall_time: &dyn Fn(usize) -> f64,
) -> Vec<u8> {
    let mut file = Vec::new();
    let mut version = wall(wall_time(0));
    field(&mut version, 3, b"brain.Event:2");
    record(&mut file, &version);
    for point in points {
        let mut summary = Vec::new();
        for (name, value) in point.values {
            // Finite as f64 is not enough: the file holds f32.
            let value = value as f32;
            if value.is_finite() {
                let tag = format!("{}/{name}", point.prefix);
                field(&mut summary, 1, &scalar(&tag, value));
            }
        }
        let mut message = wall(wall_time(point.step));
        message.push(2 << 3);
        varint(&mut message, point.step as u64);
        field(&mut message, 5, &summary);
        record(&mut file, &message);
    }
    file
}

/// An `Event` that holds only `wall_time`: field 1, 64 bits.
fn wall(seconds: f64) -> Vec<u8> {
    let mut message = vec![(1 << 3) | 1];
    message.extend(seconds.to_le_bytes());
    message
}

/// A `Summary.Value`: tag, and `simple_value` of 32 bits.
fn scalar(tag: &str, value: f32) -> Vec<u8> {
    let mut message = Vec::new();
    field(&mut message, 1, tag.as_bytes());
    message.push((2 << 3) | 5);
    message.extend(value.to_le_bytes());
    message
}

/// A field with a length: text, or a message.
fn field(message: &mut Vec<u8>, number: u8, content: &[u8]) {
    message.push((number << 3) | 2);
    varint(message, content.len() as u64);
    message.extend(content);
}

/// Seven bits a byte, the lowest first; the top bit says that more follow.
fn varint(message: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

/// A TFRecord: length, checksum of the length, data, checksum of the data.
fn record(file: &mut Vec<u8>, data: &[u8]) {
    let length = (data.len() as u64).to_le_bytes();
    file.extend(length);
    file.extend(masked(&length).to_le_bytes());
    file.extend(data);
    file.extend(masked(data).to_le_bytes());
}

/// TFRecord's checksum: CRC-32C, turned and moved, because a checksum of checksums is weak.
fn masked(data: &[u8]) -> u32 {
    let crc = crc32c(data);
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C (Castagnoli), low bit first.
fn crc32c(data: &[u8]) -> u32 {
    !data.iter().fold(!0, |crc: u32, byte| {
        TABLE[((crc ^ u32::from(*byte)) & 0xff) as usize] ^ (crc >> 8)
    })
}

/// The checksum of each byte.
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
    fn the_checksum_is_castagnolis() {
        assert_eq!(super::crc32c(b"123456789"), 0xe306_9283);
    }
}
