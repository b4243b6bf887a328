//! Errors and findings as text, with the place in the source.

use std::borrow::Cow;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Element, Group, Level, Renderer, Snippet};
use warplens_base::{Diagnostic, Keep, Label, is_control, visible};
use warplens_report::render::Style;
use warplens_session::{Error, Findings};

/// Findings that are shown; the rest is counted.
const MAX_SHOWN: usize = 20;

fn renderer(style: Style) -> Renderer {
    match style {
        Style::Plain => Renderer::plain(),
        Style::Colored => Renderer::styled(),
    }
}

/// An error without a source.
pub(crate) fn plain_error(message: &str, style: Style) -> String {
    let message = visible(message, Keep::Lines);
    renderer(style).render(&[Group::with_title(Level::ERROR.primary_title(message))])
}

/// A failure of the session: its findings where there are any, else its message.
pub(crate) fn render_error(error: &Error, style: Style) -> String {
    let mut text = match &error.findings {
        Some(findings) if !findings.diagnostics.is_empty() => render(findings, style),
        _ => plain_error(&error.message, style),
    };
    for detail in &error.details {
        text.push_str(&format!("\n  {}", visible(detail, Keep::Lines)));
    }
    if let Some(help) = &error.help {
        text.push('\n');
        text.push_str(
            &renderer(style).render(&[Group::with_title(Level::HELP.primary_title(visible(help, Keep::Lines)))]),
        );
    }
    text
}

/// Findings with their places.
pub(crate) fn render(findings: &Findings, style: Style) -> String {
    let renderer = renderer(style);
    let shown = findings.diagnostics.iter().take(MAX_SHOWN);
    let mut text: Vec<String> = shown.map(|diagnostic| renderer.render(&[group(findings, diagnostic)])).collect();
    if let Some(more) = findings.diagnostics.len().checked_sub(MAX_SHOWN).filter(|&more| more > 0) {
        text.push(format!("... and {more} more"));
    }
    text.join("\n\n")
}

fn group<'f>(findings: &'f Findings, diagnostic: &'f Diagnostic) -> Group<'f> {
    let level = if diagnostic.is_error() { Level::ERROR } else { Level::WARNING };
    let title = level.primary_title(visible(&diagnostic.message, Keep::Lines)).id(diagnostic.code);
    let mut elements: Vec<Element<'f>> = vec![snippet(findings, &diagnostic.primary, AnnotationKind::Primary).into()];
    let secondary = diagnostic.secondary.iter();
    elements.extend(secondary.map(|label| Element::from(snippet(findings, label, AnnotationKind::Context))));
    if let Some(help) = &diagnostic.help {
        elements.push(Level::HELP.message(visible(help, Keep::Lines)).into());
    }
    title.elements(elements)
}

/// The lines of one place: a text may be large, and only these are looked at.
fn snippet<'f>(
    findings: &'f Findings,
    label: &'f Label,
    kind: AnnotationKind,
) -> Snippet<'f, annotate_snippets::Annotation<'f>> {
    let text = findings.text.as_str();
    let place = inside(text, label.span.range());
    let lines = lines_of(text, &place);
    let line_start = text[..lines.start].matches('\n').count() + 1;
    let place = place.start - lines.start..place.end.min(lines.end) - lines.start;
    let words = (!label.text.is_empty()).then(|| visible(&label.text, Keep::Tabs));
    Snippet::source(masked(&text[lines]))
        .path(visible(&findings.name, Keep::Tabs))
        .line_start(line_start)
        .annotation(kind.span(place).label(words))
}

/// Lines of a source with a sign in place of each character that a terminal would obey: one of as many bytes, so that
/// places stay where they are.
fn masked(lines: &str) -> Cow<'_, str> {
    let is_masked = |c: char| !matches!(c, '\n' | '\t' | '\r') && is_control(c);
    if !lines.chars().any(is_masked) {
        return Cow::Borrowed(lines);
    }
    let sign = |c: char| match c.len_utf8() {
        _ if !is_masked(c) => c,
        1 => '?',
        2 => '\u{bf}',
        _ => char::REPLACEMENT_CHARACTER,
    };
    Cow::Owned(lines.chars().map(sign).collect())
}

/// The range moved to where the text has characters.
fn inside(text: &str, range: Range<usize>) -> Range<usize> {
    let floor = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = floor(range.start);
    start..floor(range.end.max(start)).max(start)
}

fn lines_of(text: &str, place: &Range<usize>) -> Range<usize> {
    let before = text[..place.start].rfind('\n').map_or(0, |at| at + 1);
    let after = text[place.end..].find('\n').map_or(text.len(), |at| place.end + at);
    before..after
}

#[cfg(test)]
mod tests {
    use super::*;
    use warplens_base::Span;

    #[test]
    fn a_finding_shows_its_line() {
        let text = "one\ntwo\nthree\nfour\nfive\n".to_owned();
        let diagnostic = Diagnostic::error("P001", Span::new(8, 13), "wrong number")
            .with_label("here")
            .with_secondary(Span::new(0, 3), "first seen here")
            .with_help("count again");
        let findings = Findings { name: "a.ptx".into(), text, diagnostics: vec![diagnostic] };
        let expected = "\
error[P001]: wrong number
 --> a.ptx:3:1
  |
3 | three
  | ^^^^^ here
  |
 ::: a.ptx:1:1
  |
1 | one
  | --- first seen here
  |
  = help: count again";
        assert_eq!(render(&findings, Style::Plain), expected);
    }

    #[test]
    fn nothing_of_an_input_reaches_the_terminal_as_a_command() {
        let bad = "\u{1b}[2J\u{9b}1m\u{202e}\u{200f}\u{7f}";
        let text = format!("a {bad} b\n");
        let end = text.len() as u32 - 1;
        let diagnostic = Diagnostic::error("P001", Span::new(end - 1, end), bad)
            .with_label(bad)
            .with_secondary(Span::new(0, 1), bad)
            .with_help(bad);
        let name = format!("a{bad}.ptx");
        let error = Error::input(bad).with_detail(bad).with_help(bad);
        let shown = [
            render(
                &Findings { name: name.clone(), text: text.clone(), diagnostics: vec![diagnostic.clone()] },
                Style::Plain,
            ),
            render_error(&error.clone().with_findings(name, &text, vec![diagnostic]), Style::Plain),
            render_error(&error, Style::Plain),
            plain_error(bad, Style::Plain),
        ];
        for shown in shown {
            assert!(shown.chars().all(|c| c == '\n' || !is_control(c)), "{shown:?}");
            assert!(shown.contains("\\u{1b}[2J\\u{9b}1m\\u{202e}"), "{shown}");
        }
        // The mark stays under its letter: the signs are as wide as they look.
        assert_eq!(masked(&text).len(), text.len());
    }

    #[test]
    fn no_span_makes_it_panic() {
        let text = "aé\n";
        for (start, end) in [(0, 0), (2, 3), (4, 4), (9, 9), (3, 1), (0, 99)] {
            let diagnostic = Diagnostic::error("P001", Span::new(start, end), "wrong");
            let findings = Findings { name: "a".into(), text: text.into(), diagnostics: vec![diagnostic] };
            assert!(render(&findings, Style::Plain).starts_with("error[P001]: wrong"));
        }
    }
}
