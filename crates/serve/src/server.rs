//! The server: a port of the loopback interface, connections with limits, and an end.

use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, Semaphore};
use warplens_base::error::{Error, Result};

use crate::guard::{Guard, check_token, new_token};
use crate::http::router;
use crate::jobs::Jobs;
use crate::served::Served;

/// Connections at a time; a browser opens six for each tab.
const MOST_CONNECTIONS: usize = 64;
/// Bytes of the head of a request.
const MOST_HEAD: usize = 16 << 10;
/// Lines of a head.
const MOST_HEADERS: usize = 64;
/// How long a head may take; a connection without a request is closed after it, too.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// Threads that answer: two for closed forms, one for simulations.
const ANSWERING: usize = 3;

/// A port of the loopback interface, and the token of the address there. It is taken before anything takes time.
#[derive(Debug)]
pub struct Port {
    listener: std::net::TcpListener,
    guard: Guard,
}

/// A server that waits for its first request.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    router: Router,
    jobs: Arc<Jobs>,
    address: String,
    stop: Stop,
    /// Ends when the user wants the program to end.
    end: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// Ends a server from elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Notify>);

impl Stop {
    /// The server ends, whatever it does.
    pub fn stop(&self) {
        self.0.notify_one();
    }
}

impl Port {
    /// Takes a port, any free one for 0. The token is a new one unless the user has one that shall keep its meaning.
    pub fn take(port: u16, token: Option<String>) -> Result<Self> {
        let token = match token {
            Some(token) => check_token(&token).map(|()| token)?,
            None => new_token()?,
        };
        let taken = || {
            let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let (listener, address) = taken().map_err(|error: std::io::Error| {
            Error::input(format!("port {port} of this machine cannot be had: {error}"))
                .with_help("--port 0 takes any that is free")
        })?;
        Ok(Self { listener, guard: Guard::new(token, address) })
    }
}

impl Server {
    /// A server for these launches and GPUs.
    pub fn new(served: Served, port: Port) -> Result<Self> {
        served.check()?;
        let failed = |error: std::io::Error| Error::input(format!("the server cannot start: {error}"));
        let runtime =
            Builder::new_current_thread().enable_all().max_blocking_threads(ANSWERING).build().map_err(failed)?;
        // From now on a signal ends the server, not the program.
        let started = async { Ok((TcpListener::from_std(port.listener)?, asked_to_end()?)) };
        let (listener, end) = runtime.block_on(started).map_err(failed)?;
        let address = port.guard.address();
        let jobs = Arc::new(Jobs::new(served));
        let router = router(jobs.clone(), Arc::new(port.guard));
        Ok(Self { runtime, listener, router, jobs, address, stop: Stop::default(), end: Box::pin(end) })
    }

    /// Where the page is, with the token.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What ends it.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Answers until it is stopped, by [`Stop`] or by the user (Ctrl-C or a polite kill).
    pub fn run(self) {
        let Self { runtime, listener, router, jobs, stop, end, .. } = self;
        runtime.block_on(async {
            tokio::spawn(jobs.prepare());
            tokio::select! {
                () = accept(listener, router) => {}
                () = stop.0.notified() => {}
                () = end => {}
            }
        });
        // A simulation that is under way has no more use.
        runtime.shutdown_background();
    }
}

/// Ends when the user wants the program to end.
fn asked_to_end() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupted, mut ended) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = ended.recv() => {}
        }
    })
}

async fn accept(listener: TcpListener, router: Router) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let router = router.clone();
                tokio::spawn(async move {
                    serve(stream, router).await;
                    drop(place);
                });
            }
            // Out of handles, perhaps: some are given back in a while.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn serve(stream: TcpStream, router: Router) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(MOST_HEAD).max_headers(MOST_HEADERS);
    // What a client does wrong ends its connection, and nobody needs to hear of it.
    let _ = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)).await;
}
