//! Reads an [`SmConfig`] from a machine: which parameter gives which number, and by which rule.
//!
//! A class's interval is the time that a warp takes on its scheduler's share of the lanes: 32 x subpartitions / lanes.
//! Only what the used classes need is read, so that a value that nobody knows refuses only where it counts.

#![deny(clippy::wildcard_enum_match_arm)]

use warplens_machine::words::{IssueOccupies, IssueScoreboard, L1GlobalLoads, L1UnifiedWithShared, PipeInt};
use warplens_machine::{Key, Missing, Reader};
use warplens_stats::{BankRule, CoalescingRule, bank, sector};
use warplens_trace::MachineClass;

use super::{
    ClassTiming, ClusterConfig, DramConfig, L1Config, L1Holds, L2Config, LsuConfig, N_CLASSES, Pipe, SharedConfig,
    SmConfig, TextureConfig,
};
use crate::unit::DelayConfig;

/// How much wider one way may be: 1.1 was measured, and where somebody changes the achieved bandwidth alone, it is that of
/// another memory.
const MOST_ONE_WAY: f64 = 1.2;
/// Lanes of a warp.
const LANES: f64 = 32.0;

impl SmConfig {
    /// Reads a machine for a kernel that uses these classes.
    pub fn read(reader: &mut Reader<'_>, used: &[MachineClass]) -> Result<Self, Missing> {
        let mut sm = Sm::new(reader)?;
        let mut classes = [ClassTiming::UNUSED; N_CLASSES];
        for &class in used {
            classes[class as usize] = sm.class(class)?;
        }
        let if_used = |class: MachineClass, key: Key, sm: &mut Sm<'_, '_>| match used.contains(&class) {
            true => sm.count(key),
            false => Ok(0),
        };
        let branch_latency = if_used(MachineClass::Branch, Key::LatencyBranch, &mut sm)?;
        let barrier_latency = if_used(MachineClass::Barrier, Key::LatencyBarrier, &mut sm)?;
        let fence_latency = if_used(MachineClass::Fence, Key::LatencyFence, &mut sm)?;
        let cc = sm.reader.machine().cc;
        // Before there are no bulk copies.
        let bulk_latency = match cc.major {
            9.. => if_used(MachineClass::AsyncCopy, Key::LatencyBulkCopy, &mut sm)?,
            _ => 0,
        };
        let cta_turnaround = sm.count(Key::CtaTurnaround)?;
        // The GPU launches them one after the other, to one SM after the other.
        let cta_interval = match cc.major {
            1 => 0.0,
            _ => sm.reader.optional(Key::CtaInterval).unwrap_or(0.0) * f64::from(sm.count(Key::SmCount)?),
        };
        let delays = DelayConfig::read(sm.reader, used)?;
        Ok(Self {
            schedulers: whole(sm.subpartitions),
            issue_interval: whole(sm.issue_interval).max(1),
            issue_width: sm.count(Key::IssueWidth)?,
            occupies: sm.occupies,
            policy: sm.reader.word()?,
            scoreboard: sm.scoreboard()?,
            register_read_cycles: sm.reader.optional(Key::RegistersReadCycles).map(whole),
            classes,
            predicate_latency: sm.count(Key::LatencyPredicate)?,
            branch_latency,
            barrier_latency,
            bulk_latency,
            fence_latency,
            shared: sm.shared()?,
            cluster: None,
            lsu: sm.lsu()?,
            coalescing: CoalescingRule::of(cc.major.into(), cc.minor.into()),
            l1: sm.l1()?,
            textures: if used.contains(&MachineClass::Texture) { Some(sm.textures()?) } else { None },
            shared_divisions: sm.divisions()?,
            l2: sm.l2()?,
            dram: sm.dram()?,
            n_sms: sm.count(Key::SmCount)?,
            sms_per_cluster: sm.count(Key::SmPerCluster)?,
            cta_turnaround,
            cta_interval,
            cta_start: if cc.major == 1 { cta_turnaround } else { 0 },
            delays,
            clock: sm.clock,
        })
    }

