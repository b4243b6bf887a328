use warplens_machine::{Reader, Strictness, builtin};
use warplens_report::{render, view};
use warplens_session::{KernelName, plot, timing};
use warplens_sim::*;
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let listing = warplens_native::read_listing(&text).unwrap();
    let gpu = std::env::args().nth(2).unwrap();
    let machine = builtin::machine(&gpu).unwrap().unwrap();
    let mut used: Vec<_> = listing.code.insts.iter().map(|inst| inst.class).collect();
    used.sort();
    used.dedup();
    let mut reader = Reader::new(&machine, Strictness::AllowInferred);
    let config = SmConfig::read(&mut reader, &used).unwrap();
    let ctas = listing.traces((0..3).map(warplens_trace::CtaId), 256).unwrap();
    let job = Job { code: &listing.code, ctas: &ctas, resident: 2, surroundings: Surroundings::ALONE };
    let window = (0, 2000);
    let outcome =
        simulate(&config, &job, Options { timeline_warps: 8, timeline_cycles: Some(window), ..Options::default() });
    println!("{} cycles, {} events", outcome.cycles, outcome.timeline.len());
    let cycles = timing::cycles::cycles("abt".into(), gpu.clone(), config.clock, window, &listing.code, &outcome);
    let of = timing::Annotated {
        kernel: KernelName::new("abt"),
        gpu: gpu.clone(),
        time: warplens_base::units::Seconds(1e-3),
        annotation: timing::annotate::by_input("abt.lst", Some(&text), &listing.code, &outcome),
        outcome,
    };
    let scale = timing::scale::Scale {
        kernel: "abt".into(),
        gpu,
        clock_hz: config.clock,
        warps_per_cta: 8,
        most_ctas: 2,
        steps: timing::scale::steps(&config, &job),
        assumptions: vec![],
    };
    let sections = [view::timing::annotation(&of, true), view::timing::scale(&scale)].concat();
    println!("{}", render::text(&sections, render::Style::Plain));
    let figures = [
        view::figure::cycles(&cycles),
        view::figure::stalls(&plot::stalls::stalls(&of).unwrap()),
        view::figure::scale(&[scale]),
    ];
    for figure in figures {
        figure.check().unwrap();
        let svg = render::svg::figure(&figure);
        println!("{} {} bytes", figure.id, svg.len());
        std::fs::write(format!("/tmp/pic/{}.png", figure.id), render::png::figure(&figure)).unwrap();
    }
}
