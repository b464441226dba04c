//! The bytes of a GGUF file from its beginning, read with limits on what they may take.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};

use crate::LmError;

/// Largest accepted size of metadata and table of tensors, in bytes. Those of published models with their
/// tokenizers take less than 20 MB.
const MAX_HEADER: u64 = 1 << 28;
/// Largest accepted number of elements of all arrays that are kept. A tokenizer has up to 600 000 of them.
const MAX_ELEMENTS: u64 = 1 << 22;

/// A file that is read from its beginning.
#[derive(Debug)]
pub(super) struct Source {
    path: PathBuf,
    input: BufReader<File>,
    length: u64,
    position: u64,
    elements: u64,
    /// The part of the file that is being read, for errors.
    part: String,
}

impl Source {
    /// Opens a file at its beginning.
    pub(super) fn open(path: &Path) -> Result<Self, LmError> {
        let failed = |error| LmError::read(path, error);
        let mut file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let mut start = Vec::new();
        (&file).take(64).read_to_end(&mut start).map_err(failed)?;
        if let Some(reason) = sentinel_base::files::placeholder(&start) {
            return Err(unusable(path, reason));
        }
        std::io::Seek::rewind(&mut file).map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
            input: BufReader::with_capacity(1 << 16, file),
            length,
            position: 0,
            elements: 0,
            part: "the header".to_owned(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of bytes of the file.
    pub(super) const fn length(&self) -> u64 {
        self.length
    }

    /// Returns the number of bytes that were read.
    pub(super) const fn position(&self) -> u64 {
        self.position
    }

    /// Names the part of the file that is read next, for errors.
    pub(super) fn enter(&mut self, part: String) {
        self.part = part;
    }

    /// Returns the error of a part that cannot be used.
    pub(super) fn wrong(&self, problem: &str) -> LmError {
        unusable(&self.path, format!("{} {problem}", self.part))
    }

    /// Returns an error unless `count` more bytes are there and within the limit of the header.
    fn check(&self, count: u64) -> Result<(), LmError> {
        if count > self.length.saturating_sub(self.position) {
            let length = self.length;
            let problem = format!(
                "reaches beyond the end of the file, which has {length} bytes: download it again"
            );
            return Err(self.wrong(&problem));
        }
        if count > MAX_HEADER.saturating_sub(self.position) {
            let problem =
                format!("reaches beyond byte {MAX_HEADER}, where the tensors must have begun");
            return Err(self.wrong(&problem));
        }
        Ok(())
    }

    /// Counts the elements of an array that is kept; each takes at least `bytes` bytes of the file.
    pub(super) fn count_elements(&mut self, count: u64, bytes: u64) -> Result<(), LmError> {
        self.check(count.saturating_mul(bytes))?;
        self.elements = self.elements.saturating_add(count);
        if self.elements > MAX_ELEMENTS {
            let problem =
                format!("has {count} elements, with which there are more than {MAX_ELEMENTS}");
            return Err(self.wrong(&problem));
        }
        Ok(())
    }

    /// Reads bytes of a number.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], LmError> {
        self.check(N as u64)?;
        let mut bytes = [0; N];
        let read = self.input.read_exact(&mut bytes);
        read.map_err(|error| LmError::read(&self.path, error))?;
        self.position += N as u64;
        Ok(bytes)
    }

    /// Reads a number of four bytes.
    pub(super) fn u32(&mut self) -> Result<u32, LmError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Reads a number of eight bytes.
    pub(super) fn u64(&mut self) -> Result<u64, LmError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Reads a text of at most `longest` bytes, after its length.
    pub(super) fn text(&mut self, longest: u64) -> Result<String, LmError> {
        let count = self.u64()?;
        self.check(count)?;
        if count > longest {
            let problem = format!("has a text of {count} bytes, more than {longest}");
            return Err(self.wrong(&problem));
        }
        let mut bytes = Vec::new();
        let read = (&mut self.input).take(count).read_to_end(&mut bytes);
        read.map_err(|error| LmError::read(&self.path, error))?;
        if bytes.len() as u64 != count {
            return Err(self.wrong("became shorter while it was read"));
        }
        self.position += count;
        String::from_utf8(bytes).map_err(|_| self.wrong("has a text that is not UTF-8"))
    }

    /// Skips bytes that are not needed.
    pub(super) fn skip(&mut self, count: u64) -> Result<(), LmError> {
        self.check(count)?;
        let step = i64::try_from(count).map_err(|_| self.wrong("is too large"))?;
        let skipped = self.input.seek_relative(step);
        skipped.map_err(|error| LmError::read(&self.path, error))?;
        self.position += count;
        Ok(())
    }
}

/// Returns the error of a file that cannot be imported.
pub(super) fn unusable(path: &Path, reason: String) -> LmError {
    LmError::Format {
        path: path.to_owned(),
        kind: "a GGUF file that can be imported",
        reason,
    }
}
