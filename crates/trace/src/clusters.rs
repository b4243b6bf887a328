//! Which CTAs form a cluster, and how they are numbered.

use crate::CtaId;

/// The clusters of a grid: blocks of CTAs that run together. Without clusters each CTA is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clusters {
    grid: [u32; 3],
    ctas: [u32; 3],
}

impl Clusters {
    /// Clusters of so many CTAs per axis, which divide those of the grid; of one CTA where nothing is said.
    pub fn new(grid: [u32; 3], ctas: Option<[u32; 3]>) -> Self {
        Self { grid, ctas: ctas.unwrap_or([1; 3]).map(|extent| extent.max(1)) }
    }

    /// CTAs of a cluster.
    pub fn n_ctas(self) -> u32 {
        self.ctas.iter().product()
    }

    /// CTAs of a cluster per axis.
    pub const fn extents(self) -> [u32; 3] {
        self.ctas
    }

    /// Clusters per axis.
    pub fn grid(self) -> [u32; 3] {
        std::array::from_fn(|axis| self.grid[axis] / self.ctas[axis])
    }

    /// Where a CTA lies in its cluster.
    pub fn inside(self, cta: [u32; 3]) -> [u32; 3] {
        std::array::from_fn(|axis| cta[axis] % self.ctas[axis])
    }

    /// The number of a CTA in its cluster: x fastest.
    pub fn rank(self, cta: [u32; 3]) -> u32 {
        let ([x, y, z], [width, height, _]) = (self.inside(cta), self.ctas);
        x + width * (y + height * z)
    }

    /// The number of the cluster of a CTA: x fastest.
    pub fn of(self, id: CtaId) -> u32 {
        let [x, y, _] = self.grid;
        let cta = [id.0 % x, id.0 / x % y, id.0 / x / y];
        let [x, y, z]: [u32; 3] = std::array::from_fn(|axis| cta[axis] / self.ctas[axis]);
        let [width, height, _] = self.grid();
        x + width * (y + height * z)
    }

    /// The CTAs of a cluster, by rank.
    pub fn members(self, cluster: u32) -> impl Iterator<Item = CtaId> {
        let [width, height, _] = self.grid();
        let first = [cluster % width, cluster / width % height, cluster / width / height];
        let ([nx, ny, nz], [gx, gy, _]) = (self.ctas, self.grid);
        (0..nx * ny * nz).map(move |rank| {
            let inside = [rank % nx, rank / nx % ny, rank / nx / ny];
            let [x, y, z]: [u32; 3] = std::array::from_fn(|axis| first[axis] * self.ctas[axis] + inside[axis]);
            CtaId(x + gx * (y + gy * z))
        })
    }

    /// The first CTA of the cluster of a CTA.
    pub fn first_beside(self, id: CtaId) -> CtaId {
        match self.ctas {
            [1, 1, 1] => id,
            _ => self.members(self.of(id)).next().unwrap_or(id),
        }
    }

    /// These CTAs with all others of their clusters, ascending.
    pub fn whole(self, ctas: impl IntoIterator<Item = u32>) -> Vec<u32> {
        let mut all: Vec<u32> = match self.ctas {
            [1, 1, 1] => ctas.into_iter().collect(),
            _ => {
                let mut clusters: Vec<u32> = ctas.into_iter().map(|cta| self.of(CtaId(cta))).collect();
                clusters.sort_unstable();
                clusters.dedup();
                clusters.into_iter().flat_map(|cluster| self.members(cluster)).map(|cta| cta.0).collect()
            }
        };
        all.sort_unstable();
        all.dedup();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_blocks_of_the_grid() {
        let clusters = Clusters::new([6, 4, 2], Some([3, 2, 1]));
        assert_eq!((clusters.n_ctas(), clusters.grid()), (6, [2, 2, 2]));
        let ids = |cluster| clusters.members(cluster).map(|cta| cta.0).collect::<Vec<_>>();
        assert_eq!(ids(0), [0, 1, 2, 6, 7, 8]);
        assert_eq!(ids(3), [15, 16, 17, 21, 22, 23]);
        assert_eq!(ids(4), [24, 25, 26, 30, 31, 32]);
        for cluster in 0..8 {
            for (rank, id) in clusters.members(cluster).enumerate() {
                let cta = [id.0 % 6, id.0 / 6 % 4, id.0 / 24];
                assert_eq!((clusters.of(id), clusters.rank(cta)), (cluster, rank as u32));
                assert_eq!(clusters.first_beside(id).0, ids(cluster)[0]);
            }
        }
        assert_eq!(clusters.whole([16, 0, 17]), [0, 1, 2, 6, 7, 8, 15, 16, 17, 21, 22, 23]);
    }

    #[test]
    fn without_clusters_each_cta_is_one() {
        let clusters = Clusters::new([5, 2, 1], None);
        assert_eq!((clusters.n_ctas(), clusters.grid()), (1, [5, 2, 1]));
        assert_eq!((clusters.whole([7, 3, 3]), clusters.rank([4, 1, 0])), (vec![3, 7], 0));
        assert_eq!(clusters.members(7).collect::<Vec<_>>(), [CtaId(7)]);
    }
}
