//! A writer of small GGUF files.

use std::path::PathBuf;

use tempfile::TempDir;

/// A value of a key, as in the format.
#[derive(Clone, Debug)]
pub(super) enum Value {
    U32(u32),
    U64(u64),
    F32(f32),
    Flag(u8),
    Text(&'static [u8]),
    Texts(Vec<String>),
    Integers(Vec<i32>),
}

/// A tensor with the bytes of its numbers.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    pub(super) name: String,
    /// Rows and columns, or the length of a vector.
    pub(super) shape: Vec<u64>,
    pub(super) kind: u32,
    pub(super) data: Vec<u8>,
    /// Place in the file, if not behind the tensor before.
    pub(super) offset: Option<u64>,
}

/// The content of a file.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) version: u32,
    pub(super) keys: Vec<(String, Value)>,
    pub(super) tensors: Vec<Tensor>,
    /// Number of tensors and of keys that the file announces, if not those that it has.
    pub(super) counts: Option<(u64, u64)>,
}

impl File {
    /// Returns a Llama model of one layer with F32 tensors, whose tokens are bytes and some special ones.
    pub(super) fn tiny() -> Self {
        let mut keys = vec![("general.architecture".to_owned(), Value::Text(b"llama"))];
        for (name, count) in [
            ("block_count", 1),
            ("context_length", 64),
            ("embedding_length", 8),
            ("feed_forward_length", 32),
            ("attention.head_count", 2),
            ("attention.head_count_kv", 1),
        ] {
            keys.push((format!("llama.{name}"), Value::U32(count)));
        }
        let epsilon = "llama.attention.layer_norm_rms_epsilon".to_owned();
        keys.push((epsilon, Value::F32(1e-5)));
        keys.extend(tokenizer_keys());
        let tensors = [
            ("token_embd.weight", vec![264, 8]),
            ("blk.0.attn_norm.weight", vec![8]),
            ("blk.0.attn_q.weight", vec![8, 8]),
            ("blk.0.attn_k.weight", vec![4, 8]),
            ("blk.0.attn_v.weight", vec![4, 8]),
            ("blk.0.attn_output.weight", vec![8, 8]),
            ("blk.0.ffn_norm.weight", vec![8]),
            ("blk.0.ffn_gate.weight", vec![32, 8]),
            ("blk.0.ffn_up.weight", vec![32, 8]),
            ("blk.0.ffn_down.weight", vec![8, 32]),
            ("output_norm.weight", vec![8]),
        ];
        let tensors = tensors.map(|(name, shape)| {
            let count = shape.iter().product::<u64>();
            let numbers: Vec<f32> = (0..count).map(|at| at as f32 / 64.0).collect();
            Tensor::f32(name, shape, &numbers)
        });
        Self {
            version: 3,
            keys,
            tensors: tensors.into(),
            counts: None,
        }
    }

    /// Replaces the value of a key, or adds it.
    pub(super) fn set(&mut self, key: &str, value: Value) {
        self.keys.retain(|(other, _)| other != key);
        self.keys.push((key.to_owned(), value));
    }

    /// Removes a key with its value.
    pub(super) fn remove(&mut self, key: &str) {
        self.keys.retain(|(other, _)| other != key);
    }

    /// Returns the tensor with a name.
    pub(super) fn tensor(&mut self, name: &str) -> &mut Tensor {
        let found = self.tensors.iter_mut().find(|tensor| tensor.name == name);
        found.unwrap()
    }

