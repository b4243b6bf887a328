//! `warplens serve` as a process: its address, the same answers as the other verbs, and its end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const NAIVE: &str = "examples/matmul_naive/ptx/sm_80.ptx@examples/matmul_naive/launch.toml";
const TILED: &str = "examples/matmul_tiled/ptx/sm_80.ptx@examples/matmul_tiled/launch.toml";

fn warplens(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warplens"));
    command.args(words).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).env_clear();
    command
}

/// A server; it ends with the test.
struct Site {
    child: Child,
    host: String,
    token: String,
}

impl Site {
    fn new(words: &[&str], token: Option<&str>) -> Self {
        let mut command = warplens(&[&["serve"], words].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        if let Some(token) = token {
            command.env("WARPLENS_SERVE_TOKEN", token);
        }
        let mut child = command.spawn().expect("the program can be started");
        let mut address = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut address).expect("the address is text");
        let rest = address.trim().strip_prefix("http://").unwrap_or_else(|| panic!("no address: {address:?}"));
        let (host, token) = rest.trim_end_matches('/').split_once('/').expect("the token is in the path");
        Self { host: host.to_owned(), token: token.to_owned(), child }
    }

    /// The document of a question.
    fn document(&self, question: &str) -> Value {
        let begin = Instant::now();
        loop {
            let mut stream = TcpStream::connect(&self.host).expect("the server listens");
            let (token, host) = (&self.token, &self.host);
            let request = format!("GET /{token}/data/{question} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).expect("the server reads");
            let mut text = String::new();
            stream.read_to_string(&mut text).expect("the server answers");
            let (head, body) = text.split_once("\r\n\r\n").expect("an answer has a head");
            if head.starts_with("HTTP/1.1 200") {
                return serde_json::from_str(body).expect("a document is JSON");
            }
            assert!(head.starts_with("HTTP/1.1 202"), "{question}: {text}");
            assert!(begin.elapsed() < Duration::from_secs(120), "{question} has no answer");
        }
    }

    /// Asks the process to end, and waits for it.
    fn end(mut self, signal: rustix::process::Signal) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("it runs");
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn output(words: &[&str]) -> Output {
    warplens(words).output().expect("the program can be started")
}

fn json(words: &[&str]) -> Value {
    let output = output(&[words, &["--format", "json"]].concat());
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a document is JSON")
}

#[test]
fn the_page_and_the_verbs_say_the_same() {
    let site = Site::new(&[NAIVE, TILED, "--gpu", "h200,c1060"], None);
    let tiled = ["examples/matmul_tiled/ptx/sm_80.ptx", "--launch", "examples/matmul_tiled/launch.toml"];
    let of = |verb: &[&'static str], more: &[&'static str]| json(&[verb, &tiled, more].concat());
    let asked = "kernel=matmul_tiled&gpu=h200";
    let closed = "analyzer,hong-kim,x-model,roofline,speed-of-light,luo-suda";
    let models: String = closed.split(',').map(|model| format!("&model={model}")).collect();
    assert_eq!(
        site.document(&format!(
            "whatif?{asked}{models}&set=dram.bandwidth%3D2x&without=uncoalesced&without=divergence"
        )),
        of(
            &["whatif"],
            &[
                "--gpu",
                "h200",
                "--model",
                closed,
                "--set",
                "dram.bandwidth=2x",
                "--without",
                "uncoalesced",
                "--without",
                "divergence"
            ]
        )
    );
    assert_eq!(
        site.document(&format!("whatif?{asked}&model=teg&without=memory-latency")),
        of(&["whatif"], &["--gpu", "h200", "--model", "teg", "--without", "memory-latency"])
    );
    assert_eq!(
        site.document(&format!("prices?{asked}{models}")),
        of(&["whatif"], &["--gpu", "h200", "--model", closed, "--each"])
    );
    assert_eq!(
        site.document(&format!("graph?{asked}&set=x-model.n%3D0.5x&set=x-model.L%3D2x")),
        of(&["plot", "x-graph"], &["--gpu", "h200", "--set", "x-model.n=0.5x", "--set", "x-model.L=2x"])
    );
    assert_eq!(site.document(&format!("listing?{asked}")), of(&["annotate"], &["--gpu", "h200"]));
    assert_eq!(
        site.document("compare?kernel=matmul_naive&kernel=matmul_tiled&gpu=h200&gpu=c1060&model=analyzer"),
        json(&["compare", NAIVE, TILED, "--gpu", "h200,c1060", "--model", "analyzer"])
    );
}

#[test]
fn it_keeps_to_itself_and_ends_when_it_is_told() {
    let token = "0123456789-abcdefghijk_";
    let site = Site::new(&[TILED], Some(token));
    assert_eq!(site.token, token);
    assert!(site.host.starts_with("127.0.0.1:"), "{}", site.host);
    let port = site.host.rsplit(':').next().unwrap().to_owned();
    let taken = output(&["serve", TILED, "--port", &port]);
    assert_eq!(taken.status.code(), Some(1));
    let message = String::from_utf8_lossy(&taken.stderr).into_owned();
    assert!(message.contains(&format!("port {port} of this machine cannot be had")), "{message}");
    // A connection that says nothing does not keep it.
    let idle = TcpStream::connect(&site.host).unwrap();
    assert_eq!(site.end(rustix::process::Signal::INT), Some(0));
    drop(idle);
    assert_eq!(Site::new(&[TILED], None).end(rustix::process::Signal::TERM), Some(0));
}

#[test]
fn bad_input_is_refused_before_a_port_is_taken() {
    let refused = |words: &[&str], code: i32, what: &str| {
        let output = output(&[&["serve"], words].concat());
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {message}");
        assert!(message.contains(what) && output.stdout.is_empty(), "{words:?}: {message}");
    };
    refused(&["nothing.ptx"], 1, "nothing.ptx");
    refused(&[TILED, "--gpu", "h201"], 2, "unknown GPU `h201`");
    refused(&[TILED, TILED], 2, "two variants are called");
    refused(&[TILED, "--port", "70000"], 2, "70000");
    let mut short = warplens(&["serve", TILED]);
    let output = short.env("WARPLENS_SERVE_TOKEN", "short").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("a token has at least 22"));
}
