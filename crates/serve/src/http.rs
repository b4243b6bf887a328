//! The addresses that there are: the page with its looks and its script, and a question for each view.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::{StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::guard::{Guard, guard};
use crate::jobs::{Jobs, Reply};
use crate::page;
use crate::question::{Question, View};

/// Routes behind the guard.
pub(crate) fn router(jobs: Arc<Jobs>, own: Arc<Guard>) -> Router {
    let html: Arc<str> = page::html(jobs.served()).into();
    let style: Arc<str> = page::style().into();
    let text = |kind: &'static str, text: Arc<str>| {
        get(move || std::future::ready(([(header::CONTENT_TYPE, kind)], text.to_string())))
    };
    Router::new()
        .route("/{token}/", text("text/html; charset=utf-8", html))
        .route("/{token}/page.css", text("text/css; charset=utf-8", style))
        .route("/{token}/page.js", text("text/javascript; charset=utf-8", page::SCRIPT.into()))
        .route("/{token}/ask/{view}", get(ask))
        .with_state(jobs)
        .layer(from_fn_with_state(own, guard))
}

async fn ask(
    State(jobs): State<Arc<Jobs>>,
    Path((_, view)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(view) = View::named(&view) else { return StatusCode::NOT_FOUND.into_response() };
    let reply = match Question::parse(view, &query.unwrap_or_default(), jobs.served()) {
        Ok(question) => jobs.ask(question).await,
        Err(error) => Reply::refused(&error),
    };
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (reply.status, kind, reply.json.to_string()).into_response()
}