    /// Returns the bytes of the header, which end where the tensors begin.
    pub(super) fn header(&self) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(self.version.to_le_bytes());
        let own = (self.tensors.len() as u64, self.keys.len() as u64);
        let (tensors, keys) = self.counts.unwrap_or(own);
        bytes.extend(tensors.to_le_bytes());
        bytes.extend(keys.to_le_bytes());
        for (key, value) in &self.keys {
            push_text(&mut bytes, key.as_bytes());
            push_value(&mut bytes, value);
        }
        let mut offset = 0;
        for tensor in &self.tensors {
            push_text(&mut bytes, tensor.name.as_bytes());
            bytes.extend((tensor.shape.len() as u32).to_le_bytes());
            for axis in tensor.shape.iter().rev() {
                bytes.extend(axis.to_le_bytes());
            }
            bytes.extend(tensor.kind.to_le_bytes());
            bytes.extend(tensor.offset.unwrap_or(offset).to_le_bytes());
            offset += (tensor.data.len() as u64).next_multiple_of(32);
        }
        bytes
    }

    /// Returns the bytes of the file.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.header();
        for tensor in &self.tensors {
            bytes.resize(bytes.len().next_multiple_of(32), 0);
            bytes.extend(&tensor.data);
        }
        bytes
    }

    /// Writes the file into a new folder.
    pub(super) fn write(&self) -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.gguf");
        std::fs::write(&path, self.bytes()).unwrap();
        (folder, path)
    }
}

impl Tensor {
    pub(super) fn f32(name: &str, shape: Vec<u64>, numbers: &[f32]) -> Self {
        Self {
            name: name.to_owned(),
            shape,
            kind: 0,
            data: numbers
                .iter()
                .flat_map(|number| number.to_le_bytes())
                .collect(),
            offset: None,
        }
    }
}

/// Returns the keys of a tokenizer of 263 tokens and one that only fills the embedding.
pub(super) fn tokenizer_keys() -> Vec<(String, Value)> {
    let alphabet = tokenizers::pre_tokenizers::byte_level::ByteLevel::alphabet();
    let mut alphabet: Vec<String> = alphabet.into_iter().map(String::from).collect();
    alphabet.sort();
    let mut tokens: Vec<String> = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>"]
        .map(str::to_owned)
        .into();
    tokens.append(&mut alphabet);
    tokens.extend(["th", "the", "Ġthe", "[PAD263]"].map(str::to_owned));
    let mut types = vec![1; tokens.len()];
    types[..4].copy_from_slice(&[3, 3, 3, 4]);
    types[263] = 5;
    let merges = ["t h", "th e", "Ġ the"].map(str::to_owned);
    let template =
        "{% for message in messages %}{{ message.role + ': ' + message.content }}{% endfor %}";
    [
        ("model", Value::Text(b"gpt2")),
        ("pre", Value::Text(b"smollm")),
        ("tokens", Value::Texts(tokens)),
        ("token_type", Value::Integers(types)),
        ("merges", Value::Texts(merges.into())),
        ("bos_token_id", Value::U32(1)),
        ("eos_token_id", Value::U32(2)),
        ("unknown_token_id", Value::U32(0)),
        ("add_bos_token", Value::Flag(0)),
    ]
    .map(|(name, value)| (format!("tokenizer.ggml.{name}"), value))
    .into_iter()
    .chain([(
        "tokenizer.chat_template".to_owned(),
        Value::Text(template.as_bytes()),
    )])
    .collect()
}

fn push_text(bytes: &mut Vec<u8>, text: &[u8]) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text);
}

fn push_value(bytes: &mut Vec<u8>, value: &Value) {
    let mut kind = |kind: u32| bytes.extend(kind.to_le_bytes());
    match value {
        Value::U32(number) => {
            kind(4);
            bytes.extend(number.to_le_bytes());
        }
        Value::U64(number) => {
            kind(10);
            bytes.extend(number.to_le_bytes());
        }
        Value::F32(number) => {
            kind(6);
            bytes.extend(number.to_le_bytes());
        }
        Value::Flag(flag) => {
            kind(7);
            bytes.push(*flag);
        }
        Value::Text(text) => {
            kind(8);
            push_text(bytes, text);
        }
        Value::Texts(texts) => {
            kind(9);
            kind_and_count(bytes, 8, texts.len());
            texts
                .iter()
                .for_each(|text| push_text(bytes, text.as_bytes()));
        }
        Value::Integers(integers) => {
            kind(9);
            kind_and_count(bytes, 5, integers.len());
            bytes.extend(integers.iter().flat_map(|integer| integer.to_le_bytes()));
        }
    }
}

fn kind_and_count(bytes: &mut Vec<u8>, kind: u32, count: usize) {
    bytes.extend(kind.to_le_bytes());
    bytes.extend((count as u64).to_le_bytes());
}
