//! Chat templates: the Jinja text of a model turns messages into the prompt that the model was trained on.
//!
//! The environment is set up as Hugging Face sets up its own: block trimming, loop controls, Python methods,
//! `raise_exception`, `strftime_now`, a `tojson` that does not escape. Templates come from files and are not trusted:
//! their form ([`super::template_scan`]), the values they make ([`super::template_bounds`]), their steps and their output
//! are limited, and they are compiled and run on a stack of their own.

use std::io;

use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::clock::Clock;
use super::error::TextError;
use super::template_fns::{self, Raised};
use super::{template_bounds, template_scan};

/// Steps that a template may take.
pub(super) const FUEL: u64 = 1_000_000;
/// Bytes that a template may write.
const MAX_OUTPUT: usize = 4 << 20;
/// Bytes that the text outside a template's tags may come to, written or kept. A step writes at most one such text.
const MAX_TEXT: u64 = 1 << 30;
/// Frames of loops and macros. A macro's call takes 4, the engine allows 500.
const MAX_FRAMES: usize = 250;
#[cfg(not(target_arch = "wasm32"))]
const STACK: usize = 512 << 20;

/// The template for models that bring none: ChatML.
pub const CHATML: &str = "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' }}\
{% if message['content'] is string %}{{ message['content'] }}\
{% elif message['content'] %}{% for part in message['content'] %}{{ part['text'] | default('') }}{% endfor %}\
{% endif %}{{ '<|im_end|>\n' }}{% endfor %}\
{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/// One message of a conversation. Fields that are not named here are kept and reach the template.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// `system`, `user`, `assistant`, `tool`, ...
    pub role: String,
    /// A string, or a list of parts (`{"type": "text", "text": ...}`) handed to the template as they are.
    #[serde(default)]
    pub content: Value,
    /// Calls made by the assistant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Value>,
    /// What the assistant thought before it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    /// Anything else.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Message {
    /// A message of plain text.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Self {
        Message {
            role: role.into(),
            content: Value::String(content.into()),
            tool_calls: None,
            reasoning_content: None,
            extra: Map::new(),
        }
    }
}

/// What a rendering needs besides the messages.
#[derive(Debug, Clone, Default)]
pub struct RenderOptions {
    /// Whether the prompt ends where the assistant begins to speak.
    pub add_generation_prompt: bool,
    /// Descriptions of callable tools, a list as in the OpenAI API.
    pub tools: Option<Value>,
    /// Documents to answer from.
    pub documents: Option<Value>,
    /// Further variables (`enable_thinking`, ...), each only present when set. They override the ones above.
    pub extra: Map<String, Value>,
    /// What `strftime_now` reads.
    pub clock: Clock,
}

/// A compiled-and-checked chat template.
#[derive(Debug, Clone)]
pub struct ChatTemplate {
    source: String,
    /// The source with checks in it, as it is compiled.
    checked: String,
    fuel: u64,
    bos: String,
    eos: String,
    is_default: bool,
}

impl ChatTemplate {
    /// Checks a template. `bos` and `eos` are the texts of those tokens, empty when there are none.
    pub fn new(source: &str, bos: &str, eos: &str) -> Result<Self, TextError> {
        let source = template_fns::without_generation_tags(source);
        let checked = template_scan::check(&source)?;
        let template = ChatTemplate {
            source,
            fuel: FUEL.min(MAX_TEXT / (checked.longest_text as u64).max(1)),
            checked: checked.source,
            bos: bos.to_owned(),
            eos: eos.to_owned(),
            is_default: false,
        };
        on_a_deep_stack(|| {
            let environment = template.environment(Clock::System);
            environment.template_from_str(&template.checked).map(|_| ()).map_err(|e| template.explain(&e))
        })?;
        Ok(template)
    }

    /// The template for models that bring none.
    pub fn chatml() -> Self {
        ChatTemplate {
            source: CHATML.to_owned(),
            checked: CHATML.to_owned(),
            fuel: FUEL,
            bos: String::new(),
            eos: "<|im_end|>".to_owned(),
            is_default: true,
        }
    }

