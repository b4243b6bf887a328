//! Programs and machines of the tests.

use warplens_isa::StateSpace;
use warplens_machine::words::{IssueOccupies, IssuePolicy, IssueScoreboard};
use warplens_sim::{
    ClassTiming, DramConfig, Job, L1Config, L1Holds, L2Config, LsuConfig, Pipe, SharedConfig, SmConfig, Surroundings,
};
use warplens_stats::{BankRule, CoalescingRule};
use warplens_trace::{
    AccessKind, ActiveMask, Code, CtaId, CtaTrace, MachineClass, MachineInst, RegisterNumber, WARP_SIZE,
    WarpTraceBuilder,
};

type Address = Box<dyn Fn(u32, u64) -> u64>;

/// A straight program that all warps execute.
pub(crate) struct Program {
    code: Code,
    accesses: Vec<(u16, AccessKind, StateSpace, Address)>,
    bytes: u8,
    ctas: Vec<CtaTrace>,
}

impl Program {
    pub(crate) fn new() -> Self {
        Self { code: Code::default(), accesses: Vec::new(), bytes: 4, ctas: Vec::new() }
    }

    pub(crate) fn inst(&mut self, class: MachineClass, reads: &[RegisterNumber], writes: &[RegisterNumber]) {
        let (reads, writes) = (self.code.operands_of(reads), self.code.operands_of(writes));
        self.code.insts.push(MachineInst { reads, writes, ..MachineInst::new(class, 0) });
    }

    /// A multiply-add that reads so many registers of each bank.
    pub(crate) fn of_banks(&mut self, bank_reads: [u8; 2], writes: &[RegisterNumber]) {
        self.inst(MachineClass::Fp32, &[], writes);
        self.code.insts.last_mut().expect("just pushed").bank_reads = bank_reads;
    }

    /// The last instruction is one arm of a conditional.
    pub(crate) fn beside(&mut self, guard: RegisterNumber, is_beside: bool) {
        let last = self.code.insts.last_mut().expect("an instruction is there");
        (last.guard, last.beside) = (Some(guard), is_beside);
    }

    pub(crate) fn load(
        &mut self,
        slot: u16,
        reads: &[RegisterNumber],
        writes: &[RegisterNumber],
        address: impl Fn(u64) -> u64 + 'static,
    ) {
        self.load_of_warp(slot, reads, writes, move |_, lane| address(lane));
    }

    pub(crate) fn load_of_warp(
        &mut self,
        slot: u16,
        reads: &[RegisterNumber],
        writes: &[RegisterNumber],
        address: impl Fn(u32, u64) -> u64 + 'static,
    ) {
        self.inst(MachineClass::Load, reads, writes);
        let last = self.code.insts.last_mut().expect("just pushed");
        (last.slot, last.space) = (slot, StateSpace::Global);
        self.accesses.push((slot, AccessKind::Load, StateSpace::Global, Box::new(address)));
    }

    pub(crate) fn store(&mut self, slot: u16, address: impl Fn(u64) -> u64 + 'static) {
        self.inst(MachineClass::Store, &[], &[]);
        let last = self.code.insts.last_mut().expect("just pushed");
        (last.slot, last.space) = (slot, StateSpace::Global);
        self.accesses.push((slot, AccessKind::Store, StateSpace::Global, Box::new(move |_, lane| address(lane))));
    }

    /// A reduction to memory by all lanes; warps are numbered over all CTAs.
    pub(crate) fn atomic(&mut self, slot: u16, space: StateSpace, address: impl Fn(u32, u64) -> u64 + 'static) {
        self.inst(MachineClass::Reduction, &[], &[]);
        let last = self.code.insts.last_mut().expect("just pushed");
        (last.slot, last.space) = (slot, space);
        self.accesses.push((slot, AccessKind::Atomic, space, Box::new(address)));
    }

    /// The amount of all instructions.
    pub(crate) fn amount(&mut self, amount: u32) {
        self.code.insts.iter_mut().for_each(|inst| inst.amount = amount);
    }

    /// The bytes that each lane accesses at a time.
    pub(crate) const fn element_bytes(&mut self, bytes: u8) {
        self.bytes = bytes;
    }

    /// A store to the lane's own word of local memory, or a load of it.
    pub(crate) fn local(&mut self, slot: u16, kind: AccessKind, registers: &[RegisterNumber]) {
        match kind {
            AccessKind::Load => self.inst(MachineClass::Load, &[], registers),
            _ => self.inst(MachineClass::Store, registers, &[]),
        }
        let last = self.code.insts.last_mut().expect("just pushed");
        (last.slot, last.space) = (slot, StateSpace::Local);
        self.accesses.push((slot, kind, StateSpace::Local, Box::new(|_, _| 0)));
    }

    /// The job of `n_ctas` CTAs of `warps` warps, `resident` at once. Warps are numbered over all CTAs.
    pub(crate) fn job(&mut self, n_ctas: u32, warps: u32, resident: u32) -> Job<'_> {
        let end = u32::try_from(self.code.insts.len()).expect("a short program");
        self.code.blocks.clear();
        self.code.blocks.push(0..end);
        let warp = |cta: u32, warp: u32| {
            let mut trace = WarpTraceBuilder::default();
            trace.step(0, ActiveMask::FULL);
            for (slot, kind, space, address) in &self.accesses {
                let addresses: [u64; WARP_SIZE] = std::array::from_fn(|lane| address(cta * warps + warp, lane as u64));
                trace.access(*slot, *space, *kind, (self.bytes, 1), ActiveMask::FULL, &addresses);
            }
            trace.finish()
        };
        self.ctas = (0..n_ctas)
            .map(|cta| CtaTrace { id: CtaId(cta), warps: (0..warps).map(|index| warp(cta, index)).collect() })
            .collect();
        Job { code: &self.code, ctas: &self.ctas, resident, surroundings: Surroundings::ALONE, footprint: None }
    }
}

