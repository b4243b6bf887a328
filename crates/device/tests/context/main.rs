//! A device as its users see it: several modules, links across them, memory with checked handles, launches.
#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]

mod link;
mod memory;
mod support;
mod texture;

use std::sync::atomic::AtomicU64;

use support::{context, load, run, u32_at, words};
use warplens_device::{Context, Error};
use warplens_exec::{AccessFault, ExecError};

const STORE: &str = "
.visible .global .u32 v = NUMBER;
.visible .const .u32 c = NUMBER;
.visible .entry k(.param .u64 out)
{
    .reg .b32 %r<4>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    ld.global.u32 %r1, [v];
    ld.const.u32 %r2, [c];
    mad.lo.u32 %r1, %r2, 1000, %r1;
    st.global.u32 [%rd1], %r1;
    add.u32 %r2, %r2, 1;
    st.global.u32 [v], %r2;
    ret;
}";

#[test]
fn modules_of_the_same_names_stay_apart() {
    let mut context = context();
    let modules = ["7", "9"].map(|number| load(&mut context, &STORE.replace("NUMBER", number)));
    let out = context.allocate("out", 4).unwrap();
    let (address, _) = context.extent(out).unwrap();
    for (module, expected) in [(0, 7007), (1, 9009), (0, 7008), (1, 9010)] {
        run(&mut context, modules[module], "k", &[address]).unwrap();
        assert_eq!(u32_at(&context, address), expected);
    }
    let symbols = modules.map(|module| context.symbol(module, "v").unwrap());
    assert_ne!(symbols[0].address, symbols[1].address);
    context.write(symbols[0].address, &50u32.to_le_bytes()).unwrap();
    let constants = modules.map(|module| context.symbol(module, "c").unwrap());
    context.write(constants[1].address, &3u32.to_le_bytes()).unwrap();
    for (module, expected) in [(0, 7050), (1, 3010)] {
        run(&mut context, modules[module], "k", &[address]).unwrap();
        assert_eq!(u32_at(&context, address), expected);
    }
    assert_eq!(context.kernel(modules[0], "K").unwrap_err(), Error::NoKernel { name: "K".into() });
    assert_eq!(context.symbol(modules[0], "k").unwrap_err(), Error::NoSymbol { name: "k".into() });
}

#[test]
fn a_constant_of_another_module_is_out_of_bounds() {
    let mut context = context();
    let first = load(&mut context, &STORE.replace("NUMBER", "7"));
    let second = load(&mut context, READ);
    let out = context.allocate("out", 4).unwrap();
    let (to, _) = context.extent(out).unwrap();
    let constant = context.symbol(first, "c").unwrap().address;
    let error = run(&mut context, second, "read", &[constant, to]).unwrap_err();
    let Error::Launch(ExecError::Access(access)) = &error else { panic!("{error}") };
    assert_eq!(access.fault, AccessFault::OutOfBounds);
    let own = context.symbol(second, "own").unwrap().address;
    run(&mut context, second, "read", &[own, to]).unwrap();
    assert_eq!(u32_at(&context, to), 42);
}

/// Reads a word at a generic address.
const READ: &str = "
.visible .const .u32 own = 42;
.visible .entry read(.param .u64 from, .param .u64 to)
{
    .reg .b32 %r<2>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    ld.u32 %r1, [%rd1];
    st.global.u32 [%rd2], %r1;
    ret;
}";

#[test]
fn an_access_to_freed_memory_names_it() {
    let mut context = context();
    let module = load(&mut context, READ);
    let [from, to] = ["from", "to"].map(|name| context.allocate(name, 64).unwrap());
    let [source, target] = [from, to].map(|allocation| context.extent(allocation).unwrap().0);
    context.write(source, &words(&[5])).unwrap();
    run(&mut context, module, "read", &[source, target]).unwrap();
    assert_eq!(u32_at(&context, target), 5);
    context.free(from).unwrap();
    let error = run(&mut context, module, "read", &[source + 8, target]).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "use-after-free global load of 4 bytes at {:#x} by block (0,0,0) thread (0,0,0): at byte 8 of `from`, which \
             was freed and had 64 bytes",
            source + 8
        )
    );
    // What comes next gets another address, so that the old one stays wrong.
    let next = context.allocate("next", 64).unwrap();
    assert_ne!(context.extent(next).unwrap().0, source);
    assert!(run(&mut context, module, "read", &[source, target]).is_err());
}

