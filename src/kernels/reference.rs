//! f64 references of the kernels.
