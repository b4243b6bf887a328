//! Which CTAs an SM gets: the one answer, for whoever traces, counts or simulates some of them.

use crate::CtaId;

/// CTAs dealt out to the SMs of a GPU in turn: SM `s` of `n` gets the CTAs `s`, `s + n`, `s + 2 n`, ...
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dealing {
    n_sms: u32,
}

impl Dealing {
    /// To so many SMs; at least one.
    pub fn new(n_sms: u32) -> Self {
        Self { n_sms: n_sms.max(1) }
    }

    /// The SMs.
    pub const fn n_sms(self) -> u32 {
        self.n_sms
    }

    /// The CTA that an SM gets in a turn, from 0; none where there is no such number.
    pub fn cta(self, sm: u32, turn: u32) -> Option<CtaId> {
        Some(CtaId(turn.checked_mul(self.n_sms)?.checked_add(sm)?))
    }

    /// CTAs that the busiest SM gets, of so many; at least one.
    pub fn most(self, n_ctas: u64) -> u32 {
        u32::try_from(n_ctas.div_ceil(self.n_sms.into())).unwrap_or(u32::MAX).max(1)
    }

    /// SMs that get as many CTAs as the busiest one: the first ones.
    pub fn n_busiest(self, n_ctas: u32) -> u32 {
        let rest = n_ctas % self.n_sms;
        if rest == 0 { self.n_sms.min(n_ctas) } else { rest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cta_comes_to_one_sm() {
        for n_sms in [1, 3, 4, 108] {
            let dealing = Dealing::new(n_sms);
            for n_ctas in [1, 2, 3, 4, 5, 107, 108, 109, 216, 1000] {
                let of = |sm| (0..).map_while(move |turn| dealing.cta(sm, turn).filter(|cta| cta.0 < n_ctas));
                let mut all: Vec<CtaId> = (0..n_sms).flat_map(of).collect();
                all.sort_unstable();
                assert!(all.into_iter().eq((0..n_ctas).map(CtaId)), "{n_ctas} CTAs on {n_sms} SMs");
                let counts: Vec<usize> = (0..n_sms).map(|sm| of(sm).count()).collect();
                let most = counts.iter().copied().max().unwrap_or(0);
                assert_eq!(most, dealing.most(n_ctas.into()) as usize);
                assert_eq!(counts.iter().filter(|&&count| count == most).count(), dealing.n_busiest(n_ctas) as usize);
                assert!(counts.is_sorted_by(|a, b| a >= b), "the first ones");
            }
        }
        assert_eq!(Dealing::new(108).cta(0, u32::MAX), None);
    }
}
