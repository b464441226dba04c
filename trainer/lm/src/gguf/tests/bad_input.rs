//! Files that cannot be imported give an error that names the reason, before a tensor is read.

use super::writer::{File, Tensor, Value};
use crate::gguf::GgufModel;
use crate::weights::StoredDtype;

/// Opens the tiny file after a change, and returns the error.
#[track_caller]
fn error_of(change: impl FnOnce(&mut File)) -> String {
    let mut file = File::tiny();
    change(&mut file);
    let (_folder, path) = file.write();
    let error = GgufModel::open(&path).err();
    error.map(|error| error.to_string()).unwrap()
}

/// A change of a file, and words of the error that it causes.
type Case = (fn(&mut File), &'static str);

#[test]
fn unknown_versions_and_counts_are_named() {
    let cases: [Case; 6] = [
        (|file| file.version = 1, "version 1: only 2 and 3"),
        (|file| file.version = 3_u32.swap_bytes(), "big-endian"),
        (
            |file| file.counts = Some((u64::MAX, 3)),
            "announces 18446744073709551615 tensors",
        ),
        (
            |file| file.counts = Some((3, u64::MAX)),
            "announces 18446744073709551615 keys",
        ),
        (|file| file.counts = Some((60_000, 16)), "tensor"),
        (|file| file.counts = Some((11, 60_000)), "key"),
    ];
    for (change, words) in cases {
        let error = error_of(change);
        assert!(error.contains(words), "no {words:?} in {error}");
    }
}

/// Checks the error of the tiny file with another value of a key, which names the key.
#[track_caller]
fn set(key: &str, value: Value, words: &str) {
    let error = error_of(|file| file.set(key, value));
    assert!(
        error.contains(words) && error.contains(key),
        "no {words:?} in {error}"
    );
}

#[test]
fn keys_of_the_format_are_checked() {
    set(
        "general.architecture",
        Value::Text(b"mamba"),
        "only qwen2, qwen3, llama can be imported",
    );
    set("general.architecture", Value::U32(1), "is no text");
    set("general.name", Value::Text(b"\xff\xfe"), "not UTF-8");
    set("general.alignment", Value::U32(48), "is 48");
    set("general.alignment", Value::U32(0), "is 0");
    set("general.license", Value::Flag(2), "flag with the value 2");
    let twice = error_of(|file| {
        let again = ("general.architecture".to_owned(), Value::U32(1));
        file.keys.push(again);
    });
    assert!(
        twice.contains("\"general.architecture\" is there twice"),
        "{twice}"
    );
}

#[test]
fn keys_of_the_shape_are_checked() {
    set(
        "llama.block_count",
        Value::U32(u32::MAX),
        "only 1 to 2147483647",
    );
    set(
        "llama.block_count",
        Value::U32(1 << 30),
        "but the file has 11 tensors",
    );
    set("llama.block_count", Value::U32(0), "is 0");
    set(
        "llama.embedding_length",
        Value::U64(u64::MAX),
        "only 1 to 2147483647",
    );
    set("llama.embedding_length", Value::U32(7), "even width");
    set(
        "llama.attention.head_count",
        Value::Integers(vec![2]),
        "is no whole number",
    );
    set(
        "llama.attention.head_count_kv",
        Value::U32(3),
        "does not divide 2",
    );
    set("llama.attention.key_length", Value::U32(5), "even width");
    set(
        "llama.rope.dimension_count",
        Value::U32(2),
        "rotated as a whole",
    );
    set(
        "llama.rope.freq_base",
        Value::F32(f32::NAN),
        "finite number",
    );
    set("llama.rope.freq_base", Value::F32(-1.0), "above 0");
    set(
        "llama.rope.scaling.type",
        Value::Text(b"yarn"),
        "only none, and linear",
    );
    set(
        "llama.attention.sliding_window",
        Value::U32(4),
        "full attention",
    );
    set("llama.expert_count", Value::U32(8), "without experts");
    set(
        "llama.vocab_size",
        Value::U32(5),
        "the embedding has 264 rows",
    );
}

#[test]
fn keys_of_the_tokenizer_are_checked() {
    set(
        "tokenizer.ggml.model",
        Value::Text(b"llama"),
        "byte-level BPE (gpt2)",
    );
    set(
        "tokenizer.ggml.pre",
        Value::Text(b"tekken"),
        "only gpt-2, smollm",
    );
    set(
        "tokenizer.ggml.tokens",
        Value::Texts(vec!["a".to_owned(); 265]),
        "has 265 tokens",
    );
    set(
        "tokenizer.ggml.tokens",
        Value::Texts(vec!["a".to_owned(); 264]),
        "twice",
    );
    set(
        "tokenizer.ggml.token_type",
        Value::Integers(vec![1; 5]),
        "5 elements for 264 tokens",
    );
    set(
        "tokenizer.ggml.merges",
        Value::Texts(vec!["t".to_owned()]),
        "no pair of tokens",
    );
    set(
        "tokenizer.ggml.merges",
        Value::Texts(vec!["t zz".to_owned()]),
        "no pair of tokens",
    );
    set(
        "tokenizer.ggml.eos_token_id",
        Value::U32(264),
        "is 264, but there are 264 tokens",
    );
    set(
        "tokenizer.ggml.eos_token_id",
        Value::U32(263),
        "marked as unused",
    );
}

#[test]
fn missing_keys_are_named() {
    for key in [
        "general.architecture",
        "llama.context_length",
        "llama.attention.layer_norm_rms_epsilon",
        "tokenizer.ggml.model",
        "tokenizer.ggml.pre",
        "tokenizer.ggml.tokens",
        "tokenizer.ggml.token_type",
        "tokenizer.ggml.merges",
    ] {
        let error = error_of(|file| file.remove(key));
        assert!(
            error.contains(key) && error.contains("is missing"),
            "{error}"
        );
    }
}

#[test]
fn tensors_that_do_not_fit_are_named() {
    const NORM: &str = "output_norm.weight";
    let cases: [Case; 12] = [
        (
            |file| file.tensor(NORM).kind = 20,
            "format number 20: only F32",
        ),
        (
            |file| file.tensor(NORM).kind = 2,
            "shape [8], which Q4_0 cannot have",
        ),
        (|file| file.tensor(NORM).shape = vec![], "has 0 axes"),
        (|file| file.tensor(NORM).shape = vec![1, 2, 4], "has 3 axes"),
        (|file| file.tensor(NORM).shape = vec![0], "shape [0]"),
        (
            |file| file.tensor(NORM).shape = vec![u64::MAX, u64::MAX],
            "cannot have",
        ),
        (
            |file| file.tensor(NORM).shape = vec![1 << 60],
            "ends at byte",
        ),
        (
            |file| file.tensor(NORM).shape = vec![4, 2],
            "has shape [4, 2], but the metadata asks for [8]",
        ),
        (
            |file| file.tensor(NORM).offset = Some(u64::MAX - 31),
            "ends at byte",
        ),
        (
            |file| file.tensor(NORM).offset = Some(5),
            "no multiple of 32",
        ),
        (
            |file| file.tensor(NORM).offset = Some(0),
            "overlaps with tensor",
        ),
        (
            |file| file.tensor(NORM).name = "blk.0.attn_norm.weight".to_owned(),
            "is there twice",
        ),
    ];
    for (change, words) in cases {
        let error = error_of(change);
        assert!(error.contains(words), "no {words:?} in {error}");
    }
    let absent = error_of(|file| file.tensors.retain(|tensor| tensor.name != NORM));
    assert!(
        absent.contains("tensors are missing: output_norm.weight"),
        "{absent}"
    );
    let more = Tensor::f32("blk.0.attn_q.bias", vec![8], &[0.0; 8]);
    let more = error_of(|file| file.tensors.push(more));
    assert!(
        more.contains("do not belong to the model: blk.0.attn_q.bias"),
        "{more}"
    );
}

#[test]
fn numbers_that_are_not_finite_are_refused() {
    for (number, dtype) in [
        (f32::NAN, StoredDtype::Float32),
        (f32::INFINITY, StoredDtype::Float32),
        (f32::MAX, StoredDtype::Bfloat16),
    ] {
        let mut file = File::tiny();
        file.tensor("output_norm.weight").data[..4].copy_from_slice(&number.to_le_bytes());
        let (_folder, path) = file.write();
        let out = tempfile::tempdir().unwrap();
        let error = GgufModel::open(&path)
            .unwrap()
            .write(out.path(), dtype)
            .err();
        let error = error.map(|error| error.to_string()).unwrap();
        assert!(
            error.contains("model.norm.weight holds a number that is not finite"),
            "{error}"
        );
        assert!(!out.path().join("model.safetensors").exists());
    }
}

#[test]
fn other_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    let error = || {
        GgufModel::open(&path)
            .err()
            .map(|error| error.to_string())
            .unwrap()
    };
    assert!(error().contains("cannot read"), "{}", error());
    for (content, words) in [
        ("", "has 0 bytes"),
        ("PK\x03\x04 a zip", "does not begin with GGUF"),
        (
            "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
            "git-lfs",
        ),
    ] {
        std::fs::write(&path, content).unwrap();
        assert!(error().contains(words), "no {words:?} in {}", error());
    }
}

