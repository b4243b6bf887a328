//! Launches: checked as a GPU would, executed, timed.

use warplens_isa::FIRST_CLUSTER_TARGET;
use warplens_session::served::{Done, ServedLaunch, Stop, Stopped};
use warplens_session::trail::Entry;

use crate::handles::Handle;
use crate::runtime::{Runtime, words};
use crate::status::{Result, Status};
use crate::timeline::Needs;
use crate::times::{Key, Plan, Timed, key_of};

/// Most blocks of a grid along its second and third axis, and most threads of a block along its third.
const MOST_CTAS_YZ: u32 = 65535;
const MOST_THREADS_Z: u32 = 64;

/// A launch that a program asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The kernel.
    pub function: Handle,
    /// The stream.
    pub stream: Handle,
    /// CTAs per axis.
    pub grid: [u32; 3],
    /// Threads per axis.
    pub block: [u32; 3],
    /// CTAs of a cluster per axis, where the launch says so.
    pub cluster: Option<[u32; 3]>,
    /// Dynamic shared memory in bytes.
    pub dynamic_shared: u64,
    /// All CTAs must be there at the same time.
    pub cooperative: bool,
    /// Content of the parameter space.
    pub parameters: Vec<u8>,
}

impl Runtime {
    /// Launches a kernel. Returns what it printed.
    pub fn launch(&mut self, request: &Request) -> Result<Vec<u8>> {
        self.alive()?;
        self.stream_facts(request.stream)?;
        self.check(request)?;
        let (loaded, served) = self.served(request.function)?;
        if self.leaves_out {
            self.trail.note(&Entry::Omitted { process: std::process::id() });
            return Ok(Vec::new());
        }
        let launch = ServedLaunch {
            grid: request.grid,
            block: request.block,
            cluster: request.cluster,
            allows_large_clusters: self.function_allows_large_clusters(request.function),
            dynamic_shared: request.dynamic_shared,
            parameters: request.parameters.clone(),
            memory_bytes: self.reachable(&request.parameters),
        };
        let key = key_of(request);
        let shared = self.hand_over(&request.parameters);
        let plan = self.times.plan(&key, &request.parameters);
        let snapshot = if plan == Plan::Measure { self.snapshot(&loaded, &served, &launch) } else { None };
        let (timed, printed) = match plan {
            Plan::Skip => (self.times.skipped(&key, &request.parameters), Vec::new()),
            Plan::Measure => {
                let options = (&self.options, &mut self.checks);
                let measured = served.measure(&mut self.context, &loaded, &launch, options);
                let Done { result, printed, findings } = self.ended(measured)?;
                self.note_findings(&served, findings);
                (self.times.measured(&key, &request.parameters, result, &self.machines), printed)
            }
            Plan::Run => {
                let options = (&self.options, &mut self.checks);
                let run = served.run(&mut self.context, &loaded, &launch, options);
                let Done { result, printed, findings } = self.ended(run)?;
                self.note_findings(&served, findings);
                (self.times.ran(&key, result), printed)
            }
        };
        self.take_back(&shared);
        let process = std::process::id();
        let launched_before = self.launched;
        self.launched += 1;
        if let Some(answers) = timed.new {
            if let Some(snapshot) = snapshot {
                self.keep(snapshot, (&loaded, &served, &launch), launched_before, &answers);
            }
            self.trail.note(&Entry::Case {
                process,
                case: timed.case,
                kernel: served.name().mangled.clone(),
                grid: request.grid,
                block: request.block,
                dynamic_shared: request.dynamic_shared,
                registers: served.registers_in(request.block),
                answers,
            });
        }
        if timed.seconds.is_none() {
            let name = &served.name().demangled;
            let what = format!("no model predicts `{name}` on {}: it takes no time of the device", self.machine().id);
            self.say_once(&what);
        }
        let Timed { case, scale, executed, .. } = timed;
        let needs = Needs::Sms(self.share_of_sms(&key, request));
        let place = self.work(request.stream, needs, timed.seconds.unwrap_or(0.0) * scale)?;
        self.trail.note(&Entry::Launch { process, case, scale, executed, place });
        Ok(printed)
    }

    /// The share of the SMs that the CTAs of a launch fill at once.
    fn share_of_sms(&mut self, key: &Key, request: &Request) -> f64 {
        if let Some(share) = self.times.share_of_sms(key) {
            return share;
        }
        let threads = request.block.iter().product();
        let resident = self.resident_blocks(request.function, threads, request.dynamic_shared).unwrap_or(1).max(1);
        let slots = f64::from(resident) * f64::from(self.properties().sms);
        let ctas: f64 = request.grid.iter().map(|&extent| f64::from(extent)).product();
        let share = (ctas / slots).min(1.0);
        self.times.keep_share_of_sms(key, share);
        share
    }

