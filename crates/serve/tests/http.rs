//! What the server answers, and what it refuses, told by plain HTTP as any program of the machine can speak it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::Value;
use warplens_launch::Launch;
use warplens_serve::{Port, Served, Server, Variant, Words};
use warplens_session::predict::{Choice, Options};
use warplens_session::profile::Counting;
use warplens_session::source::{self, Request, Source};
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Generation, Input, Progress, Targets, machines};

/// A server that lasts as long as the tests.
struct Site {
    /// `127.0.0.1:PORT`.
    host: String,
    token: String,
}

struct Reply {
    status: u16,
    head: String,
    body: String,
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    fn has(&self, header: &str) -> bool {
        self.head.to_lowercase().contains(&header.to_lowercase())
    }
}

fn example(name: &str, launch: &str) -> Vec<Variant> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let path = format!("{root}/{name}/ptx/sm_80.ptx");
    let input = Input::read(&path).expect("examples can be read");
    let gpus = machines::select(GPUS).expect("they are built in");
    let launch_file = format!("{root}/{name}/{launch}");
    let request = Request {
        input: &input,
        launch_file: Some(&launch_file),
        flags: Launch::default(),
        targets: &Targets::of(&gpus),
    };
    let sources = source::load(&request, &Search::default()).expect("examples can be lowered");
    let Some(Source::Program { program, .. }) = sources.first().cloned() else { panic!("{name} is a program") };
    let options = ExecutionOptions {
        traced_for: Choice::Auto.traced(&gpus),
        generations: Generation::of_all(&gpus),
        ..ExecutionOptions::new()
    };
    let measured = source::gather(sources, &options, Counting::Ptx, &Search::default(), &Progress::default());
    let measured = measured.expect("examples can be executed");
    let variant = |measurement| Variant {
        name: name.to_owned(),
        measurement,
        program: Some(program.clone()),
        input: path.clone().into(),
        words: Words { alone: name.to_owned(), item: name.to_owned(), ..Words::default() },
    };
    measured.into_iter().map(variant).collect()
}

const GPUS: &str = "h200,c1060";

fn site() -> &'static Site {
    static SITE: OnceLock<Site> = OnceLock::new();
    SITE.get_or_init(|| {
        let variants = [example("matmul_naive", "launch.toml"), example("matmul_tiled", "launch.toml")].concat();
        let served = Served {
            variants,
            machines: machines::select(GPUS).expect("they are built in"),
            options: Options::default(),
            flags: String::new(),
        };
        let server =
            Server::new(served, Port::take(0, None).expect("a port is free")).expect("the launches have names");
        let address = server.address().to_owned();
        std::thread::spawn(move || server.run());
        let (host, token) = address.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("an address");
        Site { host: host.to_owned(), token: token.trim_end_matches('/').to_owned() }
    })
}

/// Sends bytes as they are, and reads what comes until the server closes.
fn raw(request: &[u8]) -> Reply {
    let mut stream = TcpStream::connect(&site().host).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("the time is not zero");
    // A server that has read enough may close before all is written.
    let _ = stream.write_all(request);
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Reply { status, head: head.to_owned(), body: body.to_owned() }
}

