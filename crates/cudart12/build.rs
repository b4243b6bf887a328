//! The name of the shared library, and that of the version which programs ask its functions by.
//!
//! A program that was linked with NVIDIA's library asks for functions of the version node `libcudart.so.12`. rustc writes
//! a list of exported names without a version, which leaves no place for a list with one; GNU ld gives all names the
//! version of the library's own name when it is asked to.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        for argument in ["-fuse-ld=bfd", "-Wl,-soname,libcudart.so.12", "-Wl,--default-symver"] {
            println!("cargo:rustc-cdylib-link-arg={argument}");
        }
    }
}
