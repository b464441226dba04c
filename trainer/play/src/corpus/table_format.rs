//! Files of tables and archives that stand where a corpus should be.

/// Recognizes a compressed file, or a table in another format than JSON lines, by its first line; returns what it
/// is and what to do.
pub(super) fn describe(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x1f, 0x8b, ..]
        | [b'P', b'K', 3, 4, ..]
        | [b'B', b'Z', b'h', b'1'..=b'9', b'1', ..]
        | [0xfd, b'7', b'z', b'X', b'Z', ..]
        | [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("a compressed file: unpack it"),
        [b'P', b'A', b'R', b'1', ..] | [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Some(
            "a table in Parquet or Arrow: write JSON lines with `load_dataset(...)[\"train\"].to_json(FILE)` of datasets",
        ),
        line if is_header(line) => Some(
            "a table in CSV or TSV: write JSON lines with `load_dataset(...)[\"train\"].to_json(FILE)` of datasets",
        ),
        _ => None,
    }
}

/// Returns `true` for the first line of a table: two names or more, with commas, semicolons or tabs between them.
fn is_header(line: &[u8]) -> bool {
    let is_name = |name: &[u8]| {
        let name = name.trim_ascii();
        let mut letters = name.iter().filter(|byte| **byte != b'"');
        letters.next().is_some_and(u8::is_ascii_alphabetic)
            && letters.all(|byte| byte.is_ascii_alphanumeric() || b"_-. ".contains(byte))
    };
    [b',', b';', b'\t'].iter().any(|separator| {
        line.contains(separator) && line.split(|byte| byte == separator).all(is_name)
    })
}

#[cfg(test)]
mod tests {
    use super::describe;

    #[test]
    fn archives_and_tables_are_recognized_by_their_first_line() {
        for (start, expected) in [
            (b"\x1f\x8b\x08\0".as_slice(), "unpack it"),
            (b"PK\x03\x04\x14", "unpack it"),
            (b"\x28\xb5\x2f\xfd\x04", "unpack it"),
            (b"PAR1\x15\x04", "Parquet"),
            (b"ARROW1\0\0", "Arrow"),
            (b"prompt,completion\r\n", "CSV"),
            (b"\"prompt\"\t\"the answer\"\n", "CSV"),
            (b"a,,b", ""),
            (b"BZh is text", ""),
            (b"\"a\": 1, \"b\": 2", ""),
            (b"{\"seed\": 7}\n", ""),
            (b"hello", ""),
            (b"", ""),
        ] {
            let found = describe(start).unwrap_or_default();
            assert!(found.contains(expected), "{found}");
            assert_eq!(found.is_empty(), expected.is_empty(), "{found}");
        }
    }
}