fn request(method: &str, path: &str, headers: &str) -> Reply {
    raw(format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n", site().host).as_bytes())
}

fn get(path: &str) -> Reply {
    request("GET", &format!("/{}/{path}", site().token), "")
}

/// Asks until there is an answer.
fn ask(question: &str) -> Reply {
    ask_for("ask", question)
}

fn ask_for(form: &str, question: &str) -> Reply {
    let begin = Instant::now();
    loop {
        let reply = get(&format!("{form}/{question}"));
        if reply.status != 202 {
            return reply;
        }
        assert!(begin.elapsed() < Duration::from_secs(120), "{question} has no answer: {}", reply.body);
    }
}

#[test]
fn the_page_is_there_and_may_do_little() {
    let page = get("");
    assert_eq!(page.status, 200);
    assert!(page.body.contains("matmul_tiled") && page.body.contains("h200"), "{}", page.body);
    assert!(!page.body.contains("{{"), "a slot is not filled");
    assert!(!page.body.contains("style=") && !page.body.contains("<style") && !page.body.contains("onclick"));
    for header in [
        "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self' 'sha256-",
        "frame-ancestors 'none'",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "cache-control: no-store",
        "cross-origin-resource-policy: same-origin",
    ] {
        assert!(page.has(header), "{header}: {}", page.head);
    }
    assert!(get("page.css").has("content-type: text/css"));
    assert!(get("page.js").has("content-type: text/javascript"));
    assert!(get("ask.js").has("content-type: text/javascript"));
    let token = &site().token;
    let typed = request("GET", &format!("/{token}"), "");
    assert!(typed.status == 303 && typed.has(&format!("location: /{token}/")), "{}", typed.head);
    let head = request("HEAD", &format!("/{token}/page.css"), "");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}

#[test]
fn without_the_token_nothing_is_told() {
    let token = &site().token;
    let other: String = token.chars().rev().collect();
    let cut = &token[..token.len() - 1];
    for path in [
        "/".to_owned(),
        format!("/{other}/"),
        format!("/{cut}/"),
        format!("/{cut}"),
        format!("/{token}x/"),
        format!("//{token}/"),
        format!("/x/../{token}/"),
        format!("/{other}/ask/answer"),
        format!("/?{token}/"),
        "*".to_owned(),
    ] {
        let reply = request("GET", &path, "");
        assert!(matches!(reply.status, 400 | 404), "{path}: {}", reply.status);
        assert_eq!(reply.body, "", "{path}");
    }
}

#[test]
fn no_path_leads_to_a_file() {
    let token = &site().token;
    for path in [
        "../../etc/passwd",
        "../Cargo.toml",
        "%2e%2e/%2e%2e/etc/passwd",
        "..%2f..%2fetc%2fpasswd",
        "page.css/../../../etc/passwd",
        "ask/../../../etc/passwd",
        "ask/%2e%2e%2fetc%2fpasswd",
        "ask/answer/",
        "ask/",
        "page.css%00",
        "/etc/passwd",
        "\\..\\..\\etc\\passwd",
        "file:///etc/passwd",
    ] {
        let reply = request("GET", &format!("/{token}/{path}"), "");
        assert!(matches!(reply.status, 400 | 404), "{path}: {} {}", reply.status, reply.body);
        assert!(!reply.body.contains("root:"), "{path}");
    }
    let reply = request("GET", &format!("http://example.org/{token}/"), "");
    assert_eq!(reply.status, 403, "{}", reply.head);
}

#[test]
fn other_names_and_other_pages_are_refused() {
    let (token, host) = (&site().token, &site().host);
    let of = |headers: &str| raw(format!("GET /{token}/ HTTP/1.1\r\nConnection: close\r\n{headers}\r\n").as_bytes());
    let port = host.split(':').next_back().unwrap();
    assert_eq!(of(&format!("Host: localhost:{port}\r\n")).status, 200);
    for headers in [
        "Host: example.org\r\n".to_owned(),
        format!("Host: example.org:{port}\r\n"),
        "Host: 127.0.0.1\r\n".to_owned(),
        format!("Host: 127.0.0.1.example.org:{port}\r\n"),
        format!("Host: {host}\r\nHost: example.org\r\n"),
        format!("Host: {host}\r\nOrigin: http://example.org\r\n"),
        format!("Host: {host}\r\nOrigin: null\r\n"),
        format!("Host: {host}\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n"),
        String::new(),
    ] {
        let reply = of(&headers);
        assert!(matches!(reply.status, 400 | 403), "{headers}: {}", reply.status);
        assert_eq!(reply.body, "", "{headers}");
    }
    // A link in a mail may lead here, and the page's own script asks.
    assert_eq!(of(&format!("Host: {host}\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n")).status, 200);
    assert_eq!(of(&format!("Host: {host}\r\nOrigin: http://{host}\r\nSec-Fetch-Site: same-origin\r\n")).status, 200);
}

#[test]
fn what_is_too_large_or_of_another_kind_is_refused() {
    let token = &site().token;
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"] {
        assert_eq!(request(method, &format!("/{token}/"), "").status, 405, "{method}");
    }
    assert_eq!(request("GET", &format!("/{token}/"), "Content-Length: 1000000\r\n").status, 413);
    assert_eq!(request("GET", &format!("/{token}/"), "Transfer-Encoding: chunked\r\n").status, 413);
    let long = "a".repeat(9000);
    assert_eq!(get(&format!("ask/answer?kernel={long}")).status, 414);
    let longer = "a".repeat(100_000);
    let reply = get(&format!("ask/answer?kernel={longer}"));
    assert!(matches!(reply.status, 0 | 400 | 414 | 431), "{}", reply.status);
    let reply = request("GET", &format!("/{token}/"), &format!("X-Large: {longer}\r\n"));
    assert!(matches!(reply.status, 0 | 400 | 431), "{}", reply.status);
    let many = "X-Many: 1\r\n".repeat(500);
    let reply = request("GET", &format!("/{token}/"), &many);
    assert!(matches!(reply.status, 0 | 400 | 431), "{}", reply.status);
    for junk in [&b"\x00\x01\x02\r\n\r\n"[..], b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"] {
        assert!(matches!(raw(junk).status, 0 | 400 | 505), "{junk:?}");
    }
    assert_eq!(get("").status, 200);
}

