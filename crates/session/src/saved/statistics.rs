//! What statistics counted, in both directions.

use warplens_document::profile::statistics as document;
use warplens_document::{Fault, Place};
use warplens_isa::Pc;
use warplens_stats::Statistics;
use warplens_stats::statistics::{AtomicLine, Atomics, Concentration, Textures};

use super::check::{agree, within};
use super::words::Word;
use super::{opcode, origin, sequences};

type Result<T> = std::result::Result<T, Fault>;

/// Statistics as they are written.
pub(super) fn written(statistics: &Statistics) -> document::Statistics {
    let Statistics { reuse, periods, atomics, textures } = statistics;
    document::Statistics {
        reuse: reuse.as_ref().map(sequences::write_reuse),
        periods: periods.as_ref().map(sequences::write_periods),
        atomics: atomics.as_ref().map(written_atomics),
        textures: textures.map(written_textures),
    }
}

/// Statistics as they are read.
pub(super) fn read(written: document::Statistics, place: &Place) -> Result<Statistics> {
    let document::Statistics { reuse, periods, atomics, textures } = written;
    Ok(Statistics {
        reuse: reuse.map(|reuse| sequences::read_reuse(reuse, &place.key("reuse"))).transpose()?,
        periods: periods.map(|periods| sequences::read_periods(periods, &place.key("periods"))).transpose()?,
        atomics: atomics.map(|atomics| read_atomics(atomics, &place.key("atomics"))).transpose()?,
        textures: textures.map(|textures| read_textures(textures, &place.key("textures"))).transpose()?,
    })
}

fn written_textures(textures: Textures) -> document::Textures {
    let Textures {
        fetches,
        fetched_sectors,
        fetched_lines,
        surface_loads,
        surface_stores,
        surface_atomics,
        surface_sectors,
        surface_lines,
    } = textures;
    document::Textures {
        fetches,
        fetched_sectors,
        fetched_lines,
        surface_loads,
        surface_stores,
        surface_atomics,
        surface_sectors,
        surface_lines,
    }
}

fn read_textures(textures: document::Textures, place: &Place) -> Result<Textures> {
    let document::Textures {
        fetches,
        fetched_sectors,
        fetched_lines,
        surface_loads,
        surface_stores,
        surface_atomics,
        surface_sectors,
        surface_lines,
    } = textures;
    within(place, "fetched_lines", fetched_lines, "fetched_sectors", fetched_sectors)?;
    within(place, "surface_lines", surface_lines, "surface_sectors", surface_sectors)?;
    Ok(Textures {
        fetches,
        fetched_sectors,
        fetched_lines,
        surface_loads,
        surface_stores,
        surface_atomics,
        surface_sectors,
        surface_lines,
    })
}

fn written_atomics(atomics: &Atomics) -> document::Atomics {
    let line = |line: &AtomicLine| document::AtomicLine {
        pc: line.pc.0,
        ptx_line: line.ptx_line,
        file: line.source.as_ref().map(|(file, _)| file.clone()),
        line: line.source.as_ref().map(|&(_, line)| line),
        opcode: opcode::text(&line.opcode),
        space: line.space.written(),
        accesses: line.accesses,
        operations: line.operations,
        distinct_words: line.distinct_words,
        passes: line.passes,
        concentration: line.concentration.map(written_concentration),
    };
    let Atomics { lines, concentration } = atomics;
    document::Atomics {
        lines: lines.iter().map(line).collect(),
        concentration: concentration.map(written_concentration),
    }
}

fn written_concentration(concentration: Concentration) -> document::Concentration {
    let Concentration { operations, words, most_on_one_word, one_word_in } = concentration;
    document::Concentration { operations, words, most_on_one_word, one_word_in }
}

fn read_atomics(atomics: document::Atomics, place: &Place) -> Result<Atomics> {
    let line = |(index, line): (usize, document::AtomicLine)| {
        let place = place.key("lines").item(index);
        within(&place, "distinct_words", line.distinct_words, "operations", line.operations)?;
        within(&place, "passes", line.passes, "operations", line.operations)?;
        Ok(AtomicLine {
            pc: Pc(line.pc),
            ptx_line: line.ptx_line,
            source: origin::source(line.file, line.line, &place)?,
            opcode: opcode::spelling(&line.opcode),
            space: Word::from_written(line.space),
            accesses: line.accesses,
            operations: line.operations,
            distinct_words: line.distinct_words,
            passes: line.passes,
            concentration: line
                .concentration
                .map(|concentration| read_concentration(concentration, &place.key("concentration")))
                .transpose()?,
        })
    };
    let document::Atomics { lines, concentration } = atomics;
    Ok(Atomics {
        lines: lines.into_iter().enumerate().map(line).collect::<Result<_>>()?,
        concentration: concentration
            .map(|concentration| read_concentration(concentration, &place.key("concentration")))
            .transpose()?,
    })
}

fn read_concentration(concentration: document::Concentration, place: &Place) -> Result<Concentration> {
    let document::Concentration { operations, words, most_on_one_word, one_word_in } = concentration;
    within(place, "most_on_one_word", most_on_one_word, "operations", operations)?;
    agree(place, "one_word_in, as a power of two,", one_word_in.next_power_of_two(), "one_word_in", one_word_in)?;
    Ok(Concentration { operations, words, most_on_one_word, one_word_in })
}
