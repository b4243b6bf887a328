//! What the shipped examples must compute, written for the CPU from the description of each example.
//!
//! Every function maps input slices to the expected output. Where a kernel fixes the order of its operations the
//! reference repeats that order and the results agree bit for bit; [`CHECKS`] states the tolerance otherwise.
//! [`uniform`] is the documented generator behind `TYPE[COUNT]:uniform(LO,HI,SEED)`.

/// How close an output has to be to its reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tolerance {
    /// Equal bits (NaN equals NaN).
    Exact,
    /// `|got - expected| <= absolute + relative * |expected|`.
    Within { absolute: f64, relative: f64 },
}

impl Tolerance {
    /// Whether `got` is an acceptable result where `expected` is the reference.
    pub(crate) fn accepts(self, got: f32, expected: f32) -> bool {
        match self {
            Tolerance::Exact => got.to_bits() == expected.to_bits() || (got.is_nan() && expected.is_nan()),
            Tolerance::Within { absolute, relative } => {
                let (got, expected) = (f64::from(got), f64::from(expected));
                (got - expected).abs() <= absolute + relative * expected.abs()
            }
        }
    }
}

/// One output of one example: which kernel argument holds it, how exact it has to be and why.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Check {
    pub(crate) example: &'static str,
    pub(crate) launch: &'static str,
    pub(crate) argument: usize,
    pub(crate) tolerance: Tolerance,
    pub(crate) reason: &'static str,
}

const fn exact(example: &'static str, argument: usize, reason: &'static str) -> Check {
    exact_of(example, "launch.toml", argument, reason)
}

const fn exact_of(example: &'static str, launch: &'static str, argument: usize, reason: &'static str) -> Check {
    Check { example, launch, argument, tolerance: Tolerance::Exact, reason }
}

const fn within(example: &'static str, argument: usize, tolerance: Tolerance, reason: &'static str) -> Check {
    Check { example, launch: "launch.toml", argument, tolerance, reason }
}

const PRICE: Tolerance = Tolerance::Within { absolute: 1e-4, relative: 1e-5 };
const PRICE_REASON: &str = "a price is the difference of two terms of up to 100 whose leading digits cancel, so the bound is absolute: \
     a dozen units in the last place of 100 (7.6e-6 each) for the special functions and roundings of both terms";

/// Hundreds of positive terms in f32; the reference adds them in f64.
pub(crate) const POTENTIAL: Tolerance = Tolerance::Within { absolute: 0.0, relative: 2e-5 };
const POTENTIAL_REASON: &str =
    "up to a few hundred positive terms are added in f32, each rounding at most 6e-8 of the sum";

const DECISION: Tolerance = Tolerance::Within { absolute: 1e-5, relative: 0.0 };
const DECISION_REASON: &str = "sixteen terms of at most 1, each with the error of 25 roundings in an exponent below 20";

/// Every output of every example.
pub(crate) const CHECKS: &[Check] = &[
    exact("vector_add", 2, "one rounded addition"),
    exact("matmul_naive", 2, "fused multiply-adds in the order of k"),
    exact("matmul_tiled", 2, "fused multiply-adds in the order of k"),
    exact("abt_conflict", 2, "fused multiply-adds in the order of k"),
    exact("abt_conflict_free", 2, "fused multiply-adds in the order of k"),
    exact("gesummv", 3, "fused multiply-adds in the order of the columns"),
    exact("reduction_shuffle", 1, "the order of additions is fixed by the kernel"),
    exact("layout_aos", 0, "every operation is written out, products in source order"),
    exact("layout_soa", 0, "every operation is written out, products in source order"),
    exact("histogram_atomics", 1, "integer counts"),
    within("black_scholes", 3, PRICE, PRICE_REASON),
    within("black_scholes", 4, PRICE, PRICE_REASON),
    within("black_scholes_7", 4, PRICE, PRICE_REASON),
    within("black_scholes_7", 5, PRICE, PRICE_REASON),
    within("fmm_ulist", 6, POTENTIAL, POTENTIAL_REASON),
    exact("linear", 1, "nine additions in the order of rows, then one product"),
    exact("sepia", 1, "every rounding is written out in the kernel"),
    within("svm", 3, DECISION, DECISION_REASON),
    Check { launch: "launch-constant.toml", ..within("svm", 1, DECISION, DECISION_REASON) },
    Check { launch: "launch-registers.toml", ..within("svm", 1, DECISION, DECISION_REASON) },
    exact("mandelbrot", 0, "every rounding is written out in the kernel"),
];

/// The generator of `uniform(LO,HI,SEED)`: SplitMix64, 53 bits per draw.
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    pub(crate) fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    /// The next draw in [0, 1).
    pub(crate) fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        (z >> 11) as f64 * (-53f64).exp2()
    }
}

