//! The check that a PNG file is whole: its signature, the checksum of every chunk, and its end.

/// The first bytes of every PNG file.
const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// The bytes of a chunk besides its data: length, type and checksum.
const FRAME: usize = 12;

/// Returns the width and the height of a whole PNG file in pixels.
///
/// # Errors
/// Returns the fault of a file that is not a PNG, is cut off, or is damaged.
pub(super) fn size(bytes: &[u8]) -> Result<[u32; 2], String> {
    let mut rest = bytes
        .strip_prefix(SIGNATURE)
        .ok_or("it does not begin as a PNG file")?;
    let mut size = None;
    let mut has_data = false;
    loop {
        let (length, kind) = header(rest).ok_or("it is cut off")?;
        let end = length.checked_add(FRAME).ok_or("it is cut off")?;
        let chunk = rest.get(..end).ok_or("it is cut off")?;
        let (checked, sum) = chunk[4..].split_at(length + 4);
        if number(sum) != Some(crc32(checked)) {
            return Err(format!(
                "chunk {} is damaged",
                String::from_utf8_lossy(kind)
            ));
        }
        let data = &checked[4..];
        match kind {
            b"IHDR" => {
                let sides = data
                    .get(..4)
                    .and_then(number)
                    .zip(data.get(4..8).and_then(number));
                size = sides.map(|(width, height)| [width, height]);
            }
            b"IDAT" => has_data = true,
            b"IEND" => break,
            _ => {}
        }
        rest = &rest[end..];
    }
    match size {
        Some([width, height]) if has_data && width > 0 && height > 0 => Ok([width, height]),
        _ => Err("it has no pixels".to_owned()),
    }
}

/// Returns the length of a chunk's data and the chunk's type.
fn header(chunk: &[u8]) -> Option<(usize, &[u8])> {
    let length = chunk.get(..4).and_then(number)?;
    Some((usize::try_from(length).ok()?, chunk.get(4..8)?))
}

fn number(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

/// Returns the checksum of PNG and zip (CRC-32).
fn crc32(bytes: &[u8]) -> u32 {
    let bit = |crc: u32, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
    let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), bit);
    !bytes.iter().fold(!0, byte)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn chunk(kind: &[u8], data: &[u8]) -> Vec<u8> {
        let checked = [kind, data].concat();
        let length = u32::try_from(data.len()).expect("a small chunk");
        [
            &length.to_be_bytes()[..],
            &checked,
            &crc32(&checked).to_be_bytes(),
        ]
        .concat()
    }

    /// Returns the smallest file that passes: its data are not pixels.
    pub(in super::super) fn picture() -> Vec<u8> {
        let mut header = Vec::new();
        header.extend([3_u32, 2].iter().flat_map(|side| side.to_be_bytes()));
        header.extend([8, 0, 0, 0, 0]);
        let chunks = [
            chunk(b"IHDR", &header),
            chunk(b"IDAT", b"x"),
            chunk(b"IEND", b""),
        ];
        [SIGNATURE, &chunks.concat()].concat()
    }

    #[test]
    fn crc32_matches_png_test_vectors() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b"IEND"), 0xae42_6082);
    }

    #[test]
    fn truncated_or_damaged_png_is_refused() {
        let whole = picture();
        assert_eq!(size(&whole), Ok([3, 2]));
        for length in 0..whole.len() {
            assert!(size(&whole[..length]).is_err(), "{length}");
        }
        let mut damaged = whole.clone();
        damaged[SIGNATURE.len() + 8] ^= 1;
        assert_eq!(size(&damaged), Err("chunk IHDR is damaged".to_owned()));
        let mut long = whole;
        long[SIGNATURE.len()] = 0xff;
        assert_eq!(size(&long), Err("it is cut off".to_owned()));
        assert!(size(b"<svg/>").is_err());
    }
}
