//! A tar archive (POSIX ustar) of files in one folder.

/// Size of a header, and the unit of a file's content.
const BLOCK: usize = 512;
/// Place of the checksum in a header.
const CHECKSUM: std::ops::Range<usize> = 148..156;

/// Returns the archive of `files`, names and contents, in the folder `folder`. `seconds` is their time since
/// 1970. Names must be ASCII of less than 100 bytes with that of the folder.
pub(crate) fn archive(folder: &str, seconds: u64, files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, content) in files {
        let mut header = [0; BLOCK];
        let mut put = |at: usize, text: &str| {
            header[at..at + text.len()].copy_from_slice(text.as_bytes());
        };
        put(0, &format!("{folder}/{name}"));
        // Mode, owner and group.
        put(100, "0000644\x000000000\x000000000");
        put(124, &format!("{:011o}", content.len()));
        put(136, &format!("{seconds:011o}"));
        put(CHECKSUM.start, "        ");
        // A regular file, and the format with its version.
        put(156, "0");
        put(257, "ustar\x0000");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[CHECKSUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        out.extend(header);
        out.extend(content);
        out.resize(out.len().next_multiple_of(BLOCK), 0);
    }
    // Two empty blocks are the end.
    out.resize(out.len() + 2 * BLOCK, 0);
    out
}
