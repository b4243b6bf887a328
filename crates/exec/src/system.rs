//! Special registers and the services of the CUDA device runtime.

use std::sync::atomic::Ordering;

use warplens_isa::{Axis, SpecialRegister, SystemCall};
use warplens_trace::{ActiveMask, Observer};

use crate::code::{Decoded, SINK, Wide};
use crate::error::ExecError;
use crate::interpret::{Context, Worker, set_value};
use crate::raw::{Lanes, Source};

/// Longest string that a service reads from device memory.
const STRING_LIMIT: usize = 4096;
/// Alignment of what device-side `malloc` returns.
const HEAP_ALIGN: u64 = 16;

impl<O: Observer> Worker<'_, O> {
    #[inline(never)]
    pub(crate) fn special(
        &mut self,
        context: &Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        decoded: &Decoded,
        register: SpecialRegister,
        wide: Wide,
    ) {
        let destination = decoded.destinations[0];
        if let Some(values) = self.lane_values(context, register) {
            match wide {
                Wide::Yes => lanes.set_pairs(destination, &values.map(u64::from)),
                Wide::No => lanes.set_words(destination, &values),
            }
            return;
        }
        set_value(lanes, destination, wide, self.warp_value(context, register));
    }

    /// Registers that differ from lane to lane.
    fn lane_values(&self, context: &Context<'_, O::Cta>, register: SpecialRegister) -> Option<[u32; 32]> {
        let index = &self.thread_index[context.warp_index as usize];
        let by_lane = |value: fn(u32) -> u32| Some(std::array::from_fn(|lane| value(lane as u32)));
        match register {
            SpecialRegister::Tid(axis) => Some(index[axis as usize].0),
            SpecialRegister::Laneid => by_lane(|lane| lane),
            SpecialRegister::LanemaskEq => by_lane(|lane| 1 << lane),
            SpecialRegister::LanemaskLt => by_lane(|lane| (1 << lane) - 1),
            SpecialRegister::LanemaskLe => by_lane(|lane| u32::MAX >> (31 - lane)),
            SpecialRegister::LanemaskGt => by_lane(|lane| !(u32::MAX >> (31 - lane))),
            SpecialRegister::LanemaskGe => by_lane(|lane| u32::MAX << lane),
            _ => None,
        }
    }

    /// Registers that are the same in all lanes. There is one SM, which runs one cluster of one CTA at a time; the
    /// clocks count warp instructions, since execution knows no time.
    fn warp_value(&mut self, context: &Context<'_, O::Cta>, register: SpecialRegister) -> u64 {
        let shape = &self.shared.shape;
        let on = |values: [u32; 3], axis: Axis| u64::from(values[axis as usize]);
        let shared_bytes = shape.shared_bytes as u64;
        match register {
            SpecialRegister::Ntid(axis) => on(shape.block, axis),
            SpecialRegister::Ctaid(axis) | SpecialRegister::Clusterid(axis) => on(context.coordinates, axis),
            SpecialRegister::Nctaid(axis) | SpecialRegister::Nclusterid(axis) => on(shape.grid, axis),
            SpecialRegister::ClusterNctaid(_) | SpecialRegister::ClusterNctarank | SpecialRegister::Nsmid => 1,
            SpecialRegister::Warpid => u64::from(context.warp_index),
            SpecialRegister::Nwarpid => u64::from(shape.threads.div_ceil(32)),
            SpecialRegister::Clock | SpecialRegister::Clock64 => self.clock(),
            SpecialRegister::Globaltimer | SpecialRegister::GlobaltimerLo => self.clock(),
            SpecialRegister::ClockHi | SpecialRegister::GlobaltimerHi => self.clock() >> 32,
            SpecialRegister::DynamicSmemSize => self.shared.launch.dynamic_shared,
            SpecialRegister::TotalSmemSize | SpecialRegister::AggrSmemSize => shared_bytes,
            _ => 0,
        }
    }

    #[inline(never)]
    pub(crate) fn system_call(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        decoded: &Decoded,
        arguments: &[(Source, Wide)],
    ) -> Result<(), ExecError> {
        let mut results = [0u64; 32];
        for lane in ActiveMask(lanes.mask).lanes() {
            let values: Vec<u64> = arguments
                .iter()
                .map(|&(source, wide)| match wide {
                    Wide::Yes => lanes.pairs(source)[lane],
                    Wide::No => u64::from(lanes.words(source)[lane]),
                })
                .collect();
            let argument = |index: usize| values.get(index).copied().unwrap_or(0);
            results[lane] = match decoded.modifiers.system {
                Some(SystemCall::Vprintf) => self.vprintf(context, lane, argument(0), argument(1)),
                Some(SystemCall::Malloc) => self.malloc(argument(0)),
                Some(SystemCall::AssertFail) => {
                    let text = |address| String::from_utf8_lossy(&self.string(context, lane, address)).into_owned();
                    let (message, file) = (text(argument(0)), text(argument(1)));
                    let message = format!("assertion `{message}` failed at {file}:{}", argument(2) as u32);
                    let thread = self.thread(context.coordinates, context.warp_index, 1 << lane);
                    return Err(ExecError::Trap { pc: decoded.pc, thread, message });
                }
                Some(SystemCall::Free) | None => 0,
            };
        }
        if decoded.destinations[0] == SINK {
            return Ok(());
        }
        if decoded.modifiers.system == Some(SystemCall::Malloc)
            && self.shared.device.windows.global > u64::from(u32::MAX)
        {
            lanes.set_pairs(decoded.destinations[0], &results);
        } else {
            lanes.set_words(decoded.destinations[0], &results.map(|result| result as u32));
        }
        Ok(())
    }

    /// Hands out the heap from its start; nothing is ever reused. 0 when it is used up.
    fn malloc(&self, bytes: u64) -> u64 {
        let Some(heap) = self.shared.device.heap else { return 0 };
        let heap = self.shared.device.buffer(heap);
        let size = bytes.max(1).checked_next_multiple_of(HEAP_ALIGN).unwrap_or(u64::MAX);
        let take = |used: u64| used.checked_add(size).filter(|&end| end <= heap.bytes);
        match self.shared.heap_used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(offset) => heap.base + offset,
            Err(_) => 0,
        }
    }

    /// A string in device memory, without its final zero.
    fn string(&self, context: &Context<'_, O::Cta>, lane: usize, address: u64) -> Vec<u8> {
        let byte = |offset| self.peek(context, lane, address.wrapping_add(offset), 1).map(|byte| byte[0]);
        (0..STRING_LIMIT as u64).map_while(byte).take_while(|&byte| byte != 0).collect()
    }

    /// `vprintf`: the arguments lie one after the other, each at a multiple of its size. Returns how many there are.
    fn vprintf(&mut self, context: &Context<'_, O::Cta>, lane: usize, format: u64, arguments: u64) -> u64 {
        let format = self.string(context, lane, format);
        let mut text = Vec::new();
        let mut rest = &format[..];
        let mut next = arguments;
        let mut count = 0;
        let mut argument = |size: u64| {
            next = next.next_multiple_of(size);
            let bytes = self.peek(context, lane, next, size as usize).unwrap_or_default();
            next += size;
            count += 1;
            let mut value = [0; 8];
            value[..bytes.len()].copy_from_slice(&bytes);
            u64::from_le_bytes(value)
        };
        while let Some(at) = rest.iter().position(|&byte| byte == b'%') {
            text.extend_from_slice(&rest[..at]);
            let (conversion, used) = Conversion::parse(&rest[at..], &mut |size| argument(size) as i32);
            match conversion {
                Some(Conversion { kind: b's', .. }) => {
                    let address = argument(8);
                    text.extend(self.string(context, lane, address));
                }
                Some(conversion) => text.extend(conversion.render(argument(conversion.size)).bytes()),
                None => text.extend_from_slice(if rest[at..].starts_with(b"%%") { b"%" } else { &rest[at..at + used] }),
            }
            rest = &rest[at + used..];
        }
        text.extend_from_slice(rest);
        self.print(&text);
        count
    }
}