#[test]
fn an_unloaded_module_is_gone() {
    let mut context = context();
    let module = load(&mut context, &STORE.replace("NUMBER", "7"));
    let other = load(&mut context, READ);
    let out = context.allocate("out", 4).unwrap();
    let (address, _) = context.extent(out).unwrap();
    let symbol = context.symbol(module, "v").unwrap();
    let constant = context.symbol(module, "c").unwrap();
    let handle = context.kernel(module, "k").unwrap();
    let prepared = context.prepare(handle).unwrap();
    context.unload(module).unwrap();
    assert_eq!(context.unload(module).unwrap_err(), Error::Unloaded);
    assert_eq!(context.kernel(module, "k").unwrap_err(), Error::Unloaded);
    assert_eq!(context.symbol(module, "v").unwrap_err(), Error::Unloaded);
    assert_eq!(context.prepare(handle).err(), Some(Error::Unloaded));
    let launched = context.launch(&prepared, &support::launch(&[address]), (), &AtomicU64::new(0));
    assert_eq!(launched.err(), Some(Error::Unloaded));
    assert_eq!(context.read(symbol.address, 4).unwrap_err(), Error::Freed { name: "v".into() });
    assert!(matches!(context.read(constant.address, 4).unwrap_err(), Error::OutOfRange { .. }));
    let error = run(&mut context, other, "read", &[symbol.address, address]).unwrap_err();
    assert!(error.to_string().contains("of `v`, which was freed and had 4 bytes"), "{error}");
    // It can be loaded again, at other addresses.
    let again = load(&mut context, &STORE.replace("NUMBER", "8"));
    assert_ne!(context.symbol(again, "v").unwrap().address, symbol.address);
    run(&mut context, again, "k", &[address]).unwrap();
    assert_eq!(u32_at(&context, address), 8008);
}

#[test]
fn the_heap_outlives_a_launch() {
    const HEAP: &str = "
    .extern .func (.param .b64 r) malloc (.param .b64 n);
    .visible .entry take(.param .u64 out)
    {
        .reg .b64 %rd<3>;
        ld.param.u64 %rd1, [out];
        {
            .param .b64 n; .param .b64 r;
            st.param.b64 [n], 64;
            call.uni (r), malloc, (n);
            ld.param.b64 %rd2, [r];
        }
        st.global.u64 [%rd1], %rd2;
        ret;
    }";
    let mut context = context();
    let modules = [(); 2].map(|()| load(&mut context, HEAP));
    let out = context.allocate("out", 8).unwrap();
    let (address, _) = context.extent(out).unwrap();
    let mut taken = Vec::new();
    for module in [0, 1, 0] {
        run(&mut context, modules[module], "take", &[address]).unwrap();
        taken.push(u64::from_le_bytes(context.read(address, 8).unwrap().try_into().unwrap()));
    }
    assert_eq!((taken[1], taken[2]), (taken[0] + 64, taken[0] + 128), "{taken:x?}");
    let heap = context.locate(taken[0]).unwrap();
    assert_eq!((heap.name.as_str(), heap.offset), ("device heap", 0));
    assert!(matches!(context.free(heap.allocation.unwrap()).unwrap_err(), Error::NoAllocation { .. }));
}

#[test]
fn impossible_launches_are_errors() {
    let mut context = context();
    let module = load(&mut context, READ);
    let handle = context.kernel(module, "read").unwrap();
    let prepared = context.prepare(handle).unwrap();
    let mut refused = |change: fn(&mut warplens_exec::Launch)| {
        let mut launch = support::launch(&[]);
        change(&mut launch);
        context.launch(&prepared, &launch, (), &AtomicU64::new(0)).unwrap_err()
    };
    assert_eq!(refused(|launch| launch.grid = [0, 1, 1]), Error::Grid([0, 1, 1]));
    assert_eq!(refused(|launch| launch.grid = [u32::MAX; 3]), Error::Grid([u32::MAX; 3]));
    assert_eq!(refused(|launch| launch.ctas = Some(vec![1])), Error::Grid([1; 3]));
    assert_eq!(refused(|launch| launch.block = [1024, 2, 1]), Error::Block([1024, 2, 1]));
    assert_eq!(refused(|launch| launch.block = [u32::MAX; 3]), Error::Block([u32::MAX; 3]));
    assert_eq!(refused(|launch| launch.dynamic_shared = u64::MAX), Error::Shared { bytes: u64::MAX, limit: 232_448 });
    // No parameters at all: found when the kernel reads them.
    assert!(matches!(refused(|_| ()), Error::Launch(ExecError::Access(_))));
}

#[test]
fn a_module_must_have_the_addresses_of_the_device() {
    let mut context = Context::new(32, 1 << 20);
    let error = context.load(support::module(READ)).unwrap_err();
    assert_eq!(error.to_string(), "the module has addresses of 64 bits, and the device of 32");
}
