//! Links across modules.

use std::sync::atomic::AtomicU64;

use warplens_device::Error;
use warplens_exec::ExecError;
use warplens_ir::link::{LinkError, link};

use crate::support::{context, launch, module, part, run, u32_at};

/// Uses a function, two variables and a function's address of another module.
const USER: &str = "
.extern .func (.param .b32 r) twice(.param .b32 x, .param .b64 wide);
.extern .func unused(.param .b32 x);
.extern .global .u32 shift;
.extern .const .u32 scale[2];
.extern .global .u32 nobody;
.global .u32 own = 5;
.visible .global .u64 table[2] = {generic(shift), twice};
.visible .entry k(.param .u64 out, .param .u32 x)
{
    .reg .b32 %r<8>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [x];
    {
        .param .b32 a; .param .b64 b; .param .b32 r;
        st.param.b32 [a], %r1;
        st.param.b64 [b], 3;
        call (r), twice, (a, b);
        ld.param.b32 %r2, [r];
    }
    ld.global.u32 %r3, [shift];
    ld.const.u32 %r4, [scale+4];
    ld.global.u32 %r5, [own];
    mad.lo.u32 %r2, %r2, %r4, %r3;
    add.u32 %r2, %r2, %r5;
    st.global.u32 [%rd1], %r2;
    ld.global.u64 %rd2, [table];
    ld.u32 %r3, [%rd2];
    st.global.u32 [%rd1+4], %r3;
    ld.global.u64 %rd2, [table+8];
    mov.u64 %rd3, twice;
    {
        .param .b32 a; .param .b64 b; .param .b32 r;
        st.param.b32 [a], 100;
        st.param.b64 [b], 1;
        p: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _);
        call (r), %rd2, (a, b), p;
        ld.param.b32 %r6, [r];
    }
    st.global.u32 [%rd1+8], %r6;
    sub.u64 %rd3, %rd3, %rd2;
    cvt.u32.u64 %r7, %rd3;
    st.global.u32 [%rd1+12], %r7;
    ret;
}";

const LIBRARY: &str = "
.visible .global .u32 shift = 7;
.visible .const .u32 scale[2] = {1, 10};
.global .u32 own = 1000;
.func (.param .b32 r) inner(.param .b32 x)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [x];
    ld.global.u32 %r2, [own];
    add.u32 %r1, %r1, %r2;
    add.u32 %r1, %r1, %r1;
    st.param.b32 [r], %r1;
    ret;
}
.visible .func (.param .b32 r) twice(.param .b32 x, .param .b64 wide)
{
    .reg .b32 %r<3>; .reg .b64 %rd<2>; .reg .pred %p;
    ld.param.b32 %r1, [x];
    ld.param.b64 %rd1, [wide];
    setp.eq.u64 %p, %rd1, 0;
    @%p trap;
    {
        .param .b32 a; .param .b32 b;
        st.param.b32 [a], %r1;
        call (b), inner, (a);
        ld.param.b32 %r2, [b];
    }
    st.param.b32 [r], %r2;
    ret;
}";

#[test]
fn functions_and_variables_are_found_by_name() {
    for order in [[USER, LIBRARY], [LIBRARY, USER]] {
        let mut context = context();
        let parts = order.map(part);
        let (module, _) = context.link(&[&parts[0], &parts[1]]).unwrap();
        let out = context.allocate("out", 16).unwrap();
        let (address, _) = context.extent(out).unwrap();
        run(&mut context, module, "k", &[address, 3]).unwrap();
        let results: Vec<u32> = (0..4).map(|index| u32_at(&context, address + 4 * index)).collect();
        // (3 + 1000) * 2 * 10 + 7 + 5; `own` is another variable in each module.
        assert_eq!(results, [20072, 7, 2200, 0]);
        let shift = context.symbol(module, "shift").unwrap();
        context.write(shift.address, &8u32.to_le_bytes()).unwrap();
        run(&mut context, module, "k", &[address, 3]).unwrap();
        assert_eq!(u32_at(&context, address + 4), 8);
    }
}

#[test]
fn an_error_says_which_module_it_comes_from() {
    let user = part(&USER.replace("st.param.b64 [b], 3;", "st.param.b64 [b], 0;"));
    let library = part(LIBRARY);
    let mut context = context();
    let (module, linked) = context.link(&[&user, &library]).unwrap();
    let out = context.allocate("out", 16).unwrap();
    let (address, _) = context.extent(out).unwrap();
    let Error::Launch(ExecError::Trap { pc, .. }) = run(&mut context, module, "k", &[address, 3]).unwrap_err() else {
        panic!("the trap is reached");
    };
    let (origin, own) = linked.origin(pc);
    assert_eq!((origin, library.spelling(own).to_string().as_str()), (1, "trap"));
    assert_eq!(linked.module.pcs[pc].span, library.pcs[own].span);
    assert_eq!(linked.module.functions[linked.module.pcs[pc].function].name, "twice");
}

