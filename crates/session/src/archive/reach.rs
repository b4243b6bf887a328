//! What a launch can reach of the device's memory, taken down before it runs.

use std::collections::BTreeMap;
use std::io::Result;

use warplens_device::Context;
use warplens_document::Number;
use warplens_document::archive::{ArchivedCode, ArchivedContent, ArchivedLaunch, ArchivedMemory, ArchivedTime};

use super::store::{Kept, Store};
use super::{MACHINE, PTX};
use crate::saved;
use crate::served::{Code, Loaded, Served, ServedLaunch};
use crate::trail::TimeOn;

/// A launch with the memory that it can reach, as it was before the launch.
#[derive(Debug)]
pub struct Snapshot {
    memory: Vec<(ArchivedMemory, Vec<u8>)>,
}

impl Snapshot {
    /// Takes down what a launch can reach; none where that is more than `limit` bytes.
    pub fn take(context: &Context, loaded: &Loaded, launch: &ServedLaunch, limit: u64) -> Option<Self> {
        let mut reached: BTreeMap<u64, (ArchivedMemory, Vec<u8>)> = BTreeMap::new();
        let mut left = limit;
        let mut add = |reached: &mut BTreeMap<u64, (ArchivedMemory, Vec<u8>)>, name, (address, bytes), of_module| {
            left = left.checked_sub(bytes)?;
            let content = ArchivedContent { bytes, pieces: Vec::new() };
            let held = context.read(address, bytes).unwrap_or_default();
            reached.insert(address, (ArchivedMemory { name, address, of_module, content }, held));
            Some(())
        };
        for variable in context.variables(loaded.module()).unwrap_or_default() {
            add(&mut reached, variable.name, (variable.address, variable.bytes), true)?;
        }
        let mut rest: Vec<u64> = reached.keys().copied().collect();
        let mut pointers = pointers(context, &launch.parameters);
        loop {
            for pointer in std::mem::take(&mut pointers) {
                let Ok(location) = context.locate(pointer) else { continue };
                let address = pointer - location.offset;
                // Constant memory is of modules, whose variables are known one by one.
                if location.allocation.is_some() && !reached.contains_key(&address) {
                    add(&mut reached, location.name, (address, location.bytes), false)?;
                    rest.push(address);
                }
            }
            let Some(next) = rest.pop() else { break };
            pointers = self::pointers(context, &reached[&next].1);
        }
        Some(Self { memory: reached.into_values().collect() })
    }

    /// Keeps the launch on disk.
    pub fn keep(
        self,
        store: &mut Store,
        (loaded, served, launch): (&Loaded, &Served, &ServedLaunch),
        (process, launched_before): (u32, u64),
        answers: &[TimeOn],
    ) -> Result<Kept<ArchivedLaunch>> {
        let Kept::Whole(code) = code(store, loaded)? else { return Ok(Kept::TooLarge) };
        let mut memory = Vec::with_capacity(self.memory.len());
        for (of, bytes) in self.memory {
            let Kept::Whole(content) = store.keep(&bytes)? else { return Ok(Kept::TooLarge) };
            memory.push(ArchivedMemory { content, ..of });
        }
        let (registers, registers_basis) = served.registers_with_basis();
        let time = |answer: &TimeOn| ArchivedTime {
            gpu: answer.gpu.clone(),
            time_us: answer.seconds.map(|seconds| Number(seconds * 1e6)),
            model: answer.model.clone(),
        };
        Ok(Kept::Whole(ArchivedLaunch {
            kernel: served.name().mangled.clone(),
            process,
            launched_before,
            grid: launch.grid,
            block: launch.block,
            cluster: launch.cluster,
            dynamic_shared_bytes: launch.dynamic_shared,
            parameters: launch.parameters.iter().map(|byte| format!("{byte:02x}")).collect(),
            reachable_bytes: launch.memory_bytes,
            registers,
            registers_basis: saved::registers_basis(registers_basis),
            code,
            memory,
            times: answers.iter().map(time).collect(),
        }))
    }
}

/// What may be addresses of the device.
fn pointers(context: &Context, bytes: &[u8]) -> Vec<u64> {
    let reach = context.reach();
    let words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
    let mut found: Vec<u64> = words.filter(|word| reach.contains(word)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn code(store: &mut Store, loaded: &Loaded) -> Result<Kept<ArchivedCode>> {
    let (kind, texts): (_, Vec<&[u8]>) = match loaded.code() {
        Code::Ptx(texts) => (PTX, texts.iter().map(String::as_bytes).collect()),
        Code::Machine(bytes) => (MACHINE, vec![bytes]),
    };
    let mut parts = Vec::with_capacity(texts.len());
    for text in texts {
        let Kept::Whole(content) = store.keep(text)? else { return Ok(Kept::TooLarge) };
        parts.push(content);
    }
    let marks = loaded.marks();
    Ok(Kept::Whole(ArchivedCode {
        kind: kind.to_owned(),
        assembled_for: loaded.assembled_for().map(str::to_owned),
        parts,
        global_address: marks.global,
        constant_address: marks.constant,
        function_address: marks.function,
    }))
}
