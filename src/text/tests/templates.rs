//! Chat templates: trials 16 to 18, the Python in them, and their limits.

use serde_json::{Value, json};

use crate::text::{ChatTemplate, Clock, Message, RenderOptions, TextError, pick_template};

fn render(source: &str, messages: Value, options: &RenderOptions) -> Result<String, TextError> {
    ChatTemplate::new(source, "<s>", "</s>")?.render_values(messages.as_array().unwrap(), options)
}

fn plain(source: &str) -> Result<String, TextError> {
    render(source, json!([{"role": "user", "content": "Hi"}]), &RenderOptions::default())
}

#[test]
fn a_template_that_wants_turns_to_alternate() {
    // Trial 16.
    let source = "{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}\
        {{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}\
        [{{ m.role }}]{{ m.content | trim }}{% endfor %}";
    let turn = |role: &str| json!({"role": role, "content": " x "});
    let options = RenderOptions::default();
    assert_eq!(
        render(source, json!([turn("user"), turn("assistant")]), &options).unwrap(),
        "[user]x[assistant]x"
    );
    match render(source, json!([turn("user"), turn("user")]), &options) {
        Err(TextError::TemplateRaised(message)) => {
            assert_eq!(message, "Conversation roles must alternate user/assistant/user/assistant/...");
        }
        other => panic!("{other:?}"),
    }
    // From inside a macro too.
    let nested = "{% macro f() %}{{ raise_exception('no') }}{% endmacro %}{{ f() }}";
    assert!(matches!(plain(nested), Err(TextError::TemplateRaised(m)) if m == "no"));
}

#[test]
fn the_date_comes_from_the_clock_that_was_set() {
    // Trial 17.
    let mut options = RenderOptions { clock: Clock::Fixed(1_721_952_000), ..RenderOptions::default() };
    let source = "{{ strftime_now('%d %b %Y') }}|{{ strftime_now('%Y-%m-%d') }}";
    assert_eq!(render(source, json!([]), &options).unwrap(), "26 Jul 2024|2024-07-26");
    options.clock = Clock::Custom(std::sync::Arc::new(|| 0));
    assert_eq!(render(source, json!([]), &options).unwrap(), "01 Jan 1970|1970-01-01");
    let now = plain("{{ strftime_now('%Y') }}").unwrap();
    assert!(now.parse::<i32>().unwrap() >= 2024);
}

#[test]
fn a_template_without_an_end_is_stopped() {
    // Trial 18, and its kin.
    for source in [
        "{% for i in range(10**9) %}x{% endfor %}",
        "{% for i in range(1000000000) %}{% endfor %}",
        "{% for i in range(1000) %}{% for j in range(1000) %}{% for k in range(1000) %}{% endfor %}{% endfor %}{% endfor %}",
        "{{ range(10**9) | list | length }}",
    ] {
        match plain(source) {
            Err(TextError::TemplateFuel(_)) => {}
            other => panic!("{source}: {other:?}"),
        }
    }
    let long = "{% for i in range(5000) %}{{ 'x' * 1000 }}{% endfor %}";
    assert!(matches!(plain(long), Err(TextError::TemplateOutput(_))));
    assert!(plain("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}").is_err());
    let deep = "{% set ns = namespace(x=1) %}{% for i in range(300) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x | tojson }}";
    assert!(plain(deep).unwrap_err().to_string().contains("deep"));
    assert!(plain(&"{% if true %}".repeat(5_000)).is_err());
    assert!(plain(&"(".repeat(100_000)).is_ok());
    assert!(plain(&format!("{{{{ {} }}}}", "(".repeat(100_000))).is_err());
}

