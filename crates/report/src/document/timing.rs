//! `warplens.annotate` and `warplens.scale`, and the `teg` object of a prediction.

use warplens_document::simulation::{
    self as document, Annotate, AnnotatedLine, Annotation, Busiest, Scaling, Scheduler, Simulation, Stalls, Stop,
    Traffic, Unit,
};
use warplens_document::{Held, Id, Number};
use warplens_question::timing::annotate::AnnotatedText;
use warplens_question::timing::over_warps::{OverWarps, Point};
use warplens_question::timing::scale::{Scale, Step};
use warplens_question::timing::{Annotated, Answer, ControlCode, Outcome, Spent, StallCycles};

use super::predict::refused;

/// The document of the `annotate` verb.
pub fn annotate(all: &[Answer<Annotated>]) -> Annotate {
    Annotate { schema: Id::new(), annotations: all.iter().map(annotation).collect() }
}

fn annotation(answer: &Answer<Annotated>) -> Annotation {
    let of = answer.result.as_ref();
    let (of, refusal) = (of.ok(), of.err());
    let texts = |of: &Annotated| of.annotation.texts.iter().map(text).collect();
    Annotation {
        kernel: answer.kernel.mangled.clone(),
        kernel_demangled: answer.kernel.demangled.clone(),
        gpu: answer.gpu.clone(),
        time_us: of.map(|of| Number(of.time.microseconds())),
        refused: Held(refusal.map(refused)),
        whole: Held(of.map(|of| spent(&of.annotation.whole))),
        elsewhere: Held(of.map(|of| spent(&of.annotation.elsewhere))),
        texts: Held(of.map(texts)),
        teg: Held(of.map(|of| simulation(&of.outcome))),
    }
}

fn text(text: &AnnotatedText) -> document::Text {
    let lines = text.lines.iter().map(|(&line, of_line)| {
        let machine = text.machine.get(&line);
        let source = machine.and_then(|machine| machine.source.as_ref());
        let ptx = machine.and_then(|machine| machine.ptx.as_ref());
        AnnotatedLine {
            spent: spent(of_line),
            line,
            text: text.line(line).to_owned(),
            control: Held(machine.map(|machine| control(&machine.control))),
            source_file: Held(source.map(|(file, _)| file.clone())),
            source_line: Held(source.map(|&(_, line)| line)),
            ptx_line: Held(ptx.map(|ptx| ptx.line)),
            ptx: Held(ptx.map(|ptx| ptx.text.to_string())),
        }
    });
    document::Text { name: text.name.clone(), hottest: text.hottest.clone(), lines: lines.collect() }
}

fn control(control: &ControlCode) -> document::Control {
    let bits = |bits: u8| (0..8).filter(|bit| bits >> bit & 1 == 1).collect();
    document::Control {
        stall_cycles: control.stall,
        yields: control.yields,
        write_barrier: control.write_scoreboard,
        read_barrier: control.read_scoreboard,
        waits: bits(control.waits),
        reuse: bits(control.reuse),
    }
}

fn spent(spent: &Spent) -> document::Spent {
    document::Spent {
        machine_instructions: spent.instructions as u64,
        issued: spent.issued,
        warp_cycles: spent.stalls.total(),
        share: Number(spent.share),
        stalls: stalls(&spent.stalls),
    }
}

/// Warp cycles by state, those that occur.
fn stalls(stalls: &StallCycles) -> Stalls {
    let present = stalls.iter().filter(|&(_, cycles)| cycles > 0);
    present.map(|(stall, cycles)| (stall.name().to_owned(), cycles)).collect()
}