    /// The same for a launch in clusters of CTAs.
    pub fn in_clusters(self, reader: &mut Reader<'_>) -> Result<Self, Missing> {
        let cluster = ClusterConfig {
            latency: whole(reader.need(Key::LatencyClusterShared)?),
            bytes_per_clk: reader.need(Key::SharedClusterBytesPerClk)?,
            barrier_latency: whole(reader.need(Key::LatencyClusterBarrier)?),
        };
        Ok(Self { cluster: Some(cluster), ..self })
    }
}

/// The pipe that a class takes, and the cycles of its scheduler's pipe that one warp takes, per unit of
/// [`MachineInst::amount`](warplens_trace::MachineInst) of tensor instructions.
pub fn pipe_time(reader: &mut Reader<'_>, class: MachineClass) -> Result<(Pipe, f64), Missing> {
    Sm::new(reader)?.pipe_time(class)
}

/// A machine that is being read.
struct Sm<'r, 'm> {
    reader: &'r mut Reader<'m>,
    subpartitions: f64,
    issue_interval: f64,
    occupies: IssueOccupies,
    clock: f64,
}

impl<'r, 'm> Sm<'r, 'm> {
    fn new(reader: &'r mut Reader<'m>) -> Result<Self, Missing> {
        let clock = reader.clock()?;
        let subpartitions = reader.need(Key::SmSubpartitions)?;
        let issue_interval = reader.need(Key::IssueInterval)?;
        let occupies = reader.word()?;
        Ok(Self { reader, subpartitions, issue_interval, occupies, clock })
    }

    fn major(&self) -> u8 {
        self.reader.machine().cc.major
    }

    fn is_stated(&self, key: Key) -> bool {
        self.reader.machine().fact(key).is_some()
    }

    fn missing(&self, key: Key, reason: &str) -> Missing {
        Missing { machine: self.reader.machine().id.clone(), key, reason: reason.to_owned() }
    }

    /// A number of cycles or of things, as a whole one.
    fn count(&mut self, key: Key) -> Result<u32, Missing> {
        Ok(whole(self.reader.need(key)?))
    }

    /// Only compute capability 1.x has arithmetic with operands in shared memory, which alone tells the two apart.
    fn scoreboard(&mut self) -> Result<IssueScoreboard, Missing> {
        if self.major() > 1 && !self.is_stated(Key::IssueScoreboard) {
            return Ok(IssueScoreboard::AtIssue);
        }
        self.reader.word()
    }

