//! Recordings of launches as a part of saved profiles: packed traces, machine code and footprints.
//!
//! What is read gives the same answer to the last digit, as nothing in it is rounded. A digest ties it to the counts beside
//! it, because whoever edits counts describes another kernel.

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use warplens_base::bytes::{Columns, Corrupt, Lists, Reader, Writer};
use warplens_document::profile as document;
use warplens_document::{Fault, Held, Place};
use warplens_sim::traces::{Listing, MachineCode, OfBoard, Traced, Traces};
use warplens_stats::{Footprint, Profile, TracedCta};
use warplens_trace::{Code, CtaId, CtaTrace, WarpTrace};

/// How the data are written; another number for every change.
const ENCODING: &str = "4";
/// Bytes of the largest recording.
const MOST_BYTES: u64 = 1 << 30;

/// What was recorded of a launch with these counts, if something was.
pub(super) fn written(traces: &Traces, profile: &Profile) -> Held<document::Recording> {
    let Traces::Made(traced) = traces else { return Held(None) };
    let bytes = packed(traced);
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
    let data = zlib.write_all(&bytes).and_then(|()| zlib.finish()).expect("memory takes everything");
    Held(Some(document::Recording {
        gpus: traced.boards.iter().filter(|(_, of)| of.code.is_ok()).map(|(board, _)| board.clone()).collect(),
        counts_digest: digest(profile),
        encoding: ENCODING.to_owned(),
        unpacked_bytes: bytes.len() as u64,
        data: BASE64.encode(data),
    }))
}

/// Reads what was recorded of a launch with these counts.
pub(super) fn read(recording: document::Recording, profile: &Profile, place: &Place) -> Result<Traces, Fault> {
    if recording.encoding != ENCODING {
        let fault =
            place.key("encoding").fault(format!("`{}` is unknown; it is `{ENCODING}` here", recording.encoding));
        return Err(Fault { help: Some("record the launch again with this warplens".to_owned()), ..fault });
    }
    if recording.counts_digest != digest(profile) {
        return Ok(Traces::Outdated);
    }
    let data = place.key("data");
    let packed = BASE64.decode(&recording.data).map_err(|error| data.fault(format!("this is no Base64: {error}")))?;
    let n_bytes = recording.unpacked_bytes;
    if n_bytes > MOST_BYTES {
        return Err(place.key("unpacked_bytes").fault(format!("{n_bytes} is more than {MOST_BYTES}")));
    }
    let mut bytes = Vec::new();
    ZlibDecoder::new(packed.as_slice())
        .take(n_bytes + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| data.fault(format!("it cannot be unpacked: {error}")))?;
    if bytes.len() as u64 != n_bytes {
        return Err(data.fault(format!("it does not hold {n_bytes} bytes")));
    }
    let traced = unpacked(&bytes, profile).map_err(|corrupt| data.fault(corrupt))?;
    Ok(Traces::Made(Arc::new(traced)))
}

