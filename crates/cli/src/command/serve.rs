//! `warplens serve INPUT...`: a page that answers questions while they are asked, in a browser of this machine.

use anyhow::Result;
use clap::Args;
use warplens_serve::{Port, Served, Server, Variant};
use warplens_session::{Generation, machines};

use super::Outcome;
use crate::ask::ModelFlags;
use crate::flags::{ExecutionFlags, ExtentFlags};
use crate::terminal::Terminal;
use crate::variants::{Execution, MeasuredVariant, VariantFlags};

/// Holds a token that an address keeps when the server starts again.
const TOKEN: &str = "WARPLENS_SERVE_TOKEN";

#[derive(Args, Debug)]
pub(crate) struct ServeFlags {
    #[command(flatten)]
    variants: VariantFlags,
    #[command(flatten)]
    model: ModelFlags,
    /// Port of the loopback interface; 0 takes any that is free
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Page")]
    port: u16,
    #[command(flatten)]
    execution: ExecutionFlags,
    #[command(flatten)]
    extent: ExtentFlags,
}

pub(crate) fn run(flags: &ServeFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    // What was asked for is checked before anything takes time.
    let machines = machines::select(&flags.model.gpu)?;
    let (choice, options) = flags.model.choice()?;
    let asked = flags.variants.asked()?;
    let token = std::env::var(TOKEN).ok().filter(|token| !token.is_empty());
    let port = Port::take(flags.port, token)?;
    let mut execution = flags.execution.options(threads)?;
    execution.extent = flags.extent.extent()?;
    execution.traced_for = choice.traced(&machines);
    execution.generations = Generation::of_all(&machines);
    let how = Execution { flags: &flags.execution, extent: &flags.extent, options: &execution, machines: &machines };
    let measured = flags.variants.measure(&asked, &how, terminal)?;
    let variants = measured.into_iter().map(variant).collect();
    let served = Served { variants, machines, options, flags: flags.model.words().join(" ") };
    let server = Server::new(served, port)?;
    terminal.data(None, &format!("{}\n", server.address()))?;
    terminal.message("the page is for this machine and for whoever has its address; Ctrl-C ends it");
    server.run();
    Ok(Outcome::Done)
}

fn variant(measured: MeasuredVariant) -> Variant {
    let MeasuredVariant { variant, program, input, words } = measured;
    Variant { name: variant.label(), measurement: variant.measurement, program, input, words }
}