    /// Timing of a class.
    fn class(&mut self, class: MachineClass) -> Result<ClassTiming, Missing> {
        use MachineClass as C;
        let timing = match class {
            C::Fp32 | C::Fp32Mul => self.arithmetic(class, Key::LatencyFp32)?,
            C::Int | C::Vote => self.arithmetic(class, Key::LatencyInt32)?,
            C::Move if self.is_stated(Key::SameWarpMove) => {
                ClassTiming { same_warp: self.count(Key::SameWarpMove)?, ..self.arithmetic(class, Key::LatencyInt32)? }
            }
            C::Move => self.arithmetic(class, Key::LatencyInt32)?,
            C::IntMul => self.integer_product()?,
            C::Fp64 => {
                let same_warp = self.same_warp(Key::SameWarpFp64)?;
                ClassTiming { same_warp, ..self.arithmetic(class, Key::LatencyFp64)? }
            }
            C::Fp16 => self.arithmetic(class, Key::LatencyFp16)?,
            C::Sfu => self.arithmetic(class, Key::LatencySfu)?,
            C::Convert => self.arithmetic(class, Key::LatencyConversion)?,
            C::Uniform => {
                let latency = self.count(Key::LatencyUniform)?;
                ClassTiming { latency, short_latency: latency, ..self.other(class, Key::SameWarpFp32)? }
            }
            C::Tensor | C::TensorFp32 => {
                let short_latency = self.count(Key::LatencyTensorHalf)?;
                ClassTiming { short_latency, ..self.arithmetic(class, Key::LatencyTensor)? }
            }
            C::TensorAsync => self.arithmetic(class, Key::LatencyTensorAsync)?,
            C::TensorFp64 => self.arithmetic(class, Key::LatencyTensorFp64)?,
            C::Shuffle => {
                let latency = self.count(Key::LatencyShuffle)?;
                ClassTiming { latency, short_latency: latency, ..self.other(class, Key::SameWarpLoad)? }
            }
            // Before, an atomic operation on shared memory is a loop of machine code.
            C::Atomic if self.major() >= 5 => {
                let latency = self.count(Key::LatencySharedAtomic)?;
                ClassTiming { latency, short_latency: latency, ..self.other(class, Key::SameWarpLoad)? }
            }
            C::Atomic | C::Load | C::Texture | C::Store | C::Reduction | C::AsyncCopy | C::AsyncCommit => {
                self.other(class, Key::SameWarpLoad)?
            }
            C::Barrier | C::BarrierArrive | C::AsyncWait | C::Fence | C::Branch | C::Exit | C::Nop => {
                self.other(class, Key::SameWarpFp32)?
            }
        };
        Ok(ClassTiming { variable: is_variable(class, self.major()), ..timing })
    }

    /// The pipe that a class takes, and the cycles of its scheduler's pipe for one warp.
    fn pipe_time(&mut self, class: MachineClass) -> Result<(Pipe, f64), Missing> {
        use MachineClass as C;
        let (pipe, lanes, work) = match class {
            C::Fp32 => (Pipe::Fma, Key::LanesFp32, LANES),
            C::Fp32Mul => {
                let lanes = if self.is_stated(Key::LanesFp32Mul) { Key::LanesFp32Mul } else { Key::LanesFp32 };
                (Pipe::Fma, lanes, LANES)
            }
            C::Int | C::Vote | C::Move => (self.integer_pipe()?, Key::LanesInt32Add, LANES),
            C::IntMul => return self.product_time(),
            C::Fp64 => (Pipe::Fp64, Key::LanesFp64, LANES),
            // A packed operation makes two results in each lane, and a single one takes as long.
            C::Fp16 => (Pipe::Fp16, Key::LanesFp16, 2.0 * LANES),
            C::Sfu => (Pipe::Xu, Key::LanesSfu, LANES),
            C::Convert => (Pipe::Xu, Key::LanesConversion, LANES),
            // The interval counts per multiply-add: `amount` says how many a warp's instruction is.
            C::Tensor => (Pipe::Tensor, Key::LanesTensorWarp, 1.0),
            C::TensorFp32 => (Pipe::Tensor, Key::LanesTensorWarpFp32, 1.0),
            C::TensorAsync => (Pipe::Tensor, Key::LanesTensorFma, 1.0),
            C::TensorFp64 => (Pipe::Tensor, Key::LanesTensorFp64, 1.0),
            C::Barrier | C::BarrierArrive => (Pipe::Adu, Key::LanesBarrier, LANES),
            C::Uniform => return self.handing_on(Pipe::Uniform, Key::LanesFp32),
            C::Shuffle | C::Atomic | C::Load | C::Texture | C::Store | C::Reduction | C::AsyncCopy | C::AsyncCommit => {
                return self.handing_on(Pipe::Lsu, Key::LanesLdst);
            }
            C::AsyncWait | C::Fence | C::Branch | C::Exit | C::Nop => {
                return self.handing_on(Pipe::Cbu, Key::LanesFp32);
            }
        };
        Ok((pipe, self.interval(lanes, work)?))
    }