    /// Whether this is the stand-in and not a template of the model's own. A program should say so.
    pub fn is_default(&self) -> bool {
        self.is_default
    }

    /// The Jinja text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether the template writes BOS itself (then the prompt must be encoded without another one).
    pub fn writes_bos(&self) -> bool {
        self.source.contains("bos_token") || (!self.bos.is_empty() && self.source.contains(&self.bos))
    }

    /// Renders a conversation.
    pub fn render(&self, messages: &[Message], options: &RenderOptions) -> Result<String, TextError> {
        let values: Result<Vec<Value>, _> = messages.iter().map(serde_json::to_value).collect();
        self.render_values(&values.map_err(|e| TextError::Template(e.to_string()))?, options)
    }

    /// Renders a conversation given as JSON objects.
    pub fn render_values(&self, messages: &[Value], options: &RenderOptions) -> Result<String, TextError> {
        let mut context = Map::new();
        let messages = messages.iter().map(template_fns::complete_message).collect();
        context.insert("messages".to_owned(), Value::Array(messages));
        context.insert("tools".to_owned(), options.tools.clone().unwrap_or(Value::Null));
        context.insert("documents".to_owned(), options.documents.clone().unwrap_or(Value::Null));
        context.insert("add_generation_prompt".to_owned(), Value::Bool(options.add_generation_prompt));
        context.insert("bos_token".to_owned(), Value::String(self.bos.clone()));
        context.insert("eos_token".to_owned(), Value::String(self.eos.clone()));
        for (key, value) in &options.extra {
            context.insert(key.clone(), value.clone());
        }
        on_a_deep_stack(|| self.run(&context, options))
    }

    fn run(&self, context: &Map<String, Value>, options: &RenderOptions) -> Result<String, TextError> {
        let environment = self.environment(options.clock.clone());
        let template = environment.template_from_str(&self.checked).map_err(|e| self.explain(&e))?;
        let mut out = Limited { bytes: Vec::new(), full: false };
        let result = template.render_captured_to(context, &mut out).map(|_| ());
        if out.full {
            return Err(TextError::TemplateOutput(MAX_OUTPUT));
        }
        result.map_err(|e| self.explain(&e))?;
        String::from_utf8(out.bytes).map_err(|e| TextError::Template(e.to_string()))
    }

    fn environment(&self, clock: Clock) -> Environment<'static> {
        let mut env = Environment::new();
        env.set_trim_blocks(true);
        env.set_lstrip_blocks(true);
        env.set_undefined_behavior(UndefinedBehavior::Lenient);
        env.set_auto_escape_callback(|_| AutoEscape::None);
        env.set_fuel(Some(self.fuel));
        env.set_recursion_limit(MAX_FRAMES);
        template_bounds::install(&mut env);
        template_fns::install(&mut env, clock);
        env
    }

    /// Our error for one of the engine's.
    fn explain(&self, error: &minijinja::Error) -> TextError {
        let mut at: Option<&(dyn std::error::Error + 'static)> = Some(error);
        let mut fuel = error.kind() == ErrorKind::OutOfFuel;
        while let Some(e) = at {
            if let Some(Raised(message)) = e.downcast_ref::<Raised>() {
                return TextError::TemplateRaised(message.clone());
            }
            if let Some(inner) = e.downcast_ref::<minijinja::Error>() {
                fuel |= inner.kind() == ErrorKind::OutOfFuel;
            }
            at = e.source();
        }
        if fuel {
            return TextError::TemplateFuel(self.fuel);
        }
        let line = error.line().map(|l| format!(" (line {l})")).unwrap_or_default();
        let detail = error.detail().map(|d| format!(": {d}")).unwrap_or_default();
        TextError::Template(format!("{}{detail}{line}", error.kind()))
    }
}

