//! The engine's promises, seen from outside: what a step costs, what ends an answer and how.

use golay::engine::{AnswerOptions, Cancel, Engine, EngineError, Finish, LoadOptions, Session};
use golay::format::ModelFile;
use golay::generate::SamplerParams;
use golay::gpu::{CapsRequest, Gpu, GpuError};
use golay::kernels::KvType;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn llama_files() -> Vec<(String, Vec<u8>)> {
    let read = |n: &str| (n.to_owned(), std::fs::read(data("goldens/llama").join(n)).expect("test data"));
    vec![read("config.json"), read("model.safetensors")]
}

async fn load(files: Vec<(String, Vec<u8>)>, context: Option<u32>) -> Option<Arc<Engine>> {
    let options = LoadOptions {
        context,
        kv: Some(KvType::F32.into()),
        caps: CapsRequest::from_env().expect("caps"),
        ..Default::default()
    };
    let file = ModelFile::from_files(files).expect("files");
    match Engine::load(file, &options, &mut |_| {}).await {
        Ok(e) => Some(e),
        Err(EngineError::Gpu(GpuError::NoAdapter)) => {
            println!("skipped: no adapter at all on this machine");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

fn greedy(max: usize) -> AnswerOptions {
    AnswerOptions { max_tokens: Some(max), sampler: SamplerParams::greedy(), ..Default::default() }
}

async fn ask(
    s: &mut Session,
    prompt: &[u32],
    o: &AnswerOptions,
) -> Result<golay::engine::Answer, EngineError> {
    s.answer(prompt, o, &Cancel::default(), &mut |_, _| {}, &mut |_| ControlFlow::Continue(())).await
}

fn prompt(n: u32) -> Vec<u32> {
    (0..n).map(|i| (i * 37 + 11) % 256).collect()
}

#[test]
fn a_step_is_one_submit_and_creates_nothing() {
    pollster::block_on(async {
        let Some(e) = load(llama_files(), None).await else { return };
        let mut s = Session::new(&e).await.expect("session");
        let c = e.gpu.counters.clone();
        let read = || {
            let get = |x: &std::sync::atomic::AtomicU64| x.load(Ordering::Relaxed);
            [get(&c.buffers), get(&c.bind_groups), get(&c.pipelines), get(&c.submits), get(&c.dispatches)]
        };
        let mut marks = Vec::new();
        let mut on = |_| {
            marks.push(read());
            ControlFlow::Continue(())
        };
        s.answer(&prompt(20), &greedy(200), &Cancel::default(), &mut |_, _| {}, &mut on)
            .await
            .expect("answer");
        assert_eq!(marks.len(), 200);
        let (second, last) = (marks[1], marks[199]);
        assert_eq!(
            &second[..3],
            &last[..3],
            "buffers, bind groups and pipelines between token 2 and token 200"
        );
        // Steps run ahead of the host by a fixed number, so the middle of the answer is free of the ends' effects.
        let (a, b) = (marks[10], marks[110]);
        assert_eq!(b[3] - a[3], 100, "one submit per token");
        let per_token = (b[4] - a[4]) / 100;
        assert_eq!((b[4] - a[4]) % 100, 0);
        let layers = e.spec.layers.len() as u64;
        // Embedding, head and the two halves of the argmax are not part of a layer.
        assert!(per_token - 4 <= 8 * layers, "{per_token} dispatches for {layers} layers");
        println!("{} dispatches per layer", (per_token - 4) / layers);
    });
}

#[test]
fn what_is_shared_is_not_computed_again_and_nothing_changes() {
    pollster::block_on(async {
        let Some(e) = load(llama_files(), None).await else { return };
        let mut warm = Session::new(&e).await.expect("session");
        let first = ask(&mut warm, &prompt(30), &greedy(12)).await.expect("answer");
        let mut longer = [prompt(30), first.ids.clone()].concat();
        longer.extend([5, 6, 7]);
        let again = ask(&mut warm, &longer, &greedy(12)).await.expect("answer");
        assert!(again.reused_tokens >= 41, "reused {}", again.reused_tokens);
        let mut cold = Session::new(&e).await.expect("session");
        let fresh = ask(&mut cold, &longer, &greedy(12)).await.expect("answer");
        assert_eq!(again.ids, fresh.ids);
        assert_eq!(fresh.reused_tokens, 0);
        // An edit in the middle drops what follows it.
        longer[10] = 99;
        let edited = ask(&mut warm, &longer, &greedy(12)).await.expect("answer");
        assert_eq!(edited.reused_tokens, 10);
        let fresh = ask(&mut cold, &longer, &greedy(12)).await.expect("answer");
        assert_eq!(edited.ids, fresh.ids);
    });
}

#[test]
fn the_cache_grows_without_changing_the_answer() {
    pollster::block_on(async {
        let Some(e) = load(llama_files(), None).await else { return };
        // One session grows in the middle of an answer without a limit, one has room from the start.
        let unlimited = AnswerOptions { max_tokens: None, ..greedy(0) };
        let mut a = Session::new(&e).await.expect("session");
        let grown = ask(&mut a, &prompt(10), &unlimited).await.expect("answer");
        assert_eq!(grown.finish, Finish::ContextFull);
        assert_eq!(grown.ids.len() + 10, e.plan.context as usize + 1, "the last id needs no room of its own");
        let mut b = Session::new(&e).await.expect("session");
        let roomy = ask(&mut b, &prompt(10), &greedy(400)).await.expect("answer");
        assert_eq!(roomy.ids, grown.ids[..400]);
    });
}

#[test]
fn a_prompt_beyond_the_context_is_an_error_with_both_numbers() {
    pollster::block_on(async {
        let Some(e) = load(llama_files(), Some(64)).await else { return };
        let mut s = Session::new(&e).await.expect("session");
        let err = ask(&mut s, &prompt(65), &greedy(4)).await.expect_err("too long");
        let text = err.to_string();
        assert!(text.contains("65") && text.contains("64"), "{text}");
        // Asked for, a shift makes room and says so.
        let shift = AnswerOptions { context_shift: true, keep: 4, ..greedy(100) };
        let shifted = ask(&mut s, &prompt(65), &shift).await.expect("answer");
        assert_eq!(shifted.ids.len(), 100);
        assert!(shifted.shifts >= 2, "{} shifts", shifted.shifts);
        // And the session is as good as new afterwards.
        let mut fresh = Session::new(&e).await.expect("session");
        let a = ask(&mut s, &prompt(20), &greedy(8)).await.expect("answer");
        let b = ask(&mut fresh, &prompt(20), &greedy(8)).await.expect("answer");
        assert_eq!(a.ids, b.ids);
    });
}

#[test]
fn a_receiver_that_goes_away_ends_the_answer_within_a_step() {
    pollster::block_on(async {
        let Some(e) = load(llama_files(), None).await else { return };
        let mut s = Session::new(&e).await.expect("session");
        let before = e.gpu.counters.submits.load(Ordering::Relaxed);
        let mut seen = 0;
        let mut on = |_| {
            seen += 1;
            if seen == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let a = s
            .answer(&prompt(5), &greedy(100), &Cancel::default(), &mut |_, _| {}, &mut on)
            .await
            .expect("answer");
        assert_eq!((a.finish, a.ids.len()), (Finish::Receiver, 3));
        let submits = e.gpu.counters.submits.load(Ordering::Relaxed) - before;
        assert!(submits < 12, "{submits} submissions for three ids");
        let cancel = Cancel::default();
        cancel.cancel();
        let a = s
            .answer(&prompt(50), &greedy(100), &cancel, &mut |_, _| {}, &mut |_| ControlFlow::Continue(()))
            .await
            .expect("answer");
        assert_eq!((a.finish, a.ids.len()), (Finish::Cancelled, 0));
    });
}

#[test]
fn a_seed_gives_the_same_ids_and_another_seed_others() {
    pollster::block_on(async {
        let Some(e) = load(llama_files(), None).await else { return };
        let mut s = Session::new(&e).await.expect("session");
        let with = |seed, extra: &dyn Fn(&mut SamplerParams)| {
            let mut sampler = SamplerParams { seed, temperature: 1.5, ..Default::default() };
            extra(&mut sampler);
            AnswerOptions { max_tokens: Some(40), sampler, ..Default::default() }
        };
        // On the device; with a list of penalties; on the host.
        let plain = |_: &mut SamplerParams| {};
        let penalties = |p: &mut SamplerParams| p.repeat_penalty = 1.2;
        let host = |p: &mut SamplerParams| p.typical_p = 0.9;
        for extra in [&plain as &dyn Fn(&mut SamplerParams), &penalties, &host] {
            let a = ask(&mut s, &prompt(9), &with(7, extra)).await.expect("answer");
            let b = ask(&mut s, &prompt(9), &with(7, extra)).await.expect("answer");
            let c = ask(&mut s, &prompt(9), &with(8, extra)).await.expect("answer");
            assert_eq!(a.ids, b.ids);
            assert_ne!(a.ids, c.ids);
        }
        // Temperature 0 with everything else at odds is the argmax (trial 22).
        let odd = SamplerParams { temperature: 0.0, top_k: 0, top_p: 0.0, min_p: 1.0, ..Default::default() };
        let odd = AnswerOptions { max_tokens: Some(20), sampler: odd, ..Default::default() };
        let a = ask(&mut s, &prompt(9), &odd).await.expect("answer");
        let b = ask(&mut s, &prompt(9), &greedy(20)).await.expect("answer");
        assert_eq!(a.ids, b.ids);
    });
}

#[test]
fn a_ban_holds_and_the_device_agrees_with_the_host() {
    pollster::block_on(async {
        let Some(e) = load(llama_files(), None).await else { return };
        let mut s = Session::new(&e).await.expect("session");
        let free = ask(&mut s, &prompt(9), &greedy(30)).await.expect("answer");
        let banned = free.ids[0];
        let mut o = greedy(30);
        o.sampler.logit_bias = vec![(banned, f32::NEG_INFINITY)];
        let a = ask(&mut s, &prompt(9), &o).await.expect("answer");
        assert!(!a.ids.contains(&banned));
        // The same chain on both sides: top-k beyond the device's list forces the host.
        let device = SamplerParams { temperature: 0.9, top_k: 200, seed: 3, ..Default::default() };
        let host = SamplerParams { dynatemp_range: 1e-9, ..device.clone() };
        let run = |sampler| AnswerOptions { max_tokens: Some(60), sampler, ..Default::default() };
        let a = ask(&mut s, &prompt(9), &run(device)).await.expect("answer");
        let b = ask(&mut s, &prompt(9), &run(host)).await.expect("answer");
        assert_eq!(a.ids, b.ids);
    });
}

#[test]
fn ids_outside_the_vocabulary_and_empty_prompts_are_errors() {
    pollster::block_on(async {
        let Some(e) = load(llama_files(), None).await else { return };
        let mut s = Session::new(&e).await.expect("session");
        let err = ask(&mut s, &[1, 256], &greedy(1)).await.expect_err("id 256");
        assert!(err.to_string().contains("256"), "{err}");
        assert!(matches!(ask(&mut s, &[], &greedy(1)).await, Err(EngineError::EmptyPrompt)));
        assert_eq!(ask(&mut s, &[1, 2], &greedy(0)).await.expect("answer").ids.len(), 0);
        assert_eq!(ask(&mut s, &[1, 2], &greedy(3)).await.expect("answer").ids.len(), 3);
    });
}

/// Overwrites the first value of a tensor of the test model.
fn poison(files: &mut [(String, Vec<u8>)], tensor: &str, value: f32) {
    let bytes = &mut files.iter_mut().find(|f| f.0.ends_with("safetensors")).expect("weights").1;
    let n = u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes")) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + n]).expect("header");
    let at = 8 + n + header[tensor]["data_offsets"][0].as_u64().expect("offset") as usize;
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

#[test]
fn a_nan_is_an_error_that_names_the_layer() {
    pollster::block_on(async {
        for (tensor, word) in [
            ("model.layers.1.mlp.down_proj.weight", "layer 1 of 2"),
            ("model.layers.0.self_attn.q_proj.weight", "layer 0 of 2"),
            ("lm_head.weight", "output head"),
        ] {
            let mut files = llama_files();
            poison(&mut files, tensor, f32::NAN);
            let Some(e) = load(files, None).await else { return };
            let mut s = Session::new(&e).await.expect("session");
            for o in [greedy(4), AnswerOptions { max_tokens: Some(4), ..Default::default() }] {
                let err = ask(&mut s, &prompt(6), &o).await.expect_err("a NaN");
                assert!(err.to_string().contains(word), "{tensor}: {err}");
            }
        }
    });
}

#[test]
fn a_lost_device_ends_the_answer_and_the_next_prompt_works() {
    pollster::block_on(async {
        let Some(e) = load(llama_files(), None).await else { return };
        let mut s = Session::new(&e).await.expect("session");
        let whole = ask(&mut s, &prompt(12), &greedy(30)).await.expect("answer");
        let gpu: Arc<Gpu> = e.gpu.clone();
        let mut seen = Vec::new();
        let mut on = |id| {
            seen.push(id);
            if seen.len() == 5 {
                gpu.device.destroy();
            }
            ControlFlow::Continue(())
        };
        s.truncate(0);
        let err = s
            .answer(&prompt(12), &greedy(30), &Cancel::default(), &mut |_, _| {}, &mut on)
            .await
            .expect_err("the device is gone");
        assert!(err.device_lost(), "{err}");
        assert!(err.to_string().contains("lost"), "{err}");
        assert!(Session::new(&e).await.is_err(), "a lost engine says so at once");
        // Opened anew, the same conversation goes on from what had been said.
        let Some(e) = load(llama_files(), None).await else { return };
        let mut s = Session::new(&e).await.expect("session");
        let so_far = [prompt(12), seen.clone()].concat();
        let rest = ask(&mut s, &so_far, &greedy(30 - seen.len())).await.expect("answer");
        assert_eq!([seen, rest.ids].concat(), whole.ids);
    });
}

#[test]
fn a_plan_that_cannot_fit_is_refused_with_sizes() {
    pollster::block_on(async {
        let file = ModelFile::from_files(llama_files()).expect("files");
        let options = LoadOptions { memory_limit: Some(100_000), ..Default::default() };
        match Engine::load(file, &options, &mut |_| {}).await {
            Err(EngineError::Gpu(GpuError::NoAdapter)) => println!("skipped: no adapter"),
            Err(e @ EngineError::Memory { .. }) => assert!(e.to_string().contains("100000"), "{e}"),
            Err(e) => panic!("{e}"),
            Ok(_) => panic!("loaded into 100 kB"),
        }
    });
}
