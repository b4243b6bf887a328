//! Machine code in few bytes, to be saved.

use std::ops::Range;

use warplens_base::bytes::{Columns, Corrupt, Lists, Reader, Writer};
use warplens_isa::StateSpace;

use super::{Chain, Code, IntegerLanes, MachineClass, MachineInst, Operands, Place};

/// Why code is none.
const OTHER: Corrupt = Corrupt("the parts of machine code do not fit each other");

impl Code {
    /// Writes it.
    pub fn pack(&self, columns: &mut Columns, to: &mut Writer) {
        columns.add(&self.insts, pack_inst, to);
        columns.add(&self.blocks, |block, to| [block.start, block.end].iter().for_each(|&at| to.uint(at.into())), to);
        columns.add(&self.chains, pack_chain, to);
        columns.add(&self.operands, |register, to| to.uint((*register).into()), to);
        columns.add(&self.places, pack_place, to);
        to.uint(self.n_registers.into());
    }

    /// Reads it.
    pub fn unpack(lists: &Lists<'_>, from: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let insts = lists.items(from, unpack_inst)?;
        let blocks = lists.items(from, |from| Ok::<Range<u32>, _>(from.narrow()?..from.narrow()?))?;
        let chains = lists.items(from, unpack_chain)?;
        let operands = lists.items(from, Reader::narrow)?;
        let places = lists.items(from, unpack_place)?;
        let code = Self { insts, blocks, chains, operands, places, n_registers: from.narrow()? };
        if code.is_sound() { Ok(code) } else { Err(OTHER) }
    }

    /// What a simulation takes for granted.
    fn is_sound(&self) -> bool {
        let is_register = |register: &u16| *register < self.n_registers;
        let is_inst = |inst: &MachineInst| {
            let is_range = |of: Operands| of.first as usize + usize::from(of.count) <= self.operands.len();
            is_range(inst.reads)
                && is_range(inst.writes)
                && [inst.addend, inst.guard].iter().flatten().all(is_register)
                && (inst.place as usize) < self.places.len()
        };
        let is_block = |block: &Range<u32>| block.start <= block.end && block.end as usize <= self.insts.len();
        let is_chain = |chain: &Chain| {
            let is_there = |&block: &u32| (block as usize) < self.blocks.len();
            chain.blocks.len() > 1
                && chain.blocks.iter().chain([&chain.merged]).all(is_there)
                && self.block(chain.merged).iter().all(|inst| usize::from(inst.turn) < chain.blocks.len())
        };
        self.insts.iter().all(is_inst)
            && self.blocks.iter().all(is_block)
            && self.operands.iter().all(is_register)
            && self.chains.iter().all(is_chain)
            && self.chains.is_sorted_by(|a, b| a.blocks[0] < b.blocks[0])
    }
}

fn pack_inst(inst: &MachineInst, to: &mut Writer) {
    let &MachineInst {
        class,
        lanes,
        space,
        amount,
        slot,
        turn,
        reads,
        writes,
        addend,
        guard,
        beside,
        bank_reads,
        stall,
        place,
    } = inst;
    to.text(class.name());
    to.uint(lanes as u64);
    to.text(space.name());
    to.uint(amount.into());
    to.uint(slot.into());
    to.uint(turn.into());
    for Operands { first, count } in [reads, writes] {
        to.uint(first.into());
        to.uint(count.into());
    }
    [addend, guard].into_iter().for_each(|register| to.optional(register.map(u32::from)));
    to.uint(beside.into());
    bank_reads.into_iter().for_each(|reads| to.uint(reads.into()));
    to.uint(stall.into());
    to.uint(place.into());
}

