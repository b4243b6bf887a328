//! Allocations, copies and addresses.

use warplens_device::{Context, Error};

use crate::support::{context, load, u32_at, words};

#[test]
fn memory_is_freed_once() {
    let mut context = context();
    let allocation = context.allocate("a", 64).unwrap();
    let (address, bytes) = context.extent(allocation).unwrap();
    assert_eq!(bytes, 64);
    assert_eq!(context.allocation_at(address), Ok(allocation));
    context.free(allocation).unwrap();
    let freed = Error::Freed { name: "a".into() };
    assert_eq!(context.free(allocation).unwrap_err(), Error::DoubleFree { name: "a".into() });
    assert_eq!(context.extent(allocation).unwrap_err(), freed);
    assert_eq!(context.read(address, 1).unwrap_err(), freed);
    assert_eq!(context.write(address + 63, &[1]).unwrap_err(), freed);
    assert_eq!(context.fill(address, &[1], 64).unwrap_err(), freed);
    assert_eq!(context.locate(address).unwrap_err(), freed);
    // By address, as runtimes free.
    let again = context.allocation_at(address).unwrap();
    assert_eq!(context.free(again).unwrap_err(), Error::DoubleFree { name: "a".into() });
}

#[test]
fn handles_of_another_context_are_noticed() {
    let mut contexts = [context(), context()];
    let allocation = contexts[0].allocate("a", 64).unwrap();
    let module = load(&mut contexts[0], ".visible .entry k() { ret; }");
    let kernel = contexts[0].kernel(module, "k").unwrap();
    let other = &mut contexts[1];
    assert_eq!(other.free(allocation).unwrap_err(), Error::WrongContext);
    assert_eq!(other.extent(allocation).unwrap_err(), Error::WrongContext);
    assert_eq!(other.unload(module).unwrap_err(), Error::WrongContext);
    assert_eq!(other.symbol(module, "v").unwrap_err(), Error::WrongContext);
    assert_eq!(other.prepare(kernel).err(), Some(Error::WrongContext));
}

#[test]
fn what_belongs_to_a_module_is_not_freed_alone() {
    let mut context = context();
    let module = load(&mut context, ".visible .global .u32 v = 5;\n.visible .entry k() { ret; }");
    let symbol = context.symbol(module, "v").unwrap();
    assert_eq!(symbol.bytes, 4);
    let variable = context.locate(symbol.address).unwrap().allocation.unwrap();
    assert!(matches!(context.free(variable).unwrap_err(), Error::NoAllocation { .. }));
    assert!(matches!(context.allocation_at(symbol.address).unwrap_err(), Error::NoAllocation { .. }));
    assert_eq!(u32_at(&context, symbol.address), 5);
}

#[test]
fn addresses_find_what_they_lie_in() {
    let mut context = context();
    let module = load(&mut context, ".const .u32 pad;\n.const .u32 c = 9;\n.visible .entry k() { ret; }");
    let allocation = context.allocate("a", 100).unwrap();
    let (address, _) = context.extent(allocation).unwrap();
    let found = context.locate(address + 99).unwrap();
    assert_eq!((found.allocation, found.name.as_str(), found.offset, found.bytes), (Some(allocation), "a", 99, 100));
    assert_eq!(
        context.locate(address + 100).unwrap_err().to_string(),
        format!(
            "1 bytes at {:#x} are not all in one allocation: 0 bytes after the end of `a`, which has 100 bytes",
            address + 100
        )
    );
    assert!(matches!(context.allocation_at(address + 1).unwrap_err(), Error::NoAllocation { .. }));
    assert!(context.read(address + 97, 4).is_err());
    assert!(
        context.read(address, u64::MAX).is_err() && context.read(u64::MAX, 8).is_err() && context.read(0, 8).is_err()
    );
    let constant = context.symbol(module, "c").unwrap();
    let found = context.locate(constant.address).unwrap();
    assert_eq!((found.allocation, found.offset, found.bytes), (None, 4, 8));
    assert_eq!(u32_at(&context, constant.address), 9);
    assert_eq!(context.read(1, 0), Ok(Vec::new()), "no bytes lie nowhere");
}