    /// Refuses what this GPU cannot launch.
    pub(crate) fn check(&mut self, request: &Request) -> Result<()> {
        let info = self.function_info(request.function)?;
        let properties = self.properties();
        let threads = request.block.iter().fold(1u64, |threads, &extent| threads.saturating_mul(extent.into()));
        let is_grid = request.grid[0] > 0 && request.grid[1..].iter().all(|&n| (1..=MOST_CTAS_YZ).contains(&n));
        let is_block =
            (1..=u64::from(properties.max_threads_per_block)).contains(&threads) && request.block[2] <= MOST_THREADS_Z;
        if !is_grid || !is_block {
            return Err(Status::INVALID_CONFIGURATION);
        }
        if request.dynamic_shared > info.dynamic_shared_limit {
            return Err(Status::INVALID_VALUE);
        }
        let has_clusters = 10 * properties.major + properties.minor >= FIRST_CLUSTER_TARGET;
        if !has_clusters && request.cluster.is_some_and(|cluster| cluster != [1; 3]) {
            return Err(Status::INVALID_CLUSTER_SIZE);
        }
        let (_, served) = self.served(request.function)?;
        let registers = threads.next_multiple_of(32) * u64::from(served.registers_in(request.block));
        // More than the kernel's own bound is another error than more than the SM has.
        if threads > u64::from(info.max_threads) {
            return Err(Status::INVALID_VALUE);
        }
        if registers > u64::from(properties.registers_per_block) {
            return Err(Status::LAUNCH_OUT_OF_RESOURCES);
        }
        Ok(())
    }

    /// What a launch left, or the error that it ended with, which is said.
    fn ended<T>(&mut self, result: std::result::Result<Done<T>, Stopped>) -> Result<Done<T>> {
        result.map_err(|Stopped { stop, error }| {
            let status = match stop {
                Stop::IllegalAddress => Status::ILLEGAL_ADDRESS,
                Stop::MisalignedAddress => Status::MISALIGNED_ADDRESS,
                Stop::Configuration => Status::INVALID_CONFIGURATION,
                Stop::Cluster => Status::INVALID_CLUSTER_SIZE,
                Stop::Unsupported => Status::NOT_SUPPORTED,
                Stop::Budget => Status::LAUNCH_TIMEOUT,
                Stop::Assertion => Status::ASSERT,
                Stop::Failure => Status::LAUNCH_FAILED,
            };
            self.fail(status, &words(&error))
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::kernels::ModuleSource;
    use crate::runtime::tests::runtime;

    use super::*;

    /// A launch of one block.
    fn block(function: Handle, threads: u32, parameters: &[u8]) -> Request {
        Request {
            function,
            stream: 0,
            grid: [1; 3],
            block: [threads, 1, 1],
            cluster: None,
            dynamic_shared: 0,
            cooperative: false,
            parameters: parameters.to_vec(),
        }
    }

    #[test]
    fn more_threads_than_a_kernel_allows_are_an_invalid_value() {
        let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() .maxntid 64, 1, 1 { ret; }\n";
        let mut runtime = runtime();
        let module = runtime.load_module(ModuleSource::Texts(vec![ptx.to_owned()])).unwrap();
        let function = runtime.module_function(module, "k").unwrap();
        let mut launch = |threads| runtime.launch(&block(function, threads, &[])).map(drop);
        assert_eq!(launch(64), Ok(()));
        assert_eq!(launch(65), Err(Status::INVALID_VALUE));
        assert_eq!(launch(2000), Err(Status::INVALID_CONFIGURATION));
    }

    #[test]
    fn an_estimate_of_registers_refuses_no_launch() {
        // Each of 100 values is needed until all of them are there.
        let loads: String = (0..100).map(|n| format!("ld.global.u32 %r{n}, [%rd+{}]; ", 4 * n)).collect();
        let sums: String = (1..100).map(|n| format!("add.u32 %r0, %r0, %r{n}; ")).collect();
        let stores: String = (1..100).map(|n| format!("st.global.u32 [%rd+{}], %r{n}; ", 4 * n)).collect();
        let ptx = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {{ .reg .b32 %r<100>; .reg .b64 \
             %rd; ld.param.u64 %rd, [p]; {loads} {sums} {stores} st.global.u32 [%rd], %r0; ret; }}\n"
        );
        let mut runtime = runtime();
        let module = runtime.load_module(ModuleSource::Texts(vec![ptx])).unwrap();
        let function = runtime.module_function(module, "k").unwrap();
        let memory = runtime.allocate("cudaMalloc", 400, crate::memory::MemoryKind::Device).unwrap();
        assert!(runtime.function_info(function).unwrap().registers > 64);
        assert_eq!(runtime.launch(&block(function, 1024, &memory.to_le_bytes())).map(drop), Ok(()));
    }
}