#[test]
fn python_in_templates() {
    let cases = [
        ("{{ none }} {{ true }} {{ false }}", "None True False"),
        ("{{ ' a b '.strip().split(' ') | join('-') }}", "a-b"),
        ("{{ 'abc'.startswith('ab') and 'abc'.endswith('bc') }}", "True"),
        ("{{ messages[-1]['content'] }}{{ messages[::-1][0].role }}", "Hiuser"),
        (
            "{% set ns = namespace(n=0) %}{% for i in range(3) %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}",
            "3",
        ),
        (
            "{% for i in range(5, 0, -2) %}{{ i }}{% endfor %}{{ range(3) | length }}{{ range(0) | length }}",
            "53130",
        ),
        ("{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}{{ v }}{% endfor %}", "a1b2"),
        ("{{ dict(a=1)['a'] }}{{ {'x': 1}.get('y', 7) }}", "17"),
        (
            "{% for i in range(9) %}{% if i == 2 %}{% continue %}{% elif i == 4 %}{% break %}{% endif %}{{ i }}{% endfor %}",
            "013",
        ),
        ("{{ tools is none }}{{ nothing is defined }}{{ enable_thinking is defined }}", "TrueFalseFalse"),
        ("{{ bos_token }}{{ eos_token }}", "<s></s>"),
        ("{{ '<think>' in 'a<think>b' }}{{ 'a</think>b'.split('</think>')[-1].lstrip('\\n') }}", "Trueb"),
        ("{{ '%s-%d' | format('a', 3) }}{{ 'a' ~ 1 }}", "a-3a1"),
        ("a\n  {% if true %}\n  b\n  {% endif %}\nc", "a\n  b\nc"),
        ("{{ messages | selectattr('role', 'equalto', 'user') | list | length }}", "1"),
        ("{{ messages[0].content is string and messages is iterable and messages[0] is mapping }}", "True"),
    ];
    for (source, expected) in cases {
        assert_eq!(plain(source).unwrap(), expected, "{source}");
    }
}

