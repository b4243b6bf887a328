//! What is known about a measurement besides its counts.

use warplens_document::profile::{self as document, Given, Origin, Static, StaticBasis, Unsupported};
use warplens_document::{Amount, Fault, Held, Number, Place};
use warplens_isa::Pc;

use super::opcode;
use super::words::Word;
use crate::measurement::Emulation;
use crate::measurement::{Bound, Line, Statics};
use crate::measurement::{Measurement, Support};
use crate::program::CountedCode;
use crate::race::Race;
use warplens_import::Measured;

/// Where the counts of a measurement come from.
pub fn origin(measurement: &Measurement) -> Origin {
    Origin {
        communicates: measurement.communicates,
        race: measurement.race.as_ref().map(race),
        measured: measurement.measured.as_ref().map(measured),
        support: support(&measurement.support).into(),
        emulation: measurement.emulation.as_ref().map(emulation),
        statics: measurement.statics.as_ref().map(statics),
        code: Held(measurement.code.as_ref().map(code)),
    }
}

/// The code that was counted.
pub(super) fn code(code: &CountedCode) -> document::Code {
    document::Code {
        form: code.form.written(),
        target: code.target.clone(),
        origin: code.origin.written(),
        assembler: Held(code.assembler.clone()),
    }
}

pub(super) fn read_code(code: document::Code) -> CountedCode {
    CountedCode {
        form: Word::from_written(code.form),
        target: code.target,
        origin: Word::from_written(code.origin),
        assembler: code.assembler.0,
    }
}

/// Blocks that touch what others write.
pub fn race(race: &Race) -> document::Race {
    document::Race {
        buffer: race.buffer.clone(),
        byte: race.byte,
        block: race.block,
        other_block: race.other_block,
        ptx_line: race.ptx_line,
        file: race.source.as_ref().map(|(file, _)| file.clone()),
        line: race.source.as_ref().map(|&(_, line)| line),
    }
}

pub(super) fn read_race(race: document::Race, place: &Place) -> Result<Race, Fault> {
    Ok(Race {
        buffer: race.buffer,
        byte: race.byte,
        block: race.block,
        other_block: race.other_block,
        ptx_line: race.ptx_line,
        source: source(race.file, race.line, place)?,
    })
}

fn measured(measured: &Measured) -> document::Measured {
    document::Measured {
        time_us: Amount(measured.time_us),
        device: measured.device.clone(),
        target: measured.target.clone(),
        profiler: measured.profiler.clone().into(),
    }
}

pub(super) fn read_measured(measured: document::Measured) -> Measured {
    Measured {
        time_us: measured.time_us.0,
        device: measured.device,
        target: measured.target,
        profiler: measured.profiler.0.unwrap_or_else(|| "file".to_owned()),
    }
}

/// Supported and unsupported instructions of a kernel.
pub fn support(support: &Support) -> document::Support {
    let unsupported = support.unsupported.iter();
    let unsupported =
        unsupported.map(|(opcode, reason)| Unsupported { opcode: opcode::text(opcode), reason: reason.clone() });
    document::Support {
        instructions: support.instructions,
        share: Number(support.share()).into(),
        unsupported: unsupported.collect(),
        overreads: support.overreads,
    }
}

pub(super) fn read_support(support: document::Support) -> Support {
    let unsupported = support.unsupported.into_iter().map(|found| (opcode::spelling(&found.opcode), found.reason));
    Support { instructions: support.instructions, unsupported: unsupported.collect(), overreads: support.overreads }
}

/// Cost of an execution.
pub fn emulation(emulation: &Emulation) -> document::Emulation {
    document::Emulation {
        thread_instructions: emulation.thread_instructions,
        warp_instructions: emulation.warp_instructions,
        seconds: Amount(emulation.seconds),
    }
}

pub(super) fn read_emulation(emulation: &document::Emulation) -> Emulation {
    Emulation {
        thread_instructions: emulation.thread_instructions,
        warp_instructions: emulation.warp_instructions,
        seconds: emulation.seconds.0,
    }
}

fn statics(statics: &Statics) -> Static {
    let given = statics.used.iter();
    Static {
        basis: StaticBasis::Static.into(),
        bounds: statics.bounds.iter().map(bound).collect(),
        given: given.map(|(line, value)| Given { line: line.to_string(), value: Amount(*value) }).collect(),
        unused: statics.unused.iter().map(Line::to_string).collect(),
        ctas_walked: statics.walked_ctas,
        warp_instructions_walked: statics.walked_instructions,
        ctas_executed: statics.executed_ctas,
    }
}

pub(super) fn read_statics(statics: Static, place: &Place) -> Result<Statics, Fault> {
    let given = statics.given.iter().enumerate();
    let used = given.map(|(index, given)| {
        let place = place.key("given").item(index).key("line");
        Ok((read_line(&given.line, &place)?, given.value.0))
    });
    let unused = statics.unused.iter().enumerate();
    let unused = unused.map(|(index, line)| read_line(line, &place.key("unused").item(index)));
    let (used, unused) = (used.collect::<Result<_, _>>()?, unused.collect::<Result<_, _>>()?);
    let bounds = statics.bounds.into_iter().enumerate();
    let bounds = bounds.map(|(index, bound)| read_bound(bound, &place.key("bounds").item(index)));
    Ok(Statics {
        bounds: bounds.collect::<Result<_, _>>()?,
        used,
        unused,
        walked_ctas: statics.ctas_walked,
        walked_instructions: statics.warp_instructions_walked,
        executed_ctas: statics.ctas_executed,
    })
}

fn bound(bound: &Bound) -> document::Bound {
    document::Bound {
        kind: bound.kind.written(),
        pc: bound.pc.0,
        ptx_line: bound.ptx_line,
        file: bound.source.as_ref().map(|(file, _)| file.clone()),
        line: bound.source.as_ref().map(|&(_, line)| line),
        opcode: opcode::text(&bound.opcode),
    }
}

fn read_bound(bound: document::Bound, place: &Place) -> Result<Bound, Fault> {
    Ok(Bound {
        kind: Word::from_written(bound.kind),
        pc: Pc(bound.pc),
        ptx_line: bound.ptx_line,
        source: source(bound.file, bound.line, place)?,
        opcode: opcode::spelling(&bound.opcode),
    })
}

/// File and line of the program, both or none.
pub(super) fn source(file: Option<String>, line: Option<u32>, place: &Place) -> Result<Option<(String, u32)>, Fault> {
    match (file, line) {
        (Some(file), Some(line)) => Ok(Some((file, line))),
        (None, None) => Ok(None),
        _ => Err(place.fault("file and line go together")),
    }
}

/// `12`, `ptx:12` or `source:12`.
fn read_line(text: &str, place: &Place) -> Result<Line, Fault> {
    let (make, digits): (fn(u32) -> Line, &str) = match text.split_once(':') {
        Some(("ptx", digits)) => (Line::Ptx, digits),
        Some(("source", digits)) => (Line::Source, digits),
        _ => (Line::Either, text),
    };
    digits.parse().map(make).map_err(|_| place.fault(format!("`{text}` is no line")))
}
