//! What a kernel needs to know about a device format when it is compiled: the numbers and switches that go with
//! each `shaders/lib/fmt_*.wgsl`.

use crate::format::TensorType;

/// The compile-time facts of one device format; the pipeline key and the shader's defines come from here.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FormatTraits {
    /// Name of the WGSL library: `shaders/lib/<name>.wgsl`.
    pub name: &'static str,
    /// A float format: `w_codes` gives the weights themselves, there is no scale and no `w_bytes`.
    pub plain: bool,
    /// The two halves of a group of 32 have different `w_scale`.
    pub halves: bool,
    /// `w_scale(..).y`, the subtracted minimum, is not always zero.
    pub min: bool,
    /// `W_OFF` is not zero.
    pub offset: bool,
    /// The bytes of `w_bytes` are signed.
    pub signed_codes: bool,
    /// The bytes of `w_bytes` are at most 15 and have no sign.
    pub small_codes: bool,
    /// Served bits per weight, scales included, without the padding of odd scale pairs.
    pub bits: f64,
    /// Integer operations per weight of `w_group` and `w_codes` together (shift, mask, convert; loads not counted).
    pub int_ops_per_weight: f64,
}

const PLAIN: FormatTraits = FormatTraits {
    name: "",
    plain: true,
    halves: false,
    min: false,
    offset: false,
    signed_codes: false,
    small_codes: false,
    bits: 0.0,
    int_ops_per_weight: 0.0,
};
const QUANT: FormatTraits = FormatTraits { plain: false, ..PLAIN };

use TensorType as T;

/// One row per device format; [`super::DEVICE_TYPES`] has the same order.
#[rustfmt::skip]
const TABLE: &[(TensorType, FormatTraits)] = &[
    (T::F32, FormatTraits { name: "fmt_f32", bits: 32.0, int_ops_per_weight: 0.1, ..PLAIN }),
    (T::F16, FormatTraits { name: "fmt_f16", bits: 16.0, int_ops_per_weight: 0.6, ..PLAIN }),
    (T::BF16, FormatTraits { name: "fmt_bf16", bits: 16.0, int_ops_per_weight: 1.1, ..PLAIN }),
    (T::Q4_0, FormatTraits { name: "fmt_q4_0", small_codes: true, offset: true, bits: 4.5, int_ops_per_weight: 3.3, ..QUANT }),
    (T::Q4_1, FormatTraits { name: "fmt_q4_1", small_codes: true, min: true, bits: 5.0, int_ops_per_weight: 3.3, ..QUANT }),
    (T::Q5_0, FormatTraits { name: "fmt_q5_0", offset: true, bits: 5.5, int_ops_per_weight: 4.3, ..QUANT }),
    (T::Q5_1, FormatTraits { name: "fmt_q5_1", min: true, bits: 6.0, int_ops_per_weight: 4.3, ..QUANT }),
    (T::Q8_0, FormatTraits { name: "fmt_q8_0", signed_codes: true, bits: 8.5, int_ops_per_weight: 3.0, ..QUANT }),
    (T::Q2_K, FormatTraits { name: "fmt_q2_k", small_codes: true, halves: true, min: true, bits: 2.625, int_ops_per_weight: 3.4, ..QUANT }),
    (T::Q3_K, FormatTraits { name: "fmt_q3_k", small_codes: true, halves: true, offset: true, bits: 3.4375, int_ops_per_weight: 4.6, ..QUANT }),
    (T::Q4_K, FormatTraits { name: "fmt_q4_k", small_codes: true, min: true, bits: 4.5, int_ops_per_weight: 3.7, ..QUANT }),
    (T::Q5_K, FormatTraits { name: "fmt_q5_k", min: true, bits: 5.5, int_ops_per_weight: 4.7, ..QUANT }),
    (T::Q6_K, FormatTraits { name: "fmt_q6_k", halves: true, offset: true, bits: 6.5625, int_ops_per_weight: 4.5, ..QUANT }),
    (T::IQ4_NL, FormatTraits { name: "fmt_iq4_nl", signed_codes: true, bits: 4.5, int_ops_per_weight: 3.3, ..QUANT }),
    (T::IQ4_XS, FormatTraits { name: "fmt_iq4_xs", signed_codes: true, bits: 4.25, int_ops_per_weight: 3.6, ..QUANT }),
];

/// The facts of `t`, or `None` when the device has no format for it.
pub fn traits(t: TensorType) -> Option<&'static FormatTraits> {
    TABLE.iter().find(|r| r.0 == t).map(|r| &r.1)
}