    /// An instruction that only has to be issued, which occupies the scheduler for a warp's time on the lanes where the
    /// machine is like that.
    fn handing_on(&mut self, pipe: Pipe, lanes: Key) -> Result<(Pipe, f64), Missing> {
        let interval = match self.occupies {
            IssueOccupies::Scheduler => self.interval(lanes, LANES)?,
            IssueOccupies::Unit => self.issue_interval,
        };
        Ok((pipe, interval))
    }

    /// A class that lanes compute.
    fn arithmetic(&mut self, class: MachineClass, latency: Key) -> Result<ClassTiming, Missing> {
        let (pipe, interval) = self.pipe_time(class)?;
        let latency = self.count(latency)?;
        let same_warp = self.same_warp(Key::SameWarpFp32)?;
        Ok(ClassTiming { pipe, latency, short_latency: latency, interval, same_warp, variable: false })
    }

    /// A class whose result is not the pipe's.
    fn other(&mut self, class: MachineClass, same_warp: Key) -> Result<ClassTiming, Missing> {
        let (pipe, interval) = self.pipe_time(class)?;
        let same_warp = self.same_warp(same_warp)?;
        Ok(ClassTiming { pipe, latency: 0, short_latency: 0, interval, same_warp, variable: false })
    }

    fn interval(&mut self, lanes: Key, work: f64) -> Result<f64, Missing> {
        let per_clk = self.reader.need(lanes)?;
        if per_clk <= 0.0 {
            return Err(self.missing(lanes, "the SM has no such lanes, and the kernel's machine code uses them"));
        }
        Ok(work * self.subpartitions / per_clk)
    }

    fn integer_pipe(&mut self) -> Result<Pipe, Missing> {
        Ok(match self.reader.word()? {
            PipeInt::Fp32 => Pipe::Fma,
            PipeInt::Own => Pipe::Alu,
        })
    }