/// Compiles or renders with room for the deepest nesting that the fuel can build: a value a few 100,000 lists deep is
/// dropped recursively, which an ordinary stack does not survive. The pages are only touched when they are needed.
fn on_a_deep_stack<T: Send>(f: impl FnOnce() -> Result<T, TextError> + Send) -> Result<T, TextError> {
    #[cfg(not(target_arch = "wasm32"))]
    {
        let mut f = Some(f);
        let done = std::thread::scope(|scope| {
            let f = &mut f;
            let run = move || f.take().map(|f| f());
            let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run);
            thread.ok().and_then(|t| t.join().ok().flatten())
        });
        match (done, f) {
            (Some(out), _) => out,
            // No thread could be had.
            (None, Some(f)) => f(),
            (None, None) => Err(TextError::Template("the template engine panicked".into())),
        }
    }
    #[cfg(target_arch = "wasm32")]
    f()
}

/// Chooses among the templates of a `chat_template` field: a string, or a list of named ones of which `tool_use` is
/// for conversations with tools.
pub fn pick_template(field: &Value, with_tools: bool) -> Option<&str> {
    let list = match field {
        Value::String(s) => return Some(s),
        Value::Array(list) => list,
        _ => return None,
    };
    let named = |name: &str| {
        let entry = list.iter().find(|t| t.get("name").and_then(Value::as_str) == Some(name))?;
        entry.get("template")?.as_str()
    };
    with_tools.then(|| named("tool_use")).flatten().or_else(|| named("default"))
}

/// A writer that refuses to grow past the limit.
struct Limited {
    bytes: Vec<u8>,
    full: bool,
}

impl io::Write for Limited {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        if self.bytes.len().saturating_add(part.len()) > MAX_OUTPUT {
            self.full = true;
            return Err(io::Error::other("output limit"));
        }
        self.bytes.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Checks change neither a text nor its white space. `GOLAY_TEMPLATES` may name a folder of more templates.
    #[test]
    fn a_template_renders_the_same_with_its_checks() {
        let mut sources = vec![
            "a\n  {% set x = 'b' %}\n c{%- set ns = namespace(y=1) -%}\n d\n{% for m in messages %}\n  {{ m.role }}\n\
             {% endfor %}\n{% set z %}\n e\n{% endset %}\n{{ z }}{{ x }}\n{% macro f(a, b=2) %}\n {{ a }}{{ b }}\n\
             {%- endmacro %}\n{{ f(1) }}\n{% with u = 3, v = 4 +%}\n {{ u + v }}{% endwith %}"
                .to_owned(),
            CHATML.to_owned(),
        ];
        if let Some(folder) = std::env::var_os("GOLAY_TEMPLATES") {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                println!("{}", path.display());
                sources.push(std::fs::read_to_string(path).expect("a text"));
            }
        }
        let tool = json!([{"type": "function", "function": {"name": "f", "description": "d", "parameters": {
            "type": "object", "properties": {"a": {"type": "string", "description": "x"}}, "required": ["a"]}}}]);
        let messages = [
            json!({"role": "system", "content": "Be brief."}),
            json!({"role": "user", "content": "Hi\n there"}),
            json!({"role": "assistant", "content": "Yes?", "reasoning_content": "hm"}),
            json!({"role": "user", "content": "Go"}),
        ];
        let mut rendered = 0;
        for source in &sources {
            for tools in [None, Some(tool.clone())] {
                let options = RenderOptions {
                    tools,
                    add_generation_prompt: true,
                    clock: Clock::Fixed(0),
                    ..RenderOptions::default()
                };
                let plain = template_fns::without_generation_tags(source);
                let plain = ChatTemplate { source: plain.clone(), checked: plain, ..ChatTemplate::chatml() };
                let with = ChatTemplate::new(source, "", "<|im_end|>");
                let with = with.and_then(|t| t.render_values(&messages, &options));
                let without = plain.render_values(&messages, &options);
                match (with, without) {
                    (Ok(with), Ok(without)) => {
                        assert_eq!(with, without);
                        rendered += 1;
                    }
                    (Err(with), Err(without)) => assert_eq!(with.to_string(), without.to_string()),
                    (with, without) => panic!("{with:?} {without:?}\n{source:.200}"),
                }
            }
        }
        println!("{rendered} of {} rendered", sources.len() * 2);
    }
}
