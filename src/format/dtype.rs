//! Element types of tensors as files store them.
//!
//! One enum serves GGUF (numeric type ids) and safetensors (names). A type is a block of
//! [`TensorType::block_len`] consecutive elements of a row held in [`TensorType::block_bytes`] bytes.

/// How the elements of a tensor are stored in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(non_camel_case_types)]
#[allow(missing_docs)] // the variants carry the field's own names
pub enum TensorType {
    F32,
    F16,
    BF16,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Bool,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q8_1,
    Q2_K,
    Q3_K,
    Q4_K,
    Q5_K,
    Q6_K,
    Q8_K,
    IQ2_XXS,
    IQ2_XS,
    IQ3_XXS,
    IQ1_S,
    IQ4_NL,
    IQ3_S,
    IQ2_S,
    IQ4_XS,
    IQ1_M,
    TQ1_0,
    TQ2_0,
    MXFP4,
    NVFP4,
}

/// `(type, GGUF id if it has one, name, elements per block, bytes per block)`.
const TABLE: &[(TensorType, Option<u32>, &str, u32, u32)] = {
    use TensorType::*;
    &[
        (F32, Some(0), "F32", 1, 4),
        (F16, Some(1), "F16", 1, 2),
        (Q4_0, Some(2), "Q4_0", 32, 18),
        (Q4_1, Some(3), "Q4_1", 32, 20),
        (Q5_0, Some(6), "Q5_0", 32, 22),
        (Q5_1, Some(7), "Q5_1", 32, 24),
        (Q8_0, Some(8), "Q8_0", 32, 34),
        (Q8_1, Some(9), "Q8_1", 32, 36),
        (Q2_K, Some(10), "Q2_K", 256, 84),
        (Q3_K, Some(11), "Q3_K", 256, 110),
        (Q4_K, Some(12), "Q4_K", 256, 144),
        (Q5_K, Some(13), "Q5_K", 256, 176),
        (Q6_K, Some(14), "Q6_K", 256, 210),
        (Q8_K, Some(15), "Q8_K", 256, 292),
        (IQ2_XXS, Some(16), "IQ2_XXS", 256, 66),
        (IQ2_XS, Some(17), "IQ2_XS", 256, 74),
        (IQ3_XXS, Some(18), "IQ3_XXS", 256, 98),
        (IQ1_S, Some(19), "IQ1_S", 256, 50),
        (IQ4_NL, Some(20), "IQ4_NL", 32, 18),
        (IQ3_S, Some(21), "IQ3_S", 256, 110),
        (IQ2_S, Some(22), "IQ2_S", 256, 82),
        (IQ4_XS, Some(23), "IQ4_XS", 256, 136),
        (I8, Some(24), "I8", 1, 1),
        (I16, Some(25), "I16", 1, 2),
        (I32, Some(26), "I32", 1, 4),
        (I64, Some(27), "I64", 1, 8),
        (F64, Some(28), "F64", 1, 8),
        (IQ1_M, Some(29), "IQ1_M", 256, 56),
        (BF16, Some(30), "BF16", 1, 2),
        (TQ1_0, Some(34), "TQ1_0", 256, 54),
        (TQ2_0, Some(35), "TQ2_0", 256, 66),
        (MXFP4, Some(39), "MXFP4", 32, 17),
        (NVFP4, Some(40), "NVFP4", 64, 36),
        (U8, None, "U8", 1, 1),
        (U16, None, "U16", 1, 2),
        (U32, None, "U32", 1, 4),
        (U64, None, "U64", 1, 8),
        (Bool, None, "BOOL", 1, 1),
    ]
};

impl TensorType {
    fn row(self) -> &'static (TensorType, Option<u32>, &'static str, u32, u32) {
        // Every variant is in the table (a test walks it), so the fallback is never taken.
        TABLE.iter().find(|r| r.0 == self).unwrap_or(&TABLE[0])
    }

    /// The type with this GGUF id.
    pub fn from_gguf_id(id: u32) -> Option<Self> {
        TABLE.iter().find(|r| r.1 == Some(id)).map(|r| r.0)
    }

    /// The type with this name (`"Q4_K"`, `"BF16"`, ...), as GGUF and safetensors spell them.
    pub fn from_name(name: &str) -> Option<Self> {
        TABLE.iter().find(|r| r.2.eq_ignore_ascii_case(name)).map(|r| r.0)
    }

    /// The GGUF id, if GGUF has this type.
    pub fn gguf_id(self) -> Option<u32> {
        self.row().1
    }

    /// The name in upper case.
    pub fn name(self) -> &'static str {
        self.row().2
    }

    /// Elements in one block.
    pub fn block_len(self) -> u64 {
        u64::from(self.row().3)
    }

    /// Bytes in one block.
    pub fn block_bytes(self) -> u64 {
        u64::from(self.row().4)
    }

    /// Bytes of `elements` consecutive elements; `None` when they do not fill whole blocks or the count overflows.
    pub fn bytes_for(self, elements: u64) -> Option<u64> {
        if !elements.is_multiple_of(self.block_len()) {
            return None;
        }
        (elements / self.block_len()).checked_mul(self.block_bytes())
    }

    /// Bits per weight as stored.
    pub fn bits_per_weight(self) -> f64 {
        self.block_bytes() as f64 * 8.0 / self.block_len() as f64
    }
}

impl std::fmt::Display for TensorType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_its_own_inverse() {
        for r in TABLE {
            assert_eq!(r.0.name(), r.2);
            assert_eq!(TensorType::from_name(r.2), Some(r.0));
            if let Some(id) = r.1 {
                assert_eq!(TensorType::from_gguf_id(id), Some(r.0));
            }
        }
        assert_eq!(TensorType::from_gguf_id(9999), None);
        assert_eq!(TensorType::Q4_K.bytes_for(300), None);
        assert_eq!(TensorType::F32.bytes_for(u64::MAX), None);
    }
}