fn errors(texts: &[&str]) -> Vec<String> {
    let parts: Vec<_> = texts.iter().map(|text| part(text)).collect();
    let parts: Vec<_> = parts.iter().collect();
    link(&parts).map_or_else(|errors| errors.iter().map(LinkError::to_string).collect(), |_| Vec::new())
}

#[test]
fn missing_and_duplicate_names_are_errors() {
    assert_eq!(
        errors(&[USER]),
        ["twice", "shift", "scale"].map(|name| format!("`{name}`, which module 0 uses, is defined nowhere"))
    );
    assert_eq!(
        errors(&[USER, LIBRARY, LIBRARY]),
        ["shift", "scale", "twice"].map(|name| format!("`{name}` is defined in module 1 and in module 2"))
    );
    assert_eq!(errors(&[]), ["there is no module to link"]);
    let kernels = ".visible .entry k() { ret; }";
    assert_eq!(errors(&[kernels, kernels]), ["`k` is defined in module 0 and in module 1"]);
}

#[test]
fn declarations_must_agree_with_the_definition() {
    let mismatch =
        |what: &str| vec![format!("`f` is declared in module 0 and defined in module 1 with another {what}")];
    let caller = ".extern .func f(.param .b32 x);
        .visible .entry k() { .param .b32 a; st.param.b32 [a], 1; call f, (a); ret; }";
    assert_eq!(errors(&[caller, ".visible .func f(.param .b64 x) { ret; }"]), mismatch("list of parameters"));
    assert_eq!(
        errors(&[caller, ".visible .func (.param .b32 r) f(.param .b32 x) { ret; }"]),
        mismatch("list of parameters")
    );
    assert_eq!(errors(&[caller, ".visible .global .u32 f;"])[0], mismatch("kind")[0]);
    assert_eq!(errors(&[caller, ".visible .func f(.param .b32 y) { ret; }"]), Vec::<String>::new());
    let reader = ".extern .global .u32 f;
        .visible .entry k() { .reg .b32 %r; ld.global.u32 %r, [f]; ret; }";
    assert_eq!(errors(&[reader, ".visible .const .u32 f;"]), mismatch("state space"));
}

#[test]
fn weak_definitions_give_way() {
    let text = |linkage: &str, number: u32| {
        format!(
            "{linkage} .global .u32 v = {number};
            {linkage} .func (.param .b32 r) f() {{ .reg .b32 %r; mov.u32 %r, {number}; st.param.b32 [r], %r; ret; }}
            .visible .entry k{number}(.param .u64 out)
            {{
                .reg .b32 %r<3>; .reg .b64 %rd;
                ld.param.u64 %rd, [out];
                {{ .param .b32 r; call (r), f; ld.param.b32 %r1, [r]; }}
                ld.global.u32 %r2, [v];
                st.global.u32 [%rd], %r1;
                st.global.u32 [%rd+4], %r2;
                ret;
            }}"
        )
    };
    for (first, second, expected) in [(".weak", ".weak", 1), (".weak", ".visible", 2), (".visible", ".weak", 1)] {
        let parts = [part(&text(first, 1)), part(&text(second, 2))];
        let mut context = context();
        let (module, _) = context.link(&[&parts[0], &parts[1]]).unwrap();
        let out = context.allocate("out", 8).unwrap();
        let (address, _) = context.extent(out).unwrap();
        for kernel in ["k1", "k2"] {
            run(&mut context, module, kernel, &[address]).unwrap();
            let results = [u32_at(&context, address), u32_at(&context, address + 4)];
            assert_eq!(results, [expected; 2], "{first} {second} {kernel}");
        }
    }
}

#[test]
fn the_largest_common_variable_counts() {
    let text = |count: u32| format!(".common .global .u32 v[{count}];");
    let parts = [part(&text(4)), part(&text(16)), part(&text(8))];
    let mut context = context();
    let (module, _) = context.link(&[&parts[0], &parts[1], &parts[2]]).unwrap();
    assert_eq!(context.symbol(module, "v").unwrap().bytes, 64);
}

#[test]
fn a_part_alone_cannot_be_loaded() {
    let mut context = context();
    let error = context.load(std::sync::Arc::new(part(USER))).unwrap_err();
    assert_eq!(error, Error::Unlinked { name: "twice".into() });
    // A whole module may declare what it does not call.
    let whole = module(".extern .func f(.param .b32 x);\n.visible .entry k() { ret; }");
    let handle = context.load(whole).unwrap();
    let kernel = context.kernel(handle, "k").unwrap();
    let prepared = context.prepare(kernel).unwrap();
    context.launch(&prepared, &launch(&[]), (), &AtomicU64::new(0)).unwrap();
}
