//! Launches and their times as tables.

use std::path::Path;
use std::sync::Arc;

use warplens_base::error::{Error, Result};
use warplens_session::machines::Machine;
use warplens_session::toolchain::Search;

use super::{Part, Point, Timed, effective, is_held_out, plan, shape_of};
use crate::measured::{self, Set};

/// The launches as a table without times, of the parts for which `wanted` says so: one to be filled in where the GPU is.
pub fn plan_table(machine: &Machine, wanted: impl Fn(Part) -> bool) -> Result<String> {
    let of_gpu = plan(machine)?;
    if !of_gpu.iter().any(|(part, _)| wanted(*part)) {
        return Err(Error::input(format!("nothing of what is asked for tells anything of {}", machine.id)));
    }
    let mut text = String::from("gpu,class,kernel,grid,block,args,measured_us,set\n");
    for (part, points) in of_gpu.into_iter().filter(|(part, _)| wanted(*part)) {
        for (number, Point { kernel, grid, block, arguments }) in points.into_iter().enumerate() {
            let arguments = arguments.join(";");
            let set = if is_held_out(part, number) { Set::HeldOut } else { Set::Training };
            text += &format!("{},{},{kernel},{grid},{block},{arguments},,{}\n", machine.id, part.name(), set.name());
        }
    }
    Ok(text)
}

/// A table with measured times, as [`plan_table`] writes it but for the times. Paths in it are relative to `folder`. The rows
/// may be of other kernels; with `clock_cycles` the time is that between two reads of the clock, around as many rounds as the last
/// argument says; `parameter` stands for `class` where a table has it, and rows without one are passed over.
pub fn read(name: &str, text: &str, folder: &Path, machine: &Machine) -> Result<Vec<Timed>> {
    let rows = measured::parse(name, text, folder)?;
    let shape = shape_of(machine)?;
    let of_gpu: Vec<&measured::Row> = rows.iter().filter(|row| row.gpu == machine.id).collect();
    if of_gpu.is_empty() {
        return Err(Error::input(format!("{name}: no row is of `{}`", machine.id)));
    }
    let has_parameters = of_gpu.iter().any(|row| row.parameter.is_some());
    let told = of_gpu.into_iter().filter(|row| !has_parameters || row.parameter.is_some());
    let mut of_part: Vec<(Part, usize)> = Vec::new();
    let mut timed = Vec::new();
    for row in told {
        let part = part_of(row)?;
        if !part.applies(&shape) {
            let error = format!("{}: `{}` tells nothing of {}", row.place(), part.name(), machine.id);
            return Err(Error::input(error).with_help("`--plan` writes the launches that do"));
        }
        let number = of_part.iter().filter(|(of, _)| *of == part).count();
        of_part.push((part, number));
        timed.push(timed_of(row, part, number, machine)?);
    }
    Ok(timed)
}

fn part_of(row: &measured::Row) -> Result<Part> {
    let fail = |what: String| Error::input(format!("{}: {what}", row.place()));
    let (column, named) = match &row.parameter {
        Some(name) => ("parameter", Some(name)),
        None => ("class", row.class.as_ref()),
    };
    let name = named.ok_or_else(|| fail("no `class`, which names the parameter".into()))?;
    Part::named(name).ok_or_else(|| {
        let names: Vec<&str> = Part::all().map(Part::name).collect();
        let error = fail(format!("`{column}` is `{name}`, which is no parameter that is calibrated"));
        error.with_help(format!("the parameters are {}", names.join(", ")))
    })
}

fn timed_of(row: &measured::Row, part: Part, number: usize, machine: &Machine) -> Result<Timed> {
    let launch = row.launch.clone().ok_or_else(|| Error::input(format!("{}: no launch", row.place())))?;
    let program = match &row.input {
        Some(_) => Some(Arc::new(row.program(&machine.cc.target(), &Search::default())?)),
        None => None,
    };
    if row.set == Some(Set::HeldOut) && !part.may_be_held_out() {
        let error = format!("{}: every launch for `{}` is fitted to, none is held out", row.place(), part.name());
        return Err(Error::input(error));
    }
    let is_held_out = row.set.map_or_else(|| is_held_out(part, number), |set| set == Set::HeldOut);
    let clock = || machine.clock().ok_or_else(|| Error::input(format!("{} has no clock", machine.id)));
    let us = match row.clock_cycles {
        Some(cycles) => 1e6 * cycles / clock()?,
        None => row.measured_us,
    };
    let launch_us = effective::launch_us(machine);
    if matches!(part, Part::Group(_)) && row.clock_cycles.is_none() && us <= launch_us {
        let error = format!("{}: {us} us, and an empty kernel takes {launch_us:.4} us", row.place());
        return Err(Error::input(error).with_help("times are those of kernels with what launching them takes"));
    }
    Ok(Timed { part, launch, program, us, is_of_clock: row.clock_cycles.is_some(), is_held_out })
}
