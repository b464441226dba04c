//! Prepares the shell and the engines of the worlds for splitting, if the build of the page splits
//! them. Both packages use this script.

fn main() {
    println!("cargo:rerun-if-changed=../build.rs");
    println!("cargo:rerun-if-env-changed=SENTINEL_SPLIT");
    println!("cargo:rustc-check-cfg=cfg(split)");
    let is_wasm = std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("wasm32");
    if is_wasm && std::env::var_os("SENTINEL_SPLIT").is_some() {
        println!("cargo:rustc-cfg=split");
        // Splitting follows the references between functions and data.
        let programs: &[&str] = match std::env::var("CARGO_PKG_NAME").as_deref() {
            Ok("sentinel-page") => &["sentinel-page"],
            _ => &["sentinel-trust", "sentinel-cluster", "sentinel-polyguard"],
        };
        for program in programs {
            println!("cargo:rustc-link-arg-bin={program}=--emit-relocs");
        }
    }
}