#[test]
fn copies_may_overlap() {
    const SIZE: u64 = (2 << 20) + 12345;
    let mut context = Context::new(64, 64 << 20);
    let allocation = context.allocate("a", 2 * SIZE).unwrap();
    let (address, _) = context.extent(allocation).unwrap();
    let bytes: Vec<u8> = (0..SIZE).map(|at| (at * 7 % 251) as u8).collect();
    for (from, to) in [(0, 1000), (1000, 0), (0, SIZE), (SIZE, 3), (5, 5)] {
        context.fill(address, &[0], 2 * SIZE).unwrap();
        context.write(address + from, &bytes).unwrap();
        context.copy(address + to, address + from, SIZE).unwrap();
        assert!(context.read(address + to, SIZE).unwrap() == bytes, "{from} to {to}");
    }
    let small = context.allocate("small", 8).unwrap();
    let (small, _) = context.extent(small).unwrap();
    assert!(matches!(context.copy(small, address, 9).unwrap_err(), Error::OutOfRange { .. }));
    assert_eq!(context.read(small, 8), Ok(vec![0; 8]), "nothing is written when not all fits");
    context.copy(small, address, 0).unwrap();
}

#[test]
fn memory_is_filled_with_a_pattern() {
    let mut context = context();
    let allocation = context.allocate("a", 3 << 20).unwrap();
    let (address, _) = context.extent(allocation).unwrap();
    context.fill(address + 1, &[1, 2, 3], 1 << 20).unwrap_err();
    context.fill(address, &[1, 2, 3], 1 << 20).unwrap();
    let bytes = context.read(address, 3 << 20).unwrap();
    assert!(bytes.chunks(3).all(|chunk| chunk == [1, 2, 3]));
    context.fill(address + 4, &7u32.to_le_bytes(), 2).unwrap();
    assert_eq!(context.read(address + 3, 10).unwrap(), [[1].as_slice(), &words(&[7, 7]), &[1]].concat());
    assert_eq!(context.fill(address, &[], 1).unwrap_err(), Error::EmptyPattern);
    assert!(context.fill(address, &[0; 16], u64::MAX).is_err());
}

#[test]
fn the_limit_counts_what_is_there() {
    let mut context = Context::new(64, 1000);
    let first = context.allocate("first", 600).unwrap();
    let error = context.allocate("second", 401).unwrap_err();
    assert_eq!(
        error.to_string(),
        "buffer `second` takes 401 bytes of device memory, and 400 of its 1000 bytes are left"
    );
    context.free(first).unwrap();
    let module = ".visible .global .b8 v[500];\n.visible .const .b8 c[500];\n.visible .entry k() { ret; }";
    let handle = load(&mut context, module);
    assert!(context.allocate("third", 1).is_err());
    context.unload(handle).unwrap();
    // A module that does not fit takes nothing.
    let larger = module.replace("c[500]", "c[501]");
    assert!(context.load(crate::support::module(&larger)).is_err());
    context.allocate("all", 1000).unwrap();
}

#[test]
fn any_order_of_requests_ends_in_an_answer() {
    let mut context = context();
    let mut allocations = Vec::new();
    let mut addresses = vec![0, 1, u64::MAX];
    let mut state = 1u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for step in 0..4000 {
        let address = addresses[random(addresses.len() as u64) as usize].wrapping_add(random(300)).wrapping_sub(100);
        match random(6) {
            0 => {
                let allocation = context.allocate(&format!("a{step}"), random(200)).unwrap();
                addresses.push(context.extent(allocation).unwrap().0);
                allocations.push(allocation);
            }
            1 if !allocations.is_empty() => {
                let _ = context.free(allocations[random(allocations.len() as u64) as usize]);
            }
            2 => drop(context.read(address, random(300))),
            3 => drop(context.write(address, &vec![1; random(300) as usize])),
            4 => drop(context.copy(address, addresses[random(addresses.len() as u64) as usize], random(300))),
            _ => drop(context.locate(address)),
        }
    }
    assert!(allocations.iter().any(|&allocation| context.extent(allocation).is_err()));
}
