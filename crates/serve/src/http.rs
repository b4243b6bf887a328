//! The addresses that there are: the page with its looks and its script, and for each view a question, whose answer is a
//! part of the page or a document.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::{StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;

use crate::guard::{Guard, guard};
use crate::jobs::{Jobs, Reply};
use crate::page;
use crate::question::{Form, Question, View};

/// Routes behind the guard.
pub(crate) fn router(jobs: Arc<Jobs>, own: Arc<Guard>) -> Router {
    let html: Arc<str> = page::html(jobs.served()).into();
    let style: Arc<str> = page::style().into();
    let text = |kind: &'static str, text: Arc<str>| {
        get(move || std::future::ready(([(header::CONTENT_TYPE, kind)], text.to_string())))
    };
    let scripts = page::SCRIPTS.iter().fold(Router::new(), |router, (name, script)| {
        router.route(&format!("/{{token}}/{name}"), text("text/javascript; charset=utf-8", (*script).into()))
    });
    scripts
        // An address that was typed by hand: parts of the page are found beside its last slash.
        .route("/{token}", get(|Path(token): Path<String>| std::future::ready(Redirect::to(&format!("/{token}/")))))
        .route("/{token}/", text("text/html; charset=utf-8", html))
        .route("/{token}/page.css", text("text/css; charset=utf-8", style))
        .route("/{token}/ask/{view}", get(page_of))
        .route("/{token}/data/{view}", get(document_of))
        .with_state(jobs)
        .layer(from_fn_with_state(own, guard))
}

/// The path and the query of a question.
type Asked = (State<Arc<Jobs>>, Path<(String, String)>, RawQuery);

async fn page_of((State(jobs), Path((_, view)), RawQuery(query)): Asked) -> Response {
    ask(&jobs, &view, Form::Page, query).await
}

async fn document_of((State(jobs), Path((_, view)), RawQuery(query)): Asked) -> Response {
    ask(&jobs, &view, Form::Document, query).await
}

async fn ask(jobs: &Arc<Jobs>, view: &str, form: Form, query: Option<String>) -> Response {
    let Some(view) = View::named(view) else { return StatusCode::NOT_FOUND.into_response() };
    let reply = match Question::parse(view, form, &query.unwrap_or_default(), jobs.served()) {
        Ok(question) => jobs.ask(question).await,
        Err(error) => Reply::refused(&error),
    };
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (reply.status, kind, reply.json.to_string()).into_response()
}
