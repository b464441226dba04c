//! Starts the page on the trust world.

fn main() {
    sentinel_web::start::<sentinel_web::trust::Trust>();
}