fn classes(of: impl Fn(MachineClass) -> ClassTiming) -> [ClassTiming; MachineClass::ALL.len()] {
    std::array::from_fn(|index| of(MachineClass::ALL[index]))
}

/// GT200 with the parameters of Lai and Seznec, one SM of each TPC at work.
pub(crate) fn gt200() -> SmConfig {
    let timing = |class| {
        let (latency, interval, same_warp) = match class {
            MachineClass::Fp32Mul => (24, 2.0, 8),
            MachineClass::Fp64 => (48, 32.0, 32),
            MachineClass::Load | MachineClass::Store => (0, 4.0, 60),
            _ => (24, 4.0, 8),
        };
        ClassTiming { pipe: Pipe::Fma, latency, short_latency: latency, interval, same_warp, variable: false }
    };
    SmConfig {
        schedulers: 1,
        issue_interval: 2,
        issue_width: 1,
        occupies: IssueOccupies::Scheduler,
        policy: IssuePolicy::LooseRoundRobin,
        scoreboard: IssueScoreboard::AtIssue,
        register_read_cycles: None,
        classes: classes(timing),
        predicate_latency: 24,
        branch_latency: 8,
        barrier_latency: 8,
        bulk_latency: 0,
        fence_latency: 8,
        cluster: None,
        shared: SharedConfig {
            banks: BankRule::Cc10,
            packs_pairs: false,
            latency: 38,
            same_warp: 8,
            operand_latency: 74,
            pass_cycles: 2.0,
            pass_latency: 6.4,
            splits_copies: true,
        },
        lsu: LsuConfig { queue: 1, scheduler_interval: 4.0, sm_interval: 4.0 },
        textures: None,
        coalescing: CoalescingRule::Cc12,
        l1: None,
        shared_divisions: Vec::new(),
        l2: None,
        dram: DramConfig {
            latency: 440,
            bytes_per_clk: 108.0,
            one_way_bytes_per_clk: 108.0,
            row_cycle: 0.0,
            turnaround: 0.0,
            fetch_bytes: 32,
            activation_interval: 0.0,
            channels: Some((8, 256)),
            in_flight: Some(4753.0),
        },
        n_sms: 30,
        sms_per_cluster: 3,
        cta_turnaround: 0,
        cta_interval: 0.0,
        cta_start: 0,
        delays: Default::default(),
        clock: 1296e6,
    }
}

/// A machine like those since Volta.
pub(crate) fn modern() -> SmConfig {
    let timing = |class| {
        let (pipe, interval, latency, variable) = match class {
            MachineClass::Sfu => (Pipe::Xu, 8.0, 20, true),
            MachineClass::Int => (Pipe::Alu, 2.0, 4, false),
            MachineClass::Load | MachineClass::Store => (Pipe::Lsu, 4.0, 0, true),
            _ => (Pipe::Fma, 2.0, 4, false),
        };
        ClassTiming { pipe, latency, short_latency: latency, interval, same_warp: 1, variable }
    };
    SmConfig {
        schedulers: 4,
        issue_interval: 1,
        occupies: IssueOccupies::Unit,
        policy: IssuePolicy::GreedyThenYoungest,
        classes: classes(timing),
        predicate_latency: 12,
        branch_latency: 8,
        barrier_latency: 20,
        bulk_latency: 0,
        fence_latency: 50,
        cluster: None,
        shared: SharedConfig {
            banks: BankRule::Cc20,
            packs_pairs: true,
            latency: 23,
            same_warp: 1,
            operand_latency: 23,
            pass_cycles: 1.0,
            pass_latency: 1.0,
            splits_copies: true,
        },
        lsu: LsuConfig { queue: 5, scheduler_interval: 4.0, sm_interval: 1.0 },
        coalescing: CoalescingRule::Cc70,
        l1: Some(L1Config {
            holds: L1Holds::All,
            bytes: 128 << 10,
            unified: true,
            tags_per_clk: 4.0,
            bytes_per_clk: 128.0,
            latency: 33,
            writes_back: false,
        }),
        shared_divisions: Vec::new(),
        l2: Some(L2Config {
            bytes: 6 << 20,
            latency: 215,
            far_latency: None,
            bytes_per_clk: 2048.0,
            request_sectors: 1.0,
            store_cost: 1.0,
            sm_bytes_per_clk: 64.0,
        }),
        dram: DramConfig {
            latency: 437,
            bytes_per_clk: 16.0,
            one_way_bytes_per_clk: 16.0,
            row_cycle: 0.0,
            turnaround: 0.0,
            fetch_bytes: 32,
            activation_interval: 0.0,
            channels: None,
            in_flight: None,
        },
        n_sms: 80,
        sms_per_cluster: 1,
        cta_turnaround: 300,
        cta_interval: 0.0,
        clock: 1380e6,
        ..gt200()
    }
}
