//! Rotary frequencies from their configuration, in f64.

use super::config::{RopeConfig, Scaling};
use super::spec::RopeSpec;
use std::f64::consts::PI;

/// Works out a rotary embedding.
pub fn resolve(c: &RopeConfig, interleaved: bool) -> RopeSpec {
    let pairs = c.dims / 2;
    let base: Vec<f64> = (0..pairs).map(|i| c.theta.powf(-2.0 * f64::from(i) / f64::from(c.dims))).collect();
    let beyond = match &c.scaling {
        Scaling::LongRope { long, original, .. } => Some((*original, divided(&base, long))),
        _ => None,
    };
    let (inv_freq, mscale) = match &c.scaling {
        Scaling::None => (base, 1.0),
        Scaling::Linear(f) => (base.iter().map(|x| x / f).collect(), 1.0),
        Scaling::Llama3 { factor, low, high, original } => {
            let one = |x: &f64| {
                let wavelength = 2.0 * PI / x;
                if wavelength > original / low {
                    x / factor
                } else if wavelength < original / high {
                    *x
                } else {
                    let s = (original / wavelength - low) / (high - low);
                    (1.0 - s) * x / factor + s * x
                }
            };
            (base.iter().map(one).collect(), 1.0)
        }
        Scaling::Yarn { factor, beta_fast, beta_slow, original, attention_factor, mscale, truncate } => {
            let dims = f64::from(c.dims);
            // The dim whose wavelength makes `rotations` turns over the original context.
            let dim = |rotations: f64| dims * (original / (rotations * 2.0 * PI)).ln() / (2.0 * c.theta.ln());
            let (mut from, mut to) = (dim(*beta_fast), dim(*beta_slow));
            if *truncate {
                (from, to) = (from.floor(), to.ceil());
            }
            let (from, mut to) = (from.max(0.0), to.min(dims - 1.0));
            if from == to {
                to += 0.001;
            }
            let one = |(i, x): (usize, &f64)| {
                let ramp = ((i as f64 - from) / (to - from)).clamp(0.0, 1.0);
                x / factor * ramp + x * (1.0 - ramp)
            };
            let scale = |m: f64| if *factor <= 1.0 { 1.0 } else { 0.1 * m * factor.ln() + 1.0 };
            let m = match (attention_factor, mscale) {
                (Some(a), _) => *a,
                (None, Some((m, all))) if *m != 0.0 && *all != 0.0 => scale(*m) / scale(*all),
                _ => scale(1.0),
            };
            (base.iter().enumerate().map(one).collect(), m)
        }
        Scaling::Factors(divisors) => (divided(&base, divisors), 1.0),
        Scaling::LongRope { short, mscale, .. } => (divided(&base, short), *mscale),
    };
    RopeSpec { dims: c.dims, interleaved, inv_freq, mscale, beyond }
}

fn divided(base: &[f64], divisors: &[f64]) -> Vec<f64> {
    base.iter().zip(divisors).map(|(x, d)| x / d).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longrope_goes_by_the_context_of_the_session() {
        let scaling =
            Scaling::LongRope { short: vec![1.0, 2.0], long: vec![4.0, 8.0], original: 4096.0, mscale: 1.25 };
        let r = resolve(&RopeConfig { theta: 1e4, dims: 4, scaling }, false);
        let (mut at, mut above) = (r.clone(), r);
        at.settle(4096);
        above.settle(4097);
        assert_eq!(at.inv_freq, [1.0, 0.005]);
        assert_eq!(above.inv_freq, [0.25, 0.00125]);
        assert_eq!((at.mscale, above.mscale), (1.25, 1.25));
        assert!(at.beyond.is_none() && above.beyond.is_none());
    }

    #[test]
    fn llama3_keeps_short_waves_and_stretches_long_ones() {
        let scaling = Scaling::Llama3 { factor: 8.0, low: 1.0, high: 4.0, original: 8192.0 };
        let c = RopeConfig { theta: 500_000.0, dims: 128, scaling };
        let plain = resolve(&RopeConfig { scaling: Scaling::None, ..c.clone() }, false).inv_freq;
        let scaled = resolve(&c, false).inv_freq;
        assert_eq!(scaled[0], plain[0]);
        assert!((scaled[63] * 8.0 - plain[63]).abs() < 1e-18);
        assert!(scaled.windows(2).all(|w| w[1] <= w[0]));
    }

    #[test]
    fn a_table_row_is_cos_and_sin_of_each_pair() {
        let r = resolve(&RopeConfig { theta: 1e4, dims: 8, scaling: Scaling::Linear(2.0) }, false);
        let t = r.table(3, 4);
        assert_eq!(t.len(), 8);
        assert_eq!(t[0], (1.5f64).cos() as f32);
        assert_eq!(t[1], (1.5f64).sin() as f32);
    }
}