/// `f32[count]:uniform(lo,hi,seed)`.
pub(crate) fn uniform(count: usize, lo: f64, hi: f64, seed: u64) -> Vec<f32> {
    let mut generator = SplitMix64::new(seed);
    (0..count).map(|_| (lo + generator.draw() * (hi - lo)) as f32).collect()
}

/// `u8[count]:uniform(lo,hi,seed)`: both ends included.
pub(crate) fn uniform_u8(count: usize, lo: u8, hi: u8, seed: u64) -> Vec<u8> {
    let mut generator = SplitMix64::new(seed);
    let (lo, hi) = (f64::from(lo), f64::from(hi));
    (0..count).map(|_| (lo + generator.draw() * (hi - lo + 1.0)).floor().min(hi) as u8).collect()
}

/// `c` of `vector_add`.
pub(crate) fn vector_add(a: &[f32], b: &[f32]) -> Vec<f32> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// `c` of `matmul_naive` and `matmul_tiled`: A · B for n x n matrices, row-major.
pub(crate) fn matmul(a: &[f32], b: &[f32], n: usize) -> Vec<f32> {
    let mut c = vec![0.0f32; n * n];
    for (row_of_a, row_of_c) in a.chunks_exact(n).zip(c.chunks_exact_mut(n)) {
        // Each element of C still sees k in ascending order; walking B by rows is only kinder to the cache.
        for (&factor, row_of_b) in row_of_a.iter().zip(b.chunks_exact(n)) {
            for (sum, &b) in row_of_c.iter_mut().zip(row_of_b) {
                *sum = factor.mul_add(b, *sum);
            }
        }
    }
    c
}

/// `c` of `abt_conflict` and `abt_conflict_free`: A · Bᵀ for n x n matrices, row-major.
pub(crate) fn matmul_transposed(a: &[f32], b: &[f32], n: usize) -> Vec<f32> {
    let transposed: Vec<f32> = (0..n * n).map(|i| b[(i % n) * n + i / n]).collect();
    matmul(a, &transposed, n)
}

/// `y` of `gesummv`: alpha A x + beta B x for row-major matrices.
pub(crate) fn gesummv(a: &[f32], b: &[f32], x: &[f32], alpha: f32, beta: f32) -> Vec<f32> {
    let product = |row: &[f32]| row.iter().zip(x).fold(0.0f32, |sum, (element, x)| element.mul_add(*x, sum));
    let rows = a.chunks_exact(x.len()).zip(b.chunks_exact(x.len()));
    rows.map(|(a, b)| alpha.mul_add(product(a), beta * product(b))).collect()
}

/// `partial` of `reduction_shuffle`, for a grid of `grid` blocks of `block` threads.
pub(crate) fn reduction_shuffle(input: &[f32], grid: usize, block: usize) -> Vec<f32> {
    let of_thread = |thread: usize| input.iter().skip(thread).step_by(grid * block).fold(0.0f32, |sum, x| sum + x);
    let of_block = |first: usize| {
        let sums: Vec<f32> = (first..first + block).map(of_thread).collect();
        let mut of_warp: Vec<f32> = sums.chunks_exact(32).map(fold_by_halves).collect();
        of_warp.resize(32, 0.0);
        fold_by_halves(&of_warp)
    };
    (0..grid).map(|index| of_block(index * block)).collect()
}

/// Lane 0 after shuffle-down steps of 16, 8, 4, 2 and 1.
fn fold_by_halves(lanes: &[f32]) -> f32 {
    let mut lanes = lanes.to_vec();
    while lanes.len() > 1 {
        let half = lanes.len() / 2;
        lanes = (0..half).map(|lane| lanes[lane] + lanes[lane + half]).collect();
    }
    lanes[0]
}

/// The scalar arguments of `layout_aos` and `layout_soa`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) ex: f32,
    pub(crate) ey: f32,
    pub(crate) ez: f32,
    pub(crate) dt: f32,
}

/// One particle after one step; fields in the order x, y, z, vx, vy, vz, charge, inverse mass.
fn step_particle(p: [f32; 8], field: Field) -> [f32; 8] {
    let [x, y, z, vx, vy, vz, charge, inverse_mass] = p;
    let scale = charge * inverse_mass * field.dt;
    let vx = field.ex.mul_add(scale, vx);
    let vy = field.ey.mul_add(scale, vy);
    let vz = field.ez.mul_add(scale, vz);
    let moved = |velocity: f32, position: f32| velocity.mul_add(field.dt, position);
    [moved(vx, x), moved(vy, y), moved(vz, z), vx, vy, vz, charge, inverse_mass]
}

