//! Bytes that are written and read as a whole. Their encoded form is that of a list of numbers, which is
//! written and read one by one.

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Serializes bytes as a whole.
pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

/// Deserializes bytes as a whole.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    deserializer.deserialize_byte_buf(Bytes)
}

struct Bytes;

impl Visitor<'_> for Bytes {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("bytes")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        Ok(bytes.to_vec())
    }

    fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
        Ok(bytes)
    }
}

/// The content of a file, or a sentence that says why it is missing.
pub(crate) mod content {
    use super::*;

    #[derive(Serialize)]
    struct Whole<'a>(#[serde(with = "super")] &'a [u8]);

    #[derive(Deserialize)]
    struct OwnedWhole(#[serde(with = "super")] Vec<u8>);

    /// Serializes the bytes as a whole.
    pub(crate) fn serialize<S: Serializer>(
        content: &Result<Vec<u8>, String>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        content.as_deref().map(Whole).serialize(serializer)
    }

    /// Deserializes the bytes as a whole.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Result<Vec<u8>, String>, D::Error> {
        let content = Result::<OwnedWhole, String>::deserialize(deserializer)?;
        Ok(content.map(|OwnedWhole(bytes)| bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        DecodeError, DeferredReply, ExportedFile, ForeignFile, Reply, Request, decode, encode,
    };

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Wholes {
        #[serde(with = "super")]
        bytes: Vec<u8>,
        #[serde(with = "content")]
        content: Result<Vec<u8>, String>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Lists {
        bytes: Vec<u8>,
        content: Result<Vec<u8>, String>,
    }

    #[test]
    fn bytes_have_the_form_of_a_list() {
        for content in [
            Ok((0..=255).collect()),
            Ok(Vec::new()),
            Err("Why".to_owned()),
        ] {
            let bytes = vec![7; 300];
            let list = Lists {
                bytes: bytes.clone(),
                content: content.clone(),
            };
            let whole = Wholes { bytes, content };
            let encoded = encode(&whole).expect("encoded");
            assert_eq!(encoded, encode(&list).expect("encoded"));
            assert_eq!(decode::<Wholes>(&encoded).expect("decoded"), whole);
            for end in 0..encoded.len() {
                let cut = decode::<Wholes>(&encoded[..end]);
                assert_eq!(cut, Err(DecodeError), "{end}");
            }
        }
    }

    /// Counts the bytes that are written one by one.
    struct Singles(usize);

    impl postcard::ser_flavors::Flavor for Singles {
        type Output = usize;

        fn try_push(&mut self, _: u8) -> postcard::Result<()> {
            self.0 += 1;
            Ok(())
        }

        fn try_extend(&mut self, _: &[u8]) -> postcard::Result<()> {
            Ok(())
        }

        fn finalize(self) -> postcard::Result<usize> {
            Ok(self.0)
        }
    }

    #[test]
    fn files_and_results_are_written_as_a_whole() {
        let bytes = vec![1; 1000];
        let requests = [
            Request::File {
                name: "a".to_owned(),
                content: Ok(bytes.clone()),
                dropped: true,
            },
            Request::Lend {
                name: "a".to_owned(),
                content: bytes.clone(),
            },
            Request::PartialResults {
                run: 1,
                results: bytes.clone(),
            },
        ];
        for request in requests {
            let singles = postcard::serialize_with_flavor(&request, Singles(0));
            assert!(singles.is_ok_and(|count| count < 10), "{request:?}");
        }
        let replies = [
            DeferredReply::Foreign(ForeignFile {
                content: bytes.clone(),
                ..ForeignFile::default()
            }),
            DeferredReply::Exported(ExportedFile {
                content: bytes.clone(),
                ..ExportedFile::default()
            }),
            DeferredReply::PartialResults {
                run: 1,
                results: bytes,
            },
        ];
        for reply in replies {
            let singles = postcard::serialize_with_flavor(&reply, Singles(0));
            assert!(singles.is_ok_and(|count| count < 10), "{reply:?}");
            let singles = postcard::serialize_with_flavor(&Reply::from(reply), Singles(0));
            assert!(singles.is_ok_and(|count| count < 10));
        }
    }
}
