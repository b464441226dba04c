//! Formats of files that stand where another file was expected, recognized by their first bytes.

use std::fmt;

/// A format that is not the expected one. Its text names the format and the remedy, and continues a
/// sentence such as "the file is ...".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignFormat {
    /// The pointer that git-lfs leaves where the file itself was not downloaded.
    LfsPointer,
    /// A web page: the page that shows a file, or one about an error.
    WebPage,
    /// Text in UTF-16, as some editors and shells save it.
    Utf16,
    /// One JSON array in place of JSON lines.
    Array,
    /// JSON that is indented over several lines in place of JSON lines.
    Indented,
}

impl ForeignFormat {
    /// Recognizes what never is the content of a file that a program reads: a git-lfs pointer or a
    /// web page. The beginning of the file is enough; `None` for anything else.
    ///
    /// ```
    /// use sentinel_policy::foreign_format::ForeignFormat;
    ///
    /// let found = ForeignFormat::placeholder(b"version https://git-lfs.github.com/spec/v1\n");
    /// assert_eq!(found, Some(ForeignFormat::LfsPointer));
    /// assert_eq!(ForeignFormat::placeholder(b"{\"seed\": 7}\n"), None);
    /// ```
    #[must_use]
    pub fn placeholder(start: &[u8]) -> Option<Self> {
        let start = text_start(start);
        let begins = |word: &str| {
            let found = start.get(..word.len());
            found.is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
        };
        if begins("version https://git-lfs") {
            Some(Self::LfsPointer)
        } else if begins("<!doctype") || begins("<html") {
            Some(Self::WebPage)
        } else {
            None
        }
    }

    /// Recognizes text in UTF-16 by its byte order mark. A safetensors file can begin with the same
    /// two bytes, so this is for files that should be text.
    #[must_use]
    pub const fn utf16(start: &[u8]) -> Option<Self> {
        match start {
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some(Self::Utf16),
            _ => None,
        }
    }

    /// Recognizes a file that is not JSON lines by its first line that is not blank, or by more of
    /// its beginning; `None` if the line may be a row.
    #[must_use]
    pub fn not_json_lines(start: &[u8]) -> Option<Self> {
        let found = Self::utf16(start).or_else(|| Self::placeholder(start));
        found.or_else(|| {
            let mut lines = text_start(start).split(|byte| *byte == b'\n');
            match lines.next()?.trim_ascii_end() {
                [b'[', ..] => Some(Self::Array),
                b"{" => Some(Self::Indented),
                _ => None,
            }
        })
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::LfsPointer => {
                "a git-lfs pointer, not the file itself: run `git lfs pull` in its folder"
            }
            Self::WebPage => "a web page: download the file itself, not the page that shows it",
            Self::Utf16 => "UTF-16 text: save it as UTF-8",
            Self::Array => "one JSON array: write one row per line (JSON lines)",
            Self::Indented => "indented JSON: write one row per line (JSON lines)",
        }
    }
}

impl fmt::Display for ForeignFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns the bytes after a byte order mark of UTF-8 and white space.
fn text_start(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    bytes.trim_ascii_start()
}

#[cfg(test)]
mod tests {
    use super::ForeignFormat::{self, *};

    #[test]
    fn placeholders_are_recognized_by_their_beginning() {
        let pointer =
            "version https://git-lfs.github.com/spec/v1\noid sha256:17600954\nsize 793297\n";
        for (text, expected) in [
            (pointer, Some(LfsPointer)),
            ("\u{feff}version https://git-lfs", Some(LfsPointer)),
            ("<!DOCTYPE html>", Some(WebPage)),
            ("\r\n  <HTML lang=\"en\">", Some(WebPage)),
            ("version https://git-lf", None),
            ("the version https://git-lfs", None),
            ("", None),
            ("{\"a\": \"<html\"}", None),
        ] {
            let found = ForeignFormat::placeholder(text.as_bytes());
            assert_eq!(found, expected, "{text}");
        }
        // The length of a header of safetensors may look like the mark of UTF-16.
        let length = 0xfeff_u64.to_le_bytes();
        assert_eq!(ForeignFormat::placeholder(&length), None);
        assert_eq!(ForeignFormat::utf16(&length), Some(Utf16));
    }

    #[test]
    fn other_forms_of_json_are_not_taken_for_lines() {
        for (bytes, expected) in [
            (&b"[{\"seed\": 7}]"[..], Some(Array)),
            (b"\xef\xbb\xbf [\r\n", Some(Array)),
            (b"\n{\r\n  \"seed\": 7\n}", Some(Indented)),
            (b"{", Some(Indented)),
            (b"\xff\xfe{\0", Some(Utf16)),
            (b"\xfe\xff\0{", Some(Utf16)),
            (b"<html>", Some(WebPage)),
            (b"{\"seed\": 7}\n[\n", None),
            (b"{\"seed\":", None),
            (b"hello", None),
            (b" \n", None),
            (b"", None),
        ] {
            let found = ForeignFormat::not_json_lines(bytes);
            assert_eq!(found, expected, "{bytes:?}");
        }
    }

    #[test]
    fn every_format_has_a_remedy() {
        for format in [LfsPointer, WebPage, Utf16, Array, Indented] {
            let text = format.to_string();
            assert!(text.contains(": "), "{text}");
        }
    }
}