/// `particles` of `layout_aos` after the step.
pub(crate) fn layout_aos(particles: &[f32], field: Field) -> Vec<f32> {
    let (particles, _) = particles.as_chunks::<8>();
    particles.iter().flat_map(|p| step_particle(*p, field)).collect()
}

/// `fields` of `layout_soa` after the step.
pub(crate) fn layout_soa(fields: &[f32], field: Field) -> Vec<f32> {
    let n = fields.len() / 8;
    let mut out = fields.to_vec();
    for i in 0..n {
        let stepped = step_particle(std::array::from_fn(|f| fields[f * n + i]), field);
        for (f, value) in stepped.into_iter().enumerate() {
            out[f * n + i] = value;
        }
    }
    out
}

/// `bins` of `histogram_atomics`.
pub(crate) fn histogram_atomics(data: &[u8]) -> Vec<u32> {
    let mut bins = vec![0u32; 256];
    for &value in data {
        bins[usize::from(value)] += 1;
    }
    bins
}

/// `call` and `put` of `black_scholes`, computed in f64.
///
/// The distribution function is the polynomial that the kernel uses: its own error is a property of the method, not of
/// the execution.
pub(crate) fn black_scholes(
    price: &[f32],
    strike: &[f32],
    years: &[f32],
    rate: f32,
    volatility: f32,
) -> (Vec<f32>, Vec<f32>) {
    let (rate, volatility) = (f64::from(rate), f64::from(volatility));
    let option = |((&s, &x), &t): ((&f32, &f32), &f32)| {
        let (s, x, t) = (f64::from(s), f64::from(x), f64::from(t));
        let spread = volatility * t.sqrt();
        let d1 = ((s / x).ln() + (rate + 0.5 * volatility * volatility) * t) / spread;
        let (cnd1, cnd2) = (cumulative_normal(d1), cumulative_normal(d1 - spread));
        let discounted = x * (-rate * t).exp();
        ((s * cnd1 - discounted * cnd2) as f32, (discounted * (1.0 - cnd2) - s * (1.0 - cnd1)) as f32)
    };
    price.iter().zip(strike).zip(years).map(option).unzip()
}

/// `call` and `put` of `black_scholes_7`; row k of `added` goes to the result of equation k.
pub(crate) fn black_scholes_7(
    [price, strike, years]: [&[f32]; 3],
    added: &[f32],
    rate: f32,
    volatility: f32,
) -> (Vec<f32>, Vec<f32>) {
    let (rate, volatility) = (f64::from(rate), f64::from(volatility));
    let n = price.len();
    let option = |i: usize| {
        let (s, x, t) = (f64::from(price[i]), f64::from(strike[i]), f64::from(years[i]));
        let added: [f64; 7] = std::array::from_fn(|row| f64::from(added[row * n + i]));
        let sqrt_t = t.sqrt() + added[0];
        let d1 = ((s / x).ln() + (rate + 0.5 * volatility * volatility) * t) / (volatility * sqrt_t) + added[1];
        let d2 = d1 - volatility * sqrt_t + added[2];
        let (cnd1, cnd2) = (cumulative_normal(d1) + added[3], cumulative_normal(d2) + added[4]);
        let discounted = x * (-rate * t).exp();
        let call = s * cnd1 - discounted * cnd2 + added[5];
        let put = discounted * (1.0 - cnd2) - s * (1.0 - cnd1) + added[6];
        (call as f32, put as f32)
    };
    (0..n).map(option).unzip()
}

/// `out` of `sepia`: interleaved channels.
pub(crate) fn sepia(picture: &[f32]) -> Vec<f32> {
    const WEIGHTS: [[f32; 3]; 3] = [[0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131]];
    let (pixels, _) = picture.as_chunks::<3>();
    let mix =
        |&[r, g, b]: &[f32; 3]| WEIGHTS.map(|[of_r, of_g, of_b]| of_b.mul_add(b, of_g.mul_add(g, of_r * r)).min(255.0));
    pixels.iter().flat_map(mix).collect()
}

/// `out` of `linear`; the border stays 0.
pub(crate) fn linear(picture: &[f32], width: usize, height: usize) -> Vec<f32> {
    let mut out = vec![0.0f32; picture.len()];
    for y in 1..height - 1 {
        for x in 1..width - 1 {
            for channel in 0..3 {
                let around = (y - 1..=y + 1).flat_map(|y| (x - 1..=x + 1).map(move |x| (x, y)));
                let sum = around.fold(0.0f32, |sum, (x, y)| sum + picture[3 * (y * width + x) + channel]);
                out[3 * (y * width + x) + channel] = sum * (1.0 / 9.0);
            }
        }
    }
    out
}

