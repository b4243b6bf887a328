//! Listings of compute capability 1.x machine code, in the manner of `cuobjdump -sass`, with what the code does not say:
//! where lanes point and how often loops run.
//!
//! ```text
//! .let row = thread / 16;                     // a name for an expression; constants can be set from outside
//! .loop tile, K / 16;                         // executed K/16 times, `tile` counts from 0
//!     GLD.U32 R4, global14[R3]{0x10000 + 4 * (row * K + 16 * tile + thread % 16)};
//!     R2G.U32.U32 g[A1+0x8], R4{4 * thread};  // braces after the memory operand or after the last operand
//!     BAR.ARV.WAIT b0, 0xfff;
//!     .repeat k, 16;                          // written out 16 times, as the compiler unrolls
//!         MOV R2, g[A2+0x108]{1024 + 64 * (thread % 16) + 4 * k};
//!         FMAD32 R0, g[A3+0x8]{64 * row + 4 * k}, R2, R0;
//!     .end;
//!     ISET.C0 o[0x7f], R5, R6, NE;
//!     BRA C0.NE, 0x40;
//! .end;
//! .if thread < 32;  GST.U32 global14[R1], R0{4 * thread};  .else;  NOP;  .end;
//! ```
//!
//! **Statements** end with `;` or with their line, outside of brackets. `//` and `/* */` are comments. `name:` is a label;
//! labels and branch targets are for the reader, the directives say what is executed.
//!
//! **Expressions** are integers (decimal, `0x`) with the operators of C, `? :` among them, over `lane`, `warp`, `thread`
//! (in the CTA), `cta`, `threads` (of a CTA), the counters of enclosing loops and repeats, and names given by `.let`. An
//! annotation is the byte address of each lane: in device memory for `global`, from the start of its space elsewhere.
//! Parameters and launch sizes lie at the start of shared memory on these chips, so an operand `g[0x4]` without an address
//! register needs no annotation: all lanes read that word.
//!
//! In a `.repeat` a register may be computed: `R(8 + 2 * k)`.
//!
//! **Guards**: `@C0.NE` or `@!P0` before an instruction; braces behind it say for which lanes it holds, `@P0{lane < 16}`,
//! which masks a memory access. Without braces it holds for all.
//!
//! **What a class is chosen by** stands in the table of `opcode.rs`. A multiplication of integers that is not of 16 or
//! 24 bits does not exist on these chips and becomes what their compiler makes of it: two cross products, a shift by 16,
//! and the low product on top, `IMUL.U16 t, a, b; IMAD.U16 t, a, b, t; SHL t, t; IMAD.U16 d, a, b, t`, and an addition
//! behind it for a multiply-add.

mod expr;
mod layout;
mod lex;
mod opcode;
mod parse;
mod walk;

use warplens_base::Diagnostic;
use warplens_trace::{Code, CtaId, CtaTrace};

use layout::Node;

/// A listing that was read: machine code, and the rule by which warps go through it.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The machine code.
    pub code: Code,
    program: Vec<Node>,
    n_counters: usize,
}

/// Reads a listing.
pub fn read_listing(text: &str) -> Result<Listing, Vec<Diagnostic>> {
    read_listing_with(text, &[])
}

/// Reads a listing with other values for some of its `.let` names.
pub fn read_listing_with(text: &str, values: &[(&str, i64)]) -> Result<Listing, Vec<Diagnostic>> {
    let (items, n_counters) = parse::parse(text, values)?;
    let (code, program) = layout::layout(text, &items)?;
    Ok(Listing { code, program, n_counters })
}

impl Listing {
    /// What the warps of a CTA with this many threads execute.
    pub fn trace(&self, cta: CtaId, threads: u32) -> Result<CtaTrace, Diagnostic> {
        walk::walk(&self.program, self.n_counters, cta, threads)
    }

    /// What several CTAs execute.
    pub fn traces(&self, ctas: impl IntoIterator<Item = CtaId>, threads: u32) -> Result<Vec<CtaTrace>, Diagnostic> {
        ctas.into_iter().map(|cta| self.trace(cta, threads)).collect()
    }
}
