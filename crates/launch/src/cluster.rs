//! Clusters of a launch: what it asks for, what its kernel demands, and what no GPU can run.

use warplens_base::error::{Error, Result};
use warplens_ir::LaunchBounds;
use warplens_isa::{FIRST_CLUSTER_TARGET, MOST_CLUSTER_CTAS, PORTABLE_CLUSTER_CTAS};

use crate::shape::{Extents, show};

/// Bytes of an address of kernels that may have clusters.
const ADDRESS_BYTES: u32 = 8;

/// What clusters ask of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct ClusterDemands<'k> {
    /// Its name.
    pub name: &'k str,
    /// What its directives say.
    pub bounds: LaunchBounds,
}

/// Refuses clusters of a kernel whose target has none: its number, and the bytes of an address.
pub(crate) fn check_target(cluster: Extents, name: &str, (target, pointer_bytes): (u32, u32)) -> Result<()> {
    if cluster == [1; 3] || (target >= FIRST_CLUSTER_TARGET && pointer_bytes == ADDRESS_BYTES) {
        return Ok(());
    }
    Err(impossible(
        cluster,
        match target {
            FIRST_CLUSTER_TARGET.. => "clusters need addresses of 64 bits".to_owned(),
            target => {
                format!("kernel `{name}` is for sm_{target}, and there are clusters from sm_{FIRST_CLUSTER_TARGET} on")
            }
        },
    ))
}

fn impossible(cluster: Extents, why: String) -> Error {
    Error::usage(format!("impossible cluster {}: {why}", show(cluster)))
}

/// CTAs per cluster of a launch with this grid, which the launch or its kernel names; none where nobody asks for clusters.
pub fn cluster_of(given: Option<Extents>, kernel: &ClusterDemands<'_>, grid: Extents) -> Result<Option<Extents>> {
    let Some(cluster) = wanted(given, kernel)? else { return Ok(None) };
    let impossible = |why: String| impossible(cluster, why);
    if let Some(axis) = (0..3).find(|&axis| cluster[axis] == 0) {
        return Err(impossible(format!("its {} extent is 0", AXES[axis])));
    }
    let n_ctas = cluster.iter().fold(1u64, |ctas, &extent| ctas.saturating_mul(extent.into()));
    let required = kernel.bounds.cluster.is_some_and(|required| required.ctas.is_some());
    let most = match kernel.bounds.max_cluster {
        Some(most) => most.min(MOST_CLUSTER_CTAS),
        None if required => MOST_CLUSTER_CTAS,
        None => PORTABLE_CLUSTER_CTAS,
    };
    if n_ctas > most.into() {
        return Err(match kernel.bounds.max_cluster {
            Some(allowed) if allowed <= MOST_CLUSTER_CTAS => {
                impossible(format!("it has {n_ctas} blocks, and kernel `{}` allows {allowed}", kernel.name))
            }
            None if !required => {
                impossible(format!("it has {n_ctas} blocks, and not every GPU has room for more than {most}"))
                    .with_help(format!("a kernel allows up to {MOST_CLUSTER_CTAS} with .maxclusterrank"))
            }
            _ => impossible(format!("it has {n_ctas} blocks, and no GPU has room for more than {MOST_CLUSTER_CTAS}")),
        });
    }
    if let Some(axis) = (0..3).find(|&axis| !grid[axis].is_multiple_of(cluster[axis])) {
        return Err(impossible(format!(
            "it does not divide the grid {}: {} blocks along {}, and {} of a cluster",
            show(grid),
            grid[axis],
            AXES[axis],
            cluster[axis]
        )));
    }
    Ok(Some(cluster))
}

const AXES: [&str; 3] = ["x", "y", "z"];

/// What the launch and the kernel say together.
fn wanted(given: Option<Extents>, kernel: &ClusterDemands<'_>) -> Result<Option<Extents>> {
    let Some(required) = kernel.bounds.cluster else { return Ok(given) };
    match (required.ctas, given) {
        (Some(required), Some(given)) if required != given => Err(Error::usage(format!(
            "impossible cluster {}: kernel `{}` requires {}",
            show(given),
            kernel.name,
            show(required)
        ))),
        (Some(required), _) => Ok(Some(required)),
        (None, Some(given)) => Ok(Some(given)),
        (None, None) => Err(Error::usage(format!(
            "no cluster is given for kernel `{}`, which demands one on PTX line {}",
            kernel.name, required.line
        ))
        .with_help("give it with --cluster X[,Y[,Z]], or as cluster = [X, Y, Z] in a launch file")),
    }
}
