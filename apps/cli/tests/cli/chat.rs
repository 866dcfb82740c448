//! `golay chat` over a pipe.

use crate::support::{
    bad, device, err, golay, golay_piped, golay_with, good, llama, micro, names, out, own_llama,
};
use serde_json::Value;
use std::io::{Read, Write};
use std::process::{Child, Stdio};

const FLAGS: [&str; 8] = ["-n", "6", "--temp", "0", "--logit-bias", "255-inf", "-c", "200"];

fn chat(input: &str) -> std::process::Output {
    let args: Vec<&str> = ["chat", "-m", micro()].iter().chain(&FLAGS).copied().collect();
    golay_piped(&args, input)
}

#[test]
fn answers_go_to_stdout_and_the_rest_to_stderr() {
    if !device() {
        return;
    }
    let o = chat("hello\n\n/help\n/stats\n/nonsense\nhello\n");
    let text = good(&o);
    let one = good(&chat("hello\n/bye\nhello\n"));
    assert!(text.starts_with(&one) && text.len() > one.len());
    for word in ["/save FILE", "tok/s", "of 200 tokens", "no command /nonsense"] {
        assert!(err(&o).contains(word), "{word}: {}", err(&o));
    }
}

#[test]
fn a_conversation_is_saved_and_loaded() {
    if !device() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a chat.json");
    let name = file.to_str().unwrap();
    let o = chat(&format!(
        "/system be brief\nhello\n/set temp 0.5\n/set n_predict 3\n/set stop END\n/save {name}\n"
    ));
    good(&o);
    let saved: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(saved["system"], "be brief");
    assert_eq!(saved["messages"].as_array().unwrap().len(), 2);
    assert_eq!(saved["messages"][0]["content"], "hello");
    assert_eq!(
        (&saved["sampler"]["temperature"], &saved["max_tokens"], &saved["stop"][0]),
        (&0.5.into(), &3.into(), &"END".into())
    );
    // Going on from the file is going on from the conversation.
    let straight = good(&chat("/system be brief\nhello\nmore\n"));
    let resumed = chat(&format!("/load {name}\n/set temp 0\n/set n_predict 6\n/stats\nmore\n"));
    assert!(straight.ends_with(&good(&resumed)), "{straight:?} {:?}", out(&resumed));
    assert!(err(&resumed).contains("2 messages"));
    let flag = golay_piped(&["chat", "-m", micro(), "--load", name, "-c", "200"], "/stats\n");
    assert!(err(&flag).contains("2 messages"), "{}", err(&flag));
    // A broken file leaves the chat as it is.
    std::fs::write(&file, r#"{"golay_chat": 1, "messages": "\ud800"}"#).unwrap();
    let o = chat(&format!("hello\n/load {name}\n/load nowhere.json\n/load\n/stats\n"));
    good(&o);
    assert!(
        err(&o).contains("2 messages")
            && err(&o).contains("a chat.json:")
            && err(&o).contains("nowhere.json")
    );
    let o = golay_piped(&["chat", "-m", micro(), "--load", name], "");
    bad(&o, 1, &["a chat.json"]);
}

#[test]
fn settings_change_and_mistakes_are_told() {
    if !device() {
        return;
    }
    let o = chat(
        "/set parameter top_k 3\n/set\n/set top_k x\n/set repeat_last_n -2\n/set nothing 1\n/set dry_base 0\n/set temp\n/set n_predict none\n/system\n/system a\n/system\n/system -\n/system\n/exit\n",
    );
    good(&o);
    for word in [
        "top_k = 3",
        "\"x\" is not a whole number",
        "no parameter \"nothing\"",
        "dry_base",
        "needs a value",
        "(no system message)",
        "n_predict = 6\n",
        "stop = none\n",
        "top_p = 0.95\n",
        "repeat_last_n: -2 is less than -1",
    ] {
        assert!(err(&o).contains(word), "{word}: {}", err(&o));
    }
}

#[test]
fn reset_forgets_and_quotes_hold_several_lines() {
    if !device() {
        return;
    }
    let one = good(&chat("hello\n"));
    assert_eq!(good(&chat("hello\n/reset\nhello\n")), format!("{one}{one}"));
    let dir = tempfile::tempdir().unwrap();
    let name = dir.path().join("c.json").display().to_string();
    good(&chat(&format!("\"\"\"\n/one\n two\"\"\"\n/save {name}\n")));
    let saved: Value = serde_json::from_slice(&std::fs::read(&name).unwrap()).unwrap();
    assert_eq!(saved["messages"][0]["content"], "/one\n two");
}

#[test]
fn errors_keep_the_chat() {
    if !device() {
        return;
    }
    let long = "x".repeat(300);
    let o = chat(&format!("hello\n{long}\nBAD\n/stats\nhello\n"));
    let text = good(&o);
    assert!(err(&o).contains("the context holds 200") && err(&o).contains("/reset"), "{}", err(&o));
    assert!(err(&o).contains("no BAD here") && err(&o).contains("2 messages"), "{}", err(&o));
    assert_eq!(text, good(&chat("hello\nhello\n")), "as if the bad messages had not been");
    bad(&golay_piped(&["chat", "-m", &llama()], "x\n"), 1, &["tokenizer"]);
}

#[test]
fn a_lost_device_is_opened_again_and_the_chat_goes_on() {
    if !device() {
        return;
    }
    // Trial 28.
    let run = |lose: bool| {
        let mut c = golay();
        c.args(["chat", "-m", micro()])
            .args(FLAGS)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if lose {
            c.env("GOLAY_TEST_LOSE_DEVICE", "2");
        }
        let mut child = c.spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"hello\nhello\n/stats\n").unwrap();
        child.wait_with_output().unwrap()
    };
    let whole = good(&run(false));
    let o = run(true);
    let text = good(&o);
    assert!(err(&o).contains("lost") && err(&o).contains("opening the device again"), "{}", err(&o));
    assert!(err(&o).contains("2 messages"), "{}", err(&o));
    // The second message is answered as the first would have been: the failed exchange has left no trace.
    let first = whole.lines().next().unwrap();
    assert_eq!(text.trim_end_matches('\n').rsplit('\n').next().unwrap(), first, "{text:?}");
}