    /// What a 32-bit product becomes where no lanes multiply: lanes with the instructions on them.
    fn product_parts(&mut self) -> Result<Option<&'m [(Key, f64)]>, Missing> {
        if self.reader.need(Key::LanesInt32Mul)? > 0.0 {
            return Ok(None);
        }
        self.reader.mix(Key::ExpansionMulLo32).map(Some)
    }

    /// A 32-bit product: on its own lanes, or as the integer instructions that it becomes where there are none.
    fn product_time(&mut self) -> Result<(Pipe, f64), Missing> {
        let Some(parts) = self.product_parts()? else {
            // Kepler's product lanes are 32 of 192: other lanes go on beside them.
            let pipe = if self.major() == 3 { Pipe::Alu } else { Pipe::Fma };
            return Ok((pipe, self.interval(Key::LanesInt32Mul, LANES)?));
        };
        let mut interval = 0.0;
        for &(lanes, number) in parts {
            let lanes = if lanes == Key::SmIssuePerClk { Key::LanesInt32Add } else { lanes };
            interval += number * self.interval(lanes, LANES)?;
        }
        Ok((self.integer_pipe()?, interval))
    }

    fn integer_product(&mut self) -> Result<ClassTiming, Missing> {
        let Some(parts) = self.product_parts()? else {
            return self.arithmetic(MachineClass::IntMul, Key::LatencyInt32Mul);
        };
        let (pipe, interval) = self.product_time()?;
        let count: f64 = parts.iter().map(|&(_, number)| number).sum();
        let one = self.arithmetic(MachineClass::Int, Key::LatencyInt32)?;
        let sentence = format!(
            "{}: a 32-bit product takes the {count} instructions of {}, one after the other",
            Key::LanesInt32Mul,
            Key::ExpansionMulLo32
        );
        self.reader.assume(sentence);
        let latency = whole(f64::from(one.latency) * count);
        Ok(ClassTiming { pipe, interval, latency, short_latency: latency, ..one })
    }

    /// Where an instruction occupies only its unit, a warp may issue again at the scheduler's next choice.
    fn same_warp(&mut self, key: Key) -> Result<u32, Missing> {
        match self.occupies == IssueOccupies::Scheduler || self.is_stated(key) {
            true => self.count(key),
            false => Ok(whole(self.issue_interval)),
        }
    }

    fn shared(&mut self) -> Result<SharedConfig, Missing> {
        let latency = self.count(Key::LatencyShared)?;
        let has_operands = self.major() == 1;
        Ok(SharedConfig {
            banks: BankRule::of(self.major().into()),
            packs_pairs: bank::packs_pairs(self.major()),
            latency,
            same_warp: self.same_warp(Key::SameWarpFp32)?,
            operand_latency: if has_operands { self.count(Key::LatencySharedOperand)? } else { latency },
            pass_cycles: self.reader.need(Key::SharedPassCycles)?,
            pass_latency: self.reader.need(Key::SharedPassLatency)?,
            // As an H200 has shown; of the generation before nobody measured it.
            splits_copies: self.major() >= 9,
        })
    }

    fn lsu(&mut self) -> Result<LsuConfig, Missing> {
        Ok(LsuConfig {
            queue: self.count(Key::LsuQueue)?,
            scheduler_interval: self.reader.need(Key::LsuSchedulerInterval)?,
            sm_interval: self.reader.need(Key::LsuSmInterval)?,
        })
    }

    fn l1(&mut self) -> Result<Option<L1Config>, Missing> {
        let bytes = self.reader.need(Key::L1Size)?;
        if bytes == 0.0 {
            return Ok(None);
        }
        let holds = match self.reader.word()? {
            L1GlobalLoads::Yes => L1Holds::All,
            L1GlobalLoads::No if self.major() == 3 => L1Holds::Local,
            // Maxwell tuning guide: global and local loads are cached in L2 only.
            L1GlobalLoads::No => L1Holds::Nothing,
        };
        Ok(Some(L1Config {
            holds,
            bytes: bytes as u64,
            unified: match self.reader.word()? {
                L1UnifiedWithShared::Yes => true,
                L1UnifiedWithShared::No => false,
            },
            tags_per_clk: self.reader.need(Key::L1TagsPerClk)?,
            bytes_per_clk: self.reader.need(Key::L1BytesPerClk)?,
            latency: self.count(Key::LatencyL1)?,
            // 7.5 writes every sector that is stored to local memory on to the L2 cache, as counters of an RTX 2080 Ti say
            // (validation/measured/coulomb-rtx2080ti.csv); so does 7.0, whose cache is the same.
            writes_back: self.major() < 7,
        }))
    }

    /// From 5.0 on the L1 cache is that of textures, too (Maxwell tuning guide, "unified L1/texture cache"); before, they
    /// have caches of their own, which nobody measured enough of.
    fn textures(&mut self) -> Result<TextureConfig, Missing> {
        let key = Key::LanesTexture;
        if self.major() < 5 {
            let reason = "before compute capability 5.0 textures have caches of their own, which are not modelled";
            return Err(self.missing(key, reason));
        }
        let texels = self.reader.need(key)?;
        if texels <= 0.0 {
            return Err(self.missing(key, "the SM has no texture units, and the kernel fetches from textures"));
        }
        Ok(TextureConfig { interval: LANES / texels })
    }

    /// From 7.0 on the size of the cache is that of the whole; before, it is what the default division leaves.
    fn divisions(&mut self) -> Result<Vec<u64>, Missing> {
        if self.major() < 7 {
            return Ok(Vec::new());
        }
        Ok(self.reader.list(Key::SharedConfigurable)?.iter().map(|&bytes| bytes as u64).collect())
    }

    fn l2(&mut self) -> Result<Option<L2Config>, Missing> {
        let bytes = self.reader.need(Key::L2Size)?;
        if bytes == 0.0 {
            return Ok(None);
        }
        Ok(Some(L2Config {
            bytes: bytes as u64,
            latency: self.count(Key::LatencyL2)?,
            far_latency: self.reader.optional(Key::LatencyL2Far).map(whole),
            bytes_per_clk: self.reader.need(Key::L2AchievedBandwidth)? / self.clock,
            request_sectors: self.reader.optional(Key::L2RequestSectors).unwrap_or(1.0),
            store_cost: self.reader.optional(Key::L2StoreCost).unwrap_or(1.0),
            sm_bytes_per_clk: self.reader.need(Key::L2SmBytesPerClk)?,
        }))
    }

    /// Of a bandwidth that was achieved with reads and writes. A scenario may change that one alone, so that it is the ratio
    /// that counts.
    fn one_way_bandwidth(&mut self, achieved: f64) -> f64 {
        let one_way = self.reader.optional(Key::DramOneWayBandwidth);
        match (one_way, self.reader.machine().number(Key::DramAchievedBandwidth)) {
            (Some(one_way), Some(stated)) => achieved * (one_way / stated).clamp(1.0, MOST_ONE_WAY),
            _ => achieved,
        }
    }

    fn dram(&mut self) -> Result<DramConfig, Missing> {
        let bandwidth = self.reader.memory_bandwidth()?;
        let bytes_per_clk = bandwidth / self.clock;
        if self.major() > 1 {
            let latency = self.count(Key::DramLatency)?;
            return Ok(DramConfig {
                latency,
                bytes_per_clk,
                one_way_bytes_per_clk: self.one_way_bandwidth(bandwidth) / self.clock,
                row_cycle: self.reader.need(Key::DramRowCycle)?,
                turnaround: self.reader.optional(Key::DramTurnaround).unwrap_or(0.0),
                fetch_bytes: self.count(Key::DramFetchBytes)?,
                activation_interval: self.reader.optional(Key::DramActivationInterval).unwrap_or(0.0),
                channels: None,
                in_flight: None,
            });
        }
        let latency = self.reader.need(Key::TegMemoryLatency)?;
        let clusters = self.reader.need(Key::SmCount)? / self.reader.need(Key::SmPerCluster)?;
        let channels = (self.count(Key::DramChannels)?, self.count(Key::DramInterleave)?);
        Ok(DramConfig {
            latency: whole(latency),
            bytes_per_clk,
            one_way_bytes_per_clk: bytes_per_clk,
            row_cycle: 0.0,
            turnaround: 0.0,
            fetch_bytes: sector::BYTES as u32,
            activation_interval: 0.0,
            channels: Some(channels),
            // Little's law at the peak: what a cluster must have in flight to draw its share.
            in_flight: Some(bytes_per_clk * latency / clusters),
        })
    }
}

