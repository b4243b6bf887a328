//! The warplens command: predicts the run time of CUDA kernels without a GPU.

use std::process::ExitCode;

fn main() -> ExitCode {
    warplens_cli::main()
}