/// One conversion of a format string.
struct Conversion {
    kind: u8,
    size: u64,
    left: bool,
    zero: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
}

impl Conversion {
    /// Parses the conversion at the start of `text` (a `%`); returns also how many bytes it takes.
    fn parse(text: &[u8], star: &mut dyn FnMut(u64) -> i32) -> (Option<Self>, usize) {
        let mut conversion = Self {
            kind: 0,
            size: 4,
            left: false,
            zero: false,
            plus: false,
            space: false,
            alternate: false,
            width: 0,
            precision: None,
        };
        let mut at = 1;
        let peek = |at: usize| text.get(at).copied().unwrap_or(0);
        loop {
            match peek(at) {
                b'-' => conversion.left = true,
                b'0' => conversion.zero = true,
                b'+' => conversion.plus = true,
                b' ' => conversion.space = true,
                b'#' => conversion.alternate = true,
                _ => break,
            }
            at += 1;
        }
        let mut number = |at: &mut usize| {
            if peek(*at) == b'*' {
                *at += 1;
                return star(4).max(0) as usize;
            }
            let mut value = 0usize;
            while peek(*at).is_ascii_digit() {
                value = (value * 10 + usize::from(peek(*at) - b'0')).min(STRING_LIMIT);
                *at += 1;
            }
            value
        };
        conversion.width = number(&mut at);
        if peek(at) == b'.' {
            at += 1;
            conversion.precision = Some(number(&mut at));
        }
        while matches!(peek(at), b'l' | b'h' | b'z' | b'j' | b't' | b'L') {
            if peek(at) != b'h' {
                conversion.size = 8;
            }
            at += 1;
        }
        conversion.kind = peek(at);
        match conversion.kind {
            b'd' | b'i' | b'u' | b'x' | b'X' | b'o' => {}
            b'c' => conversion.size = 4,
            b'p' | b's' | b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => conversion.size = 8,
            _ => return (None, (at + 1).min(text.len())),
        }
        (Some(conversion), at + 1)
    }