/// Whether the vendor's compiler guards results of the class by a scoreboard instead of a number of cycles.
fn is_variable(class: MachineClass, major: u8) -> bool {
    match class {
        MachineClass::Sfu | MachineClass::Convert => major > 3,
        MachineClass::Shuffle | MachineClass::Atomic | MachineClass::TensorAsync | MachineClass::TensorFp64 => true,
        MachineClass::Fp64 => (5..=8).contains(&major) || major > 10,
        MachineClass::Fp16 => (5..=6).contains(&major),
        MachineClass::Tensor | MachineClass::TensorFp32 => major == 7,
        MachineClass::Fp32
        | MachineClass::Fp32Mul
        | MachineClass::Int
        | MachineClass::IntMul
        | MachineClass::Move
        | MachineClass::Uniform
        | MachineClass::Vote
        | MachineClass::Load
        | MachineClass::Texture
        | MachineClass::Store
        | MachineClass::Reduction
        | MachineClass::AsyncCopy
        | MachineClass::AsyncCommit
        | MachineClass::AsyncWait
        | MachineClass::Barrier
        | MachineClass::BarrierArrive
        | MachineClass::Fence
        | MachineClass::Branch
        | MachineClass::Exit
        | MachineClass::Nop => false,
    }
}

/// Cycles and counts are whole numbers here; measured means are rounded.
fn whole(number: f64) -> u32 {
    number.round() as u32
}