/// Ctrl-C for a process.
#[cfg(unix)]
pub fn interrupt(pid: u32) {
    let done = std::process::Command::new("kill").args(["-INT", &pid.to_string()]).status().unwrap();
    assert!(done.success());
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_the_answer_and_not_the_program() {
    if !device() {
        return;
    }
    let mut child: Child = golay()
        .args(["chat", "-m", micro(), "--temp", "1", "--ignore-eos", "--context-shift", "-c", "100"])
        // No line break but the one after the answer.
        .args(["--logit-bias", "10-inf"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    for _ in 0..2 {
        stdin.write_all(b"hello\n").unwrap();
        let mut some = [0; 5];
        stdout.read_exact(&mut some).unwrap();
        interrupt(child.id());
        // The answer would go on for ever.
        while some[0] != b'\n' {
            stdout.read_exact(&mut some[..1]).unwrap();
        }
    }
    // At the prompt one Ctrl-C is a hint.
    std::thread::sleep(std::time::Duration::from_millis(200));
    interrupt(child.id());
    std::thread::sleep(std::time::Duration::from_millis(200));
    stdin.write_all(b"/set n_predict 2\nhello\n/stats\n/bye\n").unwrap();
    drop(stdin);
    let mut rest = Vec::new();
    stdout.read_to_end(&mut rest).unwrap();
    let o = child.wait_with_output().unwrap();
    assert!(o.status.success(), "{:?} {}", o.status, err(&o));
    assert_eq!(err(&o).matches("(stopped)").count(), 2, "{}", err(&o));
    assert!(err(&o).contains("6 messages") && err(&o).contains("(/bye or Ctrl-D ends"), "{}", err(&o));
}

/// On a terminal the line editor is in charge between answers: it must leave Ctrl-C to us while one runs.
#[cfg(unix)]
#[test]
fn a_terminal_has_a_prompt_and_ctrl_c() {
    if !device() {
        return;
    }
    let terminal = nix::pty::openpty(None, None).unwrap();
    let mut master = std::fs::File::from(terminal.master);
    let mut child = golay()
        .args(["chat", "-m", micro(), "--temp", "1", "--ignore-eos", "--context-shift", "-c", "100"])
        .args(["--logit-bias", "10-inf"])
        .env("TERM", "xterm")
        .stdin(terminal.slave.try_clone().unwrap())
        .stdout(terminal.slave)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = std::io::BufReader::new(child.stderr.take().unwrap());
    let until = |master: &mut std::fs::File, end: &[u8]| {
        let mut seen = Vec::new();
        let mut byte = [0];
        while !seen.ends_with(end) {
            master.read_exact(&mut byte).unwrap();
            seen.push(byte[0]);
        }
    };
    let mut hear = |word: &str| {
        let mut line = String::new();
        while !line.contains(word) {
            line.clear();
            assert_ne!(std::io::BufRead::read_line(&mut said, &mut line).unwrap(), 0, "no {word:?}");
        }
    };
    hear("/help");
    until(&mut master, b">>> ");
    // At the prompt Ctrl-C is a key, and a hint is the answer.
    master.write_all(b"\x03").unwrap();
    hear("(/bye or Ctrl-D ends)");
    until(&mut master, b">>> ");
    master.write_all(b"hello\r").unwrap();
    until(&mut master, b"hello");
    until(&mut master, b"\n");
    master.read_exact(&mut [0; 40]).unwrap();
    interrupt(child.id());
    hear("(stopped)");
    until(&mut master, b">>> ");
    master.write_all(b"\x04").unwrap();
    // What the program still writes must not fill the terminal's buffer.
    std::thread::spawn(move || std::io::copy(&mut master, &mut std::io::sink()));
    assert!(child.wait().unwrap().success());
}

#[test]
fn save_spares_what_is_no_chat() {
    if !device() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let at = |n: &str| dir.path().join(n);
    let model = own_llama(dir.path());
    for f in ["notes.txt", "other.json"] {
        std::fs::write(at(f), "{\"dear\": 1}").unwrap();
    }
    let before = std::fs::read(at("own/model.safetensors")).unwrap();
    let lines: String =
        ["notes.txt", "other.json", "own/model.safetensors", "own/config.json", "own", "no/chat"]
            .map(|f| format!("/save {}\n", at(f).display()))
            .concat();
    let o = chat(&lines);
    good(&o);
    assert_eq!(err(&o).matches("not a chat").count(), 4, "{}", err(&o));
    assert!(err(&o).contains("own: is a folder") && err(&o).contains("no/chat: "), "{}", err(&o));
    assert_eq!(std::fs::read_to_string(at("notes.txt")).unwrap(), "{\"dear\": 1}");
    assert_eq!(std::fs::read(at("own/model.safetensors")).unwrap(), before);
    assert_eq!(names(dir.path()), ["notes.txt", "other.json", "own"]);
    drop(model);
    // A chat is replaced, also through a link, which stays one.
    let file = at("chat.json");
    #[cfg(unix)]
    std::os::unix::fs::symlink("chat.json", at("link.json")).unwrap();
    let link = if cfg!(unix) { at("link.json") } else { file.clone() };
    good(&chat(&format!("hello\n/save {}\nhello\n/save {}\n", file.display(), link.display())));
    let saved: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(saved["messages"].as_array().unwrap().len(), 4);
    assert!(!cfg!(unix) || link.is_symlink());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_stdout_ends_it() {
    if !device() {
        return;
    }
    let run = |args: &[&str]| {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut child = golay()
            .args(args)
            .args(FLAGS)
            .stdin(Stdio::piped())
            .stdout(full)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"hello\nhello\n").unwrap();
        let o = child.wait_with_output().unwrap();
        let said = bad(&o, 1, &["standard output: No space left"]);
        assert_eq!(said.matches("No space").count(), 1, "{said}");
    };
    run(&["chat", "-m", micro()]);
    run(&["run", "-m", micro(), "-p", "x"]);
    run(&["run", "-m", micro(), "-p", "x", "--json"]);
}

#[test]
fn a_script_whose_messages_all_fail_has_failed() {
    if !device() {
        return;
    }
    bad(&chat("BAD\nBAD\n"), 1, &["no BAD here"]);
    good(&chat("BAD\nhello\n"));
    good(&chat("/nonsense\n"));
    // A line that is too long is one mistake, and costs no memory to speak of.
    let long = "x ".repeat(40 << 20);
    let o = chat(&format!("hello\n{long}\nhello\n/stats\n"));
    assert_eq!(good(&o), good(&chat("hello\nhello\n")));
    assert_eq!(err(&o).matches("line too long").count(), 1, "{}", err(&o));
    assert!(err(&o).contains("4 messages"));
    bad(&chat(&long), 1, &["line too long"]);
}

#[test]
fn usage() {
    bad(&golay_with(["chat"]), 2, &["--model"]);
    bad(&golay_with(["chat", "-m", "x", "--load", "nowhere.json"]), 1, &["nowhere.json"]);
}