/// What the simulation of one SM found.
pub fn simulation(outcome: &Outcome) -> Simulation {
    let schedulers = outcome.schedulers.iter();
    let schedulers =
        schedulers.map(|scheduler| Scheduler { issued: scheduler.issued, stalls: stalls(&scheduler.stalls) });
    let units = outcome.units.iter().map(|unit| Unit {
        name: unit.kind.to_string(),
        count: unit.count as u64,
        utilisation: Number(unit.utilisation(outcome.cycles)),
    });
    let traffic = &outcome.traffic;
    Simulation {
        sm_cycles: outcome.cycles,
        sm_ctas: outcome.ctas.len() as u64,
        issued: outcome.issued,
        ipc: Number(outcome.ipc()),
        achieved_warps: Number(outcome.achieved_warps()),
        stalls: stalls(&outcome.stalls()),
        schedulers: schedulers.collect(),
        units: units.collect(),
        traffic: Traffic {
            l1_sectors: traffic.l1_sectors,
            l1_hits: traffic.l1_hits,
            l1_hit_share: traffic.l1_hit_share().map(Number),
            l2_sectors: traffic.l2_sectors,
            l2_hits: traffic.l2_hits,
            l2_hit_share: traffic.l2_hit_share().map(Number),
            dram_bytes: traffic.dram_bytes,
            conflict_passes: traffic.conflict_passes,
        },
    }
}

/// The document of the `scale` verb.
pub fn scale(all: &[Answer<Scale>]) -> document::Scale {
    document::Scale { schema: Id::new(), scales: all.iter().map(scaling).collect(), over_warps: Vec::new() }
}

/// The same for the model of Luo and Suda.
pub fn over_warps(all: &[Answer<OverWarps>]) -> document::Scale {
    document::Scale { schema: Id::new(), scales: Vec::new(), over_warps: all.iter().map(of_warps).collect() }
}

fn of_warps(answer: &Answer<OverWarps>) -> document::OverWarps {
    let of = answer.result.as_ref();
    let (of, refusal) = (of.ok(), of.err());
    let point = |point: &Point| document::WarpsPoint {
        warps: point.warps as u64,
        cycles: Number(point.cycles),
        cpd: Number(point.cpd),
        t_c_cycles: Number(point.t_c),
        t_p_cycles: Number(point.t_p),
    };
    document::OverWarps {
        kernel: answer.kernel.mangled.clone(),
        kernel_demangled: answer.kernel.demangled.clone(),
        gpu: answer.gpu.clone(),
        clock_hz: Held(of.map(|of| Number(of.clock_hz))),
        points: of.map(|of| of.points.iter().map(point).collect()),
        refused: Held(refusal.map(refused)),
        assumptions: Held(of.map(|of| of.assumptions.clone())),
    }
}

fn scaling(answer: &Answer<Scale>) -> Scaling {
    let of = answer.result.as_ref();
    let (of, refusal) = (of.ok(), of.err());
    Scaling {
        kernel: answer.kernel.mangled.clone(),
        kernel_demangled: answer.kernel.demangled.clone(),
        gpu: answer.gpu.clone(),
        clock_hz: Held(of.map(|scale| Number(scale.clock_hz))),
        warps_per_cta: Held(of.map(|scale| scale.warps_per_cta as u64)),
        ctas_per_sm: Held(of.map(|scale| scale.most_ctas as u64)),
        steps: of.map(|scale| scale.steps.iter().map(step).collect()),
        refused: Held(refusal.map(refused)),
        assumptions: Held(of.map(|scale| scale.assumptions.clone())),
    }
}

fn step(step: &Step) -> document::Step {
    let stop = step.stop.map(|stop| Stop { stall: stop.stall.name().to_owned(), growth_cycles: Number(stop.growth) });
    let busiest = step.busiest.map(|(unit, share)| Busiest { name: unit.to_string(), utilisation: Number(share) });
    document::Step {
        warps: step.warps as u64,
        ctas: step.ctas as u64,
        cycles: step.cycles,
        issued: step.issued,
        ipc: Number(step.ipc),
        speedup: Number(step.speedup),
        efficiency: Number(step.efficiency),
        stop,
        busiest,
    }
}
