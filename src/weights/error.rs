//! What can go wrong between a file's bytes and the device's planes.

use crate::format::TensorType;

/// An error of the weights room. The caller, who knows it, adds the tensor's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WeightsError {
    /// The operation has no code for this type.
    #[error("{ttype} tensors cannot be {action} (possible for: {possible})")]
    Unsupported {
        /// The type found.
        ttype: TensorType,
        /// What was asked for: "decoded", "encoded", "laid out on the device".
        action: &'static str,
        /// The names of the types for which it is possible.
        possible: String,
    },
    /// A row does not consist of whole blocks.
    #[error("a {ttype} row holds a multiple of {block} elements, found {found}")]
    RowLength {
        /// The type.
        ttype: TensorType,
        /// Elements of one block.
        block: u64,
        /// Elements of the row.
        found: u64,
    },
    /// The source bytes are not those of the rows asked for.
    #[error("{elements} {ttype} elements are {expected} bytes, found {found}")]
    SourceBytes {
        /// The type.
        ttype: TensorType,
        /// Number of elements.
        elements: u64,
        /// Bytes that they take.
        expected: u64,
        /// Bytes given.
        found: u64,
    },
    /// A plane has another size than the layout says.
    #[error("the {plane} plane of these {ttype} rows is {expected} words of 32 bits, found {found}")]
    PlaneWords {
        /// "quants" or "aux".
        plane: &'static str,
        /// The type.
        ttype: TensorType,
        /// Words according to the layout.
        expected: u64,
        /// Words given.
        found: u64,
    },
    /// A dimension is beyond what the layout can address.
    #[error("{rows} rows of {cols} columns of {ttype} are beyond the addressable size")]
    TooLarge {
        /// The type.
        ttype: TensorType,
        /// Rows asked for.
        rows: u64,
        /// Columns asked for.
        cols: u64,
    },
    /// A value that the type cannot hold was to be encoded.
    #[error("element {index} of the row is {value}, which {ttype} cannot hold")]
    Unrepresentable {
        /// The type.
        ttype: TensorType,
        /// Index in the row.
        index: usize,
        /// The value as text (so that the error can be compared).
        value: String,
    },
}

impl WeightsError {
    pub(super) fn unsupported(ttype: TensorType, action: &'static str, possible: &[TensorType]) -> Self {
        let possible = possible.iter().map(|t| t.name()).collect::<Vec<_>>().join(", ");
        WeightsError::Unsupported { ttype, action, possible }
    }
}

/// Checks that `elements` elements of `ttype` are whole blocks and fill exactly `bytes` bytes.
pub(super) fn check_source(ttype: TensorType, elements: usize, bytes: usize) -> Result<(), WeightsError> {
    let elements = elements as u64;
    let found = bytes as u64;
    match ttype.bytes_for(elements) {
        None => Err(WeightsError::RowLength { ttype, block: ttype.block_len(), found: elements }),
        Some(expected) if expected != found => {
            Err(WeightsError::SourceBytes { ttype, elements, expected, found })
        }
        Some(_) => Ok(()),
    }
}
