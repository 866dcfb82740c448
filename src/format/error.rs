//! Why a file cannot be read or written.
//!
//! Text that comes out of a file goes through [`show`] before it is put into a message, so that a hostile name
//! can neither flood a terminal nor send it control codes.

/// Errors of the `format` room. Each names the file, the tensor or field, what was expected and what was found.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The system could not read or write it.
    #[error("{file}: {source}")]
    Io {
        /// File or folder.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file that should be there is not.
    #[error("{folder}: expected {expected}, which is not there")]
    MissingFile {
        /// Folder, or the file that asks for the other one.
        folder: String,
        /// What should be there.
        expected: String,
    },
    /// Neither a GGUF file nor a Hugging Face folder.
    #[error(
        "{file}: expected a GGUF file, or a Hugging Face folder with config.json and *.safetensors; found {found}"
    )]
    NotAModel {
        /// File or folder.
        file: String,
        /// What it looks like.
        found: String,
    },
    /// The file does not begin with `GGUF`.
    #[error("{file}: bad magic: expected the bytes \"GGUF\", found {found}")]
    BadMagic {
        /// File.
        file: String,
        /// First bytes.
        found: String,
    },
    /// A GGUF version that is not read.
    #[error("{file}: unsupported version: expected GGUF version 2 or 3, found {found}")]
    UnsupportedVersion {
        /// File.
        file: String,
        /// Version in the file.
        found: u32,
    },
    /// A GGUF file in the other byte order.
    #[error(
        "{file}: unsupported byte order: expected little-endian, found a big-endian GGUF of version {version}"
    )]
    UnsupportedByteOrder {
        /// File.
        file: String,
        /// Version in the file, read in its own byte order.
        version: u32,
    },
    /// The file ends before a field does, or a count is larger than what could follow.
    #[error("{file}: {what} at byte {at} claims at least {needed} bytes, but {left} are left")]
    Truncated {
        /// File.
        file: String,
        /// Field.
        what: String,
        /// Offset in the file.
        at: u64,
        /// Least number of bytes that it would take.
        needed: u128,
        /// Bytes left.
        left: u64,
    },
    /// A field is not UTF-8.
    #[error("{file}: {what} is not UTF-8")]
    Utf8 {
        /// File.
        file: String,
        /// Field; for an array, with the index.
        what: String,
    },
    /// A field holds something that cannot be.
    #[error("{file}: {what} is {found}; expected {expected}")]
    Field {
        /// File.
        file: String,
        /// Field.
        what: String,
        /// What would do.
        expected: String,
        /// What the file says.
        found: String,
    },
    /// The same name twice.
    #[error("{file}: duplicate {what} {name}")]
    Duplicate {
        /// File.
        file: String,
        /// `tensor` or `key`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A metadata value has the wrong type.
    #[error("{key}: expected {expected}, found {found}")]
    MetadataType {
        /// Key.
        key: String,
        /// What would do.
        expected: String,
        /// Type in the file.
        found: String,
    },
    /// A tensor contradicts itself or the file.
    #[error("{file}: tensor {tensor}: expected {expected}, found {found}")]
    Tensor {
        /// File.
        file: String,
        /// Tensor name.
        tensor: String,
        /// What would do.
        expected: String,
        /// What the file says.
        found: String,
    },
    /// Two tensors share bytes.
    #[error("{file}: tensor {second} begins at byte {at}, within tensor {first}")]
    Overlap {
        /// File.
        file: String,
        /// The tensor that begins first.
        first: String,
        /// The other one.
        second: String,
        /// Where the second begins, in bytes from the start of the file.
        at: u64,
    },
    /// JSON that cannot be read; the message says where.
    #[error("{file}: bad JSON: {reason}")]
    Json {
        /// File, or part of it.
        file: String,
        /// What the parser said.
        reason: String,
    },
    /// A file larger than golay takes for its kind.
    #[error("{file}: expected at most {limit} bytes, found {found}")]
    TooLarge {
        /// File, or part of it.
        file: String,
        /// Bytes claimed or there.
        found: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// A file of a split or sharded model does not fit the others.
    #[error("{file}: {what}: expected {expected}, found {found}")]
    Shard {
        /// The file at fault: the shard, or the index that names it.
        file: String,
        /// Field or shard.
        what: String,
        /// What would do.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A writer was given something the container cannot hold.
    #[error("cannot write {what}: expected {expected}, found {found}")]
    Write {
        /// Tensor or key.
        what: String,
        /// What would do.
        expected: String,
        /// What was given.
        found: String,
    },
}

/// A name out of a file, quoted, escaped and cut to a length that fits a message.
pub(crate) fn show(text: &str) -> String {
    const LIMIT: usize = 96;
    match text.char_indices().nth(LIMIT) {
        Some((cut, _)) => format!("{:?}... ({} bytes)", &text[..cut], text.len()),
        None => format!("{text:?}"),
    }
}

/// The first bytes of something that need not be text.
pub(crate) fn show_bytes(bytes: &[u8]) -> String {
    let shown: Vec<String> = bytes.iter().take(8).map(|b| format!("{b:02x}")).collect();
    if shown.is_empty() { "nothing".to_owned() } else { shown.join(" ") }
}
