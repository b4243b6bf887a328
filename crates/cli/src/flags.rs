//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::command::{completions, dev, gpu};

/// Predict the run time of CUDA kernels on NVIDIA GPUs, and what bounds it, without a GPU.
#[derive(Parser, Debug)]
#[command(name = "warplens", version, max_term_width = 110, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    #[command(flatten)]
    pub(crate) global: GlobalFlags,
}

const EXIT_CODES: &str = "Exit codes: 0 done; 1 bad input, or no model could answer; 2 usage; 3 a gate given with \
--fail-on is breached; 4 the kernel uses an instruction that is not supported.";

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// List the known GPUs, show one, or compare two
    Gpu(gpu::GpuFlags),
    /// Show what each stage makes of an input
    Dev(dev::DevFlags),
    /// Print shell completions
    Completions(completions::CompletionsFlags),
    /// Print the manual page
    Man,
}

/// Flags of every verb.
#[derive(Args, Debug)]
pub(crate) struct GlobalFlags {
    /// No messages besides errors
    #[arg(short, long, global = true, help_heading = "Messages")]
    pub(crate) quiet: bool,
    /// More to read; twice for still more
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Messages")]
    pub(crate) verbose: u8,
    /// Colour the output; `auto` asks whether a terminal reads it, and honours NO_COLOR
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN", help_heading = "Messages")]
    pub(crate) color: ColorChoice,
    /// Host threads to use; all cores unless given
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096), help_heading = "Messages")]
    pub(crate) threads: Option<u32>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ColorChoice {
    Auto,
    Always,
    Never,
}

/// Format and place of the result.
#[derive(Args, Debug)]
pub(crate) struct OutputFlags {
    /// Format of the result
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    pub(crate) format: Format,
    /// Write the result to FILE instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// For people at a terminal
    Text,
    /// For programs; see docs/report-schema.md
    Json,
    /// The tables, with every digit
    Csv,
    /// Markdown
    Md,
    /// One page that loads nothing
    Html,
}
