//! The manual's page on profiles from elsewhere: the mappings as the program has them.

use std::fmt::Write as _;

use warplens_stats::Count;

use crate::nsight::{KINDS, METRICS, OPCODES, PIPES};
use crate::visual_profiler::{COUNTERS, Scope};

const HEAD: &str = "\
# Profiles from elsewhere

`warplens predict` and `warplens profile` take counts from a file in place of a kernel: a profile saved with `warplens profile --format json`, a script of several inputs, or what a profiler wrote on a GPU.
The kind of a file is told from its content.
Examples of all of them lie in [examples/profiles](../examples/profiles/README.md).

```sh
warplens profile kernel.ptx --launch launch.toml --format json -o p.json    # count once
warplens predict p.json --gpu all                                           # ask as often as you like, teg too
ncu --set full --page raw --csv ./program > p.csv                           # counts of a GPU
warplens predict p.csv -k regex:matmul --gpu a100-80                        # with the measured time beside the answer
```

## What holds for all of them

- A count that the source does not hold is absent, never 0.
  A model that needs it refuses and names it; a model that can do without leaves the effect out and says so.
  With `--strict` it refuses, too.
  `warplens profile` lists what is absent.
- Counts of a profiler are counts of machine code; those of the emulator are counts of PTX.
  The profile says which (`counted`), and so do the assumptions of a prediction.
- Where a profiler measured the time, it stands beside the prediction for the same GPU (`measured_us`, `error_share`).
- `-k NAME` or `-k regex:RE` chooses among the launches.
  A file of a profiler with several kernels needs it; a saved profile is taken as a whole.
- `--registers N` puts another number of registers in place.
  `--grid`, `--block` and `--shared` may say what the source does not; they cannot change what it says.
  Arguments, symbols, launch files and the flags of the execution do not go with counts.
- To fill in an absent count, save the profile (`warplens profile p.csv --format json -o p.json`), add the key, and predict from that.
  [report-schema.md](report-schema.md#saved-profiles) tells how documents are read.

Counts that may be absent, by the place in the document:
";

const VISUAL_PROFILER: &str = "
## Logs of the CUDA Visual Profiler

The driver of old GPUs writes a log where `CUDA_PROFILE=1` (later `COMPUTE_PROFILE=1`) is set: comma-separated with `CUDA_PROFILE_CSV=1`, else as `name=[ value ]` pairs.
The file that `CUDA_PROFILE_CONFIG` names lists what is recorded; `gridsize`, `threadblocksize`, `regperthread`, `dynsmemperblock` and `stasmemperblock` should be in it.
Only a few counters fit one run.

Hardware counters are those of one SM or of one TPC (two SMs on 1.0 and 1.1, three on 1.2 and 1.3).
Dasgupta's thesis divides them by the warps that ran there (table 1); the profile holds the launch, and so they are multiplied by the CTAs, warps or threads of the launch over those counted in `sm_cta_launched`, `warps_launched`, `threads_launched` or `cta_launched`.
Without any of these every SM is taken to have had its share, the number of SMs following from the line `# CUDA_DEVICE 0 NAME`.

| Column | Of | Compute capability | Becomes | |
|---|---|---|---|---|
";

const NSIGHT: &str = "
## Nsight Compute

Read are reports (`.ncu-rep`), `ncu --page raw --csv` (a column per metric, with a row of units), and `ncu --csv` (a row per metric).
Reports need no other program.
Numbers need a decimal point, with or without commas between thousands.
Units may have prefixes.
`--set full` collects all that is listed here; executions per opcode are in reports only.

The coalescing rule is that of the GPU's compute capability (`7.0` where it is not told), the bank rule is `2.0`.

| Becomes | From | |
|---|---|---|
";

/// The page.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    let names: Vec<String> = Count::ALL.iter().map(|count| format!("`{}`", count.name())).collect();
    let _ = writeln!(page, "{}.", names.join(", "));
    page.push_str(VISUAL_PROFILER);
    for spec in COUNTERS {
        let scope = match spec.scope {
            Scope::Launch => "",
            Scope::Sm => "SM",
            Scope::Tpc => "TPC",
        };
        let key = if spec.key.is_empty() { "not used".to_owned() } else { format!("`{}`", spec.key) };
        let _ = writeln!(page, "| `{}` | {scope} | {} | {key} | {} |", spec.name, spec.capability, spec.how);
    }
    page.push_str(NSIGHT);
    for spec in METRICS {
        let key: Vec<String> = spec.key.split(", ").map(|key| format!("`{key}`")).collect();
        let _ = writeln!(page, "| {} | {} | {} |", key.join(", "), alternatives(spec.metrics), spec.how);
    }
    page.push_str(
        "\nClasses of pipes (`smsp__inst_executed_pipe_*.sum`), which must account for 90 % of the instructions:\n\n",
    );
    page.push_str("| Pipe | Class |\n|---|---|\n");
    for (pipe, class) in PIPES {
        let _ = writeln!(page, "| `{pipe}` | `{class}` |");
    }
    page.push_str("\nClasses of kinds (`smsp__sass_thread_inst_executed_op_*_pred_on.sum`):\n\n");
    page.push_str("| Kind | Class |\n|---|---|\n");
    for (kind, class) in KINDS {
        let _ = writeln!(page, "| `{kind}` | `{class}` |");
    }
    page.push_str(
        "\nClasses of opcodes, by their beginning; the first row that fits counts, and the rest is `other`:\n\n",
    );
    page.push_str("| Class | Opcodes |\n|---|---|\n");
    for (class, prefixes) in OPCODES {
        let prefixes: Vec<String> = prefixes.iter().map(|prefix| format!("`{prefix}`")).collect();
        let _ = writeln!(page, "| `{class}` | {} |", prefixes.join(" "));
    }
    page
}

/// Metrics in code marks, alternatives behind `or`.
fn alternatives(metrics: &str) -> String {
    let one = |text: &str| match text.strip_prefix("the ") {
        Some(_) => text.to_owned(),
        None => text.split(", ").map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
    };
    let alternatives: Vec<String> = metrics.split(" | ").filter(|text| !text.is_empty()).map(one).collect();
    alternatives.join("; or ")
}