/// A file that ends anywhere before its last byte is refused, and none makes the reader panic.
#[test]
fn truncated_files_are_refused() {
    let whole = File::tiny();
    let (bytes, header) = (whole.bytes(), whole.header().len());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    let lengths = (0..header).chain((header..bytes.len()).step_by(61));
    for length in lengths.chain([bytes.len() - 1]) {
        std::fs::write(&path, &bytes[..length]).unwrap();
        assert!(
            GgufModel::open(&path).is_err(),
            "{length} of {}",
            bytes.len()
        );
    }
}

/// No change of a byte of the header makes the reader panic.
#[test]
fn damaged_headers_do_not_panic() {
    let whole = File::tiny();
    let (mut bytes, header) = (whole.bytes(), whole.header().len());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    let out = folder.path().join("out");
    for at in 0..header {
        // No text has the byte 255; other values are tried at some places, because they lead to whole models.
        let others: &[u8] = if at.is_multiple_of(17) {
            &[0, 0x7f, 0xff]
        } else {
            &[0xff]
        };
        for other in others {
            let kept = std::mem::replace(&mut bytes[at], *other);
            std::fs::write(&path, &bytes).unwrap();
            if let Ok(model) = GgufModel::open(&path)
                && at.is_multiple_of(64)
            {
                std::fs::create_dir_all(&out).unwrap();
                let _ = model.write(&out, StoredDtype::Float32);
                std::fs::remove_dir_all(&out).unwrap();
            }
            bytes[at] = kept;
        }
    }
}