/// A number that tells launches and counts apart (FNV-1a of 64 bits over their document).
fn digest(profile: &Profile) -> String {
    let document = (super::launch(profile), super::counts(profile));
    let text = serde_json::to_string(&document).expect("counts are written as JSON");
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

/// The bytes of a recording: lists, and what refers to them.
fn packed(traced: &Traced) -> Vec<u8> {
    let (mut columns, mut body) = (Columns::default(), Writer::default());
    let Traced { ctas, executions, footprint, boards } = traced;
    let pairs = |pairs: &[(u32, u64)], to: &mut Writer| {
        to.count(pairs.len());
        for &(block, n) in pairs {
            to.uint(block.into());
            to.uint(n);
        }
    };
    body.count(ctas.len());
    for cta in ctas {
        cta.trace().pack(&mut columns, &mut body);
        pairs(cta.left_out(), &mut body);
    }
    pairs(executions, &mut body);
    footprint.pack(&mut columns, &mut body);
    body.count(boards.len());
    for (board, OfBoard { code, sms, stand_ins, window }) in boards {
        body.text(board);
        match code {
            Err(reason) => {
                body.uint(0);
                body.text(reason);
            }
            Ok(MachineCode { scheduled, program_order }) => {
                body.uint(1);
                for Listing { code, assumptions } in [scheduled, program_order] {
                    code.pack(&mut columns, &mut body);
                    body.count(assumptions.len());
                    assumptions.iter().for_each(|sentence| body.text(sentence));
                }
            }
        }
        body.count(sms.len());
        sms.iter().for_each(|ctas| columns.add(ctas, |cta, to| to.uint(cta.0.into()), &mut body));
        body.uint((*stand_ins).into());
        body.uint((*window).into());
    }
    columns.before(&mut body)
}

fn unpacked(bytes: &[u8], profile: &Profile) -> Result<Traced, Corrupt> {
    let mut from = Reader::new(bytes);
    let lists = Lists::read(&mut from)?;
    let pairs = |from: &mut Reader<'_>| from.list(|from| Ok((from.narrow::<u32>()?, from.uint()?)));
    let mut known = Known { n_warps: profile.launch.n_warps(), last: None, n_blocks: 0 };
    let ctas = from.list(|from| {
        let trace = CtaTrace::unpack(&lists, from)?;
        let left_out = pairs(from)?;
        known.cta(&trace, &left_out)?;
        Ok(TracedCta::new(&trace, left_out))
    })?;
    let executions = pairs(&mut from)?;
    let footprint = Footprint::unpack(&lists, &mut from)?;
    let boards = from.list(|from| Ok((from.text()?.to_owned(), of_board(&lists, from)?)))?;
    from.end()?;
    executions.iter().for_each(|&(block, _)| known.block(block));
    let traced = Traced { ctas, executions, footprint, boards: boards.into_iter().collect() };
    let codes = traced.boards.values().filter_map(|of| of.code.as_ref().ok());
    let listings = codes.flat_map(|code| [&code.scheduled, &code.program_order]);
    let has_all = listings.map(|listing| listing.code.blocks.len()).all(|n_blocks| n_blocks >= known.n_blocks);
    if has_all { Ok(traced) } else { Err(OTHER) }
}

const OTHER: Corrupt = Corrupt("its parts do not fit each other");

/// What a simulation takes for granted: CTAs in their order, all with the warps of the launch, that execute blocks which
/// every listing has.
struct Known {
    n_warps: u64,
    last: Option<CtaId>,
    n_blocks: usize,
}

impl Known {
    fn block(&mut self, block: u32) {
        self.n_blocks = self.n_blocks.max(block as usize + 1);
    }

    fn cta(&mut self, trace: &CtaTrace, left_out: &[(u32, u64)]) -> Result<(), Corrupt> {
        let is_next = self.last.replace(trace.id).is_none_or(|last| last < trace.id);
        trace.warps.iter().flat_map(WarpTrace::steps).for_each(|step| self.block(step.block));
        left_out.iter().for_each(|&(block, _)| self.block(block));
        if is_next && trace.warps.len() as u64 == self.n_warps { Ok(()) } else { Err(OTHER) }
    }
}

fn of_board(lists: &Lists<'_>, from: &mut Reader<'_>) -> Result<OfBoard, Corrupt> {
    let code = match from.uint()? {
        0 => Err(from.text()?.to_owned()),
        _ => {
            let mut listing = || {
                let code = Arc::new(Code::unpack(lists, from)?);
                let assumptions = from.list(|from| from.text().map(str::to_owned))?;
                Ok::<_, Corrupt>(Listing { code, assumptions })
            };
            Ok(MachineCode { scheduled: listing()?, program_order: listing()? })
        }
    };
    let sms = from.list(|from| lists.items(from, |from| from.narrow().map(CtaId)))?;
    Ok(OfBoard { code, sms, stand_ins: from.uint()? > 0, window: from.narrow()? })
}