/// `decision` of the kernels of `svm`, in f64: 25 features, of all samples one after the other, and 16 vectors.
pub(crate) fn svm(samples: &[f32], vectors: &[f32], weights: &[f32], gamma: f64) -> Vec<f32> {
    let n = samples.len() / 25;
    let decision = |i: usize| {
        let of_vector = |(vector, &weight): (&[f32; 25], &f32)| {
            let squares =
                vector.iter().enumerate().map(|(f, &s)| (f64::from(samples[f * n + i]) - f64::from(s)).powi(2));
            f64::from(weight) * (-gamma * squares.sum::<f64>()).exp()
        };
        let (vectors, _) = vectors.as_chunks::<25>();
        vectors.iter().zip(weights).map(of_vector).sum::<f64>() as f32
    };
    (0..n).map(decision).collect()
}

/// Polynomial 26.2.17 of Abramowitz and Stegun.
fn cumulative_normal(d: f64) -> f64 {
    const COEFFICIENTS: [f64; 5] = [0.319_381_53, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    const INVERSE_SQRT_2PI: f64 = 0.398_942_28;
    let k = 1.0 / (1.0 + 0.231_641_9 * d.abs());
    let polynomial = k * COEFFICIENTS.iter().rev().fold(0.0, |sum, c| sum * k + c);
    let tail = INVERSE_SQRT_2PI * (-0.5 * d * d).exp() * polynomial;
    if d > 0.0 { 1.0 - tail } else { tail }
}

/// The scalar arguments of `mandelbrot`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) left: f32,
    pub(crate) top: f32,
    pub(crate) pixel: f32,
    pub(crate) max_steps: u32,
}

/// `steps` of `mandelbrot`.
pub(crate) fn mandelbrot(view: View) -> Vec<u32> {
    let pixel = |i: usize| {
        let cx = ((i % view.width) as f32).mul_add(view.pixel, view.left);
        let cy = ((i / view.width) as f32).mul_add(-view.pixel, view.top);
        escape_steps(cx, cy, view.max_steps)
    };
    (0..view.width * view.height).map(pixel).collect()
}

fn escape_steps(cx: f32, cy: f32, max_steps: u32) -> u32 {
    let (mut x, mut y) = (0.0f32, 0.0f32);
    for step in 0..max_steps {
        let yy = y * y;
        if x.mul_add(x, yy) > 4.0 {
            return step;
        }
        let next = x.mul_add(x, -yy) + cx;
        y = (2.0 * x).mul_add(y, cy);
        x = next;
    }
    max_steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generator_gives_the_published_splitmix64_stream() {
        // First outputs of SplitMix64 with seed 1234567, shifted to 53 bits.
        let published: [u64; 3] = [6457827717110365317, 3203168211198807973, 9817491932198370423];
        let mut generator = SplitMix64::new(1234567);
        for word in published {
            assert_eq!(generator.draw(), (word >> 11) as f64 * (-53f64).exp2());
        }
    }

    #[test]
    fn integer_draws_reach_both_ends() {
        let drawn = uniform_u8(4096, 3, 5, 1);
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&3), Some(&5)));
    }

    #[test]
    fn put_and_call_satisfy_parity() {
        let (price, strike, years) =
            (uniform(64, 5.0, 30.0, 1), uniform(64, 1.0, 100.0, 2), uniform(64, 0.25, 10.0, 3));
        let (call, put) = black_scholes(&price, &strike, &years, 0.02, 0.3);
        for i in 0..64 {
            let discounted = f64::from(strike[i]) * (-f64::from(0.02f32) * f64::from(years[i])).exp();
            let gap = f64::from(call[i]) - f64::from(put[i]) - (f64::from(price[i]) - discounted);
            assert!(gap.abs() < 1e-5, "option {i}: {gap}");
        }
    }

    #[test]
    fn layouts_hold_the_same_particles() {
        let n = 16;
        let aos = uniform(8 * n, -1.0, 1.0, 1);
        let soa: Vec<f32> = (0..8 * n).map(|i| aos[(i % n) * 8 + i / n]).collect();
        let field = Field { ex: 0.5, ey: -0.25, ez: 0.125, dt: 0.01 };
        let (aos, soa) = (layout_aos(&aos, field), layout_soa(&soa, field));
        assert!((0..8 * n).all(|i| soa[i] == aos[(i % n) * 8 + i / n]));
    }

    #[test]
    fn products_agree_with_hand_computed_ones() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        assert_eq!(matmul(&a, &b, 2), [19.0, 22.0, 43.0, 50.0]);
        assert_eq!(matmul_transposed(&a, &b, 2), [17.0, 23.0, 39.0, 53.0]);
    }

    #[test]
    fn points_inside_and_outside_the_set() {
        assert_eq!(escape_steps(0.0, 0.0, 256), 256);
        assert_eq!(escape_steps(2.0, 2.0, 256), 1);
        assert_eq!(escape_steps(1.0, 0.0, 256), 3);
    }
}
