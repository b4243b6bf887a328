//! `warplens man`: the manual page, with a section for every verb.

use anyhow::Result;
use clap::CommandFactory;

use super::Outcome;
use crate::flags::Cli;
use crate::terminal::Terminal;

pub(crate) fn run(terminal: &Terminal) -> Result<Outcome> {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        let verb = clap_mangen::Man::new(verb.clone());
        verb.render_synopsis_section(&mut page)?;
        verb.render_description_section(&mut page)?;
        verb.render_options_section(&mut page)?;
    }
    terminal.data(None, &String::from_utf8_lossy(&page))?;
    Ok(Outcome::Done)
}