fn unpack_inst(from: &mut Reader<'_>) -> Result<MachineInst, Corrupt> {
    let class = MachineClass::named(from.text()?).ok_or(Corrupt("it names an unknown class of instructions"))?;
    let lanes = match from.narrow()? {
        0_u8 => IntegerLanes::OfClass,
        1 => IntegerLanes::Either,
        2 => IntegerLanes::MultiplyAdd,
        _ => return Err(OTHER),
    };
    let space = StateSpace::named(from.text()?).ok_or(Corrupt("it names an unknown state space"))?;
    let (amount, slot, turn) = (from.narrow()?, from.narrow()?, from.narrow()?);
    let mut operands = || Ok::<_, Corrupt>(Operands { first: from.narrow()?, count: from.narrow()? });
    let (reads, writes) = (operands()?, operands()?);
    let mut register = || from.optional()?.map(u16::try_from).transpose().map_err(|_| OTHER);
    let (addend, guard) = (register()?, register()?);
    let beside = match from.narrow()? {
        0_u8 => false,
        1 => true,
        _ => return Err(OTHER),
    };
    let bank_reads = [from.narrow()?, from.narrow()?];
    Ok(MachineInst {
        class,
        lanes,
        space,
        amount,
        slot,
        turn,
        reads,
        writes,
        addend,
        guard,
        beside,
        bank_reads,
        stall: from.narrow()?,
        place: from.narrow()?,
    })
}

fn pack_chain(chain: &Chain, to: &mut Writer) {
    to.count(chain.blocks.len());
    chain.blocks.iter().chain([&chain.merged]).for_each(|&block| to.uint(block.into()));
}

fn unpack_chain(from: &mut Reader<'_>) -> Result<Chain, Corrupt> {
    Ok(Chain { blocks: from.list(Reader::narrow)?, merged: from.narrow()? })
}

fn pack_place(place: &Place, to: &mut Writer) {
    to.uint(place.line.into());
    to.text(&place.text);
    to.optional(place.source.as_ref().map(|&(_, line)| line));
    if let Some((file, _)) = &place.source {
        to.text(file);
    }
}

fn unpack_place(from: &mut Reader<'_>) -> Result<Place, Corrupt> {
    let (line, text) = (from.narrow()?, from.text()?.to_owned());
    let source = match from.optional()? {
        None => None,
        Some(line) => Some((from.text()?.to_owned(), line)),
    };
    Ok(Place { line, text, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code() -> Code {
        let mut code = Code {
            blocks: vec![0..2, 2..2, 2..3],
            chains: vec![Chain { blocks: vec![0, 1, 1], merged: 2 }],
            places: vec![
                Place { line: 3, text: "ld.global.f32 %f1, [%rd1];".into(), source: Some(("k.cu".into(), 9)) },
                Place::default(),
            ],
            ..Code::default()
        };
        for (class, registers) in
            [(MachineClass::Load, &[4, 0][..]), (MachineClass::Fp32, &[1, 2, 9]), (MachineClass::Exit, &[])]
        {
            let reads = code.operands_of(registers);
            let addend = registers.last().copied();
            code.insts.push(MachineInst {
                reads,
                addend,
                slot: 7,
                beside: true,
                lanes: IntegerLanes::Either,
                ..MachineInst::new(class, 1)
            });
        }
        code
    }

    fn packed(code: &Code) -> Vec<u8> {
        let (mut columns, mut body) = (Columns::default(), Writer::default());
        code.pack(&mut columns, &mut body);
        columns.before(&mut body)
    }

    fn unpacked(bytes: &[u8]) -> Result<Code, Corrupt> {
        let mut from = Reader::new(bytes);
        let lists = Lists::read(&mut from)?;
        Code::unpack(&lists, &mut from)
    }

    #[test]
    fn code_comes_back() {
        assert_eq!(unpacked(&packed(&code())), Ok(code()));
        assert_eq!(unpacked(&packed(&Code::default())), Ok(Code::default()));
    }

    #[test]
    fn what_a_simulation_would_stumble_over_is_refused() {
        let breaks: [fn(&mut Code); 10] = [
            |code| code.n_registers = 9,
            |code| code.blocks[2] = 2..4,
            |code| code.insts[0].place = 2,
            |code| code.insts[1].reads.first = 3,
            |code| code.insts[1].writes.count = 7,
            |code| code.insts[1].guard = Some(10),
            |code| code.insts[2].turn = 3,
            |code| code.chains[0].merged = 3,
            |code| code.chains[0].blocks.truncate(1),
            |code| code.chains.push(code.chains[0].clone()),
        ];
        for (number, change) in breaks.iter().enumerate() {
            let mut code = code();
            change(&mut code);
            assert_eq!(unpacked(&packed(&code)), Err(OTHER), "{number}");
        }
        let bytes = packed(&code());
        assert!((0..bytes.len()).all(|length| unpacked(&bytes[..length]).is_err()));
    }
}
