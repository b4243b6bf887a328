//! Matrices in shared memory that a descriptor tells the places of.
//!
//! In pieces of 16 bytes (CUTLASS, `mma_traits_sm90_gmma.hpp`), with W = 1, 2, 4, 8 pieces in a row of swizzled bytes:
//!
//! | Order | Place of piece p of line i, at the depth k |
//! |---|---|
//! | lines in depth, no swizzle | (i mod 8) 16 + (i / 8) stride + p leading |
//! | lines in depth, swizzled | (i mod 8) 16 W + (i / 8) stride + 16 p |
//! | depth by depth, no swizzle | (k mod 8) 16 + (k / 8) leading + p stride |
//! | depth by depth, swizzled | (p mod W) 16 + (p / W) leading + (k mod 8) 16 W + (k / 8) stride |
//!
//! A swizzle exchanges pieces: bits 4 and up of an address are combined with bits 7 and up, counted from the base offset.

/// The fields of a descriptor, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SharedMatrix {
    start: u32,
    leading: u32,
    stride: u32,
    base_offset: u32,
    /// Pieces in a row of swizzled bytes; 1 without a swizzle.
    width: u32,
}

const PIECE: u32 = 16;

impl SharedMatrix {
    pub(crate) fn of(descriptor: u64) -> Self {
        let field = |first: u32, bits: u32| (descriptor >> first) as u32 & ((1 << bits) - 1);
        Self {
            start: field(0, 14) * PIECE,
            leading: field(16, 14) * PIECE,
            stride: field(32, 14) * PIECE,
            base_offset: field(49, 3),
            width: [1, 8, 4, 2][field(62, 2) as usize],
        }
    }

    /// The address of piece `piece` of a line whose elements lie side by side in depth.
    pub(crate) fn in_depth(self, line: u32, piece: u32) -> u32 {
        let between = if self.width == 1 { self.leading } else { PIECE };
        self.swizzled(line % 8 * PIECE * self.width + line / 8 * self.stride + piece * between)
    }

    /// The address of piece `piece`, of eight lines of 16-bit elements, at a depth.
    pub(crate) fn at_depth(self, piece: u32, depth: u32) -> u32 {
        self.swizzled(match self.width {
            1 => depth % 8 * PIECE + depth / 8 * self.leading + piece * self.stride,
            width => {
                piece % width * PIECE
                    + piece / width * self.leading
                    + depth % 8 * PIECE * width
                    + depth / 8 * self.stride
            }
        })
    }

    fn swizzled(self, offset: u32) -> u32 {
        let address = self.start + offset;
        let row = (address >> 7).wrapping_sub(self.base_offset) & (self.width - 1);
        address ^ row * PIECE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(start: u64, leading: u64, stride: u64, swizzle: u64) -> SharedMatrix {
        SharedMatrix::of(start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | swizzle << 62)
    }

    #[test]
    fn pieces_lie_where_the_descriptor_says() {
        let plain = descriptor(1024, 128, 256, 0);
        assert_eq!((plain.in_depth(0, 0), plain.in_depth(3, 1), plain.in_depth(9, 0)), (1024, 1200, 1296));
        assert_eq!((plain.at_depth(0, 9), plain.at_depth(2, 1)), (1024 + 16 + 128, 1024 + 16 + 512));
        // Rows of 128 bytes; in row r the pieces are exchanged by r.
        let widest = descriptor(2048, 16, 1024, 1);
        assert_eq!(
            (widest.in_depth(0, 1), widest.in_depth(1, 0), widest.in_depth(7, 1)),
            (2064, 2192, 2048 + 896 + 96)
        );
        assert_eq!(widest.in_depth(8, 0), 3072);
        // A start inside of the row of pieces counts before the exchange.
        assert_eq!(descriptor(2048 + 32, 16, 1024, 1).in_depth(2, 0), 2048 + 256);
        let narrow = descriptor(0, 512, 256, 3);
        assert_eq!((narrow.in_depth(3, 0), narrow.in_depth(4, 0), narrow.in_depth(4, 1)), (96, 144, 128));
        assert_eq!((narrow.at_depth(1, 0), narrow.at_depth(2, 0), narrow.at_depth(0, 9)), (16, 512, 288));
    }
}