    fn render(&self, value: u64) -> String {
        let signed = if self.size == 8 { value as i64 } else { i64::from(value as u32 as i32) };
        let unsigned = if self.size == 8 { value } else { u64::from(value as u32) };
        let (negative, body) = match self.kind {
            b'd' | b'i' => (signed < 0, self.digits(signed.unsigned_abs().to_string())),
            b'u' => (false, self.digits(unsigned.to_string())),
            b'x' => {
                (false, format!("{}{}", if self.alternate { "0x" } else { "" }, self.digits(format!("{unsigned:x}"))))
            }
            b'X' => {
                (false, format!("{}{}", if self.alternate { "0X" } else { "" }, self.digits(format!("{unsigned:X}"))))
            }
            b'o' => (false, self.digits(format!("{unsigned:o}"))),
            b'c' => (false, char::from(value as u8).to_string()),
            b'p' => (false, format!("{value:#x}")),
            _ => {
                let float = f64::from_bits(value);
                (float.is_sign_negative() && !float.is_nan(), self.float(float.abs()))
            }
        };
        self.pad(negative, body)
    }

    fn digits(&self, digits: String) -> String {
        let precision = self.precision.unwrap_or(0);
        format!("{digits:0>precision$}")
    }

    fn float(&self, value: f64) -> String {
        if !value.is_finite() {
            return if value.is_nan() { "nan" } else { "inf" }.to_owned();
        }
        let precision = self.precision.unwrap_or(6);
        match self.kind {
            b'e' | b'E' => exponential(value, precision, self.kind),
            b'g' | b'G' => {
                let precision = precision.max(1);
                let exponent =
                    format!("{value:.*e}", precision - 1).rsplit('e').next().and_then(|e| e.parse::<i32>().ok());
                let exponent = exponent.unwrap_or(0);
                let text = if exponent < -4 || exponent >= precision as i32 {
                    exponential(value, precision - 1, self.kind - 2)
                } else {
                    format!("{value:.*}", (precision as i32 - 1 - exponent).max(0) as usize)
                };
                if self.alternate { text } else { trim_zeros(&text) }
            }
            _ => format!("{value:.precision$}"),
        }
    }

    fn pad(&self, negative: bool, body: String) -> String {
        let sign = match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        };
        let sign = if matches!(self.kind, b'u' | b'x' | b'X' | b'o' | b'c' | b'p') { "" } else { sign };
        let missing = self.width.saturating_sub(sign.len() + body.len());
        if self.left {
            format!("{sign}{body}{}", " ".repeat(missing))
        } else if self.zero {
            format!("{sign}{}{body}", "0".repeat(missing))
        } else {
            format!("{}{sign}{body}", " ".repeat(missing))
        }
    }
}

/// C writes at least two digits of exponent and always its sign.
fn exponential(value: f64, precision: usize, kind: u8) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}{}{sign}{digits:0>2}", char::from(kind))
}

/// `%g` drops the zeros at the end of the fraction.
fn trim_zeros(text: &str) -> String {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let mantissa = if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    format!("{mantissa}{exponent}")
}
