//! Parameters: validation field by field, JSON, and a model's own recommendations.

use serde_json::json;

use super::chain::sampler;
use crate::generate::{GGUF_SAMPLING_KEYS, SampleError, SamplerParams};

const VOCAB: u32 = 100;

fn with(change: impl FnOnce(&mut SamplerParams)) -> SamplerParams {
    let mut p = SamplerParams::default();
    change(&mut p);
    p
}

fn refused_field(p: &SamplerParams) -> Option<String> {
    match p.validate(VOCAB) {
        Ok(_) => None,
        Err(SampleError::Parameter { field, .. }) => Some(field),
        Err(e) => panic!("{e}"),
    }
}

type Field = (&'static str, fn(&mut SamplerParams) -> &mut f32);

fn float_fields() -> Vec<Field> {
    vec![
        ("temperature", |p| &mut p.temperature),
        ("top_p", |p| &mut p.top_p),
        ("min_p", |p| &mut p.min_p),
        ("typical_p", |p| &mut p.typical_p),
        ("top_n_sigma", |p| &mut p.top_n_sigma),
        ("repeat_penalty", |p| &mut p.repeat_penalty),
        ("frequency_penalty", |p| &mut p.frequency_penalty),
        ("presence_penalty", |p| &mut p.presence_penalty),
        ("dry_multiplier", |p| &mut p.dry_multiplier),
        ("dry_base", |p| &mut p.dry_base),
        ("xtc_probability", |p| &mut p.xtc_probability),
        ("xtc_threshold", |p| &mut p.xtc_threshold),
        ("dynatemp_range", |p| &mut p.dynatemp_range),
        ("dynatemp_exponent", |p| &mut p.dynatemp_exponent),
        ("mirostat_tau", |p| &mut p.mirostat_tau),
        ("mirostat_eta", |p| &mut p.mirostat_eta),
    ]
}

#[test]
fn nan_is_refused_by_name_everywhere() {
    for (name, field) in float_fields() {
        assert_eq!(refused_field(&with(|p| *field(p) = f32::NAN)).as_deref(), Some(name));
    }
    assert_eq!(
        refused_field(&with(|p| p.logit_bias = vec![(5, f32::NAN)])).as_deref(),
        Some("logit_bias[5]")
    );
}

/// No value of any field makes validation or sampling panic, and validating twice changes nothing.
#[test]
fn extreme_values_never_panic() {
    let values =
        [0.0, -0.0, -1.0, 1e-45, -1e-45, f32::MAX, f32::MIN, f32::INFINITY, f32::NEG_INFINITY, 1e-30];
    for (name, field) in float_fields() {
        for value in values {
            for mirostat in [0, 1, 2] {
                let params = with(|p| {
                    *field(p) = value;
                    p.mirostat = mirostat;
                    p.xtc_probability =
                        p.xtc_probability.max(if name == "xtc_threshold" { 1.0 } else { 0.0 });
                    p.dry_multiplier = if name == "dry_base" { 1.0 } else { p.dry_multiplier };
                    p.dynatemp_range = if name == "dynatemp_exponent" { 0.5 } else { p.dynatemp_range };
                });
                let Ok(valid) = params.validate(VOCAB) else { continue };
                assert_eq!(valid.validate(VOCAB).as_ref(), Ok(&valid), "{name} {value}");
                let mut s = sampler(params, VOCAB as usize);
                (0..20).for_each(|t| s.accept(t % 3));
                for logits in
                    [[0.0f32; 100], [f32::MAX; 100], [f32::MIN; 100], std::array::from_fn(|i| i as f32)]
                {
                    let choice = s.sample(crate::generate::Candidates::Full(&logits), 20);
                    match choice {
                        Ok(id) => assert!(id < VOCAB),
                        // Overflow of a penalised logit is an error, not a wrong choice.
                        Err(e) => assert!(
                            matches!(e, SampleError::Infinite { .. } | SampleError::Empty),
                            "{name} {value}: {e}"
                        ),
                    }
                    s.accept(1);
                }
            }
        }
    }
}

#[test]
fn fields_clamp_or_refuse_as_documented() {
    let p = with(|p| {
        p.temperature = -1.0;
        p.top_k = -3;
        p.top_p = 1.000_000_1;
        p.min_p = -0.5;
        p.typical_p = f32::INFINITY;
        p.top_n_sigma = 0.0;
        p.repeat_last_n = -9;
        p.frequency_penalty = 1e9;
        p.dry_allowed_length = 0;
        p.dry_penalty_last_n = -7;
        p.dynatemp_range = -1.0;
        p.logit_bias = vec![(7, 1e30), (3, 1.0), (7, f32::NEG_INFINITY), (3, 0.5)];
    });
    let v = p.validate(VOCAB).unwrap();
    assert_eq!((v.temperature, v.top_k, v.top_p, v.min_p, v.typical_p), (0.0, 0, 1.0, 0.0, 1.0));
    assert_eq!((v.top_n_sigma, v.repeat_last_n, v.frequency_penalty), (-1.0, -1, 1e6));
    assert_eq!((v.dry_allowed_length, v.dry_penalty_last_n, v.dynatemp_range), (1, -1, 0.0));
    assert_eq!(v.logit_bias, [(3, 1.5), (7, f32::NEG_INFINITY)]);
    assert_eq!(with(|p| p.top_k = 101).validate(VOCAB).unwrap().top_k, 100);

    let refused: Vec<(&str, SamplerParams)> = vec![
        ("temperature", with(|p| p.temperature = f32::INFINITY)),
        ("repeat_penalty", with(|p| p.repeat_penalty = -1.0)),
        ("repeat_penalty", with(|p| p.repeat_penalty = 0.0)),
        ("frequency_penalty", with(|p| p.frequency_penalty = f32::INFINITY)),
        ("dry_multiplier", with(|p| p.dry_multiplier = -0.1)),
        ("dry_base", with(|p| p.dry_base = 0.5)),
        ("dynatemp_exponent", with(|p| p.dynatemp_exponent = -1.0)),
        ("mirostat", with(|p| p.mirostat = 3)),
        ("mirostat_tau", with(|p| p.mirostat_tau = 0.0)),
        ("mirostat_eta", with(|p| p.mirostat_eta = -1.0)),
        ("logit_bias", with(|p| p.logit_bias = vec![(100, 0.0)])),
        ("logit_bias[1]", with(|p| p.logit_bias = vec![(1, f32::INFINITY)])),
    ];
    for (field, params) in refused {
        assert_eq!(refused_field(&params).as_deref(), Some(field));
    }
}

#[test]
fn json_round_trip_and_defaults() {
    let p = with(|p| p.logit_bias = vec![(1, -100.0), (2, f32::NEG_INFINITY), (3, 0.25)]);
    let text = serde_json::to_string(&p).unwrap();
    assert!(text.contains("[2,false]"), "{text}");
    assert_eq!(serde_json::from_str::<SamplerParams>(&text).unwrap(), p);
    let partial: SamplerParams = serde_json::from_str(r#"{"top_k":5,"logit_bias":[[4,-2]]}"#).unwrap();
    assert_eq!(
        partial,
        with(|p| {
            p.top_k = 5;
            p.logit_bias = vec![(4, -2.0)];
        })
    );
    assert!(serde_json::from_str::<SamplerParams>(r#"{"logit_bias":[[4,true]]}"#).is_err());
}

#[test]
fn generation_config() {
    let mut p = SamplerParams::default();
    p.apply_generation_config(&json!({
        "temperature": 0.6, "top_k": 20, "top_p": 0.9, "min_p": 0, "typical_p": 0.8, "repetition_penalty": 1.05,
        "do_sample": true, "eos_token_id": [1, 2], "max_length": null
    }))
    .unwrap();
    let expected = with(|p| {
        (p.temperature, p.top_k, p.top_p, p.min_p, p.typical_p) = (0.6, 20, 0.9, 0.0, 0.8);
        p.repeat_penalty = 1.05;
    });
    assert_eq!(p, expected);
    p.apply_generation_config(&json!({"temperature": null})).unwrap();
    assert_eq!(p, expected);
    p.apply_generation_config(&json!({"do_sample": false, "temperature": 0.7})).unwrap();
    assert!(p.is_greedy());

    // Faults name the key and change nothing.
    let before = p.clone();
    for (config, field) in [
        (json!({"top_p": 0.1, "temperature": "hot"}), "temperature"),
        (json!({"top_p": 0.1, "do_sample": 1}), "do_sample"),
        (json!({"top_p": 0.1, "top_k": 1.5}), "top_k"),
        (json!([]), "generation_config"),
    ] {
        match p.apply_generation_config(&config) {
            Err(SampleError::Parameter { field: f, .. }) => assert_eq!(f, field),
            other => panic!("{other:?}"),
        }
        assert_eq!(p, before);
    }
}

#[test]
fn gguf_sampling_keys() {
    let mut p = SamplerParams::default();
    let values = [0.25, 7.0, 0.5, 0.125, 0.75, 0.0625, 32.0, 1.5, 2.0, 4.0, 0.5];
    p.apply_gguf_sampling(GGUF_SAMPLING_KEYS.into_iter().zip(values)).unwrap();
    let expected = with(|p| {
        (p.temperature, p.top_k, p.top_p, p.min_p) = (0.25, 7, 0.5, 0.125);
        (p.xtc_probability, p.xtc_threshold) = (0.75, 0.0625);
        (p.repeat_last_n, p.repeat_penalty) = (32, 1.5);
        (p.mirostat, p.mirostat_tau, p.mirostat_eta) = (2, 4.0, 0.5);
    });
    assert_eq!(p, expected);
    p.apply_gguf_sampling([("general.name", f64::NAN), ("temp", 3.0)]).unwrap();
    assert_eq!(p, expected);
    assert!(p.apply_gguf_sampling([("general.sampling.top_k", f64::NAN)]).is_err());
    assert!(p.apply_gguf_sampling([("general.sampling.mirostat", -1.0)]).is_err());
}