#[test]
fn json_as_python_writes_it() {
    let options = RenderOptions {
        tools: Some(json!([{"name": "f", "b": {"z": 1, "a": [1.5, true, null]}, "t": "<é>&'\"\\\n"}])),
        ..RenderOptions::default()
    };
    let run = |source: &str| render(source, json!([]), &options).unwrap();
    assert_eq!(
        run("{{ tools | tojson }}"),
        r#"[{"name": "f", "b": {"z": 1, "a": [1.5, true, null]}, "t": "<é>&'\"\\\n"}]"#
    );
    assert_eq!(
        run("{{ tools[0].b | tojson(indent=2) }}"),
        "{\n  \"z\": 1,\n  \"a\": [\n    1.5,\n    true,\n    null\n  ]\n}"
    );
    assert_eq!(run("{{ tools[0].t | tojson(ensure_ascii=true) }}"), r#""<\u00e9>&'\"\\\n""#);
    assert_eq!(
        run("{{ tools[0].b | tojson(separators=(',', ':'), sort_keys=true) }}"),
        r#"{"a":[1.5,true,null],"z":1}"#
    );
    assert_eq!(
        run(
            "{{ 1e16|tojson }} {{ 1e-7|tojson }} {{ 0.00001|tojson }} {{ 0.1|tojson }} {{ 3.0|tojson }} {{ 1e15|tojson }} {{ 7|tojson }}"
        ),
        "1e+16 1e-07 1e-05 0.1 3.0 1000000000000000.0 7"
    );
    assert_eq!(run("{{ [] | tojson(indent=4) }}{{ {} | tojson }}"), "[]{}");
}

#[test]
fn generation_tags_do_nothing() {
    let source = "{% for m in messages %}a\n{%- generation -%}\n {{ m.content }} \n{% endgeneration %}\nb{% endfor %}{{ '{% x' }}";
    let as_if = source.replace("endgeneration", "endif").replace("generation", "if true");
    assert_eq!(plain(source).unwrap(), plain(&as_if).unwrap());
    assert_eq!(plain("{%generation%}x{%+ endgeneration %}y").unwrap(), "xy");
}

#[test]
fn messages_reach_the_template_whole() {
    let text = r#"{"role": "assistant", "content": null, "reasoning_content": "hm", "name": "n",
        "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{\"b\": 1, \"a\": 2}"}}]}"#;
    let message: Message = serde_json::from_str(text).unwrap();
    let source = "{% for m in messages %}{{ m.thinking }} {{ m.reasoning_content }} {{ m.name }} {{ m.content is none }} \
        {{ m.tool_calls[0].function.arguments | tojson }}{% endfor %}";
    let template = ChatTemplate::new(source, "", "").unwrap();
    let rendered = template.render(&[message], &RenderOptions::default()).unwrap();
    assert_eq!(rendered, r#"hm hm n True {"b": 1, "a": 2}"#);
    let user: Message =
        serde_json::from_str(r#"{"role":"user","content":[{"type":"text","text":"a"}]}"#).unwrap();
    assert_eq!(
        ChatTemplate::chatml().render(&[user], &RenderOptions::default()).unwrap(),
        "<|im_start|>user\na<|im_end|>\n"
    );
    // Trial 15: half a surrogate pair in JSON is an error, not a panic and not half a character.
    assert!(serde_json::from_str::<Message>(r#"{"role":"user","content":"\ud83d"}"#).is_err());
    let mut extra = serde_json::Map::new();
    extra.insert("enable_thinking".into(), json!(false));
    let options = RenderOptions { extra, ..RenderOptions::default() };
    assert_eq!(render("{{ enable_thinking }}", json!([]), &options).unwrap(), "False");
}

#[test]
fn the_stand_in_is_chatml() {
    let template = ChatTemplate::chatml();
    assert!(template.is_default() && !template.writes_bos());
    let options = RenderOptions { add_generation_prompt: true, ..RenderOptions::default() };
    let messages = [Message::new("system", "Be brief."), Message::new("user", "Hi\n")];
    assert_eq!(
        template.render(&messages, &options).unwrap(),
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi\n<|im_end|>\n<|im_start|>assistant\n"
    );
    assert!(!ChatTemplate::new("x", "", "").unwrap().is_default());
    assert!(ChatTemplate::new("{{ bos_token }}", "", "").unwrap().writes_bos());
}

#[test]
fn named_templates() {
    let list = json!([{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}]);
    assert_eq!(pick_template(&list, false), Some("d"));
    assert_eq!(pick_template(&list, true), Some("t"));
    assert_eq!(pick_template(&json!([{"name": "default", "template": "d"}]), true), Some("d"));
    assert_eq!(pick_template(&json!("s"), true), Some("s"));
    assert_eq!(pick_template(&json!(null), true), None);
}

#[test]
fn a_template_that_does_not_compile_says_where() {
    let e = ChatTemplate::new("a\n{% if %}", "", "").unwrap_err().to_string();
    assert!(e.contains("line 2"), "{e}");
    assert!(ChatTemplate::new("{% for", "", "").is_err());
    assert!(plain("{{ missing_function() }}").is_err());
    assert!(plain("{% include 'other' %}").is_err());
}

#[test]
fn a_template_that_nests_a_list_in_itself_does_not_overflow_the_stack() {
    let source =
        "{% set ns = namespace(x=[]) %}{% for i in range(90000) %}{% set ns.x = [ns.x] %}{% endfor %}done";
    let template = ChatTemplate::new(source, "", "").expect("a template");
    // Fuel may end it or not; either way the process lives.
    match template.render(&[], &RenderOptions::default()) {
        Ok(text) => assert_eq!(text, "done"),
        Err(e) => assert!(e.to_string().contains("nested too deeply"), "{e}"),
    }
}

#[test]
fn a_template_that_lets_values_grow_is_stopped() {
    let loops = |body: &str| {
        format!("{{% set ns = namespace(s='a', l=[1]) %}}{{% for i in range(60) %}}{body}{{% endfor %}}")
    };
    for source in [
        loops("{% set ns.s = ns.s + ns.s %}"),
        loops("{% set ns.s = ns.s ~ ns.s %}"),
        loops("{% set ns.l = ns.l + ns.l %}") + "{{ ns.l }}",
        loops("{% set ns.l = [ns.l, ns.l] %}") + "{{ ns.l | tojson }}",
        loops("{% set ns.s = ns.s.replace('a', 'aaaaaaaaaa') %}"),
        loops("{% set ns.s = ns.s | replace('a', 'aaaaaaaaaa') %}"),
        loops("{% set ns.s %}{{ ns.s }}{{ ns.s }}{% endset %}"),
        "{% set s = 'a' %}".to_owned() + &"{% set s = s + s %}".repeat(60),
        "{% macro f(s, n) %}{% if n %}{{ f(s + s, n - 1) }}{% endif %}{% endmacro %}{{ f('a', 40) }}".into(),
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% else %}aaaaaaaa{% endif %}{% endmacro %}{% set x = f(30) %}".into(),
        "{{ 'a\n' | indent(10000000000) }}".into(),
        "{{ 'a\n' | indent(width=10000000000) }}".into(),
        "{{ ([1] * 10000000000) | list | length }}".into(),
        "{{ ([1] * 10000000000) | join }}".into(),
        "{% set x = [1] * 10000000000 %}".into(),
        "{{ [1] * 10000000000 }}".into(),
        "{{ '' ~ [1] * 10000000000 }}".into(),
        "{{ '%999999999d' | format(5) }}".into(),
        "{{ '{:>999999999}'.format(5) }}".into(),
        "{{ range(100000) | list | join('x' * 10000) }}".into(),
        "{{ ('x' * 10000).join(range(100000) | list) }}".into(),
        "{{ [1] | batch(10000000000, 0) | list }}".into(),
        "{{ range(100000) | list | map('replace', 'x', 'y' * 1000000) | list }}{{ ('a' * 100000) | list | map('replace', 'a', 'b' * 1000000) | join }}".into(),
        ] {
        let found = plain(&source);
        let Err(e) = found else { panic!("{source}: {} bytes", found.map_or(0, |s| s.len())) };
        let text = e.to_string();
        let known = ["larger than", "steps", "bytes", "multiplies", "is more than", "nested too deeply"];
        assert!(known.iter().any(|k| text.contains(k)), "{source}: {text}");
    }
}

#[test]
fn a_long_separator_is_cut() {
    let text = plain("{{ [1, 2] | tojson(separators=['x' * 1000000, ':']) }}").unwrap();
    assert_eq!(text, format!("[1{}2]", "x".repeat(16)));
}

#[test]
fn ordinary_growth_is_allowed() {
    let source = "{% set ns = namespace(text='', list=[]) %}{% for m in messages %}\
        {% set ns.text = ns.text + m.content %}{% set ns.list = ns.list + [m] %}{% endfor %}\
        {{ ns.text | length }} {{ ns.list | length }} {{ '=' * 3 }} {{ ('a\nb' | indent(2)) }}";
    let messages: Vec<_> = (0..200).map(|_| json!({"role": "user", "content": "0123456789"})).collect();
    let text = render(source, json!(messages), &RenderOptions::default()).unwrap();
    assert_eq!(text, "2000 200 === a\n  b");
}

#[test]
fn deep_expressions_are_an_error() {
    for source in [
        format!("{{{{ {}1 }}}}", "-".repeat(50_000)),
        format!("{{{{ 1{} }}}}", "+1".repeat(30_000)),
        format!("{{{{ 'a'{} }}}}", "~'a'".repeat(30_000)),
        format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(20_000)),
    ] {
        let e = ChatTemplate::new(&source, "", "").unwrap_err().to_string();
        assert!(e.contains("nested too deeply"), "{e}");
    }
    // Just below the limits the stack holds.
    plain(&format!("{{{{ {}1 }}}}", "-".repeat(990))).unwrap();
    plain(&format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(490))).unwrap();
}
