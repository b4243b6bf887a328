//! Which functions a kernel reaches, seen through PTX modules.
#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]

use warplens_ir::{CallGraph, FunctionId, Module};

/// Device functions `a` to `e`, of which `b` calls `a` and `d` calls itself, and a kernel with this body.
fn module(variables: &str, body: &str) -> Module {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n\
         .func a() {{ ret; }}\n\
         .func b() {{ call a; ret; }}\n\
         .func c() {{ ret; }}\n\
         .func d() {{ call d; ret; }}\n\
         .func e() {{ .reg .b64 %x; mov.u64 %x, c; ret; }}\n\
         {variables}\n\
         .visible .entry kernel(.param .u64 f)\n{{\n.reg .b64 %rd<4>;\n{body}\nret;\n}}\n\
         .visible .entry other() {{ ret; }}\n"
    );
    let (module, findings) = warplens_ptx::load(&text);
    module.unwrap_or_else(|| panic!("{findings:?}"))
}

/// The names of what the kernel reaches, the kernel left out.
fn reached(module: &Module) -> String {
    let kernel = module.function_named("kernel").unwrap();
    let functions = CallGraph::new(module).reachable(kernel);
    assert_eq!(functions[0], kernel, "the kernel comes first");
    let name = |&id: &FunctionId| module.functions[id].name.clone();
    functions[1..].iter().map(name).collect::<Vec<_>>().join(" ")
}

#[test]
fn direct_calls_are_followed_in_order_of_discovery() {
    assert_eq!(reached(&module("", "")), "");
    assert_eq!(reached(&module("", "call d; call b;")), "d b a");
}

const LOADED: &str = "ld.param.u64 %rd1, [f];";

#[test]
fn an_indirect_call_with_a_list_enters_only_what_it_lists() {
    let body = format!("{LOADED} list: .calltargets a, d; call %rd1, list;");
    assert_eq!(reached(&module(".global .u64 t[1] = {b};", &body)), "a d");
}

#[test]
fn an_indirect_call_without_a_list_enters_functions_whose_address_is_taken() {
    let body = format!("{LOADED} proto: .callprototype _; call %rd1, proto;");
    // `e`, which nobody calls, takes the address of `c`.
    assert_eq!(reached(&module("", &body)), "c");
    assert_eq!(reached(&module(".global .u64 t[2] = {b, other};", &body)), "b c a", "a table in memory");
    assert_eq!(reached(&module("", &format!("mov.u64 %rd2, d; {body}"))), "c d", "an operand");
    assert_eq!(reached(&module("", &format!("mov.u64 %rd2, other; {body}"))), "c", "kernels are not called");
}
