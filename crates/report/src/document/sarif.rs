//! Results as SARIF 2.1.0 (OASIS), which shows them at lines of the source: breached gates as errors, what bounds a
//! kernel and what to change about it as notes.

use std::path::{Path, PathBuf};

use serde_sarif::sarif::{
    ArtifactLocation, Location, Message, MultiformatMessageString, PhysicalLocation, Region, ReportingDescriptor,
    Result as SarifResult, ResultLevel, Run, Sarif, Tool, ToolComponent,
};
use warplens_question::explain::{Advice, Place};
use warplens_question::gate::Judgement;
use warplens_question::glance::Glance;

/// What is known about a kernel on a GPU.
#[derive(Clone, Copy, Debug)]
pub struct Finding<'f> {
    /// The kernel, as gates call it.
    pub subject: &'f str,
    /// The answer at a glance.
    pub glance: &'f Glance,
    /// Changes, the largest gain first.
    pub advice: &'f [Advice],
}

/// Lines that are named of one change.
const MOST_PLACES: usize = 3;
const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// Rules beside those of the changes.
const GATE: (&str, &str) = ("gate", "A gate given with --fail-on is breached");
const BOUND: (&str, &str) = ("bound", "What bounds a kernel, at the line with most of it");

/// The log. `input` is the path of the program, for lines that are not known in its source; `found` says where a file of
/// the source lies now.
pub fn log(findings: &[Finding<'_>], judgement: &Judgement, input: &Path, found: &dyn Fn(&Path) -> PathBuf) -> Sarif {
    let place = |source: Option<&(String, u32)>, line: Option<u32>| match source {
        Some((file, line)) => location(&found(Path::new(file)), Some(*line)),
        None => location(input, line),
    };
    let at_bound = |glance: &Glance| {
        let line = glance.line.as_ref();
        place(line.and_then(|line| line.source.as_ref()), line.map(|line| line.input_line))
    };
    let mut results = Vec::new();
    for breach in &judgement.breaches {
        let of = |finding: &&Finding<'_>| finding.subject == breach.subject && finding.glance.gpu == breach.gpu;
        let at = findings.iter().find(of).map_or_else(|| location(input, None), |finding| at_bound(finding.glance));
        let text = format!("{}: {}", breach.subject, breach.message());
        results.push(result(GATE.0, ResultLevel::Error, text, at));
    }
    for Finding { subject, glance, advice } in findings {
        let (bound, share) = (glance.bound.resource.name(), 100.0 * glance.bound.share);
        let text = format!("{subject} on {}: {share:.1} % of the time is {bound}", glance.gpu);
        results.push(result(BOUND.0, ResultLevel::Note, text, at_bound(glance)));
        for change in *advice {
            let gpu = &glance.gpu;
            let said = |share: &Place| {
                let (title, gain, share) = (&change.title, change.speedup, 100.0 * share.share);
                format!("{subject} on {gpu}: {title}: {gain:.3} x, {share:.0} % of it here. {}", change.how)
            };
            results.extend(change.places.iter().take(MOST_PLACES).map(|own| {
                let at = place(own.source.as_ref(), own.ptx_lines.first().copied());
                result(change.id, ResultLevel::Note, said(own), at)
            }));
        }
    }
    let run = Run::builder().tool(tool(findings)).results(results).build();
    Sarif::builder().schema(SCHEMA).version(serde_json::json!("2.1.0")).runs(vec![run]).build()
}

fn tool(findings: &[Finding<'_>]) -> Tool {
    let mut rules = vec![rule(GATE.0, GATE.1), rule(BOUND.0, BOUND.1)];
    for change in findings.iter().flat_map(|finding| finding.advice) {
        if rules.iter().all(|rule| rule.id != change.id) {
            rules.push(rule(change.id, change.how));
        }
    }
    let driver = ToolComponent::builder()
        .name(env!("CARGO_PKG_NAME").trim_end_matches("-report"))
        .version(env!("CARGO_PKG_VERSION"))
        .information_uri(env!("CARGO_PKG_REPOSITORY"))
        .rules(rules)
        .build();
    Tool::builder().driver(driver).build()
}

fn rule(id: &str, text: &str) -> ReportingDescriptor {
    let text = MultiformatMessageString::builder().text(text).build();
    ReportingDescriptor::builder().id(id).short_description(text).build()
}

fn result(rule: &str, level: ResultLevel, text: String, at: Location) -> SarifResult {
    let message = Message::builder().text(text).build();
    SarifResult::builder().rule_id(rule).level(level).message(message).locations(vec![at]).build()
}

fn location(file: &Path, line: Option<u32>) -> Location {
    let artifact = ArtifactLocation::builder().uri(uri(file)).build();
    // Who shows a result needs a line; what is known of the whole file is shown at its top.
    let region = Region::builder().start_line(i64::from(line.unwrap_or(1).max(1))).build();
    let physical = PhysicalLocation::builder().artifact_location(artifact).region(region).build();
    Location::builder().physical_location(physical).build()
}

/// A path as a reference: what RFC 3986 does not allow in one is written by its bytes.
fn uri(file: &Path) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let text = file.to_string_lossy().replace('\\', "/");
    let escaped = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_references() {
        assert_eq!(uri(Path::new("a b/k#1.cu")), "a%20b/k%231.cu");
        assert_eq!(uri(Path::new("src/\u{e9}.cu")), "src/%C3%A9.cu");
    }
}