#[test]
fn only_what_is_served_can_be_asked_about() {
    let refused = |question: &str| {
        let reply = ask(question);
        assert_eq!(reply.status, 400, "{question}: {}", reply.body);
        let json = reply.json();
        assert_eq!(json["state"], "refused", "{question}");
        json["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(refused("answer?gpu=v100"), "no GPU `v100` is served");
    assert_eq!(refused("answer?gpu=Cargo.toml"), "no GPU `Cargo.toml` is served");
    assert_eq!(refused("answer?gpu=h200%401200"), "no GPU `h200@1200` is served");
    assert_eq!(refused("answer?kernel=..%2Fsecret"), "no kernel `../secret` is served");
    assert_eq!(refused("answer?model=magic"), "unknown model `magic`");
    assert_eq!(refused("answer?file=x"), "there is no parameter `file`");
    assert_eq!(refused("answer?set=clock%3D2x"), "this view shows things as they are");
    assert_eq!(refused("answer?gpu=h200&gpu=c1060"), "this view shows one kernel on one GPU");
    assert_eq!(refused("compare?kernel=matmul_tiled&gpu=h200"), "choose two kernels or two GPUs");
    assert_eq!(
        refused("compare?gpu=h200&gpu=c1060&baseline=x"),
        "--baseline x: nothing that is compared has this name"
    );
    assert!(refused("whatif?set=block%3D64").contains("execute the kernel again"));
    assert!(refused("whatif").contains("nothing to suppose"));
    let many = "set=clock%3D2x&".repeat(65);
    assert!(refused(&format!("whatif?{many}")).contains("more than 64 changes"));
}

#[test]
fn values_are_numbers_or_refused() {
    for value in ["NaN", "-1x", "inf", "-inf", "1e999x", "0x10", "two", "", "2x;ls", "%3Cscript%3E", "\u{0}"] {
        let reply = ask(&format!("whatif?gpu=h200&set=x-model.n%3D{value}"));
        assert_eq!(reply.status, 400, "{value}: {}", reply.body);
    }
    // Numbers that no GPU has: an answer, or a reason why there is none, and the server goes on.
    for value in ["0", "1e308", "1e-308", "0x", "1e300x", "1e-300x"] {
        for name in ["x-model.n", "x-model.R", "x-model.Z", "x-model.E", "x-model.L", "sms", "registers"] {
            for view in ["graph", "whatif"] {
                let reply = ask(&format!("{view}?gpu=h200&set={name}%3D{value}"));
                assert!(matches!(reply.status, 200 | 400), "{view} {name}={value}: {} {}", reply.status, reply.body);
            }
        }
    }
    assert_eq!(get("").status, 200);
}

#[test]
fn every_view_answers_with_a_document_and_a_command() {
    let cases = [
        ("answer?kernel=matmul_tiled&gpu=h200", "warplens.predict", "warplens predict matmul_tiled --gpu h200"),
        ("graph?kernel=matmul_tiled&set=x-model.n%3D0.5x", "warplens.figure", "warplens plot x-graph"),
        ("whatif?kernel=matmul_tiled&without=uncoalesced", "warplens.whatif", "--without uncoalesced"),
        ("prices?kernel=matmul_tiled&model=analyzer", "warplens.whatif", "--model analyzer --each"),
        ("compare?kernel=matmul_naive&kernel=matmul_tiled", "warplens.compare", "warplens compare matmul_naive"),
        ("listing?kernel=matmul_tiled&lines=source", "warplens.annotate", "warplens annotate matmul_tiled"),
        ("answer?kernel=matmul_tiled&model=teg", "warplens.predict", "--model teg"),
    ];
    for (question, schema, command) in cases {
        let reply = ask(question);
        assert_eq!(reply.status, 200, "{question}: {}", reply.body);
        let json = reply.json();
        let document = ask_for("data", question).json();
        assert!(document["schema"].as_str().unwrap().starts_with(schema), "{question}: {document}");
        assert!(json["command"].as_str().unwrap().contains(command), "{question}: {}", json["command"]);
        let html = json["html"].as_str().unwrap();
        assert!(html.contains("<table") || html.contains("<svg"), "{question}: {html}");
        assert!(!html.contains(" style=") && !html.contains("<script"), "{question} needs more than the policy gives");
    }
}

#[test]
fn the_knobs_say_what_they_are_and_become() {
    let json = ask("graph?kernel=matmul_tiled&gpu=h200&set=x-model.n%3D0.5x").json();
    let knob = &json["extra"]["knobs"]["x-model.n"];
    let number = |text: &Value| text.as_str().unwrap().split(' ').next().unwrap().parse::<f64>().unwrap();
    assert!((number(&knob["now"]) * 0.5 - number(&knob["after"])).abs() < 0.1, "{knob}");
    assert_eq!(json["extra"]["knobs"].as_object().unwrap().len(), 10);
    // A GPU of 2008 has no such cache.
    let json = ask("graph?kernel=matmul_tiled&gpu=c1060").json();
    assert_eq!(json["extra"]["knobs"]["x-model.cache_bytes"], Value::Null);
}

#[test]
fn an_answer_is_kept_and_the_same() {
    let question = "prices?kernel=matmul_naive&gpu=h200&model=x-model";
    let (first, second) = (ask(question), ask(question));
    assert_eq!((first.status, &first.body), (200, &second.body));
}
